"""A room and its bookings."""

from typing import Iterable, List

from roomcal.intervals import Interval, merge, total


class Room:
    """A meeting room that opens and closes at fixed times."""

    def __init__(self, name: str, opens: int = 8 * 60, closes: int = 18 * 60) -> None:
        self.name = name
        self.opens = opens
        self.closes = closes

    def free(self, bookings: Iterable[Interval]) -> List[Interval]:
        """The gaps between the bookings within opening hours."""
        gaps: List[Interval] = []
        at = self.opens
        for start, end in merge(bookings):
            if start > at and at < self.closes:
                gaps.append((at, min(start, self.closes)))
            at = max(at, end)
        if at < self.closes:
            gaps.append((at, self.closes))
        return gaps

    def load(self, bookings: Iterable[Interval]) -> float:
        """The booked share of the opening hours, between 0 and 1."""
        inside = (
            (max(start, self.opens), min(end, self.closes))
            for start, end in bookings
            if start < self.closes and end > self.opens
        )
        return total(inside) / (self.closes - self.opens)
