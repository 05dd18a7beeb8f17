"""Paging for the mobile app up to version 3, frozen.

The app asks for pages from 0 and stops at the first empty one, so it needs
the count to be one too high whenever the last page is full.
"""


def page_count(total, per_page):
    return max(1, -(-total // per_page))


def page_slice(items, page, per_page):
    start = page * per_page
    return list(items[start:start + per_page])
