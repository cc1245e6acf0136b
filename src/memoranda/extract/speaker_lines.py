"""Message headers in a plain transcript: the speaker, and perhaps the time.

A header is `Name:` at the start of a line, with or without a time before it. A line that starts
with a date and a time but has no name is a notice of the chat program: `Bob created group "Trip"`.

A date with slashes is ambiguous: 03/05 is the third of May or the fifth of March. Other dates of
the same transcript may resolve it, or the known time of its first message. If nothing does, the
message has no time.
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
"""Times closer than this count as equal: they may be in two zones, or one of them only a day."""
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
"""Words before a colon at the start of a line that are not speakers."""
_MAX_SPEAKER_WORDS = 4
"""The most words of a speaker's name without a time before it: longer ones are mostly sentences."""
_MAX_STAMPED_SPEAKER_WORDS = 8
"""The same after a time, where a sentence is less likely."""


class MessageHeader(msgspec.Struct, frozen=True):
    """The header of a message, with the positions of its line and of the text after it."""

    line_start: int
    text_start: int
    speaker: str
    """The name; empty for a notice of a chat program."""
    stamp: dict[str, str | None] | None
    """The parts of its date and time, by the group names of `_STAMP`; None: it has none."""

    @property
    def has_date(self) -> bool:
        """Whether it has a date."""
        return self.stamp is not None and bool(self.stamp["year"] or self.stamp["years"])

    @property
    def ambiguous_date(self) -> str | None:
        """Its date, if the day and the month could be swapped."""
        stamp = self.stamp
        if (
            stamp is None
            or stamp["mark"] != "/"
            or int(stamp["one"] or 0) == int(stamp["two"] or 0)
        ):
            return None
        return f"{stamp['one']}/{stamp['two']}/{stamp['years']}"


def find_headers(text: str) -> list[MessageHeader]:
    """Return the headers of a transcript in order; one with a speaker takes precedence."""
    headers = {match.start(): _notice_header(match) for match in _NOTICE.finditer(text)}
    for match in _HEAD.finditer(text):
        header = _speaker_header(match)
        if header is not None:
            headers[header.line_start] = header
    return [headers[line_start] for line_start in sorted(headers)]


def parse_header(line: str) -> MessageHeader | None:
    """Return the header that a line starts with, if it does."""
    match = _HEAD.match(line)
    header = None if match is None else _speaker_header(match)
    notice = _NOTICE.match(line) if header is None else None
    return header if notice is None else _notice_header(notice)


def _speaker_header(match: re.Match[str]) -> MessageHeader | None:
    speaker = (match["stamped"] or match["plain"]).strip().strip("*_")
    words = speaker.split()
    limit = _MAX_STAMPED_SPEAKER_WORDS if match["stamped"] else _MAX_SPEAKER_WORDS
    if not words or len(words) > limit:
        return None
    if match["plain"] and speaker.casefold() in _NO_SPEAKERS:
        return None
    if speaker.count('"') % 2 or speaker.count("\u201c") != speaker.count("\u201d"):
        return None  # the colon is inside a quotation: `Bob created group "Trip: Oslo"`
    stamp = match.groupdict() if match["stamped"] else None
    return MessageHeader(match.start(), match.end(), speaker, stamp)


def _notice_header(match: re.Match[str]) -> MessageHeader:
    return MessageHeader(match.start(), match.end(), "", match.groupdict())


def is_day_first(
    headers: Iterable[MessageHeader], started_at: datetime | None = None
) -> bool | None:
    """Say whether dates with slashes start with the day; None: nothing tells.

    1. A date with a number above 12 tells for the whole transcript.
    2. Else `started_at`, the known time of the first message with a date, tells if one reading of
       that date is close to it.
    """
    first = None
    for header in headers:
        if header.ambiguous_date is not None and header.stamp is not None:
            first_number, second_number = (
                int(header.stamp["one"] or 0),
                int(header.stamp["two"] or 0),
            )
            if first_number > 12 or second_number > 12:
                return first_number > 12
        first = first or (header if header.has_date else None)
    if started_at is None or first is None or first.ambiguous_date is None:
        return None
    for day_first in (True, False):
        at = header_time(first, day_first=day_first)
        if at is not None and abs(at - started_at) < _SAME_TIME:
            return day_first
    return None


def header_time(header: MessageHeader, *, day_first: bool | None) -> datetime | None:
    """Return the time of a message; without an offset it counts as UTC. None: it has no date."""
    stamp = header.stamp
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
    first_number, second_number, years = stamp["one"], stamp["two"], stamp["years"]
    if not (first_number and second_number and years) or (
        day_first is None and int(first_number) != int(second_number)
    ):
        return None
    day, month = (first_number, second_number) if day_first else (second_number, first_number)
    year = years if len(years) == 4 else f"20{years}"
    return f"{year}-{int(month):02}-{int(day):02}"
