"""Breathing: long work in one thread that lets the others of its process go on.

The interpreter runs one thread at a time. A thread that computes gives way only when another has
waited for some milliseconds, and who commits waits anew at each statement; so work behind the
commits stops after each fraction of a millisecond for at least as long as waking somebody takes.
"""

from __future__ import annotations

from collections.abc import Callable

from memoranda.model.clock import Clock, SystemClock

STRETCH = 0.0005
"""How many seconds are worked without a stop."""
_MOMENT = 0.00005
"""How many seconds a stop has if nobody else seems to be busy."""
_BUSY = 0.5
"""For how many seconds somebody who was seen is taken to be busy."""


class Breather:
    """Stops now and then: briefly, or half of the time while others are busy."""

    def __init__(self, seen: Callable[[], int], clock: Clock | None = None) -> None:
        self._seen = seen
        """How often somebody was seen: as long as that grows, they are busy."""
        self._clock = clock or SystemClock()
        self._since = self._clock.monotonic()
        self._last_seen = seen()
        self._busy_until = float("-inf")

    def __call__(self) -> None:
        """Stop, if it was worked for long enough."""
        now = self._clock.monotonic()
        worked = now - self._since
        if worked < STRETCH:
            return
        seen = self._seen()
        if seen != self._last_seen:
            self._last_seen, self._busy_until = seen, now + _BUSY
        self._clock.sleep(min(worked, STRETCH) if now < self._busy_until else _MOMENT)
        self._since = self._clock.monotonic()
