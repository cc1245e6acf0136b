"""Exponential back-off: how long to wait before an operation is tried again."""

from __future__ import annotations

import msgspec

from memoranda.model.ids import IdSource

_MAX_DOUBLINGS = 30
"""Keeps the power small, whatever the attempt: 2**30 milliseconds are 12 days."""


class Backoff(msgspec.Struct, frozen=True):
    """Waits that double with each attempt, from `first` up to `longest`, in seconds."""

    first: float
    longest: float

    def seconds(self, attempt: int) -> float:
        """Return the wait after an attempt; the first attempt has number 0."""
        return float(min(self.first * 2 ** min(attempt, _MAX_DOUBLINGS), self.longest))


def jitter(ids: IdSource) -> float:
    """Return a factor from 0.5 to 1.5, by chance, so that retries are not in step."""
    return 0.5 + int.from_bytes(ids.entropy(2), "big") / 0xFFFF
