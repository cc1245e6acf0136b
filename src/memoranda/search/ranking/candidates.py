"""Candidates: documents that may become hits, with their scores and records."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from memoranda.graph.records import Fact
from memoranda.memory.snapshots import MemorySnapshot
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.search.index.documents import DocumentInfo
from memoranda.search.ranking.score_parts import ScoreParts
from memoranda.search.text.stemmer import ENGLISH
from memoranda.search.text.tokenizer import ascii_table, ascii_words, tokens, word_tokens

CandidateRecord = MemorySnapshot | Fact | TranscriptInfo
Key = tuple[str, str, int]
"""Identifies a candidate: its kind, its id, and the start of a passage."""
_WORD = re.compile(r"\w+")
_ASCII_WORD_TABLE = ascii_table("_")
"""Gives the same words of ASCII as the pattern."""
_MAX_COMPARED_CHARACTERS = 4_000
"""Characters of a text that are compared word by word; a longer one is compared as a whole."""
_MAX_WORD_CHARACTERS = 256
"""Characters of a part that is normalised: sorting the marks of a longer one is slow."""
_LABEL = re.compile(r"(?:\[[^\]\n]{1,40}\]\s*)?(?P<name>[^\W\d_][^:\n]{0,39}?):\s+")
"""The speaker's name before what was said, perhaps after a time in brackets."""
_MAX_LABEL_WORDS = 3
"""Words of a speaker's name: a longer label is mostly a sentence."""
_MANY_TERMS = 2**31
"""More terms than any text has."""


Value = TypeVar("Value")


class computed_once(Generic[Value]):  # noqa: N801  # a decorator, like `property`
    """A property that is computed on first use, for objects of one thread.

    `functools.cached_property` takes a lock in Python 3.11, which costs a search as much as all of
    its tokenizing.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Any, owner: object = None) -> Value:
        value: Value = self._compute(instance)
        instance.__dict__[self._name] = value  # found before this descriptor from now on
        return value


class Candidate:
    """A candidate; several searches may find the same one.

    Defaults are attributes of the class: a search makes many candidates, and sets few of them.
    """

    lexical = 0.0
    """The BM25 score."""
    cosine = 0.0
    graph = 0.0
    """The weight of its entity match."""
    record: CandidateRecord | None = None
    """None: it is not looked up yet."""
    time = 0
    """When it was said, happened or began to hold, in microseconds."""
    superseded = False
    is_long = False
    """Whether its text is stored apart from its row: it is not read to compare it."""
    load_text: Callable[[], str] = str
    context: tuple[str, str] | None = None
    """The text before and after it in its transcript; None: it is not loaded yet."""
    transcripts: tuple[str, ...] = ()
    """The transcripts that it is from: its own, or those that it cites."""
    speakers: frozenset[str] = frozenset()
    """Who said it, by name and role, case folded; empty: not known, or not looked up."""
    message_speaker: str | None = None
    """Who said all of a passage, as its messages have it; None: several, or not known."""
    indexed_terms: frozenset[str] = frozenset()
    """Terms that it states for certain, since the index found it by them: a text is tokenized only
    to find others."""
    max_stated_terms = _MANY_TERMS
    """The most terms that it can state, by the length of its document."""
    parts: ScoreParts
    """Set when the pool is scored."""
    score = 0.0

    def __init__(
        self, key: Key, document: DocumentInfo | None = None, language: str = ENGLISH
    ) -> None:
        self.key = key
        """Its identity."""
        self.kind, self.id, self.start = key
        self.document = document
        """None: it was found through the graph alone."""
        self._language = language
        self.duplicates: list[str] = []

    def rename(self, new_id: str) -> None:
        """Give it another id."""
        self.id = new_id
        self.key = (self.kind, new_id, self.start)

    def merge(self, duplicate: Candidate) -> None:
        """Merge with another candidate for the same fact."""
        self.take_scores(duplicate)
        self.document = self.document or duplicate.document

    def take_scores(self, duplicate: Candidate) -> None:
        """Take the better scores of another candidate that it stands for."""
        self.lexical = max(self.lexical, duplicate.lexical)
        self.cosine = max(self.cosine, duplicate.cosine)
        self.graph = max(self.graph, duplicate.graph)

    def rank(self) -> tuple[float, int, str, int]:
        """Return the sort key: the best first, then the newest."""
        return -self.score, -self.time, self.id, self.start

    @property
    def namespace(self) -> str:
        """The namespace of its record."""
        assert self.record is not None, "the filters have looked it up"
        return self.record.namespace

    def set_indexed(self, found_by: frozenset[str], length: int) -> None:
        """Note what the index knows of its text: the terms it was found by, and its length.

        The document is the memory's as it is now, in the language of its namespace, and without a
        context from transcripts. Terms of a title or a tag are not stated by the text.
        """
        record = self.record
        assert isinstance(record, MemorySnapshot), "only memories are described by their documents"
        if self.is_long or len(self.text) > _MAX_COMPARED_CHARACTERS:
            return
        self.max_stated_terms = length
        if not record.title and not record.details.tags:
            self.indexed_terms = found_by

    def own_terms_among(self, terms: frozenset[str]) -> frozenset[str]:
        """Return which of some terms it is found by itself."""
        return terms if terms <= self.indexed_terms else self.own_terms & terms

    def stated_terms_among(self, terms: frozenset[str]) -> frozenset[str]:
        """Return which of some terms it states."""
        return terms if terms <= self.indexed_terms else self.stated_terms & terms

    @computed_once
    def text(self) -> str:
        """Its text, loaded on first use."""
        return self.load_text()

    @computed_once
    def own_terms(self) -> frozenset[str]:
        """The stems that it is found by itself: of what it says, its title and its tags."""
        record = self.record
        if not isinstance(record, MemorySnapshot):
            return self.stated_terms
        if not record.title and not record.details.tags:
            return self.stated_terms
        names = " ".join((record.title or "", *record.details.tags))
        return self.stated_terms | frozenset(tokens(names, self._language))

    @computed_once
    def label(self) -> str:
        """What the text begins with if that names its speaker, up to what was said; else empty.

        Only what is from a transcript was said by somebody: `Deadline: Friday` has no speaker.
        """
        match = _LABEL.match(self.text) if self.transcripts else None
        if match is None or len(match["name"].split()) > _MAX_LABEL_WORDS:
            return ""
        return match.group()

    @computed_once
    def speaker(self) -> str:
        """The name in the label."""
        match = _LABEL.match(self.label)
        return match["name"] if match else ""

    @computed_once
    def speaker_terms(self) -> frozenset[str]:
        """The stems of the speaker's name."""
        return frozenset(tokens(self.speaker, self._language))

    @computed_once
    def stated_terms(self) -> frozenset[str]:
        """The stems of what it says, without the name of its speaker."""
        if self.transcripts:
            words = self.text[len(self.label) : _MAX_COMPARED_CHARACTERS]
            return frozenset(tokens(words, self._language))
        text = self.text
        if text.isascii() and "_" not in text and len(text) <= _MAX_COMPARED_CHARACTERS:
            return frozenset(word_tokens(self.words, self._language))  # split only once
        return frozenset(tokens(text[:_MAX_COMPARED_CHARACTERS], self._language))

    @computed_once
    def words(self) -> tuple[str, ...]:
        """All words of its text, in order and case folded; a long text is one word."""
        return tuple(_words(self.text))

    @computed_once
    def vocabulary(self) -> frozenset[str]:
        """The distinct words of its text, stop words included."""
        return frozenset(self.words)


def _words(text: str) -> list[str]:
    if len(text) > _MAX_COMPARED_CHARACTERS:
        return [text]
    if text.isascii():  # nothing to normalize
        return ascii_words(text, _ASCII_WORD_TABLE)
    plain = " ".join(_normalize(part) for part in text.split())
    return _WORD.findall(plain.casefold())


def _normalize(part: str) -> str:
    """Normalize a part of a text to NFKC, unless it is long: sorting many marks is slow."""
    return part if len(part) > _MAX_WORD_CHARACTERS else unicodedata.normalize("NFKC", part)
