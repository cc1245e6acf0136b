"""What a store does to bring its indexes up to date."""

from __future__ import annotations

from recollect.sdk.handle import Handle
from recollect.search.reindexing import Reindexed, reindex
from recollect.storage.port import Progress


class ReindexCalls(Handle):
    """Indexing at once what is otherwise indexed behind the commits."""

    def reindex(
        self, *, text: bool = True, vectors: bool = True, progress: Progress | None = None
    ) -> Reindexed:
        """Put what waits into the index of words, and give every passage a vector.

        Vectors of another model than the store's embedder are dropped and made anew. It may be
        stopped and called again: it goes on from there. `progress` is told of commits first, then
        of passages.
        """
        return self._calls.run(
            reindex,
            self._core.engine,
            self._core.vectors,
            of_text=text,
            of_vectors=vectors,
            progress=progress,
        )
