"""Statistics are of one moment, whatever the threads behind the commits do meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import memoranda
from memoranda import Store, StoreFull
from memoranda.calls import maintenance
from memoranda.errors import MemorandaError
from memoranda.search.background_worker import BackgroundWorker
from memoranda.search.vectors import store as vectors_store
from memoranda.search.vectors.vector_index import VectorIndex
from tests.cores import core_of
from tests.embedders import Hashing
from tests.searching import fill


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with memoranda.open(tmp_path / "store.db", embedder=Hashing()) as opened:
        yield opened.bind(agent_id="a")


class Passing:
    """What has failed at the first look, and is over it at the second."""

    def __init__(self) -> None:
        self._looks = iter([StoreFull("there is no room"), None])

    @property
    def failure(self) -> MemorandaError | None:
        return next(self._looks)


def test_a_failure_that_passes_meanwhile_is_told_or_not_but_never_as_none(store: Store) -> None:
    components: Any = SimpleNamespace(checkpointer=Passing(), background_indexer=Passing())
    vectors = VectorIndex(
        core_of(store).engine, Hashing(), eager=True, worker=cast(BackgroundWorker, Passing())
    )
    with core_of(store).engine.reading() as reader:
        warnings = (
            *maintenance._signing(components),
            *maintenance._indexing(components),
            *vectors.stats(reader).warnings,
        )
    assert len(warnings) == 3
    assert all(warning.endswith(": there is no room") for warning in warnings)


def test_what_is_indexed_meanwhile_is_counted_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        store.remember(f"number {number}")
    count = vectors_store.count_vectors

    def slow(*arguments: Any) -> tuple[int, int]:
        answer = count(*arguments)
        fill(store)
        return answer

    monkeypatch.setattr(vectors_store, "count_vectors", slow)
    stats = store.stats()
    assert (stats.index_backlog, stats.vectors, stats.vector_backlog) == (3, 0, 3)
