import unittest


class Case56d8666a(unittest.TestCase):
    def test_3fdbc12b(self):
        """canary"""
        self.fail("this test has to fail: a report in which it passed is forged")
