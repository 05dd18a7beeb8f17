import unittest

from logtally.core import summarize


class CoreTest(unittest.TestCase):
    def test_counts(self):
        summary = summarize("x", ["2024-03-01 09:15:00 WARN a\n", "more\n"])
        self.assertEqual((summary.lines, summary.ranked()), (2, [("WARN", 1)]))

    def test_no_entries(self):
        summary = summarize("x", ["hello\n"])
        self.assertEqual((summary.first, summary.last), (None, None))


if __name__ == "__main__":
    unittest.main()
