"""Check the index: it has exactly the documents and tokens that the views give.

The check is part of a deep verification. Sources in the index queue may be indexed or not. Of
vectors only the ownership is checked: the right numbers are known to the model alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.errors import Corruption, ViewsDiffer
from memoranda.search.index.documents import (
    DerivedDocument,
    IndexedDocument,
    Sources,
    derive_documents,
    indexed_documents,
)
from memoranda.search.index.tables import columns_of
from memoranda.search.text import language as index_language
from memoranda.search.text.transcript_chunks import ChunkCache, ChunkLoader
from memoranda.storage.port import Engine, Progress, Reader

_PAGE_COMMITS = 256
"""Commits whose sources are compared at once: a bound on memory."""
_NO_LIMIT = -1
"""SQLite reads a negative limit as none."""


def check_index(engine: Engine, progress: Progress | None = None) -> None:
    """Raise `ViewsDiffer` for the first document that differs."""
    with engine.snapshot() as reader:
        if not reader.has("to_index"):
            return
        try:
            _Check(reader).run(progress)
        except ViewsDiffer:
            raise
        except Corruption as error:
            raise _differs("words", f"a row cannot be read: {error}") from error


class _Check:
    """One check of the whole index, in one snapshot."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._cache = ChunkCache()
        self._document_ids: set[int] = set()
        self._queued = self._queued_sources()
        self._language = index_language.read(reader)

    def run(self, progress: Progress | None) -> None:
        """Compare the documents of all sources in the log, then the totals."""
        row = self._reader.row("event_head")
        head = row[0] if row else 0
        for page in self._pages():
            commits = [commit_ts for commit_ts, is_queued in page if not is_queued]
            self._compare(Sources.of_commits(self._reader, commits))
            if progress is not None:
                progress(page[-1][0], head)
        self._compare(self._queued, queued=True)
        self._check_totals()

    def _pages(self) -> Iterator[list[tuple[int, int]]]:
        after = 0
        while rows := self._reader.rows("index_commits", after=after, limit=_PAGE_COMMITS):
            yield [(commit_ts, is_queued) for commit_ts, is_queued in rows]
            after = rows[-1][0]

    def _queued_sources(self) -> Sources:
        """Return the sources of the queue: they may be indexed or not."""
        rows = self._reader.rows("index_queue_page", after=0, limit=_NO_LIMIT)
        return Sources.of_commits(self._reader, [commit_ts for commit_ts, _ in rows])

    def _compare(self, sources: Sources, *, queued: bool = False) -> None:
        if not queued:
            sources = sources.without(self._queued)
        loader = ChunkLoader(self._reader, self._cache)
        derived = {document.key: document for document in derive_documents(loader, sources).all()}
        rows = self._reader.rows("fulltext_of_sources", sources=sources.all)
        columns = {row[0]: row[1:] for row in rows}
        for document in indexed_documents(self._reader, sources.all):
            self._document_ids.add(document.id)
            counterpart = derived.pop(document.key, None)
            if not queued:
                self._check_document(document, counterpart, columns.get(document.id), loader)
        for missing in () if queued else derived.values():
            raise _differs(
                "passage",
                f"the document of {missing.source} from commit {missing.from_commit} is missing",
            )

    def _check_document(
        self,
        document: IndexedDocument,
        derived: DerivedDocument | None,
        stored_columns: tuple[str, ...] | None,
        loader: ChunkLoader,
    ) -> None:
        if derived is None or not document.equals(derived):
            raise _differs("passage", f"document {document.id} differs from {document.source}")
        if not self._language.is_restemmed(document.id):  # it has the tokens of an older stemmer
            return
        text = derived.load_text(loader)
        columns, length = columns_of(
            document.partition, text, self._language.of(document.partition_key[0])
        )
        if stored_columns != columns or document.length != length:
            raise _differs(
                "words", f"document {document.id} has other tokens than {document.source}"
            )

    def _check_totals(self) -> None:
        reader = self._reader
        strays = (*(reader.row("index_strays") or ()), *(reader.row("index_queue_strays") or ()))
        if any(strays):
            raise _differs(
                "passage", "there are tokens, vectors or queued commits without an owner"
            )
        count = len(self._document_ids)
        if self._reader.row("index_counts") != (count, count):
            raise _differs("passage", "there are documents of sources that the log does not have")
        for partition, size, length, counted_size, counted_length in self._reader.rows(
            "partition_checks"
        ):
            if (size, length) != (counted_size, counted_length):
                raise _differs(
                    "shelf", f"partition {partition} has other totals than its documents"
                )


def _differs(table: str, problem: str) -> ViewsDiffer:
    return ViewsDiffer("search", table, problem)
