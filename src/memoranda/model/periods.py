"""Days: what a date or a word such as `yesterday` stands for, seen from a day."""

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
_LONGEST = {"day": 36_500, "week": 5_200, "month": 1_200, "year": 100}


class Stretch(msgspec.Struct, frozen=True):
    """A day, a month or a year: its first moment, and the first one behind it."""

    first: datetime
    beyond: datetime


class Seen(msgspec.Struct, frozen=True):
    """From where a date is seen: when it was said, and whether of what is to come."""

    at: datetime
    to_come: bool = False


Reading = Callable[[re.Match[str], Seen], Stretch | None]
"""What words stand for."""


def day(year: int, month: int, number: int) -> Stretch | None:
    """Return a day, if there is one."""
    if not (1 <= year <= 9998 and 1 <= month <= 12 and 1 <= number <= monthrange(year, month)[1]):
        return None
    first = datetime(year, month, number, tzinfo=UTC)
    return Stretch(first, first + timedelta(days=1))


def month(year: int, number: int) -> Stretch:
    """Return a month."""
    first = datetime(year, number, 1, tzinfo=UTC)
    return Stretch(first, shifted(first, months=1))


def shifted(at: datetime, *, months: int) -> datetime:
    """Return the same day so many months later; of a shorter month, its last."""
    years, number = divmod(at.year * 12 + at.month - 1 + months, 12)
    last = monthrange(years, number + 1)[1]
    return at.replace(year=years, month=number + 1, day=min(at.day, last))


def counted(words: str) -> int:
    """Return the number that is spelled."""
    words = words.lower()
    if words in ("a", "an"):
        return 1
    if words == "a couple of":
        return 2
    return int(words) if words.isdigit() else _NUMBERS.index(words)


def ago(count: int, unit: str, at: datetime) -> datetime | None:
    """Return the day so many days, weeks, months or years before."""
    unit = unit.lower().removesuffix("s")
    if count > _LONGEST[unit]:
        return None
    today = _today(at).first
    if unit in ("day", "week"):
        return today - timedelta(days=count * (7 if unit == "week" else 1))
    return shifted(today, months=-count * (12 if unit == "year" else 1))


def _today(at: datetime) -> Stretch:
    at = at.astimezone(UTC)
    found = day(at.year, at.month, at.day)
    assert found is not None, "a day that is has a place in the calendar"
    return found


def _month_number(name: str) -> int:
    begin = name.lower()[:3]
    return next(number for number, each in enumerate(MONTHS, 1) if each.startswith(begin))


def _iso(found: re.Match[str], _: Seen) -> Stretch | None:
    year, number, date = found.group("y", "m", "d")
    if not 1 <= int(number) <= 12:
        return None
    return day(int(year), int(number), int(date)) if date else month(int(year), int(number))


def _full(found: re.Match[str], seen: Seen) -> Stretch | None:
    """Read a day of a month; without a year, the nearest one that fits."""
    number, date = _month_number(found["m"]), int(re.sub(r"\D", "", found["d"]))
    if found["y"]:
        return day(int(found["y"]), number, date)
    return _nearest([day(seen.at.year + years, number, date) for years in (-1, 0, 1)], seen)


def _month(found: re.Match[str], seen: Seen) -> Stretch | None:
    number = _month_number(found["m"])
    if found["y"]:
        return month(int(found["y"]), number)
    return _nearest([month(seen.at.year + years, number) for years in (-1, 0, 1)], seen)


def _year(found: re.Match[str], _: Seen) -> Stretch:
    number = int(found["y"])
    return Stretch(datetime(number, 1, 1, tzinfo=UTC), datetime(number + 1, 1, 1, tzinfo=UTC))


def _near_day(found: re.Match[str], seen: Seen) -> Stretch:
    words = found["w"].lower()
    days = {"yesterday": -1, "last night": -1, "tomorrow": 1}.get(words, 0)
    days = -2 if words.startswith("the day before") else days
    first = _today(seen.at).first + timedelta(days=days)
    if not days:  # what is said of today is so when it is said, and later than what was said before
        return Stretch(seen.at, first + timedelta(days=1))
    return Stretch(first, first + timedelta(days=1))


def _near_unit(found: re.Match[str], seen: Seen) -> Stretch:
    step = {"last": -1, "this": 0, "next": 1}[found["w"].lower()]
    today, unit = _today(seen.at).first, found["u"].lower()
    if unit == "week":
        first = today + timedelta(days=7 * step - today.weekday())
        return Stretch(first, first + timedelta(days=7))
    length = 12 if unit == "year" else 1
    begin = today.replace(day=1) if unit == "month" else today.replace(month=1, day=1)
    first = shifted(begin, months=step * length)
    return Stretch(first, shifted(first, months=length))


def _weekday(found: re.Match[str], seen: Seen) -> Stretch:
    today = _today(seen.at).first
    back = (today.weekday() - _WEEKDAYS.index(found["w"].lower())) % 7
    later = seen.to_come or found["n"].lower() == "next "
    first = today + timedelta(days=(-back) % 7 or 7) if later else today - timedelta(days=back or 7)
    return Stretch(first, first + timedelta(days=1))


def _ago(found: re.Match[str], seen: Seen) -> Stretch | None:
    first = ago(counted(found["n"]), found["u"], seen.at)
    return None if first is None else Stretch(first, first + timedelta(days=1))


def _nearest(found: list[Stretch | None], seen: Seen) -> Stretch | None:
    known = [each for each in found if each is not None]
    if seen.to_come:
        return next((each for each in known if each.beyond > seen.at), None)
    return next((each for each in reversed(known) if each.first <= seen.at), None)


READINGS: tuple[tuple[str, Reading, bool], ...] = (
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
"""How dates are spelled, the longer ones first, how each is read, and whether it stands alone.

What does not needs a word before it: `March`, `2019` and `Monday` may be something else.
"""
