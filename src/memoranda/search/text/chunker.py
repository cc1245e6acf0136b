"""Cutting: a transcript in units, each a passage, and what stands around a span of it.

A unit is a line: a message that has one, or a part of a longer one. What is longer than about a
thousand characters is cut where a sentence ends. Of very long transcripts several lines are put
together, so that their passages are not too many.

Where messages were kept as such, what begins within one is shown behind its speaker's name: else
a line of it could begin with somebody else's.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from memoranda.memory.rendering import Place
from memoranda.model.lines import speaker_label
from memoranda.model.memory import Span
from memoranda.search.folding import Breathe, folded, go_on

LONGEST = 1_000
"""How many characters a unit has at most."""
_LONG_TRANSCRIPT = 1024 * 1024
_MANY_LINES = 20_000
_TOGETHER = 800
"""How many bytes of lines are put together in a long transcript."""
_AROUND = 2
"""How many units before a span, and behind it, are its context."""
_MOST_SPANS = 16
"""How many spans of a memory count for its context."""
_AT_ONCE = 64
"""How many units are cut before other threads are let through."""
_MOST_AROUND = 1_000
"""How many characters before a span, and behind it, are its context: the nearest."""
_LAST_END = re.compile(r"(?s:.*)(?:[.!?…。！？]['\")\]»”’]*\s+|[\n;]\s*)")  # noqa: RUF001
"""The last end of a sentence: it is looked for from behind."""
_BLANK = re.compile(r"\s*")
_BLANK_BYTES = re.compile(rb"\s*")


class Cutting:
    """A transcript's text, cut."""

    def __init__(self, text: bytes, breathe: Breathe = go_on, places: Sequence[Place] = ()) -> None:
        self._text = text
        self._places = places
        self._breathe = breathe
        self._folded: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._text)

    @cached_property
    def units(self) -> list[Span]:
        """Its units, found when they are first asked for: that may take a while."""
        return cut(self._text, self._breathe)

    @cached_property
    def _firsts(self) -> list[int]:
        return [first for first, _ in self.units]

    def of(self, span: Span) -> str:
        """Return what stands at a span, behind the name of who goes on speaking there."""
        words = self._text[slice(*span)].decode("utf-8", "replace")
        return self._speaker(span[0]) + words

    def _speaker(self, first: int) -> str:
        """Return whose words go on at a byte; nothing, if it is none or the line names them."""
        number = bisect_right(self._places, first, key=lambda place: place.span[0]) - 1
        if number < 0 or first >= self._places[number].span[1]:
            return ""
        place = self._places[number]
        return f"{speaker_label(place.speaker)}: " + ("" if first == place.span[0] else "… ")

    def folded(self, number: int) -> str:
        """Return a unit as it is compared, which is remembered."""
        known = self._folded.get(number)
        if known is None:
            known = self._folded[number] = folded(self.of(self.units[number]))
        return known

    def at(self, first: int) -> int | None:
        """Return the number of the unit that begins at a byte, if one does."""
        number = bisect_left(self._firsts, first)
        return number if self._firsts[number : number + 1] == [first] else None

    def neighbours(self, number: int) -> tuple[str, str]:
        """Return what stands before a unit, and behind it."""
        before = self.units[max(number - _AROUND, 0) : number]
        after = self.units[number + 1 : number + 1 + _AROUND]
        return self._last(before), self._joined(after)[:_MOST_AROUND]

    def around(self, spans: Iterable[Span]) -> tuple[str, str]:
        """Return what stands before spans, and behind them; a whole transcript has nothing."""
        before: dict[Span, None] = {}
        after: dict[Span, None] = {}
        for first, beyond in sorted(spans)[:_MOST_SPANS]:
            if self.units and beyond:
                start, end = self._within(first, beyond)
                before |= dict.fromkeys(self._trimmed(start - _AROUND, start + 1, (0, first)))
                text = (beyond, len(self._text))
                after |= dict.fromkeys(self._trimmed(end, end + _AROUND + 1, text))
        return self._last(before), self._joined(after)[:_MOST_AROUND]

    def _within(self, first: int, beyond: int) -> tuple[int, int]:
        """Return the first unit and the last one that a span touches."""
        start = max(bisect_right(self._firsts, first) - 1, 0)
        return start, max(bisect_left(self._firsts, beyond) - 1, start)

    def _trimmed(self, start: int, end: int, bounds: Span) -> Iterator[Span]:
        """Yield what there is of units within bounds."""
        for first, beyond in self.units[max(start, 0) : end]:
            first, beyond = max(first, bounds[0]), min(beyond, bounds[1])
            if first < beyond:
                yield first, beyond

    def _last(self, spans: Iterable[Span]) -> str:
        """Return the end of what stands at spans; words cut off their speaker say that they are."""
        text = self._joined(spans)
        cut_off = "… " if self._places and len(text) > _MOST_AROUND else ""
        return cut_off + text[-_MOST_AROUND:]

    def _joined(self, spans: Iterable[Span]) -> str:
        return "\n".join(self.of(span) for span in spans)


class Unit(NamedTuple):
    """One of a transcript's units."""

    cutting: Cutting
    number: int

    def may_have(self, roots: Iterable[str]) -> bool:
        """Say whether it, or what stands around it, may have a word with one of the roots."""
        first = max(self.number - _AROUND, 0)
        beyond = min(self.number + _AROUND + 1, len(self.cutting.units))
        texts = [self.cutting.folded(number) for number in range(first, beyond)]
        return any(root in text for root in roots for text in texts)


def cut(text: bytes, breathe: Breathe = go_on) -> list[Span]:
    """Return the units of a text as spans of its bytes; between them is nothing but white space."""
    long = len(text) > _LONG_TRANSCRIPT or text.count(b"\n") > _MANY_LINES
    lines = _together(text) if long else _lines(text)
    units: list[Span] = []
    for line in lines:
        for unit in _pieces(text, line):
            units.append(unit)
            if not len(units) % _AT_ONCE:
                breathe()
    return units


def _lines(text: bytes) -> Iterator[Span]:
    first = 0
    for line in text.split(b"\n"):
        bare = line.rstrip()
        if bare:
            yield first + len(bare) - len(bare.lstrip()), first + len(bare)
        first += len(line) + 1


def _together(text: bytes) -> Iterator[Span]:
    """Yield as many lines together as there is room for, or one that is longer: a step for each."""
    first = _begin(text, 0)
    while first < len(text):
        beyond = text.rfind(b"\n", first, first + _TOGETHER + 1)
        if beyond < 0:
            beyond = text.find(b"\n", first + _TOGETHER)
        if beyond < 0 or len(text) - first <= _TOGETHER:
            beyond = len(text)
        yield first, first + len(text[first:beyond].rstrip())
        first = _begin(text, beyond)


def _begin(text: bytes, at: int) -> int:
    """Return where white space ends."""
    found = _BLANK_BYTES.match(text, at)
    return found.end() if found else at


def _pieces(text: bytes, line: Span) -> Iterator[Span]:
    """Yield a line, or pieces of it that are not too long; it is walked through once."""
    first, beyond = line
    if beyond - first <= LONGEST:
        yield line
        return
    whole = text[first:beyond].decode("utf-8", "replace")
    start = 0
    while len(whole) - start > LONGEST:
        end = _place_to_cut(whole, start)
        piece = whole[start:end]
        if bare := piece.rstrip():
            yield first, first + len(bare.encode())
        blank = _BLANK.match(whole, end)
        start = blank.end() if blank else end
        first += len(piece.encode()) + len(whole[end:start].encode())
    if start < len(whole):
        yield first, beyond


def _place_to_cut(text: str, start: int) -> int:
    """Return where a sentence ends, else a word, else where there is no more room in a unit."""
    least, most = start + LONGEST // 2, start + LONGEST
    last = _LAST_END.match(text, least, most)
    return last.end() if last else text.rfind(" ", least, most) + 1 or most
