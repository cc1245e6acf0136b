"""Embed documents that have no vector yet, in the background and during a search."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from memoranda.errors import MemorandaError
from memoranda.model.clock import Clock, SystemClock
from memoranda.search.index.documents import DocumentInfo, DocumentText, load_texts
from memoranda.search.index.partitions import Partition
from memoranda.search.index.unindexed import NEWEST_DOCUMENTS, UnindexedDocuments
from memoranda.search.ranking.bm25 import ScoredDocument
from memoranda.search.text.transcript_chunks import ChunkCache
from memoranda.search.vectors import store as vectors_store
from memoranda.search.vectors.embedder import Embedder, embed, require_package
from memoranda.search.vectors.store import VectorState, document_of
from memoranda.storage.memory_budget import CacheShare, MemoryBudget
from memoranda.storage.port import Engine, Progress, Reader, Writer
from memoranda.storage.thread_locks import new_lock

if TYPE_CHECKING:
    from memoranda.search.vectors.embedder import Matrix
    from memoranda.search.vectors.nearest_neighbors import Floats


# Filling stored vectors, in short transactions.
#
# Documents are embedded without a lock. The write checks again which of them still exist: only
# these get a vector. Several processes may do so at once, and one that dies loses nothing.

BATCH_DOCUMENTS = 512
"""Documents whose texts are read at once."""
_FIRST_SLICE = 16
"""Documents that are embedded first: the time that takes says how many are next."""
_SLICE_SECONDS = 1.0
"""Time of embedding after which vectors are written, about: what is lost if a process ends. In it
a transformer embeds some dozens of documents, and wordllama a whole batch."""
_MAX_WRITE_BYTES = 512 * 1024
"""Bytes of vectors in one transaction: long vectors take several transactions."""
CONTEXT_WEIGHT = 0.8
"""Weight of the context's vector, beside that of the document; measured on LoCoMo."""
_MIN_LENGTH = 1e-6
"""Length below which a vector has no direction."""
_log = logging.getLogger("memoranda.search")


def fill_batch(
    engine: Engine,
    embedder: Embedder,
    *,
    limit: int = BATCH_DOCUMENTS,
    wait: float | None = None,
    cache: ChunkCache | None = None,
    clock: Clock | None = None,
) -> int:
    """Embed the first documents without a vector; return their number, 0 if there are none.

    `wait` bounds how long a transaction waits for other writers, in seconds. Of a slow embedder the
    vectors are written every second, so that a process that ends early has not worked in vain.
    """
    _drop_orphans(engine)
    with engine.background_reading, engine.snapshot() as reader:
        state = vectors_store.read(reader)
        vectors_store.check(state, embedder)
        after = state.complete_through if state else 0
        documents = vectors_store.missing(reader, after=after, limit=limit)
        texts = load_texts(reader, documents, cache) if documents else {}
    if not documents:
        return 0
    empty = DocumentText("")
    all_texts = [texts.get(document.key, empty) for document in documents]
    ids = iter([document.id or 0 for document in documents])
    for vectors in _embed_slices(embedder, all_texts, clock or SystemClock()):
        rows = [(next(ids), row.tobytes()) for row in vectors.astype("<f2")]
        rows_per_write = max(_MAX_WRITE_BYTES // len(rows[0][1]), 1)
        for start in range(0, len(rows), rows_per_write):
            part = rows[start : start + rows_per_write]
            write = partial(_write, embedder=embedder, dimension=vectors.shape[1], rows=part)
            engine.write(write, wait=wait)
    return len(documents)


def _embed_slices(
    embedder: Embedder, texts: Sequence[DocumentText], clock: Clock
) -> Iterator[Matrix]:
    """Yield the vectors of texts in their order, as many at a time as a second is enough for."""
    np = require_package("numpy", "vectors")
    slices, elapsed = list[Any](), 0.0
    start, size = 0, _FIRST_SLICE
    while start < len(texts):
        before = clock.monotonic()
        slices.append(embed_documents(embedder, texts[start : start + size]))
        seconds = clock.monotonic() - before
        elapsed += seconds
        start += size
        size = max(int(min(size * _SLICE_SECONDS / max(seconds, 1e-9), len(texts))), 1)
        if elapsed >= _SLICE_SECONDS / 2 or start >= len(texts):
            yield np.concatenate(slices)
            slices, elapsed = [], 0.0


def _write(
    writer: Writer, *, embedder: Embedder, dimension: int, rows: Sequence[tuple[int, bytes]]
) -> None:
    state = vectors_store.read(writer)  # another process may have begun with another model
    vectors_store.check(state, embedder, dimension)
    if state is None:
        state = vectors_store.begin_anew(writer, embedder, dimension)
    vectors_store.add(writer, state, rows)


def _drop_orphans(engine: Engine) -> None:
    """Drop vectors of an unknown model, so that they are made again."""
    with engine.reading() as reader:
        are_orphaned = vectors_store.are_orphaned(reader, vectors_store.read(reader))
    if are_orphaned:
        _log.warning("the model of the stored vectors cannot be read: they are made again")
        engine.write(lambda writer: writer.run("vector_clear"))


def fill(
    engine: Engine,
    embedder: Embedder,
    *,
    progress: Progress | None = None,
    cache: ChunkCache | None = None,
) -> int:
    """Embed every document without a vector; return their number."""
    with engine.reading() as reader:
        _, total = vectors_store.count_vectors(reader, vectors_store.read(reader))
    count = 0
    while documents := fill_batch(engine, embedder, cache=cache):
        count += documents
        if progress is not None:
            progress(min(count, total), total)
    return count


def begin_anew(engine: Engine, embedder: Embedder) -> str | None:
    """Drop the vectors of another model, if there are any; return its name."""
    with engine.reading() as reader:
        state = vectors_store.read(reader)
    if state is None or (embedder.dimension and state.matches(embedder)):
        return None
    dimension = embed(embedder, ["dimension"]).shape[1]  # fails before anything is dropped
    if state.matches(embedder, dimension):
        return None
    engine.write(partial(vectors_store.begin_anew, embedder=embedder, dimension=dimension))
    return state.model


def embed_documents(embedder: Embedder, documents: Sequence[DocumentText]) -> Matrix:
    """Return a vector for each document: of its text, plus the weighted one of its context."""
    np = require_package("numpy", "vectors")
    pairs = [(document.own, context_of(document)) for document in documents]
    texts = {text: None for pair in pairs for text in pair if text} or {"": None}
    vectors = embed(embedder, [*texts])
    positions = {text: position for position, text in enumerate(texts)}
    zero = np.zeros((1, vectors.shape[1]), np.float32)  # at position -1: for an empty text
    rows = np.vstack((vectors, zero))
    own = rows[[positions.get(text, -1) for text, _ in pairs]]
    context = rows[[positions.get(text, -1) for _, text in pairs]]
    sums: Matrix = own + np.float32(CONTEXT_WEIGHT) * context
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    np.divide(sums, lengths, out=sums, where=lengths > _MIN_LENGTH)
    return sums


def context_of(text: DocumentText) -> str:
    """Return the context of a document as one text."""
    return "\n".join(filter(None, (text.before, text.after)))


def digest_of(text: DocumentText) -> bytes:
    """Return a digest of a text: a cache key that does not keep the text itself."""
    parts = (text.own, text.before, text.after)
    return hashlib.sha256("\0".join(parts).encode()).digest()


# Embedding during a search: documents without a stored vector are found at once.
#
# Only the newest are embedded, and only as long as the embedder is fast: a search holds a snapshot
# open meanwhile. The others are found by their terms until they have a stored vector.

MAX_PENDING = NEWEST_DOCUMENTS
"""Documents that one search embeds at most."""
EMBED_WAIT_SECONDS = 1.0
"""Time that a search waits for them."""
_MAX_CACHED = 4 * MAX_PENDING
"""Vectors that are cached between searches, until the documents have stored ones."""


class PendingVectors:
    """A cache of vectors that are not stored yet, by the digest of the text. Threads may share it.

    A thread of its own embeds them, and a search waits for it for a bounded time.
    """

    def __init__(self, clock: Clock | None = None, budget: MemoryBudget | None = None) -> None:
        self._clock = clock or SystemClock()
        self._share: CacheShare[None, PendingVectors] = (budget or MemoryBudget()).share()
        self._lock = new_lock()
        """Protects the fields below."""
        self._vectors: dict[bytes, Any] = {}
        """Replaced as a whole and never changed, so that readers need no lock."""
        self._drops = 0
        """Number of calls of `drop`: a job that began before the last one caches nothing."""
        self._job: _Job | None = None

    def drop(self) -> None:
        """Empty the cache, and do not cache the vectors that are being made."""
        with self._lock:
            self._drops += 1
            self._vectors = {}
            self._share.remove(None)

    def nearest(
        self,
        embedder: Embedder,
        texts: Sequence[tuple[DocumentInfo, DocumentText]],
        query: Floats,
    ) -> list[ScoredDocument]:
        """Return the documents with a positive score, as far as they are embedded in time."""
        digests = [digest_of(text) for _, text in texts]
        by_digest = {digest: text for digest, (_, text) in zip(digests, texts, strict=True)}
        vectors = self._vectors_of(by_digest, embedder)
        scores = [
            (document, vectors[digest] @ query)
            for digest, (document, _) in zip(digests, texts, strict=True)
            if digest in vectors
        ]
        return [ScoredDocument(document, float(score)) for document, score in scores if score > 0]

    def _vectors_of(
        self, texts: Mapping[bytes, DocumentText], embedder: Embedder
    ) -> Mapping[bytes, Any]:
        """Return the vectors of texts; those that are not embedded in time are missing."""
        vectors = self._vectors
        deadline = self._clock.monotonic() + EMBED_WAIT_SECONDS
        while new := {digest: text for digest, text in texts.items() if digest not in vectors}:
            job = self._current_job(new, embedder)
            if job is None or not job.wait(deadline - self._clock.monotonic()):
                break
            vectors = vectors | job.vectors
        return vectors

    def _current_job(self, texts: Mapping[bytes, DocumentText], embedder: Embedder) -> _Job | None:
        """Return the running job, or start one; None: the running one is too slow to wait for."""
        with self._lock:
            if self._job is None:
                self._job = _Job(partial(self._embed, texts, embedder, self._drops))
            return None if self._job.is_late else self._job

    def _embed(
        self, texts: Mapping[bytes, DocumentText], embedder: Embedder, drops: int
    ) -> dict[bytes, Any]:
        """Embed texts, and cache their vectors unless the cache was dropped meanwhile."""
        vectors: dict[bytes, Any] = {}
        try:
            exact = embed_documents(embedder, [*texts.values()])
            rounded = exact.astype("<f2").astype("<f4")  # as they will be when they are stored
            vectors = dict(zip(texts, rounded, strict=True))
        finally:
            with self._lock:
                self._job = None
                if drops == self._drops:
                    union = self._vectors | vectors
                    self._vectors = union if len(union) <= _MAX_CACHED else vectors
                    size = sum(vector.nbytes for vector in self._vectors.values())
                    self._share.put(None, self, size, self._evict)
        return vectors

    def _evict(self) -> None:
        self._vectors = {}


class _Job:
    """One thread that embeds some texts."""

    def __init__(self, work: Callable[[], dict[bytes, Any]]) -> None:
        self.vectors: dict[bytes, Any] = {}
        self.is_late = False
        """Whether a search has waited for it in vain: no other search should."""
        self._work = work
        self._thread = threading.Thread(target=self._run, name="memoranda-waiting", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(MemorandaError):  # the search continues with the stored vectors
            self.vectors = self._work()

    def wait(self, seconds: float) -> bool:
        """Wait for the job; return whether it made any vectors."""
        self._thread.join(max(seconds, 0.0))
        self.is_late = self._thread.is_alive()
        return bool(self.vectors)


def documents_without_vector(
    reader: Reader,
    partitions: Sequence[Partition],
    state: VectorState | None,
    unindexed: UnindexedDocuments,
    as_of: int,
    cache: ChunkCache | None = None,
) -> list[tuple[DocumentInfo, DocumentText]]:
    """Return the newest documents without a stored vector, indexed or not, with their texts."""
    documents = [*unindexed.newest]
    after, limit = 0 if state is None else state.complete_through, MAX_PENDING - len(documents)
    indexed: list[DocumentInfo] = []
    for partition in partitions:
        if limit > 0 and partition.id is not None:
            rows = reader.rows(
                "vectors_missing_in_partition", partition=partition.id, after=after, limit=limit
            )
            indexed += [document_of(partition, row) for row in rows]
    newest = sorted(indexed, key=lambda document: document.id or 0)[-limit:] if limit > 0 else []
    documents += [
        document
        for document in newest
        if document.id not in unindexed.outdated and document.exists_at(as_of)
    ]
    texts = load_texts(reader, documents, cache) if documents else {}
    return [(document, texts[document.key]) for document in documents if document.key in texts]
