"""Cache the vectors of partitions in this process.

What invalidates the cache:

1. A document of a partition was erased: its `removals` grew. The partition is dropped at once,
   because the cached vector is derived from erased text.
2. All vectors were dropped: the `generation` of the stored state grew. The partition is read again.
3. Vectors were added: `fills` grew, or the partition has a newer document. The new ones are read.
4. A document was replaced or removed: nothing tells the cache. Its id is found to be missing when
   it is looked up in the reader's snapshot, and is left out from then on. When many are, the
   partition is read again.

A reader with an older snapshot than the cache is no problem: ids it cannot see are not returned.

The partitions have a share of the memory budget, so one may be dropped at any time; a search that
compares its vectors keeps them until it is done. A search holds one partition at a time. One that
is larger than the budget is read from the reader's snapshot in pieces, for each search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING

import msgspec

from memoranda.errors import Corruption
from memoranda.search.index.partitions import Partition
from memoranda.search.vectors.store import VectorState
from memoranda.storage.memory_budget import CacheShare, MemoryBudget
from memoranda.storage.port import Reader, Row

if TYPE_CHECKING:
    from _thread import RLock

    from memoranda.search.vectors.nearest_neighbors import Floats, Ids, PartitionVectors

_PAGE_VECTORS = 20_000
"""Vectors that are read at once: about ten megabytes with 256 dimensions."""
_MAX_REMOVED = 1_000
"""Removed documents, if also a quarter of all, beyond which a partition is read again."""


class _CachedPartition(msgspec.Struct):
    """The cached vectors of a partition, and the state they were read in."""

    vectors: PartitionVectors
    generation: int
    removals: int
    complete_through: int = 0
    """Up to this id every vector is cached, and none can be added any more."""
    fills: int = 0
    last_document: int = 0

    def is_valid(self, partition: Partition, state: VectorState) -> bool:
        """Say whether vectors can be added to it; an older snapshot does not invalidate it."""
        if self.vectors.removed > max(_MAX_REMOVED, len(self.vectors) // 4):
            return False
        return self.generation >= state.generation and self.removals >= partition.removals


class CacheView:
    """The vectors of some partitions, for one snapshot. It takes the lock to read a partition."""

    def __init__(
        self,
        cache: VectorCache,
        lock: RLock,
        reader: Reader,
        partitions: Sequence[Partition],
        state: VectorState,
    ) -> None:
        self._cache = cache
        self._lock = lock
        self._reader = reader
        self._state = state
        ids = [partition.id for partition in partitions if partition.id]
        self._last_documents: dict[int, int | None] = dict(
            reader.rows("partition_last_documents", ids=ids)
        )
        self._partitions = partitions
        self._origins: dict[int, int] = {}
        """Document id -> the partition it came from."""

    def best(self, query: Floats, limit: int, as_of_commit: int | None) -> list[tuple[float, int]]:
        """Return the scores and ids of the nearest documents, best first."""
        self._origins = {}
        return nlargest(limit, self._scores(query, limit, as_of_commit))

    def _scores(
        self, query: Floats, limit: int, as_of_commit: int | None
    ) -> Iterator[tuple[float, int]]:
        from memoranda.search.vectors.nearest_neighbors import RERANK_CANDIDATES

        for partition in self._partitions:
            vectors = self._vectors_of(partition)
            if partition.id is None or vectors is None:
                continue
            count = max(limit, RERANK_CANDIDATES) if vectors.approximate else limit
            ids, scores = vectors.best(query, count, as_of_commit)
            pairs = list(zip(scores.tolist(), ids.tolist(), strict=True))
            if vectors.approximate:
                candidates = [document_id for _, document_id in pairs]
                pairs = exact_scores(self._reader, candidates, query, self._state.dimension)
            for score, document_id in pairs:
                if score > 0:
                    self._origins[document_id] = partition.id
                    yield score, document_id

    def _vectors_of(self, partition: Partition) -> PartitionVectors | VectorPages | None:
        last_document = self._last_documents.get(partition.id or 0)
        if partition.id is None or last_document is None:
            return None
        with self._lock:
            return self._cache.vectors_of(
                self._reader, partition.id, partition, self._state, last_document
            )

    def remove(self, document_ids: Iterable[int]) -> bool:
        """Leave out documents that no longer exist; return whether there were any."""
        has_removed = False
        for document_id in document_ids:
            partition_id = self._origins[document_id]
            if document_id <= (self._last_documents[partition_id] or 0):
                with self._lock:
                    self._cache.remove(partition_id, document_id)
                has_removed = True  # else it is only newer than this snapshot
        return has_removed


class VectorCache:
    """The cached vectors of all partitions. The caller holds a lock."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._partitions: CacheShare[int, _CachedPartition] = budget.share()
        self._last_erasure = 0

    def drop(self) -> None:
        """Empty the cache."""
        self._partitions.clear()

    def drop_erased(self, reader: Reader) -> bool:
        """Drop partitions from which documents were erased, or that no longer exist.

        Return whether anything was erased anywhere since the last call.
        """
        last = (reader.row("erasure_last") or (None,))[0] or 0
        if last <= self._last_erasure:
            return False
        self._last_erasure = last
        partitions = self._partitions.items()
        ids = [partition_id for partition_id, _ in partitions]
        removals: dict[int, int] = dict(reader.rows("partition_removals", ids=ids))
        for partition_id, cached in partitions:
            if removals.get(partition_id, -1) != cached.removals:
                self._partitions.remove(partition_id)
        return True

    def remove(self, partition_id: int, document_id: int) -> None:
        """Leave out a document of a partition from now on, if the partition is cached."""
        cached = self._partitions.get(partition_id)
        if cached is not None:
            cached.vectors.remove(document_id)

    def vectors_of(
        self,
        reader: Reader,
        partition_id: int,
        partition: Partition,
        state: VectorState,
        last_document: int,
    ) -> PartitionVectors | VectorPages | None:
        """Return every vector of a partition in the reader's snapshot; None: they are outdated."""
        from memoranda.search.vectors.nearest_neighbors import PartitionVectors, bytes_of

        cached = self._partitions.get(partition_id)
        if cached is None or not cached.is_valid(partition, state):
            self._partitions.remove(partition_id)
            if bytes_of(partition.size, state.dimension) > self._partitions.limit:
                return VectorPages(reader, partition_id, state.dimension)
            vectors = PartitionVectors(state.dimension)
            vectors.reserve(partition.size)
            cached = _CachedPartition(vectors, state.generation, partition.removals)
        if state.fills > cached.fills or last_document > cached.last_document:
            _read_new(reader, partition_id, cached, state.dimension)
            cached.fills, cached.last_document = state.fills, last_document
            cached.complete_through = max(cached.complete_through, state.complete_through)
            self._partitions.put(partition_id, cached, cached.vectors.nbytes)
        return cached.vectors if cached.generation == state.generation else None


class VectorPages:
    """The vectors of a partition that is too large to be cached, read for each comparison."""

    approximate = False

    def __init__(self, reader: Reader, partition_id: int, dimension: int) -> None:
        self._reader = reader
        self._partition_id = partition_id
        self._dimension = dimension

    def best(self, query: Floats, limit: int, as_of_commit: int | None) -> tuple[Ids, Floats]:
        """Return the ids of the nearest documents and their scores, in any order."""
        import numpy as np

        from memoranda.search.vectors.nearest_neighbors import PartitionVectors, best_positions

        ids, scores = np.empty(0, np.int64), np.empty(0, np.float32)
        for rows in _pages(self._reader, self._partition_id, 0):
            piece = PartitionVectors(self._dimension)
            piece.add(
                [row[:3] for row in rows], [_check_size(row[3], self._dimension) for row in rows]
            )
            piece_ids, piece_scores = piece.best(query, limit, as_of_commit)
            ids, scores = np.append(ids, piece_ids), np.append(scores, piece_scores)
            positions = best_positions(ids, scores, limit)
            ids, scores = ids[positions], scores[positions]
        return ids, scores


def _pages(reader: Reader, partition_id: int, after: int) -> Iterator[list[Row]]:
    """Yield the stored vectors of a partition behind a document, in pages."""
    while True:
        rows = reader.rows(
            "vectors_of_partition", partition=partition_id, after=after, limit=_PAGE_VECTORS
        )
        if rows:
            yield rows
        if len(rows) < _PAGE_VECTORS:
            return
        after = rows[-1][0]


def _read_new(reader: Reader, partition_id: int, cached: _CachedPartition, dimension: int) -> None:
    """Read the vectors of a partition that are not cached yet."""
    cached_ids = cached.vectors.ids_after(cached.complete_through)
    for rows in _pages(reader, partition_id, cached.complete_through):
        new = [row for row in rows if row[0] not in cached_ids]
        contents = [_check_size(row[3], dimension) for row in new]
        cached.vectors.add([row[:3] for row in new], contents)


def exact_scores(
    reader: Reader, ids: Sequence[int], query: Floats, dimension: int
) -> list[tuple[float, int]]:
    """Return the scores of documents by their stored vectors."""
    import numpy as np

    rows = reader.rows("vectors_by_id", ids=sorted(ids))  # in order: neighbours share pages
    contents = b"".join(_check_size(content, dimension) for _, content in rows)
    vectors = np.frombuffer(contents, "<f2").astype(np.float32).reshape(-1, dimension)
    scores = vectors @ query
    return [(score, row[0]) for score, row in zip(scores.tolist(), rows, strict=True)]


def _check_size(content: bytes, dimension: int) -> bytes:
    if len(content) != 2 * dimension:
        raise Corruption(
            f"a vector has {len(content)} bytes, not {2 * dimension}: "
            "make all of them again with `memoranda rebuild` and then `memoranda reindex`"
        )
    return content
