import unittest

from catalog.api import mobile_listing


class LegacyTest(unittest.TestCase):
    def test_counts_from_zero(self):
        self.assertEqual(mobile_listing(["a", "b", "c"], page=1, per_page=2)["items"], ["c"])

    def test_full_last_page_is_followed_by_an_empty_one(self):
        self.assertEqual(mobile_listing(["a", "b"], page=1, per_page=2), {"items": [], "pages": 2})


if __name__ == "__main__":
    unittest.main()
