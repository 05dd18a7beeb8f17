"""Rate limiting of calls, by key."""

import threading
import time
from collections import deque
from typing import Callable, Deque, Dict, Hashable, Optional


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
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise ValueError(f"limit must be an int of at least 1, not {limit!r}")
        if isinstance(window, bool) or not isinstance(window, (int, float)) or not window > 0:
            raise ValueError(f"window must be a number above 0, not {window!r}")
        self.limit = limit
        self.window = window
        self._clock = clock
        self._lock = threading.Lock()
        self._latest: Optional[float] = None
        self._calls: Dict[Hashable, Deque[float]] = {}

    def _now(self) -> float:
        """The latest time seen; the caller holds the lock."""
        read = self._clock()
        if self._latest is None or read > self._latest:
            self._latest = read
        return self._latest

    def _live(self, calls: Deque[float], now: float) -> int:
        """How many calls are live; the others are taken out."""
        while calls and now - calls[0] >= self.window:
            calls.popleft()
        return len(calls)

    def allow(self, key: Hashable) -> bool:
        """Whether a call of the key may pass now; if so, it is counted."""
        if self.remaining(key) < 1:
            return False
        with self._lock:
            self._calls.setdefault(key, deque()).append(self._now())
            return True

    def remaining(self, key: Hashable) -> int:
        """How many calls of the key would be allowed now."""
        with self._lock:
            now = self._now()
            return self.limit - self._live(self._calls.get(key, deque()), now)

    def retry_after(self, key: Hashable) -> float:
        """Seconds until the next call of the key would be allowed."""
        with self._lock:
            now = self._now()
            calls = self._calls.get(key, deque())
            if self._live(calls, now) < self.limit:
                return 0.0
            return float(self.window - (now - calls[0]))

    def purge(self) -> int:
        """Drop keys without live calls; how many were dropped."""
        with self._lock:
            now = self._now()
            idle = [key for key, calls in self._calls.items() if not self._live(calls, now)]
            for key in idle:
                del self._calls[key]
            return len(idle)

    def __len__(self) -> int:
        with self._lock:
            return len(self._calls)
