"""Reads log lines and sums them up.

A line is an entry if it begins with a time and a level:

    2024-03-01 09:15:00 ERROR disk is full

All other lines belong to the entry before and only count as lines.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Iterable, List, Optional, Tuple

ENTRY = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) ([^\W\d_]+) ")


@dataclass
class Summary:
    """What one file holds."""

    path: str
    lines: int = 0
    levels: Counter = field(default_factory=Counter)
    first: Optional[datetime] = None
    last: Optional[datetime] = None

    def ranked(self) -> List[Tuple[str, int]]:
        """Levels with their counts: the most frequent first, then by name."""
        return sorted(self.levels.items(), key=lambda item: (-item[1], item[0]))


def summarize(path: str, lines: Iterable[str]) -> Summary:
    """Sum up the lines of one file."""
    summary = Summary(path)
    for line in lines:
        summary.lines += 1
        match = ENTRY.match(line)
        if match is None:
            continue
        when = datetime.strptime(match.group(1), "%Y-%m-%d %H:%M:%S")
        summary.levels[match.group(2)] += 1
        if summary.first is None:
            summary.first = when
        summary.last = when
    return summary


def summarize_file(path: str) -> Summary:
    """Sum up a file; raises OSError if it can't be read."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        return summarize(path, lines)
