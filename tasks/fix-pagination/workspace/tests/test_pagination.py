import unittest

from catalog.api import listing
from catalog.pagination import PageOutOfRange, page_count, paginate


class PaginationTest(unittest.TestCase):
    def test_first_page(self):
        page = paginate(list(range(25)), page=1, per_page=10)
        self.assertEqual(page.items, list(range(10)))
        self.assertTrue(page.has_next)
        self.assertFalse(page.has_prev)

    def test_short_last_page(self):
        page = paginate(list(range(25)), page=3, per_page=10)
        self.assertEqual(page.items, [20, 21, 22, 23, 24])
        self.assertEqual((page.first, page.last), (21, 25))
        self.assertFalse(page.has_next)

    def test_empty_listing_has_one_page(self):
        page = paginate([], page=1)
        self.assertEqual((page.items, page.pages), ([], 1))

    def test_page_zero(self):
        with self.assertRaises(PageOutOfRange):
            paginate([1, 2, 3], page=0)

    def test_bad_per_page(self):
        with self.assertRaises(ValueError):
            page_count(3, 0)

    def test_summary(self):
        self.assertEqual(
            listing([f"p{i}" for i in range(25)], page=2)["summary"],
            "showing 11-20 of 25, page 2 of 3",
        )


if __name__ == "__main__":
    unittest.main()
