"""Asking the index of a store, as a search does."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from memoranda import Store
from memoranda.model.intervals import NEWEST
from memoranda.search.index import indexer, partitions
from memoranda.search.index.unindexed import scan
from memoranda.search.ranking import bm25
from memoranda.search.ranking.bm25 import ScoredDocument
from memoranda.search.text import language
from tests.cores import core_of


def search(
    store: Store,
    query: str,
    *,
    known: int | None = None,
    viewer: str = "ann",
    namespaces: Sequence[str] | None = ("default",),
    kinds: Collection[str] = partitions.KINDS,
    most: int = 1_000,
) -> list[ScoredDocument]:
    """Return what a search by words finds, in one snapshot."""
    with core_of(store).engine.snapshot() as reader:
        visibility = partitions.visibility_of(
            namespaces=namespaces, viewer=viewer, kinds=kinds, past=known is not None
        )
        visible = partitions.visible_partitions(reader, visibility)
        spoken = language.read(reader)
        names = [partition.namespace for partition in visible] if namespaces is None else namespaces
        terms = bm25.query_terms(spoken, names, visible, query)
        unindexed = scan(
            reader,
            visibility,
            terms=terms,
            language=spoken,
            as_of=NEWEST if known is None else known,
        )
        return bm25.TermSearch(reader, visible, terms, unindexed).best(most, known)


def sources(store: Store, query: str, *, known: int | None = None, viewer: str = "ann") -> set[str]:
    """Return the sources of all that is found."""
    return {item.document.source for item in search(store, query, known=known, viewer=viewer)}


def fill(store: Store) -> int:
    """Index all that waits."""
    return indexer.fill(core_of(store).engine)


def backlog(store: Store) -> int:
    """Return how many commits wait to be indexed."""
    return store.stats().index_backlog
