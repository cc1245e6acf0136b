"""How a message begins in a plain transcript: who says it, and perhaps when.

`Name: text` at the beginning of a line, with or without a time before it. What begins with a day
and a time but names nobody is what a chat program itself says: `Bob created group "Trip"`.

A day with slashes is the third of May to some and the fifth of March to others: which, only the
other days of the same transcript can tell, or when it is known to have begun. As long as nothing
does, it is not known when the message was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?"
    r"(?:\s?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_ZONE = r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
_DAY = (
    r"(?:(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"|(?P<one>\d{1,2})(?P<mark>[/.])(?P<two>\d{1,2})[/.](?P<years>\d{4}|\d\d))"
)
_STAMP = rf"[\[(]?(?:{_DAY}(?:,?\s|T))?{_CLOCK}\s?{_ZONE}[\])]?(?:\s[-\u2013])?\s"
_NAME = r"[^\W\d_][^:\n\[\]{{}}<>\"=|]{{0,{most}}}"
_STAMPED_NAME = r"[^\s:\[\]][^:\n\[\]]{0,80}"
_HEAD = re.compile(
    rf"^\u200e?(?:{_STAMP}(?P<stamped>{_STAMPED_NAME})|(?P<plain>{_NAME.format(most=40)}))"
    r":(?:[ \t]+|(?=\n|$))",
    re.MULTILINE,
)
_NOTICE = re.compile(
    rf"^\u200e?[\[(]?{_DAY}(?:,?\s|T){_CLOCK}\s?{_ZONE}"
    r"(?:[\])](?:\s[-\u2013])?|\s[-\u2013])[ \t]+(?=\S)",
    re.MULTILINE,
)
_SAME_TIME = timedelta(hours=36)
"""Times closer than this may be the same, told in two zones, or a day and a time in it."""
_NO_SPEAKERS = frozenset(
    {
        "note",
        "notes",
        "ps",
        "p.s.",
        "re",
        "fwd",
        "fw",
        "subject",
        "todo",
        "warning",
        "edit",
        "update",
    }
    | {
        "example",
        "tip",
        "date",
        "time",
        "cc",
        "to",
        "from",
        "link",
        "http",
        "https",
        "source",
        "hint",
    }
)
"""What ends in a colon at the beginning of a line and says nothing of who speaks."""
_MOST_WORDS = 4


class Head(msgspec.Struct, frozen=True):
    """The beginning of a message: where its line and its text begin, and what it says."""

    line: int
    text: int
    speaker: str
    """Who speaks; nobody in what a chat program says itself."""
    stamp: dict[str, str | None] | None
    """The parts of its time, if it has one."""

    @property
    def has_date(self) -> bool:
        """Whether it names a day."""
        return self.stamp is not None and bool(self.stamp["year"] or self.stamp["years"])

    @property
    def slashed(self) -> str | None:
        """Its day, if that is one thing to some and another to others."""
        stamp = self.stamp
        if (
            stamp is None
            or stamp["mark"] != "/"
            or int(stamp["one"] or 0) == int(stamp["two"] or 0)
        ):
            return None
        return f"{stamp['one']}/{stamp['two']}/{stamp['years']}"


def heads(text: str) -> list[Head]:
    """Return where messages begin in a transcript."""
    found = {each.start(): _notice(each) for each in _NOTICE.finditer(text)}
    for each in _HEAD.finditer(text):
        head = _head(each)
        if head is not None:
            found[head.line] = head
    return [found[line] for line in sorted(found)]


def head_of(line: str) -> Head | None:
    """Return how a message begins, if it does so in this line."""
    found = _HEAD.match(line)
    head = None if found is None else _head(found)
    notice = _NOTICE.match(line) if head is None else None
    return head if notice is None else _notice(notice)


def _head(found: re.Match[str]) -> Head | None:
    speaker = (found["stamped"] or found["plain"]).strip().strip("*_")
    words = speaker.split()
    if not words or len(words) > _MOST_WORDS + (4 if found["stamped"] else 0):
        return None
    if found["plain"] and speaker.casefold() in _NO_SPEAKERS:
        return None
    if speaker.count('"') % 2 or speaker.count("\u201c") != speaker.count("\u201d"):
        return None  # the colon stands in a quotation: `Bob created group "Trip: Oslo"`
    stamp = found.groupdict() if found["stamped"] else None
    return Head(found.start(), found.end(), speaker, stamp)


def _notice(found: re.Match[str]) -> Head:
    return Head(found.start(), found.end(), "", found.groupdict())


def days_come_first(found: Iterable[Head], near: datetime | None = None) -> bool | None:
    """Say whether days with slashes begin with the day; None, if nothing tells.

    `near` is when the first message that has a time was said, as far as that is known.
    """
    first = None
    for head in found:
        if head.slashed is not None and head.stamp is not None:
            one, two = int(head.stamp["one"] or 0), int(head.stamp["two"] or 0)
            if one > 12 or two > 12:
                return one > 12
        first = first or (head if head.has_date else None)
    if near is None or first is None or first.slashed is None:
        return None
    for day_first in (True, False):
        at = said_at(first, day_first=day_first)
        if at is not None and abs(at - near) < _SAME_TIME:
            return day_first
    return None


def said_at(head: Head, *, day_first: bool | None) -> datetime | None:
    """Return when a message was said; without an offset it is taken to be UTC."""
    stamp = head.stamp
    if stamp is None:
        return None
    date = _day(stamp, day_first=True if stamp["mark"] == "." else day_first)
    if date is None:
        return None
    zone = stamp["zone"] or "Z"
    hour = int(stamp["hour"] or 0)
    if half := stamp["half"]:
        hour = hour % 12 + (12 if half in "pP" else 0)
    try:
        return datetime.fromisoformat(
            f"{date}T{hour:02}:{stamp['minute']}:{stamp['second'] or '00'}{zone}"
        ).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _day(stamp: dict[str, str | None], *, day_first: bool | None) -> str | None:
    if stamp["year"]:
        return f"{stamp['year']}-{stamp['month']}-{stamp['day']}"
    one, two, years = stamp["one"], stamp["two"], stamp["years"]
    if not (one and two and years) or (day_first is None and int(one) != int(two)):
        return None
    day, month = (one, two) if day_first else (two, one)
    year = years if len(years) == 4 else f"20{years}"
    return f"{year}-{int(month):02}-{int(day):02}"
