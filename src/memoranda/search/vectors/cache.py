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
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING

import msgspec

from memoranda.errors import Corruption
from memoranda.search.index.partitions import Partition
from memoranda.search.vectors.embedder import require_package
from memoranda.search.vectors.store import VectorState
from memoranda.storage.port import Reader

if TYPE_CHECKING:
    from memoranda.search.vectors.nearest_neighbors import Floats, PartitionVectors

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
    """The cached vectors of some partitions, for one snapshot."""

    def __init__(self, reader: Reader, dimension: int) -> None:
        self._reader = reader
        self._dimension = dimension
        self._partitions: list[tuple[PartitionVectors, int]] = []
        self._origins: dict[int, tuple[PartitionVectors, int]] = {}
        """Document id -> the vectors it came from, and the partition's last document."""

    def add(self, vectors: PartitionVectors, last_document: int) -> None:
        """Add a partition; `last_document` is its last id in this snapshot."""
        self._partitions.append((vectors, last_document))

    def best(self, query: Floats, limit: int, as_of_commit: int | None) -> list[tuple[float, int]]:
        """Return the scores and ids of the nearest documents, best first."""
        self._origins = {}
        return nlargest(limit, self._scores(query, limit, as_of_commit))

    def _scores(
        self, query: Floats, limit: int, as_of_commit: int | None
    ) -> Iterator[tuple[float, int]]:
        from memoranda.search.vectors.nearest_neighbors import RERANK_CANDIDATES

        for vectors, last_document in self._partitions:
            count = max(limit, RERANK_CANDIDATES) if vectors.approximate else limit
            ids, scores = vectors.best(query, count, as_of_commit)
            pairs = list(zip(scores.tolist(), ids.tolist(), strict=True))
            if vectors.approximate:
                candidates = [document_id for _, document_id in pairs]
                pairs = exact_scores(self._reader, candidates, query, self._dimension)
            for score, document_id in pairs:
                if score > 0:
                    self._origins[document_id] = (vectors, last_document)
                    yield score, document_id

    def remove(self, document_ids: Iterable[int]) -> bool:
        """Leave out documents that no longer exist; return whether there were any."""
        has_removed = False
        for document_id in document_ids:
            vectors, last_document = self._origins[document_id]
            if document_id <= last_document:  # else it is only newer than this snapshot
                vectors.remove(document_id)
                has_removed = True
        return has_removed


class VectorCache:
    """The cached vectors of all partitions. The caller holds a lock."""

    def __init__(self) -> None:
        self._partitions: dict[int, _CachedPartition] = {}
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
        removals: dict[int, int] = dict(reader.rows("partition_removals", ids=[*self._partitions]))
        for partition_id in [*self._partitions]:
            if removals.get(partition_id, -1) != self._partitions[partition_id].removals:
                del self._partitions[partition_id]
        return True

    def view(
        self, reader: Reader, partitions: Sequence[Partition], state: VectorState
    ) -> CacheView:
        """Return a view of partitions that has every vector of the reader's snapshot."""
        require_package("numpy", "vectors")
        view = CacheView(reader, state.dimension)
        ids = [partition.id for partition in partitions if partition.id]
        last_documents: dict[int, int | None] = dict(
            reader.rows("partition_last_documents", ids=ids)
        )
        for partition in partitions:
            last_document = last_documents.get(partition.id or 0)
            if partition.id is not None and last_document is not None:
                cached = self._refresh(reader, partition.id, partition, state, last_document)
                if cached.generation == state.generation:
                    view.add(cached.vectors, last_document)
        return view

    def _refresh(
        self,
        reader: Reader,
        partition_id: int,
        partition: Partition,
        state: VectorState,
        last_document: int,
    ) -> _CachedPartition:
        """Return a partition, read as far as it is not cached."""
        from memoranda.search.vectors.nearest_neighbors import PartitionVectors

        cached = self._partitions.get(partition_id)
        if cached is None or not cached.is_valid(partition, state):
            vectors = PartitionVectors(state.dimension)
            cached = _CachedPartition(vectors, state.generation, partition.removals)
        if state.fills > cached.fills or last_document > cached.last_document:
            _read_new(reader, partition_id, cached, state.dimension)
            cached.fills, cached.last_document = state.fills, last_document
            cached.complete_through = max(cached.complete_through, state.complete_through)
        self._partitions[partition_id] = cached
        return cached


def _read_new(reader: Reader, partition_id: int, cached: _CachedPartition, dimension: int) -> None:
    """Read the vectors of a partition that are not cached yet."""
    cached_ids = cached.vectors.ids_after(cached.complete_through)
    after: int | None = cached.complete_through
    while after is not None:
        rows = reader.rows(
            "vectors_of_partition", partition=partition_id, after=after, limit=_PAGE_VECTORS
        )
        new = [row for row in rows if row[0] not in cached_ids]
        contents = [_check_size(row[3], dimension) for row in new]
        cached.vectors.add([row[:3] for row in new], contents)
        after = rows[-1][0] if len(rows) == _PAGE_VECTORS else None


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
