"""What the web API answers for a listing."""

from typing import Any, Dict, Sequence

from catalog import legacy
from catalog.pagination import Page, paginate


def summary(page: Page) -> str:
    """The footer below a listing."""
    if page.total == 0:
        return "no products"
    return (
        f"showing {page.first}-{page.last} of {page.total}, "
        f"page {page.number} of {page.pages}"
    )


def listing(products: Sequence[str], page: int = 1, per_page: int = 10) -> Dict[str, Any]:
    """One page as the web front end gets it."""
    found = paginate(products, page, per_page)
    return {
        "items": found.items,
        "page": found.number,
        "pages": found.pages,
        "prev": found.number - 1 if found.has_prev else None,
        "next": found.number + 1 if found.has_next else None,
        "summary": summary(found),
    }


def mobile_listing(products: Sequence[str], page: int = 0, per_page: int = 10) -> Dict[str, Any]:
    """One page as the old mobile app gets it; pages count from 0."""
    return {
        "items": legacy.page_slice(products, page, per_page),
        "pages": legacy.page_count(len(products), per_page),
    }
