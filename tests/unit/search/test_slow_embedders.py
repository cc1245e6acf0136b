"""An embedder that takes long, or for ever, keeps nobody from anything else."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import memoranda
from memoranda import Store
from memoranda.search.vectors import backfill
from tests.embedders import Hashing
from tests.patience import HANG_SECONDS
from tests.unit.search.stores import eventually, nearest, remember, sources


class Stuck(Hashing):
    """Waits over some texts until it is let go."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()
        self.on = texts
        self.passed = 0
        self.before = self._wait

    def _wait(self, texts: Sequence[str]) -> None:
        if any(item in text for text in texts for item in self.on):
            self.begun.set()
            assert self.go.wait(HANG_SECONDS)
            self.passed += 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def threads() -> Iterator[list[threading.Thread]]:
    """Take threads that are started in the test, and see that they end."""
    started: list[threading.Thread] = []
    yield started
    for item in started:
        item.join(HANG_SECONDS)
        assert not item.is_alive()


def test_what_is_forgotten_while_a_query_is_embedded_leaves_the_files(
    path: Path, threads: list[threading.Thread]
) -> None:
    model = Stuck("asked")
    with memoranda.open(path, embedder=model) as store:
        bound: Store = store.bind(agent_id="a")
        memory = bound.remember("a plover", title="bird").id
        threads.append(threading.Thread(target=bound.recall, args=("asked of plovers",)))
        threads[0].start()
        assert model.begun.wait(HANG_SECONDS)
        store.forget(memory_id=memory)
        pending = store.stats().pending_purge
        model.go.set()
        threads[0].join(HANG_SECONDS)
        assert not pending, "no snapshot was in the way"


def test_a_search_does_not_wait_long_for_vectors_of_what_has_none(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    wait = backfill._Job.wait

    def noted(job: backfill._Job, seconds: float) -> bool:
        waits.append(seconds)
        return wait(job, seconds)

    monkeypatch.setattr(backfill, "EMBED_WAIT_SECONDS", 0.05)
    monkeypatch.setattr(backfill._Job, "wait", noted)
    model = Stuck("told")
    with memoranda.open(path, embedder=model) as store:
        bound: Store = store.bind(agent_id="a")
        (memory,) = remember(bound, ["told of plovers"])
        for _ in range(2):
            assert [hit.id for hit in bound.recall("plovers")] == [memory], "by words"
            assert sources(nearest(store, "plovers")) == []
        assert model.begun.wait(HANG_SECONDS)
        assert model.passed == 0, "it was not waited for"
        assert waits
        assert max(waits) <= 0.05
        assert [hit.id for hit in bound.recall("plovers of")] == [memory]
        model.go.set()
        eventually(lambda: sources(nearest(store, "plovers")) == [memory])


def test_two_that_search_at_once_both_find_what_has_no_vector_yet(
    path: Path, threads: list[threading.Thread]
) -> None:
    model, result = Stuck("told"), list[list[str]]()
    with memoranda.open(path, embedder=model) as store:
        (memory,) = remember(store.bind(agent_id="a"), ["told of plovers"])
        for _ in range(2):
            search = threading.Thread(
                target=lambda: result.append(sources(nearest(store, "plovers")))
            )
            threads.append(search)
            search.start()
        assert model.begun.wait(HANG_SECONDS)
        model.go.set()
        for thread in threads:
            thread.join(HANG_SECONDS)
        assert result == [[memory], [memory]]


def test_what_a_search_embedded_is_kept_when_the_store_is_closed(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        ids = remember(store.bind(agent_id="a"), [f"word{number}" for number in range(9)])
        assert store.stats().index_backlog == 9
    first, second = Hashing(dimension=256), Hashing(dimension=256)
    with memoranda.open(path, embedder=first) as store:
        assert store.stats().vector_backlog == 9
        assert store.bind(agent_id="a").recall("word3")[0].id == ids[3]
    with memoranda.open(path, embedder=second) as store:
        assert (store.stats().vectors, store.stats().vector_backlog) == (9, 0)
        assert store.bind(agent_id="a").recall("word3")[0].id == ids[3]
    assert second.texts == ["word3"], "the query alone"


def test_what_a_search_embedded_is_kept_soon(path: Path) -> None:
    with memoranda.open(path, embedder=Hashing()) as store:
        bound: Store = store.bind(agent_id="a")
        for number in range(3):
            remember(bound, [f"word{number}"])
            bound.recall("word")
            eventually(lambda: store.stats().vectors == number + 1)  # noqa: B023


def test_who_only_writes_does_not_load_a_model_to_close(path: Path) -> None:
    model = Hashing()
    for number in range(2):
        with memoranda.open(path, embedder=model) as store:
            remember(store.bind(agent_id="a"), [f"word{number}"])
    assert model.texts == []
