import unittest

from catalog import legacy
from catalog.api import listing, mobile_listing
from catalog.pagination import PageOutOfRange, page_count, paginate


def walk(total, per_page):
    """All pages of a listing, from the first to the one without a next."""
    items, pages, number = list(range(total)), [], 1
    while number <= total + 2:
        page = paginate(items, number, per_page)
        pages.append(page)
        if not page.has_next:
            return pages
        number += 1
    raise AssertionError("has_next never became false")


class Count(unittest.TestCase):
    def test_exact_multiple(self):
        """1: a full last page is not followed by an empty one"""
        self.assertEqual(page_count(20, 10), 2)
        self.assertEqual(page_count(10, 10), 1)

    def test_one_more_than_a_multiple(self):
        """1: one item more than full pages needs one more page"""
        self.assertEqual(page_count(21, 10), 3)
        self.assertEqual(page_count(1, 10), 1)

    def test_one_less_than_a_multiple(self):
        """1: one item less than full pages needs no more pages"""
        self.assertEqual(page_count(19, 10), 2)

    def test_one_per_page(self):
        """1: with one item per page there are as many pages as items"""
        self.assertEqual([page_count(n, 1) for n in range(1, 6)], [1, 2, 3, 4, 5])

    def test_empty(self):
        """1: a listing without items has exactly one page"""
        self.assertEqual(page_count(0, 10), 1)
        self.assertEqual(page_count(0, 1), 1)

    def test_large(self):
        """1: the count is exact for large totals"""
        self.assertEqual(page_count(10**18, 10), 10**17)
        self.assertEqual(page_count(10**18 + 1, 10), 10**17 + 1)


class Pages(unittest.TestCase):
    def test_every_item_once(self):
        """2: every item is on exactly one page, in order"""
        for total in range(0, 13):
            for per_page in range(1, 7):
                got = [i for page in walk(total, per_page) for i in page.items]
                self.assertEqual(got, list(range(total)), (total, per_page))

    def test_no_empty_page(self):
        """1: no page of a listing with items is empty"""
        for total in range(1, 13):
            for per_page in range(1, 7):
                for page in walk(total, per_page):
                    self.assertTrue(page.items, (total, per_page, page.number))

    def test_last_page_has_no_next(self):
        """2: has_next is false on a last page that is full"""
        page = paginate(list(range(20)), 2, 10)
        self.assertEqual(page.items, list(range(10, 20)))
        self.assertFalse(page.has_next)
        self.assertTrue(page.has_prev)

    def test_walk_ends_at_the_count(self):
        """2: has_next is true on every page but the last"""
        for total in range(0, 13):
            for per_page in range(1, 7):
                pages = walk(total, per_page)
                self.assertEqual(len(pages), page_count(total, per_page), (total, per_page))
                self.assertEqual({p.pages for p in pages}, {len(pages)})


class Range(unittest.TestCase):
    def test_page_after_a_full_last_page(self):
        """3: the page after a full last page is out of range"""
        with self.assertRaises(PageOutOfRange) as caught:
            paginate(list(range(20)), 3, 10)
        self.assertEqual((caught.exception.page, caught.exception.pages), (3, 2))

    def test_below_one(self):
        """3: a page number below 1 is out of range"""
        for number in (0, -1):
            with self.assertRaises(PageOutOfRange):
                paginate([1, 2, 3], number, 2)

    def test_first_page_of_nothing(self):
        """3: page 1 of an empty listing is valid"""
        page = paginate([], 1, 10)
        self.assertEqual((page.items, page.first, page.last), ([], 0, 0))
        self.assertFalse(page.has_next)

    def test_second_page_of_nothing(self):
        """3: page 2 of an empty listing is out of range"""
        with self.assertRaises(PageOutOfRange):
            paginate([], 2, 10)

    def test_bad_per_page(self):
        """4: per_page below 1 raises ValueError"""
        for per_page in (0, -3):
            with self.assertRaises(ValueError):
                page_count(5, per_page)
            with self.assertRaises(ValueError):
                paginate([1], 1, per_page)


class Api(unittest.TestCase):
    def test_footer(self):
        """5: the footer of a full last page shows the right numbers"""
        got = listing([f"p{i}" for i in range(20)], 2, 10)
        self.assertEqual(got["summary"], "showing 11-20 of 20, page 2 of 2")
        self.assertEqual((got["pages"], got["prev"], got["next"]), (2, 1, None))

    def test_keys(self):
        """5: the keys of a listing keep their form"""
        got = listing([])
        self.assertEqual(set(got), {"items", "page", "pages", "prev", "next", "summary"})
        self.assertEqual((got["summary"], got["pages"], got["next"]), ("no products", 1, None))


class Legacy(unittest.TestCase):
    def test_numbers(self):
        """legacy: the old mobile app's numbers stay as they were"""
        self.assertEqual(legacy.page_count(20, 10), 3)
        self.assertEqual(legacy.page_count(0, 10), 1)
        self.assertEqual(mobile_listing(["a", "b"], 1, 2), {"items": [], "pages": 2})
        self.assertEqual(mobile_listing(["a", "b", "c"], 1, 2), {"items": ["c"], "pages": 2})
