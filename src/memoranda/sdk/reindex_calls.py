"""What a store does to bring its indexes up to date."""

from __future__ import annotations

from memoranda.model.limits import check_callable
from memoranda.sdk.handle import Handle
from memoranda.sdk.reindexing import reindex_both
from memoranda.search.reindexing import Reindexed
from memoranda.storage.port import Progress


class ReindexCalls(Handle):
    """Indexing at once what is otherwise indexed behind the commits."""

    def reindex(
        self, *, text: bool = True, vectors: bool = True, progress: Progress | None = None
    ) -> Reindexed:
        """Put what waits into the index of words, and give every passage a vector.

        Vectors of another model than the store's embedder are dropped and made anew. It may be
        stopped and called again: it goes on from there. `progress` is told of passages: those that
        are indexed first, about, then those that have a vector.
        """
        check_callable("progress", progress)
        return self._calls.run(
            reindex_both,
            self._core.engine,
            self._core.filler.indexer,
            self._core.vectors,
            text=text,
            embedding=vectors,
            progress=progress,
        )
