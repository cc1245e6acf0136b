"""Suggest merges: pairs of entities with similar names. Nothing is merged.

The similarity is `token_sort_ratio` of rapidfuzz: sort the words, then divide twice the length of
the longest common subsequence by the length of both names. `WRatio` would give 0.9 to every name
that is part of another (Ann, Joanna): too many pairs to review.

Comparing all pairs would be quadratic. But a similarity of at least `score` bounds how many bigrams
(pairs of adjacent letters) two names can differ in. So only names that share enough bigrams are
compared, and none is missed. Bitsets count the shared bigrams of a block of names at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec
from rapidfuzz import process
from rapidfuzz.distance import Indel

from memoranda.graph.entities import normal_name
from memoranda.graph.records import Entity, MergeSuggestion

_NUMBER = re.compile(r"\d+")
_SLACK = 1e-9
"""Tolerance for rounding errors when a quotient is compared with the score."""
_BLOCK_LABELS = 4096
"""Names per block: bitsets of this many bits, which Python adds in one operation."""
_EXTRA_PAIRS = 1000
"""Pairs collected beyond the limit before the least similar ones are dropped."""


class Label(msgspec.Struct, frozen=True, gc=False):
    """One name of an entity, normalized and with its words sorted."""

    text: str
    entity: int


def suggest_merges(
    entities: Sequence[Entity], *, score: float, limit: int
) -> list[MergeSuggestion]:
    """Return the pairs of entities with the most similar names, the most similar first."""
    best = _BestPairs(entities, score, limit)
    groups: dict[tuple[str, ...], set[Label]] = {}
    for number, entity in enumerate(entities):
        for name in (entity.name, *entity.aliases):
            text = " ".join(sorted(normal_name(name).split()))
            # Grouped by their numbers: `order 4711` is not a misspelled `order 4712`, and there may
            # be very many such names.
            groups.setdefault(tuple(_NUMBER.findall(text)), set()).add(Label(text, number))
    for group in groups.values():
        labels = sorted(group, key=lambda label: (len(label.text), label.text, label.entity))
        for first in range(0, len(labels), _BLOCK_LABELS):
            _compare(labels, first, best)
    return best.suggestions()


class _BestPairs:
    """The most similar pairs so far, a little more than `limit`."""

    def __init__(self, entities: Sequence[Entity], score: float, limit: int) -> None:
        self._entities = entities
        self.score = score
        self._limit = limit
        self._pairs: dict[tuple[int, int], float] = {}

    def compare(self, label: Label, candidates: Sequence[Label]) -> None:
        """Add the pairs of a name and its candidates that reach the score.

        Once there are enough pairs, `score` rises to the least similar of them: later names are
        then compared with fewer candidates.
        """
        matches = process.extract(
            label.text,
            [candidate.text for candidate in candidates],
            scorer=Indel.normalized_similarity,
            score_cutoff=self.score,
            limit=None,
        )
        for _, score, index in matches:
            entity, candidate = label.entity, candidates[index].entity
            if entity != candidate:
                pair = (min(entity, candidate), max(entity, candidate))
                self._pairs[pair] = max(score, self._pairs.get(pair, 0.0))
        if len(self._pairs) > self._limit + _EXTRA_PAIRS:
            self._pairs = dict(self._ranked()[: self._limit])
            self.score = min(self._pairs.values())

    def suggestions(self) -> list[MergeSuggestion]:
        """Return the pairs, the most similar first, then by name."""
        return [
            MergeSuggestion(self._entities[entity].name, self._entities[candidate].name, score)
            for (entity, candidate), score in self._ranked()[: self._limit]
        ]

    def _ranked(self) -> list[tuple[tuple[int, int], float]]:
        def rank(item: tuple[tuple[int, int], float]) -> tuple[float, str, str]:
            (entity, candidate), score = item
            return -score, self._entities[entity].key, self._entities[candidate].key

        return sorted(self._pairs.items(), key=rank)


class _Block:
    """A block of labels in the order of their lengths, with bitsets over them.

    Bit i of a bitset stands for label i. Each bigram has the bitset of the labels that contain it.
    To count shared bigrams for all labels at once, the bitsets of a name's bigrams are added up in
    *planes*: plane k holds bit k of every label's counter, and a carry goes to the next plane.
    """

    def __init__(self, labels: Sequence[Label]) -> None:
        self.labels = labels
        self._by_bigram: dict[str, int] = {}
        self._by_length: dict[int, int] = {}
        for index, label in enumerate(labels):
            length = len(label.text)
            self._by_length[length] = self._by_length.get(length, 0) | 1 << index
            for bigram in _bigrams(label.text):
                self._by_bigram[bigram] = self._by_bigram.get(bigram, 0) | 1 << index
        self._initial_planes: dict[tuple[int, int, float], list[int]] = {}

    def candidates(self, text: str, score: float) -> int:
        """Return the bitset of labels, not longer than a name, that share enough bigrams with it.

        Each counter starts at 2**top minus the bigrams that a label has to share. So the top plane
        has the bits of exactly those labels that share enough.
        """
        bigrams = _bigrams(text)
        planes = list(self._planes(len(text), len(bigrams), score))
        top = len(planes) - 1
        for bigram in bigrams:
            carry = self._by_bigram.get(bigram, 0)
            plane = 0
            while carry and plane < top:
                planes[plane], carry = planes[plane] ^ carry, planes[plane] & carry
                plane += 1
            planes[top] |= carry
        return planes[top]

    def _planes(self, length: int, bigrams: int, score: float) -> list[int]:
        """Return the initial planes for a name of a length and a number of bigrams."""
        key = (length, bigrams, score)
        if key not in self._initial_planes:
            top = bigrams.bit_length()
            planes = [0] * (top + 1)
            for shorter, tolerance in _shorter_lengths(length, score):
                initial = min(2**top, 2**top - bigrams + tolerance)
                for plane in range(top + 1):
                    if initial >> plane & 1:
                        planes[plane] |= self._by_length.get(shorter, 0)
            self._initial_planes[key] = planes
        return self._initial_planes[key]


def _compare(labels: Sequence[Label], first: int, best: _BestPairs) -> None:
    """Compare the labels of a block with all later labels that are not too long to be similar."""
    block = _Block(labels[first : first + _BLOCK_LABELS])
    longest = len(block.labels[-1].text)
    for number in range(first + 1, len(labels)):
        label, score = labels[number], best.score
        if len(label.text) > longest * (2 - score) / score + _SLACK:
            break
        # A label is compared with earlier ones only, so that each pair is compared once.
        candidates = block.candidates(label.text, score) & ((1 << number - first) - 1)
        if candidates:
            best.compare(label, [block.labels[index] for index in _set_bits(candidates)])


def _set_bits(bits: int) -> Iterator[int]:
    """Yield the indexes of the bits that are set."""
    text = f"{bits:b}"[::-1]
    index = text.find("1")
    while index >= 0:
        yield index
        index = text.find("1", index + 1)


def _bigrams(text: str) -> set[str]:
    """Return the pairs of adjacent letters; the first and the last letter count once more."""
    return {text[at : at + 2] for at in range(len(text))} | {f"\0{text[0]}"}


@lru_cache(maxsize=4096)
def _shorter_lengths(length: int, score: float) -> list[tuple[int, int]]:
    """Return the lengths of similar names that are not longer, each with its bigram tolerance.

    The tolerance is the most bigrams of the longer name that the shorter one may lack. `distance`
    is the most letters that occur in one of both names only, for a similarity of `score`. It has
    the parity of the sum of the lengths, since each common letter counts in both. A letter that
    only the longer name has breaks two of its bigrams, a letter that only the shorter one has
    breaks one.
    """
    lengths: list[tuple[int, int]] = []
    for shorter in range(length, 0, -1):
        limit = int((1 - score) * (shorter + length) + _SLACK)
        distance = limit - (limit - shorter - length) % 2
        if distance < length - shorter:
            break
        lengths.append((shorter, distance + (distance + length - shorter) // 2))
    return lengths
