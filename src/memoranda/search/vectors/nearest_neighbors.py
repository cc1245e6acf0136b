"""Nearest neighbours among the vectors of one partition: exact, or binary quantized for many.

They are hints: whatever is found through them is looked up in the reader's snapshot before it is
returned. Importing this module needs numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Ids: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"
Floats: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float32]]"
Rows: TypeAlias = "np.ndarray[tuple[int, int], Any]"

EXACT_LIMIT = 250_000
"""Vectors of a partition that are compared exactly; see docs/explanation/recall.md for figures."""
RERANK_CANDIDATES = 1_000
"""Nearest quantized vectors that are then compared exactly."""
_FIRST_ROWS = 64
"""Rows of a new matrix, which doubles when it is full."""
_DOCUMENT_BYTES = 24
"""Bytes of a document's id and its two commits."""


class GrowingMatrix:
    """A matrix to which rows are appended; it is copied rarely."""

    def __init__(self, width: int, dtype: Any) -> None:
        self._rows = np.empty((_FIRST_ROWS, width), dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, rows: Rows) -> None:
        """Append rows; slices that other threads hold stay valid."""
        end = self._count + len(rows)
        if end > len(self._rows):
            capacity = max(end, len(self._rows) * 3 // 2)
            grown = np.empty((capacity, self._rows.shape[1]), self._rows.dtype)
            grown[: self._count] = self._rows[: self._count]
            self._rows = grown
        self._rows[self._count : end] = rows
        self._count = end

    def reserve(self, rows: int) -> None:
        """Make room for so many rows in all, of an empty matrix."""
        assert not self._count, "rows are not copied"
        self._rows = np.empty((max(rows, _FIRST_ROWS), self._rows.shape[1]), self._rows.dtype)

    @property
    def nbytes(self) -> int:
        """The bytes that it takes, with the room for more rows."""
        return self._rows.nbytes

    def rows(self) -> Rows:
        """Return the current rows."""
        count = self._count  # first: another thread may replace the rows by more, never by fewer
        return self._rows[:count]


class ExactVectors:
    """Compares a query with each vector."""

    approximate = False

    def __init__(self, dimension: int) -> None:
        self._vectors = GrowingMatrix(dimension, np.float32)

    def add(self, vectors: Rows) -> None:
        """Append vectors."""
        self._vectors.add(vectors)

    def scores(self, query: Floats) -> Floats:
        """Return the cosine of each vector with the query."""
        return self._vectors.rows() @ query

    def vectors(self) -> Rows:
        """Return the vectors."""
        return self._vectors.rows()

    def reserve(self, rows: int) -> None:
        """Make room for so many vectors in all, before the first is appended."""
        self._vectors.reserve(rows)

    @property
    def nbytes(self) -> int:
        """The bytes that they take."""
        return self._vectors.nbytes


class BinaryQuantized:
    """Compares one bit of each dimension: on which side of the mean it lies.

    It takes a thirty-second of the memory and a fraction of the time. The Hamming distance is right
    about which vectors are near, not about which is nearest: the best are to be compared exactly.
    """

    approximate = True

    def __init__(self, sample: Rows) -> None:
        self._mean = sample.astype(np.float32).mean(axis=0)
        words = -(-sample.shape[1] // 64)
        self._words = [GrowingMatrix(1, np.uint64) for _ in range(words)]
        """One contiguous column for each 64 bits: three times as fast as striding over rows."""

    def add(self, vectors: Rows) -> None:
        """Append vectors."""
        quantized = self._quantize(vectors)
        for position, column in enumerate(self._words):
            column.add(quantized[:, position : position + 1])

    def scores(self, query: Floats) -> Floats:
        """Return the negated Hamming distance of each vector to the query."""
        query_words = self._quantize(query[None, :])[0]
        # The last column is appended to last: another thread may have added to the others only.
        distances = np.zeros(len(self._words[-1]), np.uint16)
        for column, word in zip(self._words, query_words, strict=True):
            distances += np.bitwise_count(column.rows()[: len(distances), 0] ^ word)
        return -distances.astype(np.float32)

    @property
    def nbytes(self) -> int:
        """The bytes that they take."""
        return sum(column.nbytes for column in self._words)

    def _quantize(self, vectors: Rows) -> Rows:
        bits = np.zeros((len(vectors), len(self._words) * 64), np.bool_)
        np.greater(vectors, self._mean, out=bits[:, : vectors.shape[1]])
        return np.packbits(bits, axis=1).view(np.uint64)


def best_positions(ids: Ids, scores: Floats, count: int) -> Ids:
    """Return the positions of the highest scores, in any order; of equal ones the newest ids."""
    if count >= len(scores):
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - count)[-count]
    above, equal = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
    newest = np.argsort(ids[equal], kind="stable")[len(above) + len(equal) - count :]
    return np.concatenate((above, equal[newest]))


def bytes_of(rows: int, dimension: int) -> int:
    """Return about how many bytes so many vectors take, in the form in which they are cached."""
    vector = 4 * dimension if rows <= EXACT_LIMIT else dimension // 8 + 8
    return rows * (vector + _DOCUMENT_BYTES)


class PartitionVectors:
    """The cached vectors of one partition."""

    def __init__(self, dimension: int, exact_limit: int = EXACT_LIMIT) -> None:
        self._dimension = dimension
        self._exact_limit = exact_limit
        self._form: ExactVectors | BinaryQuantized = ExactVectors(dimension)
        self._documents = GrowingMatrix(3, np.int64)
        """Document id, first commit and end commit, row by row as the vectors."""
        self._removed_ids: set[int] = set()

    def __len__(self) -> int:
        return len(self._documents)

    def reserve(self, rows: int) -> None:
        """Make room for so many vectors in all, before the first is appended."""
        if rows <= self._exact_limit and isinstance(self._form, ExactVectors):
            self._form.reserve(rows)
            self._documents.reserve(rows)

    @property
    def nbytes(self) -> int:
        """The bytes that they take."""
        return self._form.nbytes + self._documents.nbytes

    @property
    def removed(self) -> int:
        """Number of cached documents that no longer exist."""
        return len(self._removed_ids)

    @property
    def approximate(self) -> bool:
        """Whether scores are only approximate."""
        return self._form.approximate

    def ids_after(self, document_id: int) -> set[int]:
        """Return the cached document ids above an id."""
        ids = self._documents.rows()[:, 0]
        return set(ids[ids > document_id].tolist())

    def add(self, documents: Sequence[tuple[int, int, int]], contents: Sequence[bytes]) -> None:
        """Append vectors in their stored form."""
        if not documents:
            return
        halves = np.frombuffer(b"".join(contents), "<f2").reshape(-1, self._dimension)
        vectors = halves.astype(np.float32)
        is_exact = isinstance(self._form, ExactVectors)
        if is_exact and len(self) + len(documents) > self._exact_limit:
            self._quantize(vectors)
        self._form.add(vectors)
        self._documents.add(np.array(documents, np.int64))

    def _quantize(self, new_vectors: Rows) -> None:
        """Replace the exact vectors by quantized ones."""
        assert isinstance(self._form, ExactVectors), "quantizing happens once"
        vectors = self._form.vectors()
        quantized = BinaryQuantized(vectors if len(vectors) else new_vectors)
        quantized.add(vectors)
        self._form = quantized  # complete: another thread may be searching

    def remove(self, document_id: int) -> None:
        """Never return a document again: it no longer exists."""
        self._removed_ids.add(document_id)

    def best(self, query: Floats, limit: int, as_of_commit: int | None) -> tuple[Ids, Floats]:
        """Return the ids of the nearest documents and their scores, in any order.

        There may be more than `limit`, because some may turn out not to exist any more.
        """
        documents = self._documents.rows()
        scores = self._form.scores(query)[: len(documents)]
        if as_of_commit is not None:
            existing = (documents[:, 1] <= as_of_commit) & (documents[:, 2] > as_of_commit)
            documents, scores = documents[existing], scores[existing]
        count = limit + len(self._removed_ids)
        if count < len(scores):
            positions = best_positions(documents[:, 0], scores, count)
            documents, scores = documents[positions], scores[positions]
        if self._removed_ids:
            remaining = ~np.isin(documents[:, 0], list(self._removed_ids))
            documents, scores = documents[remaining], scores[remaining]
        return documents[:, 0], scores
