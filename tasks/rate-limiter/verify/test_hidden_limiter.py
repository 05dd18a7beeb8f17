import gc
import os
import random
import sys
import threading
import time
import unittest
import weakref

from gate import RateLimiter
from gate import limiter as module
from gate.middleware import limited

THREADS = 16


class Clock:
    """Stands still until a test moves it."""

    def __init__(self, now=1000.0):
        self.now = now

    def __call__(self):
        return self.now


def make(limit, window):
    clock = Clock()
    return RateLimiter(limit, window, clock), clock


class Model:
    """The contract for one thread, written as plainly as possible."""

    def __init__(self, limit, window):
        self.limit, self.window, self.counted, self.now = limit, window, {}, float("-inf")

    def live(self, key, now):
        self.now = max(self.now, now)
        return [t for t in self.counted.get(key, []) if self.now - t < self.window]

    def allow(self, key, now):
        if len(self.live(key, now)) >= self.limit:
            return False
        self.counted.setdefault(key, []).append(self.now)
        return True

    def remaining(self, key, now):
        return self.limit - len(self.live(key, now))

    def retry_after(self, key, now):
        live = self.live(key, now)
        return 0.0 if len(live) < self.limit else live[0] + self.window - self.now


class Construction(unittest.TestCase):
    def test_limit_below_one(self):
        """R1: a limit below 1 raises ValueError"""
        for limit in (0, -1):
            with self.assertRaises(ValueError):
                RateLimiter(limit, 1.0)

    def test_limit_no_int(self):
        """R1: a limit that is no int raises ValueError, a bool too"""
        for limit in (1.5, "3", None, True):
            with self.assertRaises(ValueError):
                RateLimiter(limit, 1.0)

    def test_window(self):
        """R1: a window that isn't above 0 raises ValueError"""
        for window in (0, 0.0, -1, -0.5):
            with self.assertRaises(ValueError):
                RateLimiter(1, window)

    def test_attributes(self):
        """R1: limit and window are kept as attributes"""
        limiter = RateLimiter(3, 0.5)
        self.assertEqual((limiter.limit, limiter.window), (3, 0.5))


class Allow(unittest.TestCase):
    def test_up_to_the_limit(self):
        """R2: exactly limit calls are allowed at one time"""
        limiter, _ = make(3, 10)
        self.assertEqual([limiter.allow("k") for _ in range(5)], [True, True, True, False, False])

    def test_returns_bool(self):
        """R2: allow returns True or False"""
        limiter, _ = make(1, 10)
        self.assertIs(limiter.allow("k"), True)
        self.assertIs(limiter.allow("k"), False)

    def test_limit_of_one(self):
        """R2: a limit of 1 allows one call per window"""
        limiter, clock = make(1, 1.5)
        got = []
        for _ in range(6):
            got.append(limiter.allow("k"))
            clock.now += 1
        self.assertEqual(got, [True, False, True, False, True, False])


class Boundary(unittest.TestCase):
    def test_exactly_one_window_later(self):
        """R3: exactly `window` seconds later a call is no longer live"""
        limiter, clock = make(1, 10)
        limiter.allow("k")
        clock.now += 10
        self.assertTrue(limiter.allow("k"))

    def test_just_before(self):
        """R3: just before `window` seconds a call is still live"""
        limiter, clock = make(1, 10)
        limiter.allow("k")
        clock.now += 9.999
        self.assertFalse(limiter.allow("k"))

    def test_remaining_at_the_boundary(self):
        """R3: remaining and retry_after use the same boundary"""
        limiter, clock = make(1, 10)
        limiter.allow("k")
        clock.now += 10
        self.assertEqual((limiter.remaining("k"), limiter.retry_after("k")), (1, 0.0))

    def test_purge_at_the_boundary(self):
        """R3: purge uses the same boundary"""
        limiter, clock = make(1, 10)
        limiter.allow("k")
        clock.now += 9.5
        self.assertEqual(limiter.purge(), 0)
        clock.now += 0.5
        self.assertEqual(limiter.purge(), 1)

    def test_fraction(self):
        """R3: the boundary holds for a window of a fraction of a second"""
        limiter, clock = make(2, 0.25)
        got = []
        for _ in range(6):
            got.append(limiter.allow("k"))
            clock.now += 0.125
        self.assertEqual(got, [True, True, True, True, True, True])
        got = [limiter.allow("k"), limiter.allow("k")]
        self.assertEqual(got, [True, False])


class Sliding(unittest.TestCase):
    def test_burst_around_a_border(self):
        """R4: no burst of twice the limit around any border"""
        limiter, clock = make(2, 10)
        limiter.allow("k")
        clock.now += 9
        self.assertTrue(limiter.allow("k"))
        clock.now += 1.5
        self.assertEqual([limiter.allow("k"), limiter.allow("k")], [True, False])

    def test_each_leaves_on_its_own(self):
        """R4: every call leaves the window on its own"""
        limiter, clock = make(3, 10)
        for _ in range(3):
            limiter.allow("k")
            clock.now += 3
        self.assertEqual(limiter.remaining("k"), 0)
        clock.now += 0.5
        seen = []
        for _ in range(8):
            clock.now += 1
            seen.append(limiter.remaining("k"))
        self.assertEqual(seen, [1, 1, 1, 2, 2, 2, 3, 3])

    def test_random_walk(self):
        """R4: the same answers as a plain sliding window on random calls"""
        rng = random.Random(7)
        for _ in range(30):
            limit, window = rng.randrange(1, 5), rng.choice([1, 4, 10])
            limiter, clock = make(limit, window)
            model = Model(limit, window)
            for step in range(80):
                clock.now += rng.choice([0, 0, 0.25, 0.5, 1, 3])
                key = rng.choice("ab")
                for name in rng.sample(["allow", "remaining", "retry_after"], 2):
                    got = getattr(limiter, name)(key)
                    want = getattr(model, name)(key, clock.now)
                    self.assertAlmostEqual(got, want, 9, (limit, window, step, name))


class Denied(unittest.TestCase):
    def test_denied_calls_dont_count(self):
        """R5: denied calls don't keep a client locked out"""
        limiter, clock = make(1, 10)
        limiter.allow("k")
        for _ in range(9):
            clock.now += 1
            self.assertFalse(limiter.allow("k"))
        clock.now += 1.5
        self.assertTrue(limiter.allow("k"))

    def test_remaining_after_denied(self):
        """R5: denied calls take nothing from what remains later"""
        limiter, clock = make(2, 10)
        for _ in range(20):
            limiter.allow("k")
        self.assertEqual(limiter.remaining("k"), 0)
        clock.now += 10.5
        self.assertEqual(limiter.remaining("k"), 2)

    def test_retry_after_denied(self):
        """R5: denied calls don't move retry_after"""
        limiter, clock = make(1, 10)
        limiter.allow("k")
        clock.now += 4
        limiter.allow("k")
        self.assertEqual(limiter.retry_after("k"), 6.0)


class Keys(unittest.TestCase):
    def test_independent(self):
        """R6: keys don't influence each other"""
        limiter, clock = make(1, 10)
        self.assertTrue(limiter.allow("a"))
        self.assertTrue(limiter.allow("b"))
        self.assertFalse(limiter.allow("a"))
        clock.now += 5
        self.assertTrue(limiter.allow("c"))
        self.assertFalse(limiter.allow("b"))

    def test_hashable(self):
        """R6: any hashable value is a key"""
        limiter, _ = make(1, 10)
        for key in ("a", 7, None, ("ip", 4), frozenset([1]), b"a", ""):
            self.assertTrue(limiter.allow(key), key)
            self.assertFalse(limiter.allow(key), key)


class Questions(unittest.TestCase):
    def test_remaining(self):
        """R7: remaining is the number of calls that would be allowed"""
        limiter, _ = make(3, 10)
        got = [limiter.remaining("k")]
        for _ in range(4):
            limiter.allow("k")
            got.append(limiter.remaining("k"))
        self.assertEqual(got, [3, 2, 1, 0, 0])

    def test_dont_count(self):
        """R7: asking doesn't count as a call"""
        limiter, _ = make(1, 10)
        for _ in range(5):
            self.assertEqual((limiter.remaining("k"), limiter.retry_after("k")), (1, 0.0))
        self.assertTrue(limiter.allow("k"))

    def test_dont_hold(self):
        """R7: asking doesn't make the limiter hold a key"""
        limiter, _ = make(1, 10)
        limiter.remaining("x")
        limiter.retry_after("y")
        self.assertEqual((len(limiter), limiter.purge()), (0, 0))

    def test_retry_after_is_enough(self):
        """R7: retry_after is the time until the oldest live call leaves"""
        limiter, clock = make(2, 10)
        limiter.allow("k")
        clock.now += 3
        self.assertEqual(limiter.retry_after("k"), 0.0)
        limiter.allow("k")
        clock.now += 1
        self.assertEqual(limiter.retry_after("k"), 6.0)
        clock.now += 6
        self.assertTrue(limiter.allow("k"))
        self.assertEqual(limiter.retry_after("k"), 3.0)

    def test_float(self):
        """R7: retry_after is a float, 0.0 for an unknown key"""
        limiter, _ = make(1, 10)
        self.assertIsInstance(limiter.retry_after("k"), float)
        self.assertEqual(limiter.retry_after("k"), 0.0)

    def test_middleware(self):
        """R7: the middleware tells a denied client how long to wait"""
        limiter, clock = make(1, 10)
        handle = limited(limiter, str.upper)
        handle("ada", "/")
        clock.now += 2.5
        self.assertEqual(handle("ada", "/")[:2], (429, {"Retry-After": "7.500"}))


class Threads(unittest.TestCase):
    """Within the limiter a thread may give way to the others at any instruction."""

    def together(self, work):
        """Run work(n) in all threads; the first exception is raised again."""
        barrier = threading.Barrier(THREADS)
        errors = []
        # Python refuses a trace function while another one is being installed.
        tracing = threading.Lock()
        package = os.path.dirname(module.__file__)

        def body(n):
            rng = random.Random(n)

            def tracer(frame, event, arg):
                if not frame.f_code.co_filename.startswith(package):
                    return None
                frame.f_trace_opcodes = True
                if rng.random() < (0.3 if event == "line" else 0.02):
                    time.sleep(0.000001)  # 0 would not always give way
                return tracer

            try:
                barrier.wait(20)
                with tracing:
                    sys.settrace(tracer)
                work(n)
            except BaseException as err:  # handed to the test
                errors.append(err)
            finally:
                with tracing:
                    sys.settrace(None)

        threads = [threading.Thread(target=body, args=(n,), daemon=True) for n in range(THREADS)]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(0.0002)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(20)
        finally:
            sys.setswitchinterval(interval)
        self.assertFalse([t for t in threads if t.is_alive()], "a thread hangs")
        if errors:
            raise errors[0]

    def allowed(self, limiter, calls, key=lambda n: "k"):
        """How many of calls per thread were allowed, by thread."""
        counts = [0] * THREADS

        def work(n):
            for _ in range(calls):
                counts[n] += limiter.allow(key(n))

        self.together(work)
        return counts

    def test_one_place(self):
        """R8: 16 threads at once get exactly one place of one"""
        for _ in range(5):
            limiter, _ = make(1, 10)
            self.assertEqual(sum(self.allowed(limiter, 2)), 1)

    def test_exactly_the_limit(self):
        """R8: 16 threads at once get exactly limit calls of one key"""
        for limit in (5, 40):
            limiter, _ = make(limit, 10)
            self.assertEqual(sum(self.allowed(limiter, 6)), limit)
            self.assertEqual(limiter.remaining("k"), 0)

    def test_none_lost(self):
        """R8: no call is denied while there is room, and none is lost"""
        limiter, _ = make(THREADS * 5, 10)
        self.assertEqual(self.allowed(limiter, 5), [5] * THREADS)
        self.assertEqual(limiter.remaining("k"), 0)

    def test_many_keys(self):
        """R8: threads with keys of their own get their whole limit"""
        limiter, _ = make(3, 10)
        self.assertEqual(self.allowed(limiter, 5, key=lambda n: n), [3] * THREADS)
        self.assertEqual(len(limiter), THREADS)

    def test_after_expiry(self):
        """R8: after the window 16 threads get exactly limit calls again"""
        limiter, clock = make(4, 10)
        for _ in range(3):
            self.assertEqual(sum(self.allowed(limiter, 2)), 4)
            clock.now += 11

    def test_all_methods_at_once(self):
        """R8: all methods may run at once"""
        limiter, clock = make(2, 10)

        def work(n):
            for i in range(3):
                limiter.allow((n, i))
                limiter.remaining((n, i))
                limiter.retry_after(i)
                limiter.purge()
                len(limiter)
                if n == 0:
                    clock.now += 5

        self.together(work)
        clock.now += 11
        limiter.purge()
        self.assertEqual(len(limiter), 0)


class Time(unittest.TestCase):
    def test_backwards(self):
        """R9: after a step backwards the latest time seen goes on"""
        limiter, clock = make(1, 10)
        limiter.allow("k")
        clock.now -= 500
        self.assertEqual(limiter.retry_after("k"), 10.0)
        self.assertFalse(limiter.allow("k"))
        clock.now += 500 + 11
        self.assertTrue(limiter.allow("k"))

    def test_counted_at_the_latest_time(self):
        """R9: a call after a step backwards counts from the latest time seen"""
        limiter, clock = make(2, 10)
        limiter.allow("k")
        clock.now -= 8
        limiter.allow("k")
        clock.now += 8 + 9
        self.assertEqual(limiter.remaining("k"), 0)
        clock.now += 2
        self.assertEqual(limiter.remaining("k"), 2)

    def test_seen_through_another_key(self):
        """R9: the latest time counts for all keys and methods"""
        limiter, clock = make(1, 10)
        limiter.allow("a")
        clock.now += 11
        limiter.remaining("b")
        clock.now -= 7
        self.assertTrue(limiter.allow("a"))

    def test_no_other_source(self):
        """R9: the clock is the only source of time"""
        limiter, _ = make(1, 0.005)
        limiter.allow("k")
        time.sleep(0.02)
        self.assertFalse(limiter.allow("k"))

    def test_starts_anywhere(self):
        """R9: a clock may start at 0 or below"""
        for start in (0.0, -50.0):
            clock = Clock(start)
            limiter = RateLimiter(1, 10, clock)
            self.assertEqual([limiter.allow("k"), limiter.allow("k")], [True, False])
            clock.now += 11
            self.assertTrue(limiter.allow("k"))


class Address:
    """A key that a test can watch."""


class Purge(unittest.TestCase):
    def test_drops_idle_keys(self):
        """R10: purge drops the keys without live calls and counts them"""
        limiter, clock = make(2, 10)
        for key in "abc":
            limiter.allow(key)
        clock.now += 6
        limiter.allow("a")
        clock.now += 5
        self.assertEqual((len(limiter), limiter.purge(), len(limiter)), (3, 2, 1))
        self.assertEqual(limiter.remaining("a"), 1)

    def test_keeps_live_keys(self):
        """R10: purge changes nothing for live keys"""
        limiter, clock = make(1, 10)
        limiter.allow("a")
        self.assertEqual(limiter.purge(), 0)
        self.assertFalse(limiter.allow("a"))

    def test_held_until_purge(self):
        """R10: a key is held until purge drops it"""
        limiter, clock = make(1, 10)
        limiter.allow("a")
        clock.now += 100
        limiter.remaining("a")
        self.assertEqual(len(limiter), 1)
        self.assertEqual(limiter.purge(), 1)

    def test_nothing_kept(self):
        """R10: nothing is kept of a key that was dropped"""
        limiter, clock = make(1, 10)
        key = Address()
        watch = weakref.ref(key)
        limiter.allow(key)
        limiter.allow(key)
        clock.now += 11
        self.assertEqual(limiter.purge(), 1)
        del key
        gc.collect()
        self.assertIsNone(watch())
