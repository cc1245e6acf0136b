"""Words: what a text is found by, the same on every engine.

A text is made plain (Unicode NFKC, case folded, accents dropped) and taken apart. English words are
reduced to their stems and the most common ones left out. Scripts that are written without spaces
are found by pairs of neighbouring characters, and pictures by themselves.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby, pairwise

from recollect.search.stems import stem

MOST_CHARACTERS = 65_536
"""How much of a text is indexed; what stands behind that is found by what stands before it."""
_LONGEST = 64
"""Where a token is cut."""
_ASCII = re.compile("[a-z0-9]+")
_ANY = re.compile("[a-z0-9\x80-\U0010ffff]+")
_COMMON = """
    a about above after again against all am an and any are aren as at be because been before being
    below between both but by can cannot could couldn d did didn do does doesn doing don down during
    each few for from further had hadn has hasn have haven having he her here hers herself him
    himself his how i if in into is isn it its itself just ll m me more most mustn my myself no nor
    not now o of off on once only or other our ours ourselves out over own re s same shan she should
    shouldn so some such t than that the their theirs them themselves then there these they this
    those through to too under until up ve very was wasn we were weren what when where which while
    who whom why will with won would wouldn y you your yours yourself yourselves
"""
_STOP = frozenset(_COMMON.split())
"""Words of which nearly every text has some."""
_DENSE = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x31FF),  # radicals, kana, Hangul
    (0x3400, 0x9FFF),  # Han
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)
"""Scripts without spaces between words, or with much more than a word between two."""
_PICTURES = ((0x2600, 0x27BF), (0x1F000, 0x1FAFF))
_NOTHING, _LETTER, _MARK, _DENSE_LETTER, _PICTURE = range(5)


def tokens(text: str) -> list[str]:
    """Return the tokens of a text, in their order."""
    text = text[:MOST_CHARACTERS]
    if text.isascii():
        return [token for word in _ASCII.findall(text.lower()) if (token := _token(word))]
    found: list[str] = []
    for run in _ANY.findall(_plain(text)):
        if run.isascii():
            found.append(_token(run))
        else:
            found.extend(_taken_apart(run))
    return [token for token in found if token]


def terms(query: str) -> list[str]:
    """Return what a query looks for, each once."""
    return list(dict.fromkeys(tokens(query)))


@lru_cache(maxsize=65_536)
def _token(word: str) -> str:
    """Return what a word is found by; nothing, if it is too common."""
    if word in _STOP:
        return ""
    return (stem(word) if word.isascii() and word.isalpha() else word)[:_LONGEST]


def _plain(text: str) -> str:
    """Return a text as it is compared: characters that only look different are made one.

    It is what names are compared by, without accents; so a name is found however it is written.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    apart = unicodedata.normalize("NFD", folded)
    return unicodedata.normalize("NFC", "".join(each for each in apart if not _is_accent(each)))


@lru_cache(maxsize=4_096)
def _is_accent(character: str) -> bool:
    """Say whether it only marks a letter: accents, and the vowels of Hebrew and Arabic.

    What distinguishes letters of other scripts stays, such as the marks of kana.
    """
    kind = unicodedata.combining(character)
    return kind >= 200 or 10 <= kind <= 35


@lru_cache(maxsize=65_536)
def _kind(character: str) -> int:
    code = ord(character)
    category = unicodedata.category(character)
    if category[0] == "M":
        return _MARK
    if category[0] in "LN":
        dense = any(first <= code <= last for first, last in _DENSE)
        return _DENSE_LETTER if dense else _LETTER
    pictured = category == "So" and any(first <= code <= last for first, last in _PICTURES)
    return _PICTURE if pictured else _NOTHING


def _taken_apart(run: str) -> list[str]:
    """Return the tokens of what is not all ASCII: letters with their marks, by their kinds."""
    clusters: list[tuple[int, str]] = []
    for character in run:
        kind = _kind(character)
        if kind == _MARK:
            if clusters and clusters[-1][0] in (_LETTER, _DENSE_LETTER):
                clusters[-1] = (clusters[-1][0], clusters[-1][1] + character)
        else:
            clusters.append((kind, character))
    found: list[str] = []
    for kind, group in groupby(clusters, key=lambda each: each[0]):
        parts = [part for _, part in group]
        if kind == _LETTER:
            found.append(_token("".join(parts)))
        elif kind == _DENSE_LETTER:
            found.extend(_pairs(parts))
        elif kind == _PICTURE:
            found.extend(parts)
    return found


def _pairs(parts: list[str]) -> list[str]:
    """Return each two neighbours; what stands alone, by itself."""
    if len(parts) == 1:
        return [parts[0][:_LONGEST]]
    return [f"{one}{other}"[:_LONGEST] for one, other in pairwise(parts)]
