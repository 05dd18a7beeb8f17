"""Orders: what was bought."""

from dataclasses import dataclass, field
from typing import List


@dataclass
class Line:
    name: str
    price: int  # in cents
    count: int = 1


@dataclass
class Order:
    """Lines in the order in wich they were scanned."""

    lines: List[Line] = field(default_factory=list)
