"""Words: what a text is found by, the same on every engine.

A text is made plain (Unicode NFKC, case folded, accents dropped) and taken apart. English words are
reduced to their stems and the most common ones left out. Scripts that are written without spaces
are found by pairs of neighbouring characters, a character that is looked for alone by itself, and
pictures, too.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby, pairwise

from memoranda.search.folding import MOST_CHARACTERS, Breathe, folded, go_on, within
from memoranda.search.stems import stem

_LONGEST = 64
"""Where a token is cut."""
_MOST_CHANGED = 2
"""How many letters at the end of a stem a word may not have."""
_AT_ONCE = 512
"""How many words or characters are taken apart before other threads are let through."""
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
_PICTURES = ((0x2300, 0x23FF), (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF))
_NOTHING, _LETTER, _MARK, _DENSE_LETTER, _PICTURE = range(5)


def tokens(text: str) -> list[str]:
    """Return the tokens of a text, in their order."""
    return _taken_apart(text, {})


def indexed_tokens(text: str, breathe: Breathe = go_on) -> list[str]:
    """Return what a text stands in the index with: its tokens, and the characters of pairs, once.

    By these a query finds it that has such a character alone.
    """
    letters: dict[str, None] = {}
    found = _taken_apart(text, letters, breathe)
    known = set(found)
    return found + [letter for letter in letters if letter not in known]


def terms(query: str) -> list[str]:
    """Return what a query looks for, each once."""
    return list(dict.fromkeys(tokens(query)))


def root(term: str) -> str:
    """Return what every folded text contains that has a term in it.

    Of a stem it is the beginning: what words with the same stem differ in is their endings.
    """
    if term.isascii() and term.isalpha():
        return term[: max(len(term) - _MOST_CHANGED, 1)]
    return term


def _taken_apart(text: str, letters: dict[str, None], breathe: Breathe = go_on) -> list[str]:
    """Return the tokens of a text, and put in the letters that stand in pairs only."""
    text = text[:MOST_CHARACTERS]
    if text.isascii():
        return _of_ascii(_ASCII.findall(text.lower()), breathe)
    found: list[str] = []
    for run in _ANY.findall(folded(text, breathe)):
        if run.isascii():
            found.append(_token(run))
        else:
            found.extend(_of_run(run, letters, breathe))
        breathe()
    return [token for token in found if token]


def _of_ascii(found: list[str], breathe: Breathe) -> list[str]:
    """Return the tokens of words that are all ASCII."""
    tokens: list[str] = []
    for first in range(0, len(found), _AT_ONCE):
        words = found[first : first + _AT_ONCE]
        tokens += [token for word in words if (token := _token(word))]
        breathe()
    return tokens


@lru_cache(maxsize=65_536)
def _token(word: str) -> str:
    """Return what a word is found by; nothing, if it is too common."""
    if word in _STOP:
        return ""
    return (stem(word) if word.isascii() and word.isalpha() else word)[:_LONGEST]


@lru_cache(maxsize=65_536)
def _kind(character: str) -> int:
    code = ord(character)
    category = unicodedata.category(character)
    if category[0] == "M":
        return _MARK
    if category[0] in "LN":
        return _DENSE_LETTER if within(code, _DENSE) else _LETTER
    return _PICTURE if category == "So" and within(code, _PICTURES) else _NOTHING


def _of_run(run: str, letters: dict[str, None], breathe: Breathe) -> list[str]:
    """Return the tokens of what is not all ASCII: letters with their marks, by their kinds."""
    clusters: list[tuple[int, str]] = []
    for place, character in enumerate(run):
        if not place % _AT_ONCE:
            breathe()
        kind = _kind(character)
        if kind == _MARK:
            if clusters and clusters[-1][0] in (_LETTER, _DENSE_LETTER):
                clusters[-1] = (clusters[-1][0], clusters[-1][1] + character)
        else:
            clusters.append((kind, character))
    found: list[str] = []
    for kind, group in groupby(clusters, key=lambda each: each[0]):
        parts = [part for _, part in group]
        breathe()
        if kind == _LETTER:
            found.append(_token("".join(parts)))
        elif kind == _DENSE_LETTER:
            found.extend(_pairs(parts))
            letters.update(dict.fromkeys(part[:_LONGEST] for part in parts))
        elif kind == _PICTURE:
            found.extend(parts)
    return found


def _pairs(parts: list[str]) -> list[str]:
    """Return each two neighbours; what stands alone, by itself."""
    if len(parts) == 1:
        return [parts[0][:_LONGEST]]
    return [f"{one}{other}"[:_LONGEST] for one, other in pairwise(parts)]
