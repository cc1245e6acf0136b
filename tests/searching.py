"""Asking the index of a store, as a search does."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from memoranda import Store
from memoranda.search import filling, lexical, shelves
from memoranda.search.lexical import Found
from memoranda.search.tail import Tail


def search(
    store: Store,
    query: str,
    *,
    known: int | None = None,
    viewer: str = "ann",
    namespaces: Sequence[str] | None = ("default",),
    kinds: Collection[str] = shelves.KINDS,
    most: int = 1_000,
) -> list[Found]:
    """Return what a search by words finds, in one snapshot."""
    with store._core.engine.snapshot() as reader:
        past = known is not None
        seen = shelves.visible(reader, namespaces=namespaces, viewer=viewer, kinds=kinds, past=past)
        tail = Tail.read(reader, namespaces=namespaces, viewer=viewer, kinds=kinds, past=past)
        return lexical.search(reader, seen, query, most=most, known=known, tail=tail)


def sources(store: Store, query: str, *, known: int | None = None, viewer: str = "ann") -> set[str]:
    """Return the sources of all that is found."""
    return {each.passage.source for each in search(store, query, known=known, viewer=viewer)}


def fill(store: Store) -> int:
    """Index all that waits."""
    return filling.fill(store._core.engine)


def backlog(store: Store) -> int:
    """Return how many commits wait to be indexed."""
    return store.stats().index_backlog
