"""Reindexing: doing at once what is otherwise done behind the commits.

It can be stopped at any moment and goes on from there the next time; where all is done, it does
nothing.
"""

from __future__ import annotations

import msgspec

from memoranda.search.filling import Indexer
from memoranda.search.vectors import Vectors
from memoranda.storage.port import Progress


class Reindexed(msgspec.Struct, frozen=True):
    """What reindexing came to; nothing, where all was done before."""

    commits: int
    """How many commits were put into the index of words."""
    vectors: int
    """How many passages were given a vector."""
    model: str | None
    """The model the vectors are of; None: there is no embedder."""
    replaced: str | None = None
    """The model whose vectors were dropped for them."""

    def __bool__(self) -> bool:
        return bool(self.commits or self.vectors or self.replaced)


def reindex(
    indexer: Indexer,
    vectors: Vectors,
    *,
    of_text: bool,
    of_vectors: bool,
    progress: Progress | None = None,
) -> Reindexed:
    """Bring the index of words up to date, then the vectors of what is in it."""
    commits = indexer.fill(progress=progress) if of_text else 0
    if not of_vectors or vectors.embedder is None:
        return Reindexed(commits, 0, None)
    replaced, made = vectors.fill(progress)
    return Reindexed(commits, made, vectors.embedder.name, replaced)
