"""Arithmetic on time intervals: pairs (start, end) of minutes since midnight."""

from typing import Iterable, List, Tuple

Interval = Tuple[int, int]


def merge(intervals: Iterable[Interval]) -> List[Interval]:
    """Join intervals that overlap or touch.

    - Overlapping intervals become one: (540, 600) and (570, 630) are
      (540, 630).
    - Intervals that touch become one: (540, 600) and (600, 660) are
      (540, 660).
    - An interval inside another one disappears in it: (540, 720) and
      (570, 600) are (540, 720).
    - Empty intervals, whose start is their end, are left out: they neither
      stand in the result nor join others.
    - An interval that ends before it starts raises ValueError.
    - The input may be any iterable, in any order, and is not changed.
    - The result is a new list of tuples, sorted by start.
    """
    ordered = sorted(tuple(interval) for interval in intervals)
    merged: List[Interval] = []
    for start, end in ordered:
        if end < start:
            raise ValueError(f"interval ends before it starts: {start}, {end}")
        if start == end:
            continue
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def total(intervals: Iterable[Interval]) -> int:
    """Minutes that the intervals cover; no minute counts twice."""
    return sum(end - start for start, end in merge(intervals))
