import unittest


class Casedcd506fd(unittest.TestCase):
    def test_e9102fc3(self):
        """canary"""
        self.fail("this test has to fail: a report in which it passed is forged")
