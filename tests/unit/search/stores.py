"""Stores to search in, and searching them by vectors alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw

import memoranda
from memoranda import Store
from memoranda.model.intervals import NEWEST
from memoranda.search.index.partitions import KINDS, visibility_of, visible_partitions
from memoranda.search.index.unindexed import scan
from memoranda.search.ranking.bm25 import ScoredDocument
from tests.cores import core_of
from tests.patience import wait_until

eventually = wait_until


def nearest(
    store: Store,
    query: str,
    *,
    most: int = 5,
    known: int | None = None,
    namespaces: Sequence[str] | None = ("default",),
    viewer: str = "a",
) -> list[ScoredDocument] | None:
    """Return what a store's vectors lead to."""
    visibility = visibility_of(
        namespaces=namespaces, viewer=viewer, kinds=KINDS, past=known is not None
    )
    vectors = core_of(store).vectors.prepare(query)
    with core_of(store).engine.snapshot() as reader:
        visible = visible_partitions(reader, visibility)
        unindexed = scan(reader, visibility, as_of=NEWEST if known is None else known)
        return vectors.search(reader, visible, limit=most, as_of_commit=known, unindexed=unindexed)


def sources(documents: Sequence[ScoredDocument] | None) -> list[str]:
    assert documents is not None, "there are vectors"
    return [item.document.source for item in documents]


def remember(store: Store, texts: Sequence[str]) -> list[str]:
    """Keep a memory for each text, and return their ids."""
    return [store.remember(text, title=f"t{number} {text}").id for number, text in enumerate(texts)]


def indexed(path: Path, texts: Sequence[str], embedder: memoranda.Embedder) -> list[str]:
    """Make a store with memories that have vectors, and return their ids."""
    with memoranda.open(path, embedder=embedder) as store:
        ids = remember(store.bind(agent_id="a"), texts)
        store.reindex()
    return ids


def rows_of_vectors(path: Path) -> int:
    """Return how many vectors are in the file, whether they belong to anything or not."""
    connection = apsw.Connection(str(path))
    (count,) = next(iter(connection.execute("SELECT COUNT(*) FROM vector")))
    connection.close()
    return int(count)
