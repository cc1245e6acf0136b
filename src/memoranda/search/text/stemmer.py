"""Stems: what English words have in common that differ in their endings (M. F. Porter, 1980).

`connected`, `connecting` and `connections` are one word to who looks for it. Two rules depart from
the paper as its author's own programs do: `-bli` and `-logi`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_LEAST = 3
"""Shorter words stay as they are."""

_SECOND: Mapping[str, str] = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "logi": "log",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
}
_THIRD: Mapping[str, str] = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_FOURTH: Sequence[str] = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ou"),
    *("ism", "ate", "iti", "ous", "ive", "ize", "sion", "tion"),
)


_ANY_SECOND, _ANY_THIRD, _ANY_FOURTH = tuple(_SECOND), tuple(_THIRD), tuple(_FOURTH)
"""Whether a word has any of them is asked first: most have none."""


def stem(word: str) -> str:
    """Return the stem of a word of lower-case ASCII letters."""
    if len(word) < _LEAST:
        return word
    word = _without_past(_without_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = f"{word[:-1]}i"
    if word.endswith(_ANY_SECOND):
        word = _replaced(word, _SECOND)
    if word.endswith(_ANY_THIRD):
        word = _replaced(word, _THIRD)
    return _tidied(_without_suffix(word) if word.endswith(_ANY_FOURTH) else word)


def _is_consonant(word: str, at: int) -> bool:
    letter = word[at]
    if letter in "aeiou":
        return False
    return letter != "y" or at == 0 or not _is_consonant(word, at - 1)


def _measure(word: str) -> int:
    """Return how often a vowel is followed by a consonant."""
    count, last = 0, True
    for at in range(len(word)):
        consonant = _is_consonant(word, at)
        count += consonant and not last
        last = consonant
    return count


def _has_vowel(word: str) -> bool:
    return any(not _is_consonant(word, at) for at in range(len(word)))


def _ends_short(word: str) -> bool:
    """Say whether it ends as `hop` does, to which an `e` belongs that was cut off."""
    if len(word) < _LEAST or word[-1] in "wxy":
        return False
    ending = [_is_consonant(word, at) for at in range(len(word) - 3, len(word))]
    return ending == [True, False, True]


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            begun = word.removesuffix(suffix)
            return _mended(begun) if _has_vowel(begun) else word
    return word


def _mended(begun: str) -> str:
    """Return what is left of a word without `-ed` or `-ing` as it was before these."""
    if begun.endswith(("at", "bl", "iz")):
        return f"{begun}e"
    if len(begun) > 1 and begun[-1] == begun[-2] and _is_consonant(begun, len(begun) - 1):
        return begun if begun[-1] in "lsz" else begun[:-1]
    return f"{begun}e" if _measure(begun) == 1 and _ends_short(begun) else begun


def _replaced(word: str, suffixes: Mapping[str, str]) -> str:
    """Return a word with another suffix, if it has one of these behind enough of a word."""
    for suffix, other in suffixes.items():
        if word.endswith(suffix):
            begun = word.removesuffix(suffix)
            return begun + other if _measure(begun) > 0 else word
    return word


def _without_suffix(word: str) -> str:
    for suffix in _FOURTH:
        if word.endswith(suffix):
            kept = 3 if suffix in ("sion", "tion") else len(suffix)
            begun = word[:-kept]
            return begun if _measure(begun) > 1 else word
    return word


def _tidied(word: str) -> str:
    if word.endswith("e"):
        begun = word[:-1]
        measure = _measure(begun)
        if measure > 1 or (measure == 1 and not _ends_short(begun)):
            word = begun
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
