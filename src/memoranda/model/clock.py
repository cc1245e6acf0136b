"""Clocks and instants. Nothing outside this file reads a clock or sleeps."""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta
from typing import Protocol, runtime_checkable

from memoranda.errors import InvalidInput
from memoranda.model.limits import short_repr

# Instants: UTC microseconds inside, aware datetimes and RFC 3339 text outside.

Instant = datetime | date | str
"""A time from a caller: an aware datetime, RFC 3339 text with an offset, or a calendar date.

A day (a `date`, or "2020-03-14"), a month ("2020-03") or a year ("2020") is its first instant in
UTC, also where it ends an interval: intervals are half-open, so the end is not in it.
"""
Duration = timedelta | float | str
"""A length of time from a caller: a timedelta, seconds, or text such as "30s", "6h" or "1w2d"."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST_MICROS = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
LAST_MICROS = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
MAX_LIFETIME_SECONDS = 10_000_000_000
"""The longest lifetime of anything, counted from its commit: about 317 years."""
_LAST_COMMIT = LAST_MICROS - MAX_LIFETIME_SECONDS * 1_000_000 - 1
"""The latest time of a commit: adding the longest lifetime to it stays within the year 9999."""
_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE
)
_DATE = re.compile(r"\d{4}(-\d\d){0,2}", re.ASCII)
_DURATION = re.compile(
    r"(?=\d)(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?", re.ASCII
)
_UNIT_SECONDS = (604_800, 86_400, 3_600, 60)
"""The units of `_DURATION` before its seconds: week, day, hour, minute."""
_MAX_DURATION_TEXT = 64
"""Characters; a longer text is no length of time that `datetime` could hold."""


def to_micros(field: str, value: Instant) -> int:
    """Return a time as microseconds since 1970 UTC, or raise `InvalidInput`.

    An offset can move a time outside the years 1 to 9999 UTC, which `datetime` cannot represent.
    """
    if isinstance(value, str):
        value = _parse(field, value)
    elif not isinstance(value, datetime):
        if not isinstance(value, date):
            raise InvalidInput(
                field, f"{short_repr(value)} is neither a datetime, a date nor RFC 3339 text"
            )
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if value.utcoffset() is None:
        raise InvalidInput(field, f"{value} has no offset: give an aware time, such as …+00:00")
    micros = (value - _EPOCH) // _MICROSECOND
    if not _FIRST_MICROS <= micros <= LAST_MICROS:
        raise InvalidInput(
            field, f"{value} is outside the years 1 to 9999 in UTC: give a time within them"
        )
    return micros


def check_commit_time(micros: int) -> int:
    """Return the time of a commit; raise if an expiry after it could not be represented."""
    if micros <= _LAST_COMMIT:
        return micros
    time = to_rfc3339(micros) if micros <= LAST_MICROS else f"{micros} microseconds since 1970"
    raise InvalidInput(
        "clock",
        f"says {time}, and the latest time of a commit is {to_rfc3339(_LAST_COMMIT)}: set the "
        "clock right",
    )


def _parse(field: str, text: str) -> datetime:
    if _DATE.fullmatch(text):
        text = f"{text}{'-01-01'[len(text) - 4 :]}T00:00:00Z"
    if not _RFC3339.fullmatch(text):
        raise InvalidInput(
            field,
            f"{short_repr(text)} is not RFC 3339 with an offset, such as 2026-02-07T10:00:00Z, nor "
            "a date, such as 2026-02-07",
        )
    try:
        return datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise InvalidInput(field, f"{short_repr(text)} is not a time: {error!s:.80}") from error


def plain_instant(field: str, value: Instant | None) -> Instant | None:
    """Return a time as it is, if it is text or can be told as text; its handler checks it anew."""
    if isinstance(value, date):
        to_micros(field, value)
    return value


def check_time(field: str, value: Instant | None) -> int | None:
    """Return a time in microseconds; None stays None."""
    return None if value is None else to_micros(field, value)


def plain_duration(field: str, value: Duration | None) -> Duration | None:
    """Return a length of time as plain data: a timedelta as its seconds."""
    check_duration(field, value)
    return value.total_seconds() if isinstance(value, timedelta) else value


def check_duration(field: str, value: Duration | None) -> int | None:
    """Return a length of time in microseconds, or raise `InvalidInput`; None stays None.

    Text counts weeks, days, hours, minutes and seconds, in this order: "1w2d", "90m", "1.5s". A
    number without a unit counts seconds.
    """
    if value is None:
        return None
    seconds = _seconds(value)
    if seconds is None:
        raise InvalidInput(
            field,
            f"{short_repr(value)} is not a length of time: give seconds, a timedelta, or text such "
            "as 30s, 15m, 6h, 1d or 2w",
        )
    if not seconds > 0:  # also refuses NaN
        raise InvalidInput(field, f"{short_repr(value)} is not a positive length of time")
    if seconds > MAX_LIFETIME_SECONDS:
        raise InvalidInput(
            field,
            f"{short_repr(value)} is over {MAX_LIFETIME_SECONDS} seconds: give less, or None for "
            "no end",
        )
    return max(round(seconds * 1_000_000), 1)


def _seconds(value: object) -> float | None:
    """Return a length of time in seconds; None if the value is not one."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str):
        match = _DURATION.fullmatch(value) if len(value) <= _MAX_DURATION_TEXT else None
        if match is None:
            return None
        *units, seconds = match.groups(default="0")
        whole = sum(int(count) * size for count, size in zip(units, _UNIT_SECONDS, strict=True))
        return whole + (float(seconds) if "." in seconds else int(seconds))
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def to_datetime(micros: int) -> datetime:
    """Return a time as an aware UTC datetime."""
    return _EPOCH + micros * _MICROSECOND


def to_rfc3339(micros: int) -> str:
    """Return a time as RFC 3339 text in UTC, always with microseconds, so that the text sorts."""
    text = to_datetime(micros).isoformat(timespec="microseconds")
    return text.removesuffix("+00:00") + "Z"


# Clocks.


@runtime_checkable
class Clock(Protocol):
    """A source of wall time and monotonic time, and a way to wait."""

    def now(self) -> int:
        """Return the wall time in microseconds since 1970 UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds on a scale that never goes back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """Return the wall time in microseconds since 1970 UTC."""
        return time.time_ns() // 1000

    monotonic = staticmethod(time.monotonic)  # no wrapper: it is called at every operation

    def sleep(self, seconds: float) -> None:
        """Block this thread."""
        time.sleep(seconds)


def _micros(now: object) -> int:
    if isinstance(now, datetime | str):
        return to_micros("now", now)
    raise InvalidInput(
        "now",
        f"{short_repr(now)} is not a time: give microseconds since 1970 UTC as an int, an aware "
        "datetime, "
        "or RFC 3339 text",
    )


class FixedClock:
    """A clock for tests, which stands still until it is moved."""

    def __init__(self, now: int | Instant = 1_767_225_600_000_000) -> None:  # 2026-01-01T00:00:00Z
        """Set it to microseconds since 1970 UTC, an aware datetime or RFC 3339 text."""
        self._now = now if type(now) is int else _micros(now)
        self._elapsed = 0.0

    def now(self) -> int:
        """Return the time it was set to."""
        return self._now

    def monotonic(self) -> float:
        """Return the total of seconds it was moved forward."""
        return self._elapsed

    def sleep(self, seconds: float) -> None:
        """Move forward instead of waiting."""
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Move the wall clock and the monotonic clock forward."""
        self._now += round(seconds * 1_000_000)
        self._elapsed += seconds

    def step(self, seconds: float) -> None:
        """Step the wall clock forward or back; the monotonic clock stays."""
        self._now += round(seconds * 1_000_000)
