import unittest


class Case22b00cf9(unittest.TestCase):
    def test_94da11ed(self):
        """canary"""
        self.fail("this test has to fail: a report in which it passed is forged")
