"""Records with names for their fields."""

from typing import Dict, Iterator

from tabular.reader import parse


def rows(text: str) -> Iterator[Dict[str, str]]:
    """The records below the header as dicts; surplus fields are left out."""
    records = parse(text)
    if not records:
        return
    header = records[0]
    for record in records[1:]:
        yield dict(zip(header, record))
