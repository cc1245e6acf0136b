"""Search by vectors: compare the vectors of visible documents with the query's.

The vectors of a partition are read once and cached; `cache.py` says what invalidates them. Every
document that is found through the cache is looked up in the reader's snapshot before it is
returned, so an erased, replaced or later document is never a result.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import nlargest
from typing import TYPE_CHECKING, Any

import msgspec

from memoranda.errors import MemorandaError
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.intervals import NEWEST
from memoranda.search.background_worker import WRITE_WAIT_SECONDS, BackgroundWorker, Worker
from memoranda.search.index import indexer
from memoranda.search.index.documents import DocumentInfo
from memoranda.search.index.partitions import Partition
from memoranda.search.index.unindexed import UnindexedDocuments
from memoranda.search.ranking.bm25 import ScoredDocument
from memoranda.search.shared_worker import SHARED_WRITE_WAIT_SECONDS
from memoranda.search.shared_workers import SharedWorkers
from memoranda.search.text.transcript_chunks import ChunkCache
from memoranda.search.vectors import backfill
from memoranda.search.vectors import store as vectors_store
from memoranda.search.vectors.backfill import PendingVectors, documents_without_vector
from memoranda.search.vectors.cache import CacheView, VectorCache, exact_scores
from memoranda.search.vectors.embedder import (
    Embedder,
    embed,
    require_package,
    similarity_threshold,
)
from memoranda.search.vectors.store import VectorState
from memoranda.storage.memory_budget import MemoryBudget
from memoranda.storage.port import Engine, Progress, Reader
from memoranda.storage.thread_locks import new_lock

if TYPE_CHECKING:
    from memoranda.search.vectors.nearest_neighbors import Floats

_MAX_QUERY_CHARACTERS = 8_000
"""Characters of a query that are embedded: more than a model takes in."""
_EMBEDDER_PAUSE_SECONDS = 5.0
"""Time for which searches do without an embedder that failed."""
_MAX_LOOKUPS = 8
"""Attempts to replace cached documents that no longer exist; each finds some of them."""
_log = logging.getLogger("memoranda.search")


class VectorStats(msgspec.Struct, frozen=True):
    """The number of stored and missing vectors, their model, and warnings."""

    model: str | None = None
    count: int = 0
    backlog: int = 0
    warnings: tuple[str, ...] = ()


class VectorIndex:
    """The vectors of an open store: searching and filling them. Threads may share it."""

    def __init__(
        self,
        engine: Engine,
        embedder: Embedder | None,
        *,
        eager: bool,
        clock: Clock | None = None,
        worker: Worker | None = None,
        budget: MemoryBudget | None = None,
        workers: SharedWorkers | None = None,
    ) -> None:
        self._engine = engine
        self.embedder = embedder
        self.is_wanted = eager
        """Whether documents are embedded in the background; else only after the first search."""
        self.was_searched = False
        """Whether this process has searched by vectors."""
        self.index_soon: Callable[[], object] = _do_nothing
        """Wakes the indexer: only indexed documents get a stored vector."""
        self._clock = clock or SystemClock()
        budget = budget or MemoryBudget()
        self.chunk_cache = ChunkCache(budget=budget)
        """Shared with the indexer and with searches."""
        self.worker = worker or (None if embedder is None else self._new_worker(embedder, workers))
        self._lock = new_lock()
        """Protects the vector cache and the dropping of the other caches."""
        self._vector_cache = VectorCache(budget)
        self._pending_vectors = PendingVectors(budget=budget)
        self._paused_until = float("-inf")
        self._warned = workers.warned if workers and embedder is None else set[str]()
        """Topics of the warnings that were logged and still hold."""
        self._last_query: tuple[str, Floats] | None = None
        """The last query and its vector: the same query often comes again."""

    def _new_worker(self, embedder: Embedder, workers: SharedWorkers | None) -> Worker:
        wait = WRITE_WAIT_SECONDS if workers is None else SHARED_WRITE_WAIT_SECONDS
        work = partial(
            backfill.fill_batch, self._engine, embedder, wait=wait, cache=self.chunk_cache
        )
        if workers is not None:
            return workers.vectors.worker(work)
        return BackgroundWorker(work, name="memoranda-embedder")

    def start(self) -> None:
        """Continue filling, if it is wanted or was begun with this model."""
        if self.embedder is None:
            return
        with self._engine.reading() as reader:
            state = vectors_store.read(reader)
            if state is not None:
                self.is_wanted = state.matches(self.embedder)
            is_due = self.is_wanted and not vectors_store.is_complete(reader, state)
        if is_due:
            self.wake()

    def wake(self) -> None:
        """Embed documents without a vector in the background, if that is wanted."""
        if self.is_wanted and self.worker is not None and not self._engine.read_only:
            self.worker.wake()

    def fill(self, progress: Progress | None = None) -> tuple[str | None, int]:
        """Embed every document at once; drop the vectors of another model.

        Return the name of that model, if any, and the number of new vectors.
        """
        assert self.embedder is not None, "the caller checks that there is an embedder"
        assert self.worker is not None, "an embedder has a worker"
        with self.worker.work_lock:
            dropped = backfill.begin_anew(self._engine, self.embedder)
            count = backfill.fill(
                self._engine, self.embedder, progress=progress, cache=self.chunk_cache
            )
            self.worker.failure = None
        self.is_wanted = True
        self.wake()
        return dropped, count

    def drop_caches(self) -> None:
        """Empty all caches: something was erased."""
        with self._lock:
            self._vector_cache.drop()
            self._pending_vectors.drop()
            self.chunk_cache.drop()
            self._last_query = None
        if self.embedder is not None:
            getattr(self.embedder, "drop_cache", _do_nothing)()

    def close(self) -> None:
        """Stop filling."""
        if self.worker is not None:
            self.worker.close()
        self.drop_caches()

    def stats(self, reader: Reader) -> VectorStats:
        """Return the figures for `Store.stats`."""
        state = vectors_store.read(reader)
        if state is None and not self.is_wanted:
            return VectorStats()
        count, backlog = vectors_store.count_vectors(reader, state)
        backlog += indexer.backlog_documents(reader)
        model = state.model if state else None
        return VectorStats(model, count, backlog, tuple(self._warnings(state)))

    def _warnings(self, state: VectorState | None) -> Iterator[str]:
        if self.embedder is None:
            return
        failure = None if self.worker is None else self.worker.failure
        if state is not None and not state.matches(self.embedder):
            yield vectors_store.mismatch_message(state, self.embedder)
        elif failure is not None:
            yield f"documents are not being embedded: {failure}"

    def prepare(self, query: str) -> PreparedQuery:
        """Embed a query before a snapshot is opened: a model may be slow."""
        if self.embedder is None:
            embedder = self._usable_embedder(None)
        else:
            with self._engine.reading() as reader:
                embedder = self._usable_embedder(vectors_store.read(reader))
        return PreparedQuery(self, None if embedder is None else self._embed_query(embedder, query))

    def nearest(
        self,
        reader: Reader,
        partitions: Sequence[Partition],
        query: Floats,
        *,
        limit: int,
        as_of_commit: int | None,
        unindexed: UnindexedDocuments,
        also: Sequence[DocumentInfo],
    ) -> list[ScoredDocument] | None:
        """Search for a query's vector, as `PreparedQuery.search` describes."""
        state = vectors_store.read(reader)
        embedder = self._usable_embedder(state, len(query))
        if embedder is None:
            return None
        self.is_wanted = self.was_searched = True
        documents = [
            *self._search_stored(
                reader, partitions, state, query, limit, as_of_commit, unindexed.outdated
            )
        ]
        as_of = NEWEST if as_of_commit is None else as_of_commit
        texts = documents_without_vector(
            reader, partitions, state, unindexed, as_of, self.chunk_cache
        )
        documents += self._pending_vectors.nearest(embedder, texts, query)
        self._wake_workers(reader, state)
        nearest = nlargest(limit, documents, key=_rank)
        ids = {scored.document.id for scored in nearest}
        remaining = [document for document in also if document.id not in ids]
        return nearest + _score_documents(reader, state, remaining, query)

    def _wake_workers(self, reader: Reader, state: VectorState | None) -> None:
        """Let missing vectors be stored soon, so that no search has to make them again."""
        has_backlog = indexer.backlog_commits(reader) > 0
        if has_backlog:
            self.index_soon()
        # What was queued in this snapshot may be indexed by now, and by then nobody wanted vectors.
        if has_backlog or not vectors_store.is_complete(reader, state):
            self.wake()

    def _usable_embedder(self, state: VectorState | None, dimension: int = 0) -> Embedder | None:
        """Return the embedder if the stored vectors are its own; log once if not."""
        if self.embedder is None:
            self._warn_once(
                "off",
                "there is no embedder, so recall uses words and facts only: "
                "pip install 'memoranda[embeddings]', or open the store with embedder=…",
            )
            return None
        if state is not None and not state.matches(self.embedder, dimension):
            message = vectors_store.mismatch_message(state, self.embedder, dimension)
            self._warn_once("other", f"recall uses words and facts only: {message}")
            return None
        self._warned.discard("other")
        return self.embedder

    def _embed_query(self, embedder: Embedder, query: str) -> Floats | None:
        last = self._last_query
        if last is not None and last[0] == query:
            return last[1]
        if self._clock.monotonic() < self._paused_until:
            return None
        try:
            vector: Any = embed(embedder, [query[:_MAX_QUERY_CHARACTERS]], query=True)[0]
        except MemorandaError as error:
            self._paused_until = self._clock.monotonic() + _EMBEDDER_PAUSE_SECONDS
            self._warn_once("failing", f"recall uses words and facts only: {error}")
            return None
        self._warned.discard("failing")
        self._last_query = (query, vector)
        return vector  # type: ignore[no-any-return]

    def _warn_once(self, topic: str, message: str) -> None:
        if topic not in self._warned:
            self._warned.add(topic)
            _log.warning(message)

    def _search_stored(
        self,
        reader: Reader,
        partitions: Sequence[Partition],
        state: VectorState | None,
        query: Floats,
        limit: int,
        as_of_commit: int | None,
        outdated: frozenset[int],
    ) -> Iterator[ScoredDocument]:
        """Yield the nearest documents with a stored vector, as the reader's snapshot has them."""
        with self._lock:
            if self._vector_cache.drop_erased(reader):
                self._pending_vectors.drop()
            if state is None:
                return
        require_package("numpy", "vectors")
        view = CacheView(self._vector_cache, self._lock, reader, partitions, state)
        existing: dict[int, DocumentInfo] = {}
        best: list[tuple[float, int]] = []
        for _ in range(_MAX_LOOKUPS):
            best = view.best(query, limit + len(outdated), as_of_commit)
            existing = _find_documents(reader, partitions, [number for _, number in best])
            if not view.remove(number for _, number in best if number not in existing):
                break
        for score, document_id in best:
            if document_id in existing and document_id not in outdated:
                yield ScoredDocument(existing[document_id], score)


class PreparedQuery:
    """A query with its vector, if it has one."""

    def __init__(self, vectors: VectorIndex, query: Floats | None) -> None:
        self._vectors = vectors
        self._query = query

    @property
    def similarity_threshold(self) -> float:
        """The least cosine of a hit that is found by its vector alone."""
        return similarity_threshold(self._vectors.embedder)

    def search(
        self,
        reader: Reader,
        partitions: Sequence[Partition],
        *,
        limit: int,
        as_of_commit: int | None,
        unindexed: UnindexedDocuments,
        also: Sequence[DocumentInfo] = (),
    ) -> list[ScoredDocument] | None:
        """Return the nearest documents, best first; None: there are no vectors.

        Partitions and unindexed documents are of the reader's snapshot. After the nearest come the
        documents of `also` that are not among them: found in other ways, and to be scored too.
        """
        if self._query is None:
            return None
        return self._vectors.nearest(
            reader,
            partitions,
            self._query,
            limit=limit,
            as_of_commit=as_of_commit,
            unindexed=unindexed,
            also=also,
        )


def _do_nothing() -> None:
    """Do nothing: the default for optional callbacks."""


def _score_documents(
    reader: Reader, state: VectorState | None, documents: Sequence[DocumentInfo], query: Floats
) -> list[ScoredDocument]:
    """Return the scores of documents that have a stored vector."""
    if state is None or not documents:
        return []
    by_id = {document.id: document for document in documents if document.id is not None}
    scores = exact_scores(reader, [*by_id], query, state.dimension)
    return [ScoredDocument(by_id[number], score) for score, number in scores if score > 0]


def _find_documents(
    reader: Reader, partitions: Sequence[Partition], ids: Sequence[int]
) -> dict[int, DocumentInfo]:
    """Return the documents that exist in one of the partitions, by id."""
    by_id = {partition.id: partition for partition in partitions}
    return {
        document_id: DocumentInfo(document_id, by_id[partition], *columns)
        for document_id, partition, *columns in reader.rows("documents_by_id", ids=list(ids))
        if partition in by_id
    }


def _rank(scored: ScoredDocument) -> tuple[float, int]:
    """Order by score, then by age: the nearer first, and of equals the newer."""
    return scored.score, scored.document.from_commit
