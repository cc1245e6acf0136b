"""Stem words with the Snowball algorithms of PyStemmer, one for each language.

`connected`, `connecting` and `connections` have one stem, so a search for one finds the others.
"""

from __future__ import annotations

import threading
from functools import cache

import Stemmer

from memoranda.errors import InvalidInput
from memoranda.model.limits import plain_text, short_repr
from memoranda.model.suggestions import did_you_mean

ENGLISH = "english"
PORTER = "porter"
"""The older algorithm for English, which search view 2 used."""
_MIN_CHARACTERS = 3
"""Characters of the shortest word that is stemmed: `is` and `os` are no plurals."""


class _Stemmers(threading.local):
    """The stemmers of one thread: a stemmer has a word buffer, so threads must not share it."""

    def __init__(self) -> None:
        self.by_language: dict[str, Stemmer.Stemmer] = {}


_stemmers = _Stemmers()


@cache
def languages() -> tuple[str, ...]:
    """Return the languages that have a stemmer."""
    return tuple(sorted(Stemmer.algorithms()))


def check_language(language: object) -> str:
    """Return `language` if there is a stemmer for it."""
    name = plain_text("language", language)
    if name not in languages():
        choices = ", ".join(languages())
        raise InvalidInput(
            "language",
            f"{short_repr(name)} has no stemmer: give one of {choices}; texts in Chinese, "
            "Japanese, Korean and Thai are found in every language"
            + did_you_mean(name, languages()),
        )
    return name


def is_english(language: str) -> bool:
    """Say whether a stemmer is one of the two for English."""
    return language in (ENGLISH, PORTER)


def stem(word: str, language: str = ENGLISH) -> str:
    """Return the stem of a word in lower case."""
    if len(word) < _MIN_CHARACTERS:
        return word
    stemmer = _stemmers.by_language.get(language)
    if stemmer is None:  # its own cache is off: the tokenizer caches whole tokens
        stemmer = _stemmers.by_language[language] = Stemmer.Stemmer(check_language(language), 0)
    return str(stemmer.stemWord(word))
