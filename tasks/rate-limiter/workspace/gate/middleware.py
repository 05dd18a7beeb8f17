"""Puts a limiter in front of a handler."""

from typing import Callable, Dict, Tuple

from gate.limiter import RateLimiter

Response = Tuple[int, Dict[str, str], str]


def limited(limiter: RateLimiter, handler: Callable[[str], str]) -> Callable[[str, str], Response]:
    """A handler of (client, path) that answers 429 to too many calls."""

    def handle(client: str, path: str) -> Response:
        if limiter.allow(client):
            return 200, {"X-Remaining": str(limiter.remaining(client))}, handler(path)
        return 429, {"Retry-After": f"{limiter.retry_after(client):.3f}"}, "slow down"

    return handle
