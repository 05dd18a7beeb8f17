"""The gate in front of the public API."""

from gate.limiter import RateLimiter

__all__ = ["RateLimiter"]
