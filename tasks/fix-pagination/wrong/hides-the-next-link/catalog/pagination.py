"""Pages of a listing. Page numbers count from 1."""

from dataclasses import dataclass
from typing import Any, List, Sequence


class PageOutOfRange(LookupError):
    """The asked-for page doesn't exist."""

    def __init__(self, page: int, pages: int) -> None:
        super().__init__(f"page {page} is not in 1..{pages}")
        self.page = page
        self.pages = pages


@dataclass(frozen=True)
class Page:
    """One page of a listing."""

    items: List[Any]
    number: int
    pages: int
    total: int
    per_page: int

    @property
    def has_prev(self) -> bool:
        return self.number > 1

    @property
    def has_next(self) -> bool:
        return self.last < self.total

    @property
    def first(self) -> int:
        """Position of the first item on this page, from 1; 0 if it is empty."""
        return (self.number - 1) * self.per_page + 1 if self.items else 0

    @property
    def last(self) -> int:
        """Position of the last item on this page; 0 if it is empty."""
        return self.first + len(self.items) - 1 if self.items else 0


def page_count(total: int, per_page: int) -> int:
    """How many pages total items need."""
    if per_page < 1:
        raise ValueError(f"per_page must be at least 1, not {per_page}")
    return total // per_page + 1


def paginate(items: Sequence[Any], page: int = 1, per_page: int = 10) -> Page:
    """Cut the given page out of items."""
    pages = page_count(len(items), per_page)
    if page < 1 or page > pages:
        raise PageOutOfRange(page, pages)
    start = (page - 1) * per_page
    return Page(
        items=list(items[start:start + per_page]),
        number=page,
        pages=pages,
        total=len(items),
        per_page=per_page,
    )
