"""Sentences: where they begin and end in a text, and which of them somebody is only quoting."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

_ABBREVIATIONS = frozenset(
    {"mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "inc", "ltd", "co", "corp", "vs", "etc"}
    | {"e.g", "i.e", "approx", "no", "dept", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep"}
    | {"sept", "oct", "nov", "dec"}
)
_END = re.compile(r"[.!?…]+[\"'\u201d\u2019)\]]*(?=\s|$)|\n+")
_LAST_WORD = re.compile(r"(?:^|[\s(])([\w.]+)$")
_LEADING = re.compile(r"[^\w\"'`>(\u201c\u2018\u00ab]*")
"""Space, bullets and smileys before the first word."""
_MARKS = re.compile('```|["“”«»]')
_OPENING = {"“": 1, "«": 1, "”": -1, "»": -1}


class Sentence(msgspec.Struct, frozen=True):
    """A sentence, and where it stands in the bytes of the text's UTF-8."""

    text: str
    first: int
    beyond: int
    quoted: bool
    """Whether it is, or has in it, words of somebody else."""


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text, without the space around them."""
    marks, byte, done = _Marks(), 0, 0
    for start, end in _stretches(text):
        found = text[start:end]
        byte += len(text[done:start].encode())
        size = len(found.encode())
        quoted = marks.pass_over(text[done:end]) or found.startswith(">")
        yield Sentence(found, byte, byte + size, quoted)
        byte, done = byte + size, end


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """Yield where sentences begin and end, in characters."""
    start = 0
    for end in (*_ends(text), len(text)):
        first = start + _LEADING.match(text[start:end]).end()  # type: ignore[union-attr]
        if stripped := text[first:end].rstrip():
            yield first, first + len(stripped)
        start = end


def _ends(text: str) -> Iterator[int]:
    for found in _END.finditer(text):
        if found.group() != "." or not _abbreviates(text, found.start()):
            yield found.end()


def _abbreviates(text: str, dot: int) -> bool:
    """Say whether a full stop belongs to a word: `Dr.`, or the initial in `J. Smith`."""
    last = _LAST_WORD.search(text, max(0, dot - 20), dot)
    if last is None:
        return False
    word = last.group(1)
    return word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper() and word != "I")


class _Marks:
    """The quotation marks and fences that are open."""

    def __init__(self) -> None:
        self._fenced = False
        self._straight = False
        self._depth = 0

    def pass_over(self, text: str) -> bool:
        """Go on behind a stretch, and say whether any of it is within marks."""
        inside = self._open
        for mark in _MARKS.findall(text):
            inside = True
            if mark == "```":
                self._fenced = not self._fenced
            elif mark == '"':
                self._straight = not self._straight
            else:
                self._depth = max(0, self._depth + _OPENING[mark])
        return inside

    @property
    def _open(self) -> bool:
        return self._fenced or self._straight or self._depth > 0
