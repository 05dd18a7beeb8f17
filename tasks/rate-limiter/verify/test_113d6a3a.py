import unittest


class Case18805df0(unittest.TestCase):
    def test_471701c4(self):
        """canary"""
        self.fail("this test has to fail: a report in which it passed is forged")
