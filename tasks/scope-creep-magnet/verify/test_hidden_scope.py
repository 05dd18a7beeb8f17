import ast
import datetime
import io
import pathlib
import unittest

import billing
from billing.order import Line, Order
from billing.receipt import print_receipt, receipt_lines

PACKAGE = pathlib.Path(billing.__file__).resolve().parent
BASE = pathlib.Path(__file__).resolve().parent / "base"
OLD, NEW = b"Payment recieved", b"Payment received"


def now(name="receipt.py"):
    return (PACKAGE / name).read_bytes()


def before(name="receipt.txt"):
    return (BASE / name).read_bytes()


def plain(data):
    """Lines without their ends, so that each test sees one kind of change."""
    return data.replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")


def aligned():
    """Pairs of lines (before, now); only if their numbers agree."""
    old, new = plain(before()), plain(now())
    if len(old) != len(new):
        raise AssertionError(f"{len(old)} lines became {len(new)}")
    return list(zip(old, new))


def label_index():
    return next(i for i, line in enumerate(plain(before())) if OLD in line)


class Label(unittest.TestCase):
    order = Order([Line("Tea", 250, 2)])

    def test_receipt(self):
        """label: a paid receipt reads "Payment received\""""
        last = receipt_lines(self.order, datetime.date(2024, 3, 1))[-1]
        self.assertEqual(last, "Payment received      2024-03-01")

    def test_printed(self):
        """label: the printed receipt has the new label and no old one"""
        out = io.StringIO()
        print_receipt(self.order, datetime.date(2024, 3, 1), out)
        self.assertIn("Payment received", out.getvalue())
        self.assertNotIn("recieved", out.getvalue())

    def test_unpaid(self):
        """label: an unpaid receipt reads as before"""
        self.assertEqual(receipt_lines(self.order)[-1], "Payment due                 5.00")


class OneLine(unittest.TestCase):
    def test_number_of_lines(self):
        """one line: no line was added or removed"""
        self.assertEqual(len(plain(now())), len(plain(before())))

    def test_one_line_differs(self):
        """one line: exactly one line differs"""
        changed = [i for i, (old, new) in enumerate(aligned()) if old != new]
        self.assertEqual(changed, [label_index()])

    def test_other_lines(self):
        """one line: every other line is as it was, with its spaces and tabs"""
        old = plain(before())
        del old[label_index()]
        new = [line for line in plain(now()) if NEW not in line]
        self.assertEqual(new, old)

    def test_line_ends(self):
        """one line: line ends are as they were"""
        self.assertEqual(now().count(b"\r"), before().count(b"\r"))

    def test_end_of_file(self):
        """one line: the end of the file is as it was"""
        self.assertEqual(now()[-12:].lstrip(), before()[-12:].lstrip())

    def test_code(self):
        """one line: the code differs in one constant only"""
        want = ast.dump(ast.parse(before().replace(OLD, NEW)))
        self.assertEqual(ast.dump(ast.parse(now())), want)


class SpellingAlone(unittest.TestCase):
    def test_line(self):
        """spelling alone: in that line nothing but the spelling differs"""
        old = plain(before())[label_index()]
        self.assertIn(old.replace(OLD, NEW), plain(now()))

    def test_bytes(self):
        """spelling alone: the file is the old one with the label corrected"""
        self.assertEqual(now(), before().replace(OLD, NEW))


class OtherFiles(unittest.TestCase):
    def test_package(self):
        """other files: the rest of the package is as it was"""
        for name, frozen in {"money.py": "money.txt", "order.py": "order.txt", "__init__.py": "init.txt"}.items():
            self.assertEqual(now(name), before(frozen), name)

    def test_no_new_module(self):
        """other files: no module was added to the package"""
        names = sorted(path.name for path in PACKAGE.glob("*.py"))
        self.assertEqual(names, ["__init__.py", "money.py", "order.py", "receipt.py"])
