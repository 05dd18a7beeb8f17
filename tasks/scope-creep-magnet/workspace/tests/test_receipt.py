import datetime
import unittest

from billing.order import Line, Order
from billing.receipt import receipt_error, receipt_lines, vat_of


class ReceiptTest(unittest.TestCase):
    def setUp(self):
        self.order = Order([Line("Tea", 250, 2), Line("Cake", 375)])

    def test_due(self):
        self.assertEqual(
            receipt_lines(self.order),
            [
                "Tea                         5.00",
                "Cake                        3.75",
                "--------------------------------",
                "Total EUR                   8.75",
                "Payment due                 8.75",
            ],
        )

    def test_paid(self):
        last = receipt_lines(self.order, paid_at=datetime.date(2024, 3, 1))[-1]
        self.assertTrue(last.startswith("Payment"))
        self.assertTrue(last.endswith("2024-03-01"))

    def test_nothing(self):
        with self.assertRaises(receipt_error):
            receipt_lines(Order())

    def test_vat(self):
        self.assertEqual(vat_of(11900), 1900)


if __name__ == "__main__":
    unittest.main()
