"""Read the dates that words stand for, absolute or relative to a time."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec

MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_NUMBERS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
_MONTH = "|".join([*MONTHS, "sept", *(f"{name[:3]}\\.?" for name in MONTHS if name != "may")])
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_COUNT = rf"(?:an?|\d{{1,3}}|{'|'.join(_NUMBERS[1:])}|a couple of)"
_MAX_COUNTS = {"day": 36_500, "week": 5_200, "month": 1_200, "year": 100}
"""The most units that `ago` goes back: about a hundred years."""


class Period(msgspec.Struct, frozen=True):
    """A day, a week, a month or a year: its first instant, and the first one after it."""

    start: datetime
    end: datetime


class ReferenceTime(msgspec.Struct, frozen=True):
    """The time that words refer to, and whether their sentence is about the future."""

    at: datetime
    in_future: bool = False


DateReader = Callable[[re.Match[str], ReferenceTime], Period | None]
"""Returns the period that matched words stand for; None: there is no such date."""


def day_period(year: int, month_number: int, number: int) -> Period | None:
    """Return a day; None: there is no such day."""
    if not (
        1 <= year <= 9998
        and 1 <= month_number <= 12
        and 1 <= number <= monthrange(year, month_number)[1]
    ):
        return None
    first = datetime(year, month_number, number, tzinfo=UTC)
    return Period(first, first + timedelta(days=1))


def month_period(year: int, number: int) -> Period:
    """Return a month."""
    first = datetime(year, number, 1, tzinfo=UTC)
    return Period(first, shift_months(first, months=1))


def shift_months(at: datetime, *, months: int) -> datetime:
    """Return the same day a number of months later, or the last day of a shorter month."""
    years, number = divmod(at.year * 12 + at.month - 1 + months, 12)
    last = monthrange(years, number + 1)[1]
    return at.replace(year=years, month=number + 1, day=min(at.day, last))


def parse_count(words: str) -> int:
    """Return the number that words spell: `a`, `two`, `12`."""
    words = words.lower()
    if words in ("a", "an"):
        return 1
    if words == "a couple of":
        return 2
    return int(words) if words.isdigit() else _NUMBERS.index(words)


def ago(count: int, unit: str, at: datetime) -> datetime | None:
    """Return the day a number of days, weeks, months or years before a time."""
    unit = unit.lower().removesuffix("s")
    if count > _MAX_COUNTS[unit]:
        return None
    today = _today(at).start
    if unit in ("day", "week"):
        return today - timedelta(days=count * (7 if unit == "week" else 1))
    return shift_months(today, months=-count * (12 if unit == "year" else 1))


def _today(at: datetime) -> Period:
    at = at.astimezone(UTC)
    period = day_period(at.year, at.month, at.day)
    assert period is not None, "today is in the calendar"
    return period


def _month_number(name: str) -> int:
    begin = name.lower()[:3]
    return next(number for number, month in enumerate(MONTHS, 1) if month.startswith(begin))


def _iso(match: re.Match[str], _: ReferenceTime) -> Period | None:
    year, number, date = match.group("y", "m", "d")
    if not 1 <= int(number) <= 12:
        return None
    return (
        day_period(int(year), int(number), int(date))
        if date
        else month_period(int(year), int(number))
    )


def _full(match: re.Match[str], reference: ReferenceTime) -> Period | None:
    """Read a day of a month; without a year, the nearest one in the right direction."""
    number, date = _month_number(match["m"]), int(re.sub(r"\D", "", match["d"]))
    if match["y"]:
        return day_period(int(match["y"]), number, date)
    return _nearest(
        [day_period(reference.at.year + years, number, date) for years in (-1, 0, 1)], reference
    )


def _month(match: re.Match[str], reference: ReferenceTime) -> Period | None:
    number = _month_number(match["m"])
    if match["y"]:
        return month_period(int(match["y"]), number)
    return _nearest(
        [month_period(reference.at.year + years, number) for years in (-1, 0, 1)], reference
    )


def _year(match: re.Match[str], _: ReferenceTime) -> Period:
    number = int(match["y"])
    return Period(datetime(number, 1, 1, tzinfo=UTC), datetime(number + 1, 1, 1, tzinfo=UTC))


def _near_day(match: re.Match[str], reference: ReferenceTime) -> Period:
    words = match["w"].lower()
    days = {"yesterday": -1, "last night": -1, "tomorrow": 1}.get(words, 0)
    days = -2 if words.startswith("the day before") else days
    first = _today(reference.at).start + timedelta(days=days)
    if not days:  # `today` starts at the time of the message, so it is later than earlier messages
        return Period(reference.at, first + timedelta(days=1))
    return Period(first, first + timedelta(days=1))


def _near_unit(match: re.Match[str], reference: ReferenceTime) -> Period:
    step = {"last": -1, "this": 0, "next": 1}[match["w"].lower()]
    today, unit = _today(reference.at).start, match["u"].lower()
    if unit == "week":
        first = today + timedelta(days=7 * step - today.weekday())
        return Period(first, first + timedelta(days=7))
    length = 12 if unit == "year" else 1
    begin = today.replace(day=1) if unit == "month" else today.replace(month=1, day=1)
    first = shift_months(begin, months=step * length)
    return Period(first, shift_months(first, months=length))


def _weekday(match: re.Match[str], reference: ReferenceTime) -> Period:
    today = _today(reference.at).start
    back = (today.weekday() - _WEEKDAYS.index(match["w"].lower())) % 7
    later = reference.in_future or match["n"].lower() == "next "
    first = today + timedelta(days=(-back) % 7 or 7) if later else today - timedelta(days=back or 7)
    return Period(first, first + timedelta(days=1))


def _ago(match: re.Match[str], reference: ReferenceTime) -> Period | None:
    first = ago(parse_count(match["n"]), match["u"], reference.at)
    return None if first is None else Period(first, first + timedelta(days=1))


def _nearest(candidates: list[Period | None], reference: ReferenceTime) -> Period | None:
    """Return the next period for the future, else the last one that has started."""
    periods = [period for period in candidates if period is not None]
    if reference.in_future:
        return next((period for period in periods if period.end > reference.at), None)
    return next((period for period in reversed(periods) if period.start <= reference.at), None)


_DATE_FORMS: tuple[tuple[str, DateReader, bool], ...] = (
    (rf"(?P<y>{_YEAR})-(?P<m>\d\d)(?:-(?P<d>\d\d))?(?![-\d])", _iso, True),
    (rf"(?:the )?(?P<d>{_DAY})(?: of)? (?P<m>{_MONTH})\b(?:,? (?P<y>{_YEAR})\b)?", _full, True),
    (rf"(?P<m>{_MONTH}) (?P<d>{_DAY})\b(?:,? (?P<y>{_YEAR})\b)?", _full, True),
    (rf"(?<!\d )(?P<m>{_MONTH})(?:,? (?P<y>{_YEAR}))\b", _month, True),
    (rf"last (?P<m>{_MONTH})(?P<y>)(?!\w)", _month, True),
    (rf"(?<!\d )(?P<m>{_MONTH})(?P<y>)(?!\w)", _month, False),
    (rf"(?P<y>{_YEAR})\b", _year, False),
    (r"(?P<w>the day before yesterday|yesterday|last night|today|tomorrow)\b", _near_day, True),
    (r"(?P<w>last|this|next) (?P<u>week|month|year)\b", _near_unit, True),
    (rf"(?P<n>last |next )(?P<w>{'|'.join(_WEEKDAYS)})\b", _weekday, True),
    (rf"(?P<n>)(?P<w>{'|'.join(_WEEKDAYS)})\b", _weekday, False),
    (rf"(?P<n>{_COUNT}) (?P<u>days?|weeks?|months?|years?) ago\b", _ago, True),
)
"""The forms of dates, longer ones first: a pattern, its reader, and whether it stands alone.

`March`, `2019` and `Monday` alone may be something else: they need a word such as `in` before them.
"""
_COMPILED_FORMS = tuple(
    (re.compile(text, re.I), read, stands_alone) for text, read, stands_alone in _DATE_FORMS
)


def read_period(
    text: str, position: int, reference: ReferenceTime, *, has_preposition: bool
) -> tuple[Period, int] | None:
    """Return the period at a position, and the end of its words. The first match counts."""
    for pattern, read, stands_alone in _COMPILED_FORMS:
        match = pattern.match(text, position)
        if match is None:
            continue
        period = read(match, reference) if stands_alone or has_preposition else None
        return None if period is None else (period, match.end())
    return None
