"""Remove duplicates among candidates.

A candidate that says the same as a better one is removed. So is a passage that a memory among the
candidates cites: the memory stands for it, has its scores if these are better, and names it in its
provenance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, floor
from typing import Final

from memoranda.memory.transcripts import TranscriptInfo
from memoranda.model.memory import Span
from memoranda.search.index.partitions import MEMORY, PASSAGE
from memoranda.search.ranking.candidates import Candidate

MIN_OVERLAP: Final = 0.9
"""Share of the longer text's words that the shorter one must have, and no others."""
MIN_QUOTED: Final = 0.8
"""Share of a passage that must be cited for the passage to add nothing."""
LABEL_BYTES: Final = 40
"""Uncited bytes that are no more than a speaker's name and a time: then a third is enough."""
NEGATIONS: Final = frozenset(
    ("no", "not", "never", "none", "nobody", "nothing", "neither", "nor", "without", "cannot", "t")
)
"""One more of these words turns a sentence into its opposite; `t` is left of `doesn't`."""
Words = tuple[str, ...]
Citations = Mapping[str, Sequence[tuple[TranscriptInfo, Span]]]
"""Memory id -> cited transcripts and spans; (0, 0) is a whole transcript."""


class DistinctCandidates:
    """The candidates so far, best first, by their words: of equal ones only the best.

    Texts of very different lengths are never compared.
    """

    def __init__(self) -> None:
        self.candidates: list[Candidate] = []
        self._by_words: dict[tuple[str, Words], int] = {}
        self._by_length: dict[tuple[str, int], list[int]] = {}

    def add(self, candidate: Candidate) -> None:
        """Add a candidate, or note its id with the better one that says the same."""
        original = self._find_duplicate(candidate)
        if original is not None:
            original.duplicates.append(candidate.id)
            return
        number = len(self.candidates)
        self.candidates.append(candidate)
        if candidate.words:
            self._by_words.setdefault((candidate.kind, candidate.words), number)
            lengths = self._by_length.setdefault((candidate.kind, len(candidate.words)), [])
            lengths.append(number)

    def _find_duplicate(self, candidate: Candidate) -> Candidate | None:
        """Return the best candidate that says the same."""
        equal = self._by_words.get((candidate.kind, candidate.words))
        numbers = [
            number
            for number in self._similar(candidate)
            if _says_the_same(self.candidates[number], candidate)
        ]
        if equal is not None:
            numbers.append(equal)
        return self.candidates[min(numbers)] if numbers else None

    def _similar(self, candidate: Candidate) -> Iterator[int]:
        """Yield candidates that are a little longer or shorter and have the same vocabulary.

        A text of the same length is equal word by word, or different.
        """
        size, vocabulary = len(candidate.words), candidate.vocabulary
        for length in range(ceil(MIN_OVERLAP * size), floor(size / MIN_OVERLAP) + 1):
            if length != size:
                for number in self._by_length.get((candidate.kind, length), ()):
                    words = self.candidates[number].vocabulary
                    if words <= vocabulary if length < size else vocabulary <= words:
                        yield number


def _says_the_same(better: Candidate, worse: Candidate) -> bool:
    """Say whether the longer text is the shorter one with few and harmless extra words."""
    shorter, longer = sorted((better.words, worse.words), key=len)
    if len(shorter) < MIN_OVERLAP * len(longer):
        return False
    remaining = iter(longer)
    extra: list[str] = []
    for word in shorter:
        for candidate_word in remaining:
            if candidate_word == word:
                break
            extra.append(candidate_word)
        else:
            return False
    extra.extend(remaining)
    return not any(word in NEGATIONS or word.isdecimal() for word in extra)


def merge_quotations(
    candidates: Sequence[Candidate], citations: Citations, better: Sequence[Candidate] = ()
) -> list[Candidate]:
    """Return the candidates without the passages that memories among them cite, or better ones.

    Of the citing memories the first that is better, else the one that was found best, stands for
    the passage: it names it, and its scores are at least those of the passage.
    """
    if not citations:
        return list(candidates)
    spans: dict[str, list[tuple[Span, Candidate]]] = {}
    for memory in (*better, *sorted(candidates, key=_found_by, reverse=True)):
        if memory.kind == MEMORY:
            for transcript, span in citations.get(memory.id, ()):
                spans.setdefault(transcript.id, []).append((span, memory))
    remaining: list[Candidate] = []
    for passage in candidates:
        citing = []
        if passage.kind == PASSAGE:
            citing = [pair for pair in spans.get(passage.id, ()) if _overlap(pair[0], passage)]
        if citing and is_quoted(passage, [span for span, _ in citing]):
            memory = citing[0][1]
            memory.take_scores(passage)
            memory.duplicates.append(passage.id)
        else:
            remaining.append(passage)
    return remaining


def _found_by(candidate: Candidate) -> tuple[float, float, str]:
    return candidate.lexical, candidate.cosine, candidate.id


def _overlap(span: Span, passage: Candidate) -> Span | None:
    """Return the part of a passage in a span; the span of a whole transcript has none."""
    assert passage.document is not None, "a passage is found by its document"
    start = max(passage.document.start, span[0])
    end = min(passage.document.end, span[1])
    return (start, end) if start < end else None


def is_quoted(passage: Candidate, spans: Iterable[Span]) -> bool:
    """Say whether spans cover a passage, except for a negligible remainder."""
    assert passage.document is not None, "a passage is found by its document"
    size, covered, last_end = passage.document.end - passage.document.start, 0, 0
    for start, end in sorted(part for span in spans if (part := _overlap(span, passage))):
        covered += max(end - max(start, last_end), 0)
        last_end = max(last_end, end)
    if size - covered <= LABEL_BYTES:
        return covered >= size / 3
    return covered >= MIN_QUOTED * size
