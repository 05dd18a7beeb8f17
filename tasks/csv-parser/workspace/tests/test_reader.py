import unittest

from tabular import parse
from tabular.table import rows


class ReaderTest(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(parse("a,b\nc,d\n"), [["a", "b"], ["c", "d"]])

    def test_no_final_newline(self):
        self.assertEqual(parse("a,b\nc,d"), [["a", "b"], ["c", "d"]])

    def test_semicolons(self):
        self.assertEqual(parse("a;b,c\n", delimiter=";"), [["a", "b,c"]])

    def test_rows(self):
        self.assertEqual(list(rows("name,age\nAda,36\n")), [{"name": "Ada", "age": "36"}])


if __name__ == "__main__":
    unittest.main()
