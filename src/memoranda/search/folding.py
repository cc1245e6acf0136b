"""Folding: a text as it is compared, with characters that only look different made one.

It goes piece by piece, so that other threads are let through in between and so that a text which
normalising makes much longer (one character of Arabic becomes eighteen) is cut where there is
enough of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

MOST_CHARACTERS = 65_536
"""How much of a text is indexed, as it is written and once it is folded."""
Breathe = Callable[[], None]
"""Called now and then in long work: it lets other threads go on."""
_PIECE = 1_024
"""How many characters are normalised at once: about a tenth of a millisecond of work."""
_SPACE = re.compile(r"[ \n\t]")
_MOST_MARKS = 30
"""How many marks of one letter count: more are no writing, and putting them in order takes long."""
_VARIANTS = ((0x034F, 0x034F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
"""What says how the character before it looks, or to which it belongs."""
_JAMO = (0x1160, 0x11FF)
"""Parts of Korean syllables that are joined with what stands before them."""


def go_on() -> None:
    """Let nobody through: the work is short, or nobody else is there."""


def folded(text: str, breathe: Breathe = go_on) -> str:
    """Return a text as it is compared (NFKC, case folded, accents dropped), as far as it counts.

    It is what names are compared by, without accents; so a name is found however it is written.
    """
    found: list[str] = []
    size = 0
    for piece in _pieces(text[:MOST_CHARACTERS]):
        plain = _folded(piece)
        found.append(plain)
        size += len(plain)
        breathe()
        if size >= MOST_CHARACTERS:
            break
    return "".join(found)[:MOST_CHARACTERS]


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces, cut where no character is joined with the one before it."""
    first = 0
    while first < len(text):
        beyond = _place_to_cut(text, first + _PIECE)
        yield text[first:beyond]
        first = beyond


def _place_to_cut(text: str, at: int) -> int:
    """Return the next place behind a space, else before a letter that stands for itself."""
    space = _SPACE.search(text, at, at + _PIECE)
    if space is not None:
        return space.end()
    for place in range(at, min(at + _PIECE, len(text))):
        if not _is_joined(text[place]):
            return place
    return at + _PIECE


def _is_joined(character: str) -> bool:
    """Say whether a character may be normalised together with the one before it."""
    code = ord(character)
    return unicodedata.category(character)[0] == "M" or _JAMO[0] <= code <= _JAMO[1]


def _folded(piece: str) -> str:
    if piece.isascii():
        return piece.lower()
    piece = _with_few_marks(piece)
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", piece).casefold())
    apart = unicodedata.normalize("NFD", plain)
    return unicodedata.normalize("NFC", apart.translate(_WITHOUT_MARKS))


def _with_few_marks(text: str) -> str:
    """Return a text without the marks of a letter that has too many."""
    if not any(map(_is_ordered, text[::_MOST_MARKS])):  # so many in a row would show there
        return text
    kept: list[str] = []
    marks = 0
    for character in text:
        marks = marks + 1 if _is_ordered(character) else 0
        if marks <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)


@lru_cache(maxsize=4_096)
def _is_ordered(character: str) -> bool:
    """Say whether it is a mark that is put in order with others of its letter."""
    return unicodedata.combining(unicodedata.normalize("NFKD", character)[0]) > 0


def _is_dropped(character: str) -> bool:
    """Say whether it only marks a letter, or is not seen at all.

    Accents do, and the vowels of Hebrew and Arabic; a soft hyphen and a joiner are not seen. What
    distinguishes letters of other scripts stays, such as the marks of kana.
    """
    kind = unicodedata.combining(character)
    if kind >= 200 or 10 <= kind <= 35:
        return True
    return unicodedata.category(character) == "Cf" or within(ord(character), _VARIANTS)


class _Table(dict[int, int | None]):
    """What becomes of each character, found out when it is first met."""

    def __missing__(self, code: int) -> int | None:
        if len(self) >= _REMEMBERED:
            self.clear()
        self[code] = kept = None if _is_dropped(chr(code)) else code
        return kept


_REMEMBERED = 65_536
_WITHOUT_MARKS = _Table()


def within(code: int, ranges: Iterable[tuple[int, int]]) -> bool:
    """Say whether a character is in one of the ranges."""
    return any(first <= code <= last for first, last in ranges)
