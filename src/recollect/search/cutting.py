"""Cutting: a transcript in units, each a passage, and what stands around a span of it.

A unit is a line: a message that has one, or a part of a longer one. What is longer than about a
thousand characters is cut where a sentence ends. Of very long transcripts several lines are put
together, so that their passages are not too many.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from recollect.model.memory import Span

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
_MOST_AROUND = 1_000
"""How many characters before a span, and behind it, are its context: the nearest."""
_END = re.compile(r"[.!?…。！？]['\")\]»”’]*\s+|\s*[\n;]\s*")  # noqa: RUF001


class Cutting:
    """A transcript's text, cut."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self.units = cut(text)
        self._firsts = [first for first, _ in self.units]

    def of(self, span: Span) -> str:
        """Return what stands at a span."""
        return self._text[slice(*span)].decode("utf-8", "replace")

    def neighbours(self, number: int) -> tuple[str, str]:
        """Return what stands before a unit, and behind it."""
        before = self.units[max(number - _AROUND, 0) : number]
        after = self.units[number + 1 : number + 1 + _AROUND]
        return self._joined(before)[-_MOST_AROUND:], self._joined(after)[:_MOST_AROUND]

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
        return self._joined(before)[-_MOST_AROUND:], self._joined(after)[:_MOST_AROUND]

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

    def _joined(self, spans: Iterable[Span]) -> str:
        return "\n".join(self.of(span) for span in spans)


def cut(text: bytes) -> list[Span]:
    """Return the units of a text as spans of its bytes; between them is nothing but white space."""
    lines = [*_lines(text)]
    if len(text) > _LONG_TRANSCRIPT or len(lines) > _MANY_LINES:
        lines = [*_together(lines)]
    return [unit for line in lines for unit in _pieces(text, line)]


def _lines(text: bytes) -> Iterator[Span]:
    first = 0
    for line in text.split(b"\n"):
        bare = line.strip()
        if bare:
            begun = first + line.index(bare)
            yield begun, begun + len(bare)
        first += len(line) + 1


def _together(lines: Iterable[Span]) -> Iterator[Span]:
    current: Span | None = None
    for first, beyond in lines:
        if current is not None and beyond - current[0] <= _TOGETHER:
            current = (current[0], beyond)
            continue
        if current is not None:
            yield current
        current = (first, beyond)
    if current is not None:
        yield current


def _pieces(text: bytes, line: Span) -> Iterator[Span]:
    """Yield a line, or pieces of it that are not too long."""
    first, beyond = line
    if beyond - first <= LONGEST:
        yield line
        return
    rest = text[first:beyond].decode("utf-8", "replace")
    while len(rest) > LONGEST:
        size = _place_to_cut(rest)
        piece, rest = rest[:size], rest[size:]
        end = first + len(piece.encode())
        yield first, first + len(piece.rstrip().encode())
        blank = len(rest) - len(rest.lstrip())
        first, rest = end + len(rest[:blank].encode()), rest[blank:]
    if rest:
        yield first, beyond


def _place_to_cut(text: str) -> int:
    """Return where a sentence ends, else a word, else how much a unit has at most."""
    ends = [match.end() for match in _END.finditer(text, LONGEST // 2, LONGEST)]
    return ends[-1] if ends else text.rfind(" ", LONGEST // 2, LONGEST) + 1 or LONGEST
