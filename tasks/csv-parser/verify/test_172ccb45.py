import unittest


class Case448112ef(unittest.TestCase):
    def test_80b25a4f(self):
        """canary"""
        self.fail("this test has to fail: a report in which it passed is forged")
