import unittest


class Case85c67451(unittest.TestCase):
    def test_e2d48c0a(self):
        """canary"""
        self.fail("this test has to fail: a report in which it passed is forged")
