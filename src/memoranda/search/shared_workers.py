"""The background workers of a server: one indexer and one embedder for all of its stores."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from memoranda.search.shared_worker import WorkerThread
from memoranda.search.vectors.embedder import AUTO, EmbedderSpec, resolve_embedder


class SharedWorkers:
    """The threads that index and embed for many stores, and the embedder, loaded once."""

    def __init__(self, embedder: EmbedderSpec = AUTO) -> None:
        self.embedder = resolve_embedder(embedder)
        self.is_eager = embedder != AUTO
        """Whether documents are embedded from the beginning; else after a store's first search."""
        self.warned: set[str] = set()
        """Topics of the warnings that were logged where there is no embedder: once for all."""
        self.indexer = WorkerThread("memoranda-indexer")
        self.vectors = WorkerThread("memoranda-embedder")
        self._commits: Iterator[int] = count(1)
        self.commits = 0
        """Commits of all stores that no pause follows: while it grows, writers are active, and the
        indexer makes way for them, whichever store it works for."""

    def note_commit(self) -> None:
        """Count a commit; the leaders of several stores may call it at once."""
        self.commits = next(self._commits)

    def close(self) -> None:
        """End the threads; the stores are closed already."""
        self.indexer.close()
        self.vectors.close()
