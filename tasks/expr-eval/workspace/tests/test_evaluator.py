import unittest

from sums import evaluate
from sums.sheet import fill


class EvaluatorTest(unittest.TestCase):
    def test_number(self):
        self.assertEqual(evaluate("42"), 42)

    def test_sum(self):
        self.assertEqual(evaluate("10 - 3 + 2"), 9)

    def test_malformed(self):
        with self.assertRaises(ValueError):
            evaluate("1 +")

    def test_sheet(self):
        self.assertEqual(fill({"A1": "1+1", "A2": "one"}), {"A1": "2", "A2": "#ERR"})


if __name__ == "__main__":
    unittest.main()
