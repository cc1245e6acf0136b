"""Candidates: what may become a hit, why it was found, and what is known of it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cached_property

from memoranda.graph.records import Fact
from memoranda.memory.standing import Standing
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.search.passages import Passage
from memoranda.search.words import tokens

About = Standing | Fact | TranscriptInfo
Key = tuple[str, str, int]
"""What a candidate is: its kind, its id, and where a passage begins."""
_WORD = re.compile(r"\w+")
_LONG = 4_000
"""How many characters of a text are compared word by word."""
_LONG_WORD = 256


class Candidate:
    """Something found, once, however many ways led to it."""

    def __init__(self, key: Key, passage: Passage | None = None) -> None:
        self.kind, self.id, self.first = key
        self.passage = passage
        """None: it was found through the graph alone."""
        self.lexical = 0.0
        self.cosine = 0.0
        self.graph = 0.0
        self.about: About | None = None
        """None: nothing is known of it yet."""
        self.time = 0
        """When it was said, happened or began to hold."""
        self.superseded = False
        self.load: Callable[[], str] = str
        """Gives its text."""
        self.around: tuple[str, str] | None = None
        """What stands before and behind it; None: nobody has looked."""
        self.parts: dict[str, float] = {}
        self.score = 0.0
        self.duplicates: list[str] = []

    @property
    def key(self) -> Key:
        """What it is."""
        return self.kind, self.id, self.first

    def take(self, other: Candidate) -> None:
        """Take over what speaks for another one that turned out to be the same."""
        self.lexical = max(self.lexical, other.lexical)
        self.cosine = max(self.cosine, other.cosine)
        self.graph = max(self.graph, other.graph)
        self.passage = self.passage or other.passage

    def rank(self) -> tuple[float, int, str, int]:
        """Return what candidates are sorted by: the best first, then the newest."""
        return -self.score, -self.time, self.id, self.first

    @property
    def place(self) -> str:
        """The namespace it is in."""
        assert self.about is not None, "it is known by now"
        return self.about.namespace

    @cached_property
    def text(self) -> str:
        """What it says."""
        return self.load()

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its text that say something, by their stems."""
        return frozenset(tokens(self.text[:_LONG]))

    @cached_property
    def wording(self) -> tuple[str, ...]:
        """All words of its text, in order, however they are written; a long one as it is."""
        if len(self.text) > _LONG:
            return (self.text,)
        plain = " ".join(_plain(part) for part in self.text.split())
        return tuple(_WORD.findall(plain.casefold()))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """All words of its text, common ones too."""
        return frozenset(self.wording)


def _plain(part: str) -> str:
    """Return what stands between two spaces, with characters that only look different made one.

    What is too long to be a word is left as it is: putting many marks in order takes long.
    """
    return part if len(part) > _LONG_WORD else unicodedata.normalize("NFKC", part)
