"""Suggesting merges: entities whose names are so alike that they may be one. It binds nothing.

Names are compared as `rapidfuzz` does in `token_sort_ratio`: words in any order, and then twice the
letters they have in common over the letters they have. Its `WRatio` takes any name that is part of
another for nine tenths alike (Ann and Joanna), which is too much to look through. This measure also
bounds how many pairs of neighbouring letters two alike names can differ in. So names are compared
only where they share enough of these, which is counted for thousands at once, and none is missed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec
from rapidfuzz import process
from rapidfuzz.distance import Indel

from memoranda.graph.names import normal_name
from memoranda.graph.records import Entity, MergeSuggestion

_NUMBER = re.compile(r"\d+")
_SLACK = 1e-9
"""What a quotient may be off by."""
_BLOCK = 4096
"""How many names are looked at together."""
_KEPT = 1000
"""How many pairs are kept beyond those that are asked for, before the least alike are dropped."""


class Label(msgspec.Struct, frozen=True, gc=False):
    """One name of an entity, in the form that is compared."""

    text: str
    entity: int


def suggest_merges(
    entities: Sequence[Entity], *, score: float, limit: int
) -> list[MergeSuggestion]:
    """Return the pairs of entities that are most alike by any of their names, these first."""
    best = _Best(entities, score, limit)
    groups: dict[tuple[str, ...], set[Label]] = {}
    for number, entity in enumerate(entities):
        for name in (entity.name, *entity.aliases):
            text = " ".join(sorted(normal_name(name).split()))
            # `order 4711` is not `order 4712` mistyped, and of such names there may be very many
            groups.setdefault(tuple(_NUMBER.findall(text)), set()).add(Label(text, number))
    for group in groups.values():
        labels = sorted(group, key=lambda label: (len(label.text), label.text, label.entity))
        for first in range(0, len(labels), _BLOCK):
            _compare(labels, first, best)
    return best.suggestions()


class _Best:
    """The pairs that are most alike so far."""

    def __init__(self, entities: Sequence[Entity], score: float, limit: int) -> None:
        self._entities = entities
        self.score = score
        self._limit = limit
        self._pairs: dict[tuple[int, int], float] = {}

    def compare(self, one: Label, others: Sequence[Label]) -> None:
        """Take in how alike a name is to others."""
        found = process.extract(
            one.text,
            [other.text for other in others],
            scorer=Indel.normalized_similarity,
            score_cutoff=self.score,
            limit=None,
        )
        for _, score, index in found:
            other = others[index]
            if one.entity != other.entity:
                pair = (min(one.entity, other.entity), max(one.entity, other.entity))
                self._pairs[pair] = max(score, self._pairs.get(pair, 0.0))
        if len(self._pairs) > self._limit + _KEPT:
            self._pairs = dict(self._ranked()[: self._limit])
            self.score = min(self._pairs.values())

    def suggestions(self) -> list[MergeSuggestion]:
        """Return the pairs, the most alike first, then by their names."""
        return [
            MergeSuggestion(self._entities[one].name, self._entities[other].name, score)
            for (one, other), score in self._ranked()[: self._limit]
        ]

    def _ranked(self) -> list[tuple[tuple[int, int], float]]:
        def rank(item: tuple[tuple[int, int], float]) -> tuple[float, str, str]:
            (one, other), score = item
            return -score, self._entities[one].key, self._entities[other].key

        return sorted(self._pairs.items(), key=rank)


class _Block:
    """Some labels of a group, in the order of their lengths, as the bits of numbers.

    Every pair of letters has a number whose bits are the labels that have it. Adding these up for
    the pairs of one name, bit by bit in planes, counts for all labels at once what they share.
    """

    def __init__(self, labels: Sequence[Label]) -> None:
        self.labels = labels
        self._having: dict[str, int] = {}
        self._sizes: dict[int, int] = {}
        for place, label in enumerate(labels):
            size = len(label.text)
            self._sizes[size] = self._sizes.get(size, 0) | 1 << place
            for gram in _grams(label.text):
                self._having[gram] = self._having.get(gram, 0) | 1 << place
        self._starts: dict[tuple[int, int, float], list[int]] = {}

    def near(self, text: str, score: float) -> int:
        """Return the labels that share enough with a name to be alike, of those not longer."""
        grams = _grams(text)
        planes = list(self._start(len(text), len(grams), score))
        top = len(planes) - 1
        for gram in grams:
            carry = self._having.get(gram, 0)
            plane = 0
            while carry and plane < top:
                planes[plane], carry = planes[plane] ^ carry, planes[plane] & carry
                plane += 1
            planes[top] |= carry
        return planes[top]

    def _start(self, size: int, grams: int, score: float) -> list[int]:
        """Return planes that overflow into the last one where enough is shared."""
        which = (size, grams, score)
        if which not in self._starts:
            top = grams.bit_length()
            planes = [0] * (top + 1)
            for shorter, lost in _shorter(size, score):
                missing = min(2**top, 2**top - grams + lost)
                for plane in range(top + 1):
                    if missing >> plane & 1:
                        planes[plane] |= self._sizes.get(shorter, 0)
            self._starts[which] = planes
        return self._starts[which]


def _compare(labels: Sequence[Label], first: int, best: _Best) -> None:
    """Compare the labels of a block, ordered by length, with all behind each that can be alike."""
    block = _Block(labels[first : first + _BLOCK])
    longest = len(block.labels[-1].text)
    for number in range(first + 1, len(labels)):
        label, score = labels[number], best.score
        if len(label.text) > longest * (2 - score) / score + _SLACK:
            break
        near = block.near(label.text, score) & ((1 << number - first) - 1)
        if near:
            best.compare(label, [block.labels[place] for place in _places(near)])


def _places(bits: int) -> Iterator[int]:
    """Yield which bits are set."""
    text = f"{bits:b}"[::-1]
    place = text.find("1")
    while place >= 0:
        yield place
        place = text.find("1", place + 1)


def _grams(text: str) -> set[str]:
    """Return each two letters in a row; the first and the last are in a row with the ends."""
    return {text[at : at + 2] for at in range(len(text))} | {f"\0{text[0]}"}


@lru_cache(maxsize=4096)
def _shorter(size: int, score: float) -> list[tuple[int, int]]:
    """Return how long an alike name can be that is not longer, and what the longer one may lose.

    That is how many of its pairs of letters the other may not have.
    """
    found: list[tuple[int, int]] = []
    for shorter in range(size, 0, -1):
        # Letters that are in one name only: one that is missing breaks two pairs, one too many one.
        most = int((1 - score) * (shorter + size) + _SLACK)
        apart = most - (most - shorter - size) % 2
        if apart < size - shorter:
            break
        found.append((shorter, apart + (apart + size - shorter) // 2))
    return found
