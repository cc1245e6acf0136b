"""The indexer: derive the documents that the index lacks, and add them in short transactions.

The queue names the commits that are not indexed yet; it is written with the commits. The sources of
queued commits are derived from the views and compared with the index, so indexing a commit twice
changes nothing, and a process that dies in between loses nothing. Deriving and tokenizing hold no
lock. The write lock is taken for parts of some milliseconds, and other writers get in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import msgspec

from memoranda.errors import StoreBusy
from memoranda.log.commit.failpoints import Failpoint, no_failpoint
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.intervals import OPEN_END
from memoranda.search.index import language_change
from memoranda.search.index.documents import (
    DerivedDocument,
    DerivedDocuments,
    DocumentText,
    IndexedDocument,
    Sources,
    derive_documents,
    indexed_documents,
)
from memoranda.search.index.tables import (
    IndexChange,
    IndexEntry,
    IndexWriter,
    Stale,
    read_stamp,
    renew_stamp,
)
from memoranda.search.text import language as index_language
from memoranda.search.text.language import IndexLanguage
from memoranda.search.text.tokenizer import YieldCpu, keep_cpu
from memoranda.search.text.transcript_chunks import ChunkCache, ChunkLoader
from memoranda.storage.port import Engine, Progress, Reader, Writer
from memoranda.storage.thread_locks import hold, new_lock

# Plans: the changes that some queued commits need, derived once and written part by part.
#
# A plan is made and tokenized without a lock. It is valid as long as the index has the stamp the
# plan was made with: no other process has indexed since, nothing was erased, no view was rebuilt.
# A commit made since is in the queue, and is derived in its turn.
#
# The states of a queued commit: queued (its row is in `to_index`); planned (in a plan of some
# process, still queued); partly written (some documents are in the index, still queued: a new plan
# finds them equal and skips them); indexed (the row is deleted with the plan's last part).

MAX_PLAN_COMMITS = 256
"""Commits of one plan at most: a bound on memory, and on the work that a stale plan loses."""
MAX_PLAN_DOCUMENTS = 2_048
"""Estimated documents of one plan; a single commit is not divided."""
_READ_DOCUMENTS = 64
"""Documents that are read in one short snapshot."""
_READ_CHARACTERS = 256 * 1024
"""Characters of their text: a snapshot ends after either."""
_DOCUMENTS_PER_YIELD = 256
"""Documents that are compared between two calls of `yield_cpu`."""


class Difference(msgspec.Struct, frozen=True):
    """The documents that the index lacks, and those it has that are outdated."""

    missing: list[DerivedDocument]
    outdated: list[IndexedDocument]


def difference(
    derived: DerivedDocuments, indexed: Iterable[IndexedDocument], yield_cpu: YieldCpu = keep_cpu
) -> Difference:
    """Compare derived documents with the index."""
    outdated = {document.key: document for document in indexed}
    missing: list[DerivedDocument] = []
    for count, document in enumerate(derived.all()):
        counterpart = outdated.get(document.key)
        if counterpart is not None and counterpart.equals(document):
            del outdated[document.key]
        else:
            missing.append(document)
        if not count % _DOCUMENTS_PER_YIELD:
            yield_cpu()
    return Difference(missing, [*outdated.values()])


class IndexInputs(msgspec.Struct, frozen=True):
    """The data of some queued commits, read in one snapshot."""

    stamp: str
    commits: list[int]
    sources: Sources
    derived: DerivedDocuments
    indexed: list[IndexedDocument]
    language: IndexLanguage
    """The languages in which new documents are stemmed."""


def read_inputs(
    loader: ChunkLoader, commits: Sequence[int], excluded: Sources | None = None
) -> IndexInputs:
    """Read the sources of commits, their derived documents and their indexed ones."""
    reader = loader.reader
    sources = Sources.of_commits(reader, commits)
    if excluded is not None:
        sources = sources.without(excluded)
    return IndexInputs(
        stamp=read_stamp(reader),
        commits=[*commits],
        sources=sources,
        derived=derive_documents(loader, sources),
        indexed=indexed_documents(reader, sources.all),
        language=index_language.read(reader),
    )


def next_commits(reader: Reader, limit: int, to_commit: int) -> dict[int, int]:
    """Return the first commits of the queue for one plan, up to and including `to_commit`.

    Each has its estimated number of documents.
    """
    commits: dict[int, int] = {}
    documents = 0
    for commit_ts, size in reader.rows("index_queue_page", after=0, limit=limit):
        documents += size
        if commit_ts > to_commit or (commits and documents > MAX_PLAN_DOCUMENTS):
            break
        commits[commit_ts] = size
    return commits


class Plan:
    """The changes that some commits still need."""

    def __init__(
        self, inputs: IndexInputs, yield_cpu: YieldCpu = keep_cpu, *, documents: int = 0
    ) -> None:
        self.documents = documents
        """Their estimated number."""
        self._stamp = inputs.stamp
        self.commits = inputs.commits
        self._language = inputs.language
        self._yield_cpu = yield_cpu
        changes = _changes(difference(inputs.derived, inputs.indexed, yield_cpu))
        self._unread = deque(changes)
        self._untokenized: deque[
            tuple[IndexedDocument | None, DerivedDocument | None, DocumentText | None]
        ] = deque()
        self._part: list[IndexChange] = []

    @property
    def is_last_part(self) -> bool:
        """Whether nothing remains but the part that is ready."""
        return not self._unread and not self._untokenized

    def prepare(self, cost: int, open_loader: Callable[[], Iterable[ChunkLoader]]) -> None:
        """Make the next part ready: of about the given cost, and of at least one change."""
        ready = sum(change.cost for change in self._part)
        while not self.is_last_part and ready < cost:
            if not self._untokenized:
                for loader in open_loader():
                    self._read_texts(loader)
            outdated, derived, text = self._untokenized.popleft()
            entry = None
            if derived is not None and text is not None:
                language = self._language.of(derived.partition_key[0])
                entry = IndexEntry.of(derived, text, self._yield_cpu, language)
            self._part.append(IndexChange(outdated, entry))
            ready += self._part[-1].cost
            self._yield_cpu()

    def _read_texts(self, loader: ChunkLoader) -> None:
        """Read the texts of the next changes, in one short snapshot."""
        if read_stamp(loader.reader) != self._stamp:
            raise Stale
        size = 0
        while self._unread and len(self._untokenized) < _READ_DOCUMENTS and size < _READ_CHARACTERS:
            outdated, derived = self._unread.popleft()
            text = None if derived is None else derived.load_text(loader)
            self._untokenized.append((outdated, derived, text))
            size += 0 if text is None else len(text.own) + len(text.before) + len(text.after)

    def write_part(self, writer: Writer) -> str:
        """Write the part that is ready; return the new stamp of the index.

        The commits leave the queue with the last part. Raises `Stale` if the plan is not valid.
        """
        if read_stamp(writer) != self._stamp:
            raise Stale
        IndexWriter(writer).apply(self._part)
        if self.is_last_part:
            for commit_ts in self.commits:
                writer.put("index_queue_remove", commit_ts)
        return renew_stamp(writer)

    def part_written(self, stamp: str) -> None:
        """Continue after the part that was committed with this stamp."""
        self._stamp = stamp
        self._part = []


def _changes(
    changes: Difference,
) -> Iterator[tuple[IndexedDocument | None, DerivedDocument | None]]:
    """Yield removals first, then additions; a replacement is one change."""
    outdated = {document.key: document for document in changes.outdated}
    additions = [(outdated.pop(document.key, None), document) for document in changes.missing]
    for document in outdated.values():
        yield document, None
    yield from additions


# Filling the index.

WRITE_SECONDS = 0.01
"""Target duration of one transaction: a commit waits this long at most for the indexer."""
_FIRST_PART_COST = 32 * 1024
"""Cost of the first part, in bytes of tokens: `Pace` adapts it from there."""
_MIN_PART_COST, _MAX_PART_COST = 4 * 1024, 256 * 1024
"""Bounds of the adapted size of a part, in bytes of tokens."""
_WRITER_TURN_SECONDS = 0.001
"""Pause after a transaction: the write lock may not be fair, and waiting writers poll for it."""
_STALE_RETRY_SECONDS = 0.1
"""Pause after a stale plan: another process is indexing, and may as well go on."""


def backlog_commits(reader: Reader) -> int:
    """Return the number of commits in the queue."""
    return reader.cached(_queue_totals)[0]


def backlog_documents(reader: Reader) -> int:
    """Return the estimated number of documents in the queue; a long text counts as several."""
    return reader.cached(_queue_totals)[1]


def _queue_totals(reader: Reader) -> tuple[int, int]:
    commits, documents = reader.row("index_queue_totals") or (0, 0)
    return commits, documents


class Pace:
    """Adapts the size of parts to the duration of their transactions."""

    def __init__(self) -> None:
        self.cost = _FIRST_PART_COST
        """Cost of the next part, in bytes of tokens."""

    def record(self, seconds: float) -> None:
        """Adapt to the duration of the last transaction: at most doubled, at least a quarter."""
        fitting = self.cost * WRITE_SECONDS / max(seconds, 1e-6)
        smallest = max(fitting, self.cost / 4, _MIN_PART_COST)
        self.cost = int(min(smallest, self.cost * 2, _MAX_PART_COST))


class Indexer:
    """Fills the index of one store. Threads may share it; one of them works at a time."""

    def __init__(
        self,
        engine: Engine,
        *,
        failpoint: Failpoint = no_failpoint,
        yield_cpu: YieldCpu = keep_cpu,
        clock: Clock | None = None,
        cache: ChunkCache | None = None,
    ) -> None:
        self._engine = engine
        self._failpoint = failpoint
        self._yield_cpu = yield_cpu
        self._clock = clock or SystemClock()
        self.cache = ChunkCache() if cache is None else cache
        self._work_lock = new_lock()
        """Protects the plan, the pace and the last erasure; held while a batch is indexed."""
        self._pace = Pace()
        self._plan: Plan | None = None
        self._last_erasure = 0
        self.indexed_documents = 0
        """Estimated documents of all commits that were indexed so far."""

    def fill(
        self,
        *,
        max_commits: int | None = None,
        progress: Progress | None = None,
        wait: float | None = None,
    ) -> int:
        """Index the commits that are queued now; return their number.

        `wait` bounds how long each transaction waits for other writers, in seconds; then it raises
        `StoreBusy`.
        """
        with self._engine.reading() as reader:
            total = backlog_commits(reader)
            row = reader.row("index_queue_last")
        limit = total if max_commits is None else min(max_commits, total)
        to_commit = row[0] if row is not None and row[0] is not None else 0
        count = 0
        while count < limit:
            batch_size = min(MAX_PLAN_COMMITS, limit - count)
            commits = self.fill_batch(limit=batch_size, to_commit=to_commit, wait=wait)
            if commits is None:
                break
            count += commits
            if progress is not None:
                progress(count, total)
        return count

    def fill_batch(
        self,
        *,
        limit: int = MAX_PLAN_COMMITS,
        to_commit: int = OPEN_END,
        wait: float | None = None,
    ) -> int | None:
        """Write one part of the current plan; return the number of commits it completes.

        None: the queue is empty. 0: the plan has more parts.
        """
        try:
            with hold(self._work_lock, self, -1 if wait is None else wait):
                commits = self._fill_part(limit, to_commit, wait)
        except Stale:
            self._clock.sleep(_STALE_RETRY_SECONDS)
            return 0
        yield_to_writers()
        self._yield_cpu()
        return commits

    @property
    def language(self) -> str:
        """The language of the store."""
        with self._engine.reading() as reader:
            return index_language.read(reader).language

    def restem(self, *, progress: Progress | None = None) -> int:
        """Restem all documents that are in another language; return their number."""
        with self._engine.reading() as reader:
            total = index_language.backlog(reader)
        count = 0
        while (documents := self.restem_batch()) is not None:
            count += documents
            if progress is not None and total:
                progress(min(count, total), total)
        return count

    def restem_batch(self, *, wait: float | None = None) -> int | None:
        """Restem some documents; return their number. None: all are restemmed."""
        try:
            with hold(self._work_lock, self, -1 if wait is None else wait):
                documents = self._restem_part(wait)
        except Stale:
            self._clock.sleep(_STALE_RETRY_SECONDS)
            return 0
        yield_to_writers()
        return documents

    def _restem_part(self, wait: float | None) -> int | None:
        batch = language_change.prepare(self._engine, self.cache, self._yield_cpu)
        if batch is None:
            return None
        if not batch.items:
            self._engine.write(partial(language_change.finish, batch=batch), wait=wait)
            return None
        for items in batch.slices():
            self._failpoint("derived")
            write = partial(language_change.write_slice, batch=batch, items=items)
            batch = self._engine.write(write, wait=wait)
            yield_to_writers()
        return len(batch.items)

    def _fill_part(self, limit: int, to_commit: int, wait: float | None) -> int | None:
        plan, self._plan = self._plan, None  # after any error the plan is made again
        if plan is None:
            plan = self._make_plan(limit, to_commit)
            if plan is None:
                return None
        plan.prepare(self._pace.cost, self._open_loader)
        self._failpoint("derived")
        try:
            self._write_part(plan, wait)
        except StoreBusy:
            self._plan = plan  # nothing was written, so the plan is still valid
            raise
        if plan.is_last_part:
            self.indexed_documents += plan.documents
            return len(plan.commits)
        self._plan = plan
        return 0

    def _make_plan(self, limit: int, to_commit: int) -> Plan | None:
        with self._loader() as loader:
            self._drop_cache_after_erasure(loader.reader)
            commits = next_commits(loader.reader, limit, to_commit)
            if not commits:
                return None
            inputs = read_inputs(loader, [*commits])
        return Plan(inputs, self._yield_cpu, documents=sum(commits.values()))

    def _drop_cache_after_erasure(self, reader: Reader) -> None:
        """Drop the cached texts if any process has erased something since the last plan."""
        last = (reader.row("erasure_last") or (None,))[0] or 0
        if last != self._last_erasure:
            self._last_erasure = last
            self.cache.drop()

    def _write_part(self, plan: Plan, wait: float | None) -> None:
        started = self._clock.monotonic()

        def write(writer: Writer) -> str:
            nonlocal started
            started = self._clock.monotonic()  # without the wait for the write lock
            stamp = plan.write_part(writer)
            self._failpoint("indexing")
            return stamp

        plan.part_written(self._engine.write(write, wait=wait))
        self._pace.record(self._clock.monotonic() - started)
        self._failpoint("indexed")

    @contextmanager
    def _loader(self) -> Iterator[ChunkLoader]:
        with self._engine.background_reading, self._engine.snapshot() as reader:
            yield ChunkLoader(reader, self.cache, self._yield_cpu)

    def _open_loader(self) -> Iterator[ChunkLoader]:
        """Yield a loader with a short snapshot of its own."""
        with self._loader() as loader:
            yield loader


def yield_to_writers() -> None:
    """Sleep briefly after a transaction, so that a waiting writer can take the write lock."""
    SystemClock().sleep(_WRITER_TURN_SECONDS)


def fill(
    engine: Engine, *, max_commits: int | None = None, progress: Progress | None = None
) -> int:
    """Index the commits that are queued now; return their number."""
    return Indexer(engine).fill(max_commits=max_commits, progress=progress)
