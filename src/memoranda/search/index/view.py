"""The search view: it adds commits to the index queue, and erases documents from the index.

The index itself is no view: it may lag behind the log. The queue is exact. A commit enters the
queue in its own transaction, and leaves it in the transaction that writes the last of its
documents. A rebuild empties the index and queues every commit.
"""

from __future__ import annotations

from memoranda.log.views import Commit, Eraser, RewrittenEvent, View
from memoranda.search.background_worker import LARGE_COMMIT
from memoranda.search.index.documents import APPLIED, Sources, indexed_documents, weight
from memoranda.search.index.tables import IndexWriter
from memoranda.storage.port import Writer

_MAX_LARGE_COMMITS = 256
"""Large commits that are remembered: a rebuild applies many, and nobody asks for them."""


class SearchView(View):
    """The index queue. It is applied last: documents are derived from the other views."""

    name = "search"
    version = 3
    applied_types = APPLIED
    depends_on = ("memory", "graph")
    tables = ("to_index",)
    clear_queries = (
        "index_queue_clear",
        "vector_clear",
        "vectors_restart",
        "fulltext_empty",
        "fulltext_rebuild",
        "document_clear",
        "partition_clear",
        "index_stamp_renew",
    )
    row_queries = ()

    def __init__(self) -> None:
        # Hints for the background indexer of this process: the queue itself is in the store.
        self.queued_commits = 0
        """Commits queued since the indexer was last woken."""
        self.queued_documents = 0
        """Estimated documents of these commits."""
        self.total_documents = 0
        """Estimated documents of all commits of this process."""
        self.large_commits: dict[int, int] = {}
        """The latest large commits with their estimated documents, until their callers ask."""
        self.has_erased = False
        """Whether documents were erased since the indexer last dropped its caches."""

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Queue a commit."""
        size = weight(commit.operations)
        writer.put("index_queue_add", commit.commit_ts, size)
        self.queued_commits += 1
        self.queued_documents += size
        self.total_documents += size
        if size >= LARGE_COMMIT:
            self.large_commits[commit.commit_ts] = size
            if len(self.large_commits) > _MAX_LARGE_COMMITS:
                # Its caller may ask for it meanwhile, in another thread.
                self.large_commits.pop(min(self.large_commits), None)

    def eraser(self, writer: Writer, /) -> SearchEraser:
        """Return the eraser of the index."""
        return SearchEraser(writer, self)


class SearchEraser(Eraser):
    """Removes every document of a changed source, and queues the sources that are left."""

    def __init__(self, writer: Writer, view: SearchView) -> None:
        self._writer = writer
        self._view = view
        self._sources = Sources()

    def apply_rewrite(self, rewritten: RewrittenEvent, /) -> None:
        """Note the sources that rewritten operations change."""
        for _, before, _ in rewritten.changes():
            self._sources.add(before)

    def finish(self) -> None:
        """Remove the documents, and those of memories whose context has erased text."""
        sources = self._sources
        if not sources.all:
            return
        self._view.has_erased = True
        transcript_ids = [*sources.transcripts]
        for (memory_id,) in self._writer.rows("search_citing", transcript_ids=transcript_ids):
            sources.memories[memory_id] = None
        IndexWriter(self._writer).erase(indexed_documents(self._writer, sources.all))
        for (commit_ts,) in self._writer.rows("search_begun", sources=sources.all):
            self._writer.put("index_queue_add", commit_ts, 1)
            self._view.queued_commits += 1
            self._view.queued_documents += 1
