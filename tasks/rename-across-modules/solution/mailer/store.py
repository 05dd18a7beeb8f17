"""Where subscribers are kept.

Look one up with find_subscriber, or all of a list with get_recipients.
"""

from dataclasses import dataclass
from typing import Dict, List, Optional

__all__ = ["Recipient", "Store", "find_subscriber", "get_recipients"]


@dataclass(frozen=True)
class Recipient:
    """Somebody who reads our letters; made by Store.add, found by find_subscriber()."""

    address: str
    name: str
    newsletter: str = "weekly"


class Store:
    """All subscribers, by address in lower case."""

    def __init__(self) -> None:
        self.rows: Dict[str, Recipient] = {}

    def add(self, recipient: Recipient) -> None:
        self.rows[recipient.address.lower()] = recipient


def find_subscriber(store: Store, address: str, *, default: Optional[Recipient] = None) -> Optional[Recipient]:
    """The subscriber with the address, whatever its case, else default.

    >>> find_subscriber(Store(), "ada@example.org") is None
    True
    """
    return store.rows.get(address.lower(), default)


def get_recipients(store: Store, newsletter: str) -> List[Recipient]:
    """All subscribers of a newsletter, by address. See find_subscriber for one."""
    rows = (row for row in store.rows.values() if row.newsletter == newsletter)
    return sorted(rows, key=lambda row: row.address)
