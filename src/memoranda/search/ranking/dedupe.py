"""Thinning: saying nothing twice.

What says the same as a better hit is left out for it. So is a piece of a transcript that a memory
among the hits cites: the memory stands for it, and names it as its source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, floor
from typing import Final

from memoranda.model.memory import Span
from memoranda.search.candidates import Candidate
from memoranda.search.shelves import MEMORY, PASSAGE

ALIKE: Final = 0.9
"""How much of a longer text a shorter one has to have, if it has nothing else."""
QUOTED: Final = 0.8
"""How much of a piece of a transcript has to be cited for the piece to say nothing of its own."""
LABEL: Final = 40
"""How many bytes tell no more than who said it and when: a third of the piece is enough then."""
NEGATIONS: Final = frozenset(
    ("no", "not", "never", "none", "nobody", "nothing", "neither", "nor", "without", "cannot", "t")
)
"""With one more of these, the same words say the opposite; `t` is what is left of `doesn't`."""
Wording = tuple[str, ...]
Cited = Mapping[str, Iterable[tuple[str, Span]]]
"""What memories cite: by their ids, transcripts and spans; (0, 0) is a whole transcript."""


def thin(ranked: Sequence[Candidate], k: int, cited: Cited) -> list[Candidate]:
    """Return the first `k` candidates that say something of their own; they name the others."""
    left_out: set[int] = set()
    while True:
        kept = _first(ranked, k, left_out)
        covered = _covered(kept, cited)
        if not covered:
            return kept
        for passage, memory in covered:
            left_out.add(id(passage))
            memory.duplicates.append(passage.id)


def _first(ranked: Sequence[Candidate], k: int, left_out: set[int]) -> list[Candidate]:
    kept = _Kept()
    for each in ranked:
        if len(kept.found) == k:
            break
        if id(each) in left_out:
            continue
        same = kept.same(each)
        if same is None:
            kept.add(each)
        else:
            left_out.add(id(each))
            same.duplicates.append(each.id)
    return kept.found


class _Kept:
    """What is kept, by how it is worded: texts of very different lengths are never compared."""

    def __init__(self) -> None:
        self.found: list[Candidate] = []
        self._by_wording: dict[tuple[str, Wording], int] = {}
        self._by_length: dict[tuple[str, int], list[int]] = {}

    def add(self, each: Candidate) -> None:
        """Keep one more."""
        number = len(self.found)
        self.found.append(each)
        if each.wording:
            self._by_wording.setdefault((each.kind, each.wording), number)
            self._by_length.setdefault((each.kind, len(each.wording)), []).append(number)

    def same(self, each: Candidate) -> Candidate | None:
        """Return the best that says all that another one does, and hardly more, or the reverse."""
        alike = self._by_wording.get((each.kind, each.wording))
        found = [number for number in self._near(each) if _same(self.found[number], each)]
        numbers = found if alike is None else [*found, alike]
        return self.found[min(numbers)] if numbers else None

    def _near(self, each: Candidate) -> Iterator[int]:
        """Yield those that are a little longer or shorter and have the same words.

        What is as long is the same to the word, or is not the same at all.
        """
        size, words = len(each.wording), each.vocabulary
        for other in range(ceil(ALIKE * size), floor(size / ALIKE) + 1):
            if other != size:
                for number in self._by_length.get((each.kind, other), ()):
                    others = self.found[number].vocabulary
                    if others <= words if other < size else words <= others:
                        yield number


def _same(better: Candidate, other: Candidate) -> bool:
    """Say whether the longer one of two says all that the shorter one does, and hardly more."""
    less, more = sorted((better.wording, other.wording), key=len)
    if len(less) < ALIKE * len(more):
        return False
    rest = iter(more)
    extra: list[str] = []
    for word in less:
        for found in rest:
            if found == word:
                break
            extra.append(found)
        else:
            return False
    extra.extend(rest)
    return not any(word in NEGATIONS or word.isdecimal() for word in extra)


def _covered(kept: Sequence[Candidate], cited: Cited) -> list[tuple[Candidate, Candidate]]:
    """Return the passages that memories cite which are kept as well, and the best of these."""
    spans: dict[str, list[tuple[Span, Candidate]]] = {}
    for memory in kept:
        if memory.kind == MEMORY:
            for transcript, span in cited.get(memory.id, ()):
                spans.setdefault(transcript, []).append((span, memory))
    found: list[tuple[Candidate, Candidate]] = []
    for passage in kept:
        if passage.kind == PASSAGE:
            citing = [each for each in spans.get(passage.id, ()) if _within(each[0], passage)]
            if _is_quoted(passage, [span for span, _ in citing]):
                found.append((passage, citing[0][1]))
    return found


def _within(span: Span, passage: Candidate) -> Span | None:
    """Return what a span has of a passage; a transcript cited as a whole quotes none of it."""
    assert passage.passage is not None, "a piece of a transcript was found by its words"
    first = max(passage.passage.first, span[0])
    beyond = min(passage.passage.beyond, span[1])
    return (first, beyond) if first < beyond else None


def _is_quoted(passage: Candidate, spans: Iterable[Span]) -> bool:
    """Say whether spans leave nothing of a passage that would be missed."""
    assert passage.passage is not None, "a piece of a transcript was found by its words"
    size, quoted, end = passage.passage.beyond - passage.passage.first, 0, 0
    for first, beyond in sorted(part for span in spans if (part := _within(span, passage))):
        quoted += max(beyond - max(first, end), 0)
        end = max(end, beyond)
    if size - quoted <= LABEL:
        return quoted >= size / 3
    return quoted >= QUOTED * size
