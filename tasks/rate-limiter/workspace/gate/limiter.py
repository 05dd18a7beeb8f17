"""Rate limiting of calls, by key."""

import time
from collections import defaultdict
from typing import Callable, Dict, Hashable, List


class RateLimiter:
    """Lets at most `limit` calls per key through in any `window` seconds.

    R1  `limit` is an int of at least 1 and `window` a number above 0; else the
        constructor raises ValueError. A bool is no int here. The values are
        kept as the attributes `limit` and `window`.
    R2  `allow(key)` returns True if fewer than `limit` counted calls of the
        key are live, and counts this call; else it returns False.
    R3  The window is half-open: a call that was counted at time t is live
        while now - t < window. Exactly `window` seconds later it is not live.
    R4  The window slides: every call leaves it on its own, `window` seconds
        after it was counted, not together with others.
    R5  A call that was denied doesn't count, however often it is repeated.
    R6  Keys are any hashable values and don't influence each other.
    R7  `remaining(key)` is the number of calls that would be allowed right
        now, and `retry_after(key)` the seconds until the next call would be
        allowed, 0.0 if that is now. Neither counts as a call, and neither
        makes the limiter hold a key that it didn't hold.
    R8  All methods may be called from many threads at once. However the
        threads interleave, never more than `limit` calls of a key are live,
        and no call is denied while fewer are.
    R9  `clock` is a function without arguments that returns seconds, and the
        only source of time. It may step backwards: the limiter then goes on
        with the latest time that it has seen from it, whichever the key or
        method, until the clock is past that.
    R10 `purge()` drops every key that has no live call and returns how many
        keys it dropped; `len(limiter)` is the number of keys that are held.
        A key is held from its first counted call until purge() drops it; of
        a key that was dropped nothing is kept.
    """

    def __init__(
        self, limit: int, window: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limit = limit
        self.window = window
        self._clock = clock
        # key -> [start of the fixed window, calls in it]
        self._windows: Dict[Hashable, List[float]] = defaultdict(lambda: [clock(), 0])

    def allow(self, key: Hashable) -> bool:
        """Whether a call of the key may pass now; if so, it is counted."""
        now = self._clock()
        current = self._windows[key]
        if now - current[0] > self.window:
            current[0], current[1] = now, 0
        current[1] += 1
        return current[1] <= self.limit

    def remaining(self, key: Hashable) -> int:
        """How many calls of the key would be allowed now."""
        return max(0, self.limit - int(self._windows[key][1]))

    def retry_after(self, key: Hashable) -> float:
        """Seconds until the next call of the key would be allowed."""
        if self.remaining(key) > 0:
            return 0.0
        return max(0.0, self._windows[key][0] + self.window - self._clock())

    def purge(self) -> int:
        """Drop keys without live calls; how many were dropped."""
        now = self._clock()
        old = [key for key, (start, _) in self._windows.items() if now - start > self.window]
        for key in old:
            del self._windows[key]
        return len(old)

    def __len__(self) -> int:
        return len(self._windows)
