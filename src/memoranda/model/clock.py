"""Where time comes from. Nothing outside this file reads a clock or sleeps."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Protocol, runtime_checkable

from memoranda.errors import InvalidInput
from memoranda.model.instant import Instant, to_micros
from memoranda.model.limits import shown


@runtime_checkable
class Clock(Protocol):
    """A source of wall time, of time that never steps back, and of waiting."""

    def now(self) -> int:
        """Return the wall time in microseconds since 1970 UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds on a scale that never steps back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let some time pass."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """Return the wall time in microseconds since 1970 UTC."""
        return time.time_ns() // 1000

    monotonic = staticmethod(time.monotonic)  # asked at each call, so with nothing around it

    def sleep(self, seconds: float) -> None:
        """Block this thread."""
        time.sleep(seconds)


def _micros(now: object) -> int:
    if isinstance(now, datetime | str):
        return to_micros("now", now)
    raise InvalidInput(
        "now",
        f"{shown(now)} is no time: give microseconds since 1970 UTC as an int, an aware datetime, "
        "or RFC 3339 text",
    )


class FixedClock:
    """A clock that stands still until it is moved: what tests inject."""

    def __init__(self, now: int | Instant = 1_767_225_600_000_000) -> None:  # 2026-01-01T00:00:00Z
        """Set it to microseconds since 1970 UTC, an aware datetime or RFC 3339 text."""
        self._now = now if type(now) is int else _micros(now)
        self._elapsed = 0.0

    def now(self) -> int:
        """Return the time it was set to."""
        return self._now

    def monotonic(self) -> float:
        """Return the seconds it was moved forward in all."""
        return self._elapsed

    def sleep(self, seconds: float) -> None:
        """Move forward instead of waiting."""
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Move forward, as time does."""
        self._now += round(seconds * 1_000_000)
        self._elapsed += seconds

    def step(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an operator does; monotonic time stays."""
        self._now += round(seconds * 1_000_000)
