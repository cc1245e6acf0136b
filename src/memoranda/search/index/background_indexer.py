"""Index in the background, and reindex at once.

A commit only wakes the indexer, once enough is queued. The indexer yields the CPU all the time, and
its transactions are short. A failure loses nothing: what is not indexed stays in the queue, where a
search finds it by scanning, and is tried again later.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from memoranda.errors import MemorandaError
from memoranda.log.commit.failpoints import Failpoint, no_failpoint
from memoranda.search.background_worker import (
    DRAIN_SECONDS,
    LARGE_COMMIT,
    WRITE_WAIT_SECONDS,
    BackgroundWorker,
    BulkPauses,
    CpuYield,
    Worker,
)
from memoranda.search.index import indexer
from memoranda.search.index.indexer import Indexer
from memoranda.search.index.view import SearchView
from memoranda.search.shared_worker import SHARED_WRITE_WAIT_SECONDS
from memoranda.search.shared_workers import SharedWorkers
from memoranda.search.text import language as index_language
from memoranda.search.text.stemmer import ENGLISH
from memoranda.search.vectors import store
from memoranda.search.vectors.vector_index import VectorIndex
from memoranda.storage.port import Engine, Progress, Reader

WAKE_THRESHOLD = 256
"""Queued commits, or estimated documents, at which a commit wakes the indexer: enough for one plan,
and few enough for a search to scan in milliseconds."""
SEARCH_WAKE_THRESHOLD = 512
"""Estimated documents in the queue beyond which a search wakes the indexer: below it, a scan takes
some ten milliseconds and a write would not pay."""
_CLOSE_SECONDS = 0.25
"""Time that a closing store gives a part that is being indexed."""


class BackgroundIndexer:
    """Fills the index of an open store, a part at a time."""

    def __init__(
        self,
        engine: Engine,
        view: SearchView,
        vectors: VectorIndex,
        failpoint: Failpoint = no_failpoint,
        workers: SharedWorkers | None = None,
    ) -> None:
        self._engine = engine
        self._view = view
        self._vectors = vectors
        self._workers = workers
        """Has the thread and the count of commits that stores share; None: both are its own."""
        self._commits = 0
        """Commits of this process that no pause follows; while it grows, writers are active."""
        self._last_total = 0
        """Documents queued by all commits up to the last one."""
        self._backlog_offset = 0
        """Queued documents minus indexed ones when the queue was last empty."""
        self._yield_cpu = CpuYield(
            lambda: self._commits if workers is None else workers.commits,
            backlog=self.estimate_backlog,
            is_awaited=lambda: engine.purge_waits,
        )
        self._bulk_pauses = BulkPauses(self.estimate_backlog, self._is_indexing)
        self.indexer = Indexer(
            engine,
            failpoint=failpoint,
            yield_cpu=self._yield_cpu,
            cache=vectors.chunk_cache,
        )
        self._wait = WRITE_WAIT_SECONDS if workers is None else SHARED_WRITE_WAIT_SECONDS
        self._worker: Worker = (
            BackgroundWorker(self._index_part, name="memoranda-indexer")
            if workers is None
            else workers.indexer.worker(self._index_part)
        )
        vectors.index_soon = self._wake

    @property
    def failure(self) -> MemorandaError | None:
        """The error of the last attempt, if it failed; `stats` reports it."""
        return self._worker.failure

    def __call__(self) -> None:
        """Note a commit, and wake the indexer if enough is queued."""
        view = self._view
        documents, self._last_total = view.total_documents - self._last_total, view.total_documents
        if documents < LARGE_COMMIT or not self._bulk_pauses.is_behind:
            self._commits += 1
            if self._workers is not None:
                self._workers.note_commit()
        if view.has_erased:
            view.has_erased = False
            self.indexer.cache.drop()
            self._vectors.drop_caches()
        if max(view.queued_commits, view.queued_documents) >= WAKE_THRESHOLD:
            view.queued_commits = view.queued_documents = 0  # a failure is retried by the worker
            self._worker.wake()

    def start(self) -> None:
        """Continue where another process stopped, if enough is queued.

        A store with vectors continues with any backlog. One without does not load a model only
        because it is written to.
        """
        is_eager = self._vectors.is_wanted and self._vectors.embedder is not None
        with self._engine.reading() as reader:
            has_vectors = is_eager and store.read(reader) is not None
            threshold = 1 if has_vectors else WAKE_THRESHOLD
            backlog = indexer.backlog_documents(reader)
            self._backlog_offset = -backlog
            is_due = backlog >= threshold
            is_due = is_due or index_language.read(reader).is_restemming
        if is_due and not self._engine.read_only:
            self._worker.wake()

    def estimate_backlog(self) -> int:
        """Return about how many documents are queued, without reading.

        It counts what this process queued and indexed. If another process indexes the same queue,
        it is too high until this one finds the queue empty.
        """
        return self._view.total_documents - self.indexer.indexed_documents - self._backlog_offset

    def pauses(self, commit_ts: int) -> Iterator[float]:
        """Yield the pauses that the caller of a commit makes, in seconds; most commits need none.

        After a large commit they last until the indexer has nearly caught up, within a time that is
        in proportion to the commit.
        """
        return self._bulk_pauses.after(self._view.large_commits.pop(commit_ts, 0))

    def _is_indexing(self) -> bool:
        return self._worker.is_busy and self._worker.failure is None

    def hurry(self, reader: Reader) -> None:
        """Index the queue with priority: a search is about to scan it, in the reader's snapshot.

        Only the indexer's own thread writes. The search neither takes the write lock nor waits.
        """
        self._yield_cpu.hurry()
        if indexer.backlog_documents(reader) > SEARCH_WAKE_THRESHOLD:
            self._wake()

    def close(self) -> None:
        """Stop after the part that is being indexed; the rest stays in the queue.

        After a search by vectors it indexes the whole queue, within a bounded time: the search has
        embedded unindexed documents, and only indexed documents can keep a vector.
        """
        seconds = _CLOSE_SECONDS if self._worker.is_busy else 0
        self._worker.close(DRAIN_SECONDS if self._vectors.was_searched else seconds)

    def _wake(self) -> None:
        if not self._engine.read_only:
            self._worker.wake()

    def _index_part(self) -> bool:
        """Index one part of the queue; return whether there may be more."""
        total = self._view.total_documents  # before the queue is read: a later commit counts
        if self.indexer.fill_batch(wait=self._wait) is None:
            self._backlog_offset = total - self.indexer.indexed_documents
            self._yield_cpu.catch_up()
            self._bulk_pauses.catch_up()
            return self.indexer.restem_batch(wait=self._wait) is not None
        self._vectors.wake()
        return True


# Reindexing: the background work, done at once.
#
# It can be interrupted, and continues from there the next time. If the indexes are up to date, it
# does nothing.


class Reindexed(msgspec.Struct, frozen=True):
    """The result of reindexing; false if everything was up to date."""

    commits: int
    """Commits that were added to the full-text index."""
    vectors: int
    """Documents that got a vector."""
    model: str | None
    """The model of the vectors; None: there is no embedder."""
    replaced: str | None = None
    """The model whose vectors were dropped."""
    language: str = ENGLISH
    """The language of the full-text index."""
    rewritten: int = 0
    """Documents that were in another language and are restemmed."""

    def __bool__(self) -> bool:
        return bool(self.commits or self.vectors or self.replaced or self.rewritten)


def reindex(
    indexer: Indexer,
    vectors: VectorIndex,
    *,
    of_text: bool,
    of_vectors: bool,
    progress: Progress | None = None,
) -> Reindexed:
    """Bring the full-text index up to date, then the vectors of its documents."""
    commits = indexer.fill(progress=progress) if of_text else 0
    if not of_vectors or vectors.embedder is None:
        return Reindexed(commits, 0, None)
    replaced, count = vectors.fill(progress)
    return Reindexed(commits, count, vectors.embedder.name, replaced)
