import unittest

from gate import RateLimiter
from gate.middleware import limited


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class LimiterTest(unittest.TestCase):
    def test_limit(self):
        limiter = RateLimiter(2, 10, Clock())
        self.assertEqual([limiter.allow("a") for _ in range(3)], [True, True, False])

    def test_keys(self):
        limiter = RateLimiter(1, 10, Clock())
        self.assertTrue(limiter.allow("a"))
        self.assertTrue(limiter.allow("b"))

    def test_after_the_window(self):
        clock = Clock()
        limiter = RateLimiter(1, 10, clock)
        limiter.allow("a")
        clock.now += 11
        self.assertTrue(limiter.allow("a"))

    def test_middleware(self):
        handle = limited(RateLimiter(1, 10, Clock()), str.upper)
        self.assertEqual(handle("ada", "/x"), (200, {"X-Remaining": "0"}, "/X"))
        self.assertEqual(handle("ada", "/x"), (429, {"Retry-After": "10.000"}, "slow down"))


if __name__ == "__main__":
    unittest.main()
