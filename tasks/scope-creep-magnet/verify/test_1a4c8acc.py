import unittest


class Casecfd594af(unittest.TestCase):
    def test_c96b2ca6(self):
        """canary"""
        self.fail("this test has to fail: a report in which it passed is forged")
