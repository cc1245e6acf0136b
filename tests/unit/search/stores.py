"""Stores to search in, and searching them by vectors alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

import memoranda
from memoranda import Store
from memoranda.model.clock import SystemClock
from memoranda.search.lexical import Found
from memoranda.search.shelves import KINDS, visible
from memoranda.search.tail import Tail


def nearest(
    store: Store,
    query: str,
    *,
    most: int = 5,
    known: int | None = None,
    namespaces: Sequence[str] | None = ("default",),
    viewer: str = "a",
) -> list[Found] | None:
    """Return what a store's vectors lead to."""
    past = known is not None
    vectors = store._core.vectors.prepare(query)
    with store._core.engine.snapshot() as reader:
        shelves = visible(reader, namespaces=namespaces, viewer=viewer, kinds=KINDS, past=past)
        tail = Tail.read(reader, namespaces=namespaces, viewer=viewer, kinds=KINDS, past=past)
        return vectors.search(reader, shelves, most=most, known=known, tail=tail)


def sources(found: Sequence[Found] | None) -> list[str]:
    assert found is not None, "there are vectors"
    return [each.passage.source for each in found]


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


def eventually(true: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until something another thread or process does is done."""
    clock = SystemClock()
    deadline = clock.monotonic() + seconds
    while not true():
        assert clock.monotonic() < deadline, "it never came to that"
        clock.sleep(0.01)
