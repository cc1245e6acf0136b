"""Dates in a sentence: where they stand, and what they say of when something was.

Only what is clear is read: a month alone needs a word such as `in` or `since` before it, and days
that are written with slashes, which mean different days to different people, are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from enum import Enum

import msgspec

from memoranda.extract.days import READINGS, Seen, Stretch, ago, counted, shifted

_BEFORE = r"(?:early |late |mid-?|the end of |the beginning of |around |about )?"
_READINGS = tuple((re.compile(text, re.I), read, alone) for text, read, alone in READINGS)
_LEADING = re.compile(
    r"(?<![\w-])(?P<how>since|from|starting|as of|until|till|up to|on|in|back in|during|by|between"
    r")?"
    rf"(?(how)\s+|){_BEFORE}",
    re.IGNORECASE,
)
_JOINT = re.compile(rf"\s*(?:to|until|till|and|-|\u2013|\u2014|through)\s*{_BEFORE}", re.IGNORECASE)
_LENGTH = re.compile(
    r"(?<!\w)for (?:the (?:last|past) )?(?P<n>an?|\d{1,3}|a couple of|one|two|three|four|five|six"
    r"|seven|eight|nine|ten|eleven|twelve) (?P<u>days?|weeks?|months?|years?)(?: now)?\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"(?<![\w-])\w")
_SINCE = frozenset({"since", "from", "starting", "as of"})
_UNTIL = frozenset({"until", "till", "up to", "by"})


class Relation(Enum):
    """What a date says of when something was."""

    ON = "on"
    SINCE = "since"
    UNTIL = "until"
    RANGE = "range"


class Dated(msgspec.Struct, frozen=True):
    """A date in a sentence."""

    start: int
    end: int
    relation: Relation
    first: datetime
    beyond: datetime | None = None
    """Where a range ends."""
    vague: bool = False
    """Whether it is only `today`, which says little."""


def dates(text: str, at: datetime, *, to_come: bool = False) -> list[Dated]:
    """Return the dates in a sentence that was said at a time, in order."""
    seen, found, place = Seen(at, to_come), list[Dated](), 0
    while (dated := _next(text, place, seen)) is not None:
        found.append(dated)
        place = dated.end
    return found


def _next(text: str, place: int, seen: Seen) -> Dated | None:
    length = _length(text, place, seen)
    for leading in _beginnings(text, place):
        if length is not None and length.start <= leading.start():
            return length
        read = _read(text, leading, seen)
        if read is not None:
            return read
    return length


def _beginnings(text: str, place: int) -> Iterator[re.Match[str]]:
    """Yield where a date may begin, which is where a word does."""
    for word in _WORD.finditer(text, place):
        leading = _LEADING.match(text, word.start())
        if leading is not None:
            yield leading


def _length(text: str, place: int, seen: Seen) -> Dated | None:
    found = _LENGTH.search(text, place)
    if found is None:
        return None
    first = ago(counted(found["n"]), found["u"], seen.at)
    return None if first is None else Dated(found.start(), found.end(), Relation.SINCE, first)


def _read(text: str, leading: re.Match[str], seen: Seen) -> Dated | None:
    how = (leading["how"] or "").lower()
    one = _point(text, leading.end(), seen, led=bool(how))
    if one is None:
        return None
    stretch, end = one
    if how in _UNTIL and one != _point(text, leading.end(), Seen(seen.at, to_come=True), led=True):
        return None  # `until June`: last year's or the next, only the verb could tell
    if how in ("from", "between"):
        joint = _JOINT.match(text, end)
        other = None if joint is None else _point(text, joint.end(), seen, led=True)
        if other is not None:
            return _range(leading.start(), other[1], stretch, other[0])
    if how == "between":
        return None
    relation = Relation.SINCE if how in _SINCE else Relation.ON
    relation = Relation.UNTIL if how in _UNTIL else relation
    vague = text[leading.end() : end].lower() == "today"
    return Dated(leading.start(), end, relation, stretch.first, vague=vague)


def _range(start: int, end: int, first: Stretch, last: Stretch) -> Dated | None:
    """Join two dates; the first may leave its year to the other, as in `March to May 2023`."""
    begin = first.first
    if begin > last.first and begin.year - last.first.year <= 1:
        begin = shifted(begin, months=-12)
    beyond = last.first if last.first > begin else last.beyond
    return None if beyond <= begin else Dated(start, end, Relation.RANGE, begin, beyond)


def _point(text: str, place: int, seen: Seen, *, led: bool) -> tuple[Stretch, int] | None:
    for pattern, read, alone in _READINGS:
        found = pattern.match(text, place)
        if found is None:
            continue
        stretch = read(found, seen) if alone or led else None
        return None if stretch is None else (stretch, found.end())
    return None
