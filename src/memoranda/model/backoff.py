"""Exponential back-off: how long to wait before an operation is tried again."""

from __future__ import annotations

import msgspec

_MAX_DOUBLINGS = 30
"""Keeps the power small, whatever the attempt: 2**30 milliseconds are 12 days."""


class Backoff(msgspec.Struct, frozen=True):
    """Waits that double with each attempt, from `first` up to `longest`, in seconds."""

    first: float
    longest: float

    def seconds(self, attempt: int) -> float:
        """Return the wait after an attempt; the first attempt has number 0."""
        return float(min(self.first * 2 ** min(attempt, _MAX_DOUBLINGS), self.longest))
