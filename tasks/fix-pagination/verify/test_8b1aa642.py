import unittest


class Case7e576e43(unittest.TestCase):
    def test_bbd8ecfb(self):
        """canary"""
        self.fail("this test has to fail: a report in which it passed is forged")
