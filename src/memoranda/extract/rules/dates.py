"""Find dates in a sentence, absolute or relative to the time of the message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from enum import Enum

import msgspec

from memoranda.model.periods import (
    Period,
    ReferenceTime,
    ago,
    parse_count,
    read_period,
    shift_months,
)

# Only clear dates are read. A month alone needs a preposition such as `in` or `since`. Dates with
# slashes are skipped: their order of day and month is ambiguous.

_BEFORE = r"(?:early |late |mid-?|the end of |the beginning of |around |about )?"
_LEADING = re.compile(
    r"(?<![\w-])(?P<how>since|from|starting|as of|until|till|up to|on|in|back in|during|by|between"
    r")?"
    rf"(?(how)\s+|){_BEFORE}",
    re.IGNORECASE,
)
_JOINT = re.compile(rf"\s*(?:to|until|till|and|-|\u2013|\u2014|through)\s*{_BEFORE}", re.IGNORECASE)
_DURATION = re.compile(
    r"(?<!\w)for (?:the (?:last|past) )?(?P<n>an?|\d{1,3}|a couple of|one|two|three|four|five|six"
    r"|seven|eight|nine|ten|eleven|twelve) (?P<u>days?|weeks?|months?|years?)(?: now)?\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"(?<![\w-])\w")
_SINCE = frozenset({"since", "from", "starting", "as of"})
_UNTIL = frozenset({"until", "till", "up to", "by"})


class DateRelation(Enum):
    """The relation of a fact to a date, by the preposition."""

    ON = "on"
    SINCE = "since"
    UNTIL = "until"
    RANGE = "range"


class DateMention(msgspec.Struct, frozen=True):
    """A date in a sentence: its character range, preposition included, and its meaning."""

    start: int
    end: int
    relation: DateRelation
    valid_from: datetime
    valid_to: datetime | None = None
    """The end of a range; None for the other relations."""
    vague: bool = False
    """Whether it is `today`, which does not make a sentence worth a memory."""


def find_dates(text: str, at: datetime, *, in_future: bool = False) -> list[DateMention]:
    """Return the dates in a sentence of a message with this time, in order."""
    reference, dates, position = ReferenceTime(at, in_future), list[DateMention](), 0
    while (date := _next(text, position, reference)) is not None:
        dates.append(date)
        position = date.end
    return dates


def _next(text: str, position: int, reference: ReferenceTime) -> DateMention | None:
    """Return the first date or duration after a position."""
    duration = _duration(text, position, reference)
    for preposition in _prepositions(text, position):
        if duration is not None and duration.start <= preposition.start():
            return duration
        date = _read_date(text, preposition, reference)
        if date is not None:
            return date
    return duration


def _prepositions(text: str, position: int) -> Iterator[re.Match[str]]:
    """Yield the places where a date may start, which is at each word, with its preposition."""
    for word in _WORD.finditer(text, position):
        leading = _LEADING.match(text, word.start())
        if leading is not None:
            yield leading


def _duration(text: str, position: int, reference: ReferenceTime) -> DateMention | None:
    """Return the next duration, as in `for two years`, which gives a start."""
    match = _DURATION.search(text, position)
    if match is None:
        return None
    first = ago(parse_count(match["n"]), match["u"], reference.at)
    return (
        None
        if first is None
        else DateMention(match.start(), match.end(), DateRelation.SINCE, first)
    )


def _read_date(
    text: str, preposition: re.Match[str], reference: ReferenceTime
) -> DateMention | None:
    """Return the date after a preposition, or the range of two dates; None: it is not clear."""
    word = (preposition["how"] or "").lower()
    date = read_period(text, preposition.end(), reference, has_preposition=bool(word))
    if date is None:
        return None
    period, end = date
    if word in _UNTIL:
        future = ReferenceTime(reference.at, in_future=True)
        if date != read_period(text, preposition.end(), future, has_preposition=True):
            return None  # `until June`, past or next: only the tense of the verb could tell
    if word in ("from", "between"):
        joint = _JOINT.match(text, end)
        last = None
        if joint is not None:
            last = read_period(text, joint.end(), reference, has_preposition=True)
        if last is not None:
            return _range(preposition.start(), last[1], period, last[0])
    if word == "between":
        return None
    relation = DateRelation.SINCE if word in _SINCE else DateRelation.ON
    relation = DateRelation.UNTIL if word in _UNTIL else relation
    vague = text[preposition.end() : end].lower() == "today"
    return DateMention(preposition.start(), end, relation, period.start, vague=vague)


def _range(start: int, end: int, first: Period, last: Period) -> DateMention | None:
    """Join two dates; the first may leave its year to the second, as in `March to May 2023`."""
    valid_from = first.start
    if valid_from > last.start and valid_from.year - last.start.year <= 1:
        valid_from = shift_months(valid_from, months=-12)
    valid_to = last.start if last.start > valid_from else last.end
    if valid_to <= valid_from:
        return None
    return DateMention(start, end, DateRelation.RANGE, valid_from, valid_to)
