import unittest


class Case63a6da3e(unittest.TestCase):
    def test_913f5365(self):
        """canary"""
        self.fail("this test has to fail: a report in which it passed is forged")
