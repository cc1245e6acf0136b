"""The vectors of one shelf, remembered in this process: which passages, and where they point.

What is here is a hint with an owner: whoever finds something through it looks it up before it is
told to anybody. Loading this file takes numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"
Floats: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float32]]"
Rows: TypeAlias = "np.ndarray[tuple[int, int], Any]"

EXACT = 250_000
"""How many vectors of a shelf are compared one by one; see docs/explanation/recall.md."""
CANDIDATES = 1_000
"""How many of those whose sketches are nearest are then compared exactly."""
_FIRST_ROOM = 64


class Column:
    """Rows that only grow in number; making room is rare."""

    def __init__(self, width: int, kind: Any) -> None:
        self._rows = np.empty((_FIRST_ROOM, width), kind)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, rows: Rows) -> None:
        """Put rows behind those that are there; who holds these is not disturbed."""
        beyond = self._count + len(rows)
        if beyond > len(self._rows):
            room = max(beyond, len(self._rows) * 3 // 2)
            grown = np.empty((room, self._rows.shape[1]), self._rows.dtype)
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        self._rows[self._count : beyond] = rows
        self._count = beyond

    def rows(self) -> Rows:
        """Return the rows there are now."""
        return self._rows[: self._count]


class Exact:
    """Compares a query with each vector."""

    approximate = False

    def __init__(self, dimension: int) -> None:
        self._vectors = Column(dimension, np.float32)

    def add(self, vectors: Rows) -> None:
        """Take more vectors."""
        self._vectors.add(vectors)

    def scores(self, query: Floats) -> Floats:
        """Return how much each vector points where the query does."""
        return self._vectors.rows() @ query

    def vectors(self) -> Rows:
        """Return the vectors there are."""
        return self._vectors.rows()


class Sketches:
    """Compares a query with one bit of each number: on which side of the middle it lies.

    It takes a thirty-second of the memory and a fraction of the time, and is right about which are
    near, not about which is nearest: the best are to be compared exactly.
    """

    approximate = True

    def __init__(self, sample: Rows) -> None:
        self._middle = sample.astype(np.float32).mean(axis=0)
        words = -(-sample.shape[1] // 64)
        self._words = [Column(1, np.uint64) for _ in range(words)]
        """Each in a column of its own: going through one is three times as fast as striding."""

    def add(self, vectors: Rows) -> None:
        """Take more vectors."""
        sketched = self._sketched(vectors)
        for place, column in enumerate(self._words):
            column.add(sketched[:, place : place + 1])

    def scores(self, query: Floats) -> Floats:
        """Return how many bits of each vector are those of the query."""
        sought = self._sketched(query[None, :])[0]
        differing = np.zeros(len(self._words[-1]), np.uint16)  # the one that is added to last
        for column, word in zip(self._words, sought, strict=True):
            differing += np.bitwise_count(column.rows()[: len(differing), 0] ^ word)
        return -differing.astype(np.float32)

    def _sketched(self, vectors: Rows) -> Rows:
        bits = np.zeros((len(vectors), len(self._words) * 64), np.bool_)
        np.greater(vectors, self._middle, out=bits[:, : vectors.shape[1]])
        return np.packbits(bits, axis=1).view(np.uint64)


class ShelfVectors:
    """What is remembered of one shelf."""

    def __init__(self, dimension: int, exact: int = EXACT) -> None:
        self._dimension = dimension
        self._most_exact = exact
        self._form: Exact | Sketches = Exact(dimension)
        self._facts = Column(3, np.int64)
        """The number of each passage, and the commits from and until which it is known."""
        self._gone: set[int] = set()

    def __len__(self) -> int:
        return len(self._facts)

    @property
    def gone(self) -> int:
        """How many are remembered that are no more."""
        return len(self._gone)

    @property
    def approximate(self) -> bool:
        """Whether scores only tell which are near."""
        return self._form.approximate

    def beyond(self, number: int) -> set[int]:
        """Return the passages with a higher number."""
        ids = self._facts.rows()[:, 0]
        return set(ids[ids > number].tolist())

    def add(self, facts: Sequence[tuple[int, int, int]], contents: Sequence[bytes]) -> None:
        """Take more vectors, as they are stored."""
        if not facts:
            return
        stored = np.frombuffer(b"".join(contents), "<f2").reshape(-1, self._dimension)
        vectors = stored.astype(np.float32)
        if isinstance(self._form, Exact) and len(self) + len(facts) > self._most_exact:
            self._sketch(vectors)
        self._form.add(vectors)
        self._facts.add(np.array(facts, np.int64))

    def _sketch(self, more: Rows) -> None:
        """Give up the vectors for their sketches."""
        assert isinstance(self._form, Exact)
        vectors = self._form.vectors()
        self._form = Sketches(vectors if len(vectors) else more)
        self._form.add(vectors)

    def leave_out(self, number: int) -> None:
        """Never name a passage again: it is no more."""
        self._gone.add(number)

    def best(self, query: Floats, most: int, known: int | None) -> tuple[Numbers, Floats]:
        """Return the passages that are nearest, and their scores, in any order.

        There may be more than asked for, so that some can turn out to be of no use.
        """
        facts = self._facts.rows()
        scores = self._form.scores(query)[: len(facts)]
        if known is not None:
            told = (facts[:, 1] <= known) & (facts[:, 2] > known)
            facts, scores = facts[told], scores[told]
        wanted = most + len(self._gone)
        if wanted < len(scores):
            places = np.argpartition(scores, len(scores) - wanted)[-wanted:]
            facts, scores = facts[places], scores[places]
        if self._gone:
            left = ~np.isin(facts[:, 0], list(self._gone))
            facts, scores = facts[left], scores[left]
        return facts[:, 0], scores
