"""Read what a question asks for beside its words: a time, a speaker, an order, a number.

Every rule here is about English questions in general. A query in another language is ranked by its
words and its meaning alone. The result excludes nothing: candidates that do not fit count less.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

import msgspec

from memoranda.model.clock import to_datetime, to_micros
from memoranda.model.periods import MONTHS, Period, ReferenceTime, read_period, shift_months

Stems = Callable[[str], Iterable[str]]
"""Returns the terms of a text."""
REPORT_DAYS: Final = 7
"""Days after a period in which it is still talked about: `last Friday` is said a week later."""
ASSISTANT_ROLES: Final = frozenset(("assistant", "ai", "bot", "chatbot", "model"))
USER_ROLES: Final = frozenset(("user", "human"))
PREFERENCE_WORDS: Final = "like love enjoy prefer favorite favourite hate dislike fan"
"""Words with which people state what they like: a wish for advice is answered by these too."""


class TimeWindow(msgspec.Struct, frozen=True):
    """The time that a question is about, in microseconds, half-open; None: without a bound."""

    start: int | None
    end: int | None
    reported_until: int | None = None
    """The end of the days after it in which it is still talked about."""
    terms: frozenset[str] = frozenset()
    """The terms of an absolute date: a text that has them is about it, whenever it was written."""

    def overlaps(self, start: int, end: int) -> bool:
        """Say whether a period has an instant in it."""
        return (self.end is None or start < self.end) and (self.start is None or end > self.start)


class Anchor(msgspec.Struct, frozen=True):
    """An event that a question dates its answer by: `after the move`."""

    later: bool
    """Whether the answer is after it, or before it."""
    terms: frozenset[str]


class Question(msgspec.Struct, frozen=True):
    """What a query asks for."""

    terms: frozenset[str]
    asks: bool = False
    """Whether it is a question at all."""
    window: TimeWindow | None = None
    anchor: Anchor | None = None
    wants_newest: bool = False
    wants_oldest: bool = False
    wants_all: bool = False
    """Whether the answer is a list or a count."""
    wants_advice: bool = False
    """Whether likes and dislikes matter."""
    roles: frozenset[str] = frozenset()
    """The roles of a chat whose messages it asks about; empty: any."""

    @property
    def is_about_the_past(self) -> bool:
        """Whether the newest answer is not the one that is wanted."""
        return self.wants_oldest or self.window is not None or self.anchor is not None


_ASKS = re.compile(
    r"[?\uff1f\u061f]\s*$|^\s*(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did"
    r"|has|have|had|can|could|will|would|should|am)\b",
    re.IGNORECASE,
)
_NEWEST = re.compile(
    r"\b(?:now|nowadays|current(?:ly)?|still|latest|newest|today|these days|at the moment"
    r"|at present|most recent(?:ly)?|last time|any ?more)\b",
    re.IGNORECASE,
)
_OLDEST = re.compile(
    r"\b(?:first time|earliest|oldest|originally|initially|at first|first\s+\w+ed"
    r"|(?:did|was|were|does)\b.*\bfirst)\b",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"\bhow (?:many|often)\b|\b(?:what|which) (?:are|were)\b"
    r"|\b(?:what|which) (?:\w+ ){0,2}?\w{2,}[^\Ws]s "
    r"(?:has|have|had|did|does|do|are|were|would|can)\b"
    r"|\b(?:all|every) (?:of |the |my |our |his |her |their )*\w+|\blist (?:of|the|all|every|my)\b",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"\b(?:recommend|suggest|advise|advice|recommendations?|suggestions?|ideas? for|gift"
    r"|present for|(?:should|could|can) (?:i|we)"
    r"|would (?:\w+ ){1,3}?(?:like|love|enjoy|prefer))\b",
    re.IGNORECASE,
)
_REPORTED = re.compile(r"\b(?:did|has|have|had)\b", re.IGNORECASE)
"""Advice that was given is no wish for some."""
_SAYING = (
    "say|said|tell|told|mention(?:ed)?|recommend(?:ed)?|suggest(?:ed)?|advise[d]?|explain(?:ed)?"
    "|list(?:ed)?|give|gave|given|provide[d]?|answer(?:ed)?|write|wrote|written|describe[d]?"
    "|propose[d]?|promise[d]?|claim(?:ed)?|show(?:ed|n)?|come up with|came up with|discuss(?:ed)?"
)
_OF_ASSISTANT = re.compile(
    r"\b(?:(?<!can )(?<!could )(?<!would )(?<!will )you"
    r"|(?:the|an?|my) (?:ai |chat)?(?:assistant|bot|chatbot|model|ai))(?:'ve| have| had)? "
    rf"(?:just |already |once |previously |also |ever )?(?:{_SAYING})\b"
    r"|\byour (?:\w+ )?(?:answer|suggestion|recommendation|reply|response|explanation)s?\b"
    r"|\byour (?:\w+ )?(?:advice|list)\b",
    re.IGNORECASE,
)
_OF_USER = re.compile(
    rf"\b(?:did|have|had) i (?:\w+ )?(?:{_SAYING}|ask(?:ed)?)\b"
    rf"|\bi (?:\w+ )?(?:told you|mentioned|said|asked)\b"
    rf"|\b(?:the|my) user (?:{_SAYING}|ask(?:ed)?)\b",
    re.IGNORECASE,
)
_ANCHOR = re.compile(r"\b(?P<how>after|before)\s+(?P<event>[^,;?!.]+)", re.IGNORECASE)


def read_question(text: str, now: int, stems: Stems) -> Question:
    """Read a query, asked at an instant."""
    roles: frozenset[str] = frozenset()
    if _OF_ASSISTANT.search(text):
        roles = ASSISTANT_ROLES
    elif _OF_USER.search(text):
        roles = USER_ROLES
    window = _read_window(text, now, stems)
    return Question(
        terms=frozenset(stems(text)),
        asks=_ASKS.search(text) is not None,
        window=window,
        anchor=None if window else _read_anchor(text, stems),
        wants_newest=_NEWEST.search(text) is not None,
        wants_oldest=_OLDEST.search(text) is not None,
        wants_all=_ALL.search(text) is not None,
        wants_advice=not roles and bool(_ADVICE.search(text)) and not _REPORTED.search(text),
        roles=roles,
    )


# Dates.

_WORD = re.compile(r"(?<![\w-])\w+")
_PREPOSITION = re.compile(
    r"(?P<how>in|on|during|at|of|from|since|until|till|before|after|by|around|about|between|and|to)"
    r"\s+(?:(?:early|late|mid|the (?:end|beginning|middle) of|around|about)[\s-]+)?",
    re.IGNORECASE,
)
_ABSOLUTE = re.compile(rf"\d|{'|'.join(MONTHS)}", re.IGNORECASE)
_OPEN_START: Final = frozenset(("before", "until", "till", "by"))
_OPEN_END: Final = frozenset(("since", "after", "from"))
_JOINED: Final = frozenset(("and", "to", "until", "till"))
_NOW: Final = "today"


class _Date(msgspec.Struct, frozen=True):
    """A date in a query, and the preposition before it."""

    preposition: str
    words: str
    period: Period


def _read_window(text: str, now: int, stems: Stems) -> TimeWindow | None:
    """Return the time a query asks about; None: it has no date, or one in the future."""
    reference = ReferenceTime(to_datetime(now))
    dates = [date for date in _dates(text, reference) if date.period.start <= reference.at]
    if not dates:
        return None
    first = dates[0]
    start: datetime | None = first.period.start
    end: datetime | None = first.period.end
    if (
        first.preposition in ("between", "from")
        and len(dates) > 1
        and dates[1].preposition in _JOINED
    ):
        end = dates[1].period.end
        if first.period.start > end:  # `between March and May 2023`
            start = shift_months(
                first.period.start, months=-12 * (first.period.start.year - end.year)
            )
    elif first.preposition in _OPEN_START:
        start, end = None, first.period.start if first.preposition == "before" else first.period.end
    elif first.preposition in _OPEN_END:
        start, end = first.period.end if first.preposition == "after" else first.period.start, None
    if start is None or end is None:
        return TimeWindow(_micros(start), _micros(end))
    date_terms = stems(first.words) if _ABSOLUTE.search(first.words) else ()
    reported_until = end + timedelta(days=REPORT_DAYS)
    return TimeWindow(_micros(start), _micros(end), _micros(reported_until), frozenset(date_terms))


def _micros(at: datetime | None) -> int | None:
    return None if at is None else to_micros("query", at)


def _dates(text: str, reference: ReferenceTime) -> Iterator[_Date]:
    """Yield the dates of a query, in order; `today` is none, but asks for what is new."""
    position = 0
    while (word := _WORD.search(text, position)) is not None:
        position = word.end()
        preposition = _PREPOSITION.match(text, word.start())
        start = preposition.end() if preposition else word.start()
        date = read_period(text, start, reference, has_preposition=preposition is not None)
        if date is not None and text[start : date[1]].lower() != _NOW:
            position = date[1]
            leading_word = preposition["how"].lower() if preposition else ""
            yield _Date(leading_word, text[start:position], date[0])


# Order.


def _read_anchor(text: str, stems: Stems) -> Anchor | None:
    """Return the event after or before which something is asked for."""
    match = _ANCHOR.search(text)
    if match is None:
        return None
    terms = frozenset(stems(match["event"]))
    return Anchor(match["how"].lower() == "after", terms) if terms else None
