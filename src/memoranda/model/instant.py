"""Instants: UTC microseconds inside, aware datetimes and RFC 3339 text outside."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from memoranda.errors import InvalidInput
from memoranda.model.limits import shown

Instant = datetime | str
"""What a caller may give for a time: an aware datetime, or RFC 3339 text with an offset."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
LAST_MICROS = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
MOST_LIFETIME = 10_000_000_000
"""How many seconds anything may be said to last from its commit on."""
_LAST_COMMIT = LAST_MICROS - MOST_LIFETIME * 1_000_000 - 1
"""So late that whatever is said to last from then on ends at a time that can be shown."""
_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE
)


def to_micros(field: str, value: Instant) -> int:
    """Return microseconds since 1970 UTC, or say what is wrong with `value`.

    An offset can put a time outside the years 1 to 9999 of UTC, where it could not be shown again.
    """
    if isinstance(value, str):
        value = _parse(field, value)
    elif not isinstance(value, datetime):
        raise InvalidInput(field, f"{shown(value)} is neither a datetime nor RFC 3339 text")
    if value.utcoffset() is None:
        raise InvalidInput(field, f"{value} has no offset: give an aware time, such as …+00:00")
    micros = (value - _EPOCH) // _MICROSECOND
    if not _FIRST <= micros <= LAST_MICROS:
        raise InvalidInput(
            field, f"{value} is outside the years 1 to 9999 in UTC: give a time within them"
        )
    return micros


def check_commit_time(micros: int) -> int:
    """Return the time of a commit, unless what follows from it could not be shown."""
    if micros <= _LAST_COMMIT:
        return micros
    said = to_rfc3339(micros) if micros <= LAST_MICROS else f"{micros} microseconds since 1970"
    raise InvalidInput(
        "clock",
        f"says {said}, and the last time that a commit can have is {to_rfc3339(_LAST_COMMIT)}: set "
        "the clock right",
    )


def _parse(field: str, text: str) -> datetime:
    if not _RFC3339.fullmatch(text):
        raise InvalidInput(
            field, f"{shown(text)} is not RFC 3339 with an offset, such as 2026-02-07T10:00:00Z"
        )
    try:
        return datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise InvalidInput(field, f"{shown(text)} is not a time: {error!s:.80}") from error


def to_datetime(micros: int) -> datetime:
    """Return the instant as an aware UTC datetime."""
    return _EPOCH + micros * _MICROSECOND


def to_rfc3339(micros: int) -> str:
    """Return the instant as RFC 3339 text in UTC, always with microseconds, so that text sorts."""
    text = to_datetime(micros).isoformat(timespec="microseconds")
    return text.removesuffix("+00:00") + "Z"
