"""Reindexing a store: its words, then its vectors, with progress that counts passages."""

from __future__ import annotations

from msgspec.structs import replace

from memoranda.search import filling
from memoranda.search.filling import Indexer
from memoranda.search.reindexing import Reindexed, reindex
from memoranda.search.vectors import Vectors
from memoranda.storage.port import Engine, Progress


def reindex_both(
    engine: Engine,
    indexer: Indexer,
    vectors: Vectors,
    *,
    text: bool,
    embedding: bool,
    progress: Progress | None,
) -> Reindexed:
    """Index the words, then the vectors, each with its own progress."""
    indexing = None if progress is None else _Passages(engine, progress)
    done = reindex(indexer, vectors, of_text=text, of_vectors=False, progress=indexing)
    made = reindex(indexer, vectors, of_text=False, of_vectors=embedding, progress=progress)
    return replace(made, commits=done.commits)


class _Passages:
    """Tells of passages where commits are counted: one commit may have very many of them."""

    def __init__(self, engine: Engine, progress: Progress) -> None:
        self._engine = engine
        self._progress = progress
        self._before, self._whole = self._now()

    def __call__(self, _done: int, _whole: int) -> None:
        """Tell how many are done; what waits is an estimate, by which the whole may grow."""
        there, left = self._now()
        done = max(0, there - self._before, self._whole - left)
        self._progress(done, self._whole if done <= self._whole else done + left)

    def _now(self) -> tuple[int, int]:
        """Return how many passages are in the index, and about how many are not."""
        with self._engine.reading() as reader:
            (there, _) = reader.row("shelf_totals") or (0, 0)
            return there, filling.work(reader)
