"""Vectors are filled behind the commits, whatever the embedder does."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import memoranda
from memoranda import Store
from memoranda.search.background_worker import BackgroundWorker
from memoranda.search.index import background_indexer
from memoranda.search.vectors.store import count_vectors, read
from memoranda.search.vectors.vector_index import PreparedQuery
from memoranda.storage.thread_locks import Wakeup
from tests.cores import core_of
from tests.embedders import Hashing
from tests.patience import HANG_SECONDS
from tests.unit.search.stores import eventually, indexed, nearest, remember, sources

TEXTS = [f"number {number} likes word{number}" for number in range(12)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture(autouse=True)
def _fill_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_indexer, "WAKE_THRESHOLD", 4)


Threads = Callable[[], list[str]]


@pytest.fixture
def threads() -> Threads:
    """Return what tells which embedders' threads there are that were not there before."""
    before = set(threading.enumerate())

    def since() -> list[str]:
        new = set(threading.enumerate()) - before
        return [item.name for item in new if item.name == "memoranda-embedder"]

    return since


def test_an_embedder_that_is_given_fills_from_the_start(path: Path, threads: Threads) -> None:
    with memoranda.open(path, embedder=Hashing()) as store:
        assert threads() == [], "it is started when there is something to do"
        remember(store.bind(agent_id="a"), TEXTS)
        eventually(lambda: store.stats().vectors == 12)
        assert threads() == ["memoranda-embedder"]
        assert store.stats().vector_backlog == 0
        assert store.stats().embedder == "hashing"
    assert threads() == []


def test_the_default_waits_until_somebody_recalls(
    path: Path, monkeypatch: pytest.MonkeyPatch, threads: Threads
) -> None:
    model = Hashing()
    monkeypatch.setattr("memoranda.search.vectors.embedder._local", lambda: model)
    with memoranda.open(path) as store:
        remember(store.bind(agent_id="a"), TEXTS)
        assert threads() == []
        assert (store.stats().vectors, store.stats().vector_backlog) == (0, 0)
        assert model.texts == []
        assert sources(nearest(store, "word3"))
        eventually(lambda: store.stats().vectors == 12)
    with memoranda.open(path) as store:
        remember(store.bind(agent_id="a"), [f"more {text}" for text in TEXTS])
        eventually(lambda: store.stats().vectors == 24)
    with memoranda.open(path, embedder=None) as store:
        assert store.stats().embedder == "hashing"
        remember(store.bind(agent_id="a"), [f"even more {text}" for text in TEXTS])
        assert store.stats().vector_backlog == 12
    with memoranda.open(path) as store:
        eventually(lambda: store.stats().vectors == 36)


def test_a_first_recall_is_noted_even_if_nothing_is_indexed_yet(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoranda.search.vectors.embedder._local", Hashing)
    with memoranda.open(path) as store:
        remember(store.bind(agent_id="a"), TEXTS[:2])
        assert store.recall("word1", namespace="default")
        eventually(lambda: store.stats().embedder == "hashing")
    with memoranda.open(path) as store:
        remember(store.bind(agent_id="a"), TEXTS[2:])
        eventually(lambda: store.stats().vectors >= 8)


def test_writes_go_on_while_the_embedder_is_out_of_order_and_it_recovers(path: Path) -> None:
    model = Hashing()

    def fail(_: Sequence[str]) -> None:
        raise ConnectionError("nobody is there")

    model.before = fail
    with memoranda.open(path, embedder=model) as store:
        behind: Any = core_of(store).vectors.worker
        assert behind is not None
        behind._first_backoff = behind._backoff = 0.01
        ids = remember(store.bind(agent_id="a"), TEXTS)
        eventually(lambda: store.stats().warnings != ())
        stats = store.stats()
        assert "nobody is there" in stats.warnings[0]
        assert (stats.vectors, stats.vector_backlog) == (0, 12)
        assert nearest(store, "word3") is None
        model.before = None
        eventually(lambda: store.stats().vectors == 12)
        eventually(lambda: store.stats().warnings == ())
        core_of(store).vectors._paused_until = 0
        assert ids[3] in sources(nearest(store, "word3"))


def test_closing_waits_for_what_has_begun_but_not_for_ever(path: Path) -> None:
    model, start, go = Hashing(), threading.Event(), threading.Event()

    def hang(_: Sequence[str]) -> None:
        start.set()
        go.wait(HANG_SECONDS)

    model.before = hang
    store = memoranda.open(path, embedder=model)
    remember(store.bind(agent_id="a"), TEXTS[:4])
    assert start.wait(HANG_SECONDS)
    behind: Any = core_of(store).vectors.worker
    assert behind is not None
    behind.close(seconds=0.05)
    store.close()
    thread = behind._thread
    assert thread is not None
    assert thread.is_alive(), "it was not waited for"
    go.set()
    thread.join(HANG_SECONDS)
    assert not thread.is_alive()
    with memoranda.open(path, embedder=None) as store:
        assert store.stats().vectors == 0


def test_closing_finishes_the_backlog_if_that_is_quick(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        remember(store.bind(agent_id="a"), TEXTS)
        store.reindex()
    with memoranda.open(path, embedder=Hashing()):
        pass
    with memoranda.open(path, embedder=None) as store:
        assert store.stats().vectors == 12


def test_two_that_fill_at_once_do_no_harm(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        ids = remember(store.bind(agent_id="a"), TEXTS)
        store.reindex()
    both = threading.Barrier(2)

    def meet(_: Sequence[str]) -> None:
        both.wait(HANG_SECONDS)

    one, two = Hashing(dimension=64), Hashing(dimension=64)
    one.before = two.before = meet
    first = memoranda.open(path, embedder=one)
    second = memoranda.open(path, embedder=two)
    eventually(lambda: first.stats().vectors == 12)
    one.before = two.before = None
    assert ids[3] == sources(nearest(first, "word3"))[0] == sources(nearest(second, "word3"))[0]
    first.close()
    second.close()


def test_it_does_not_mix_models(path: Path) -> None:
    indexed(path, TEXTS, Hashing("first"))
    other = Hashing("second")
    with memoranda.open(path, embedder=other) as store:
        remember(store.bind(agent_id="a"), [f"more {text}" for text in TEXTS])
        assert other.texts == []
        assert store.stats().vector_backlog == 12


def test_a_fork_leaves_the_thread_to_its_parent(path: Path) -> None:
    with memoranda.open(path, embedder=Hashing()) as store:
        remember(store.bind(agent_id="a"), TEXTS)
        eventually(lambda: store.stats().vectors == 12)
        behind: Any = core_of(store).vectors.worker
        assert behind is not None
        owner, behind._owner = behind._owner, -1  # as it is in a process that was forked
        behind._wakeup.clear()
        behind.wake()
        assert not behind._wakeup.is_set()
        behind.close()
        assert not behind._closing.is_set()
        behind._owner = owner
        assert owner == os.getpid()


def test_how_far_vectors_go_is_kept_with_them(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        remember(store.bind(agent_id="a"), TEXTS)
        store.reindex()
        engine, model = core_of(store).engine, Hashing()
        from memoranda.search.vectors.backfill import fill_batch

        upto = []
        while fill_batch(engine, model, limit=5):
            with engine.reading() as reader:
                stored_item = read(reader)
                assert stored_item is not None
                upto.append(stored_item.complete_through)
                instance, remainder = count_vectors(reader, stored_item)
                assert instance + remainder == 12
        assert upto == [5, 10, 12]


def test_nobody_is_woken_once_it_is_closed() -> None:
    behind = BackgroundWorker(lambda: 0, name="memoranda-embedder")
    behind.close()
    behind.wake()
    assert behind._thread is None


def test_whatever_ends_its_thread_it_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    done: list[int] = []

    def work() -> int:
        done.append(len(done))
        if len(done) == 1:
            raise SystemExit
        return 0

    behind = BackgroundWorker(work, name="memoranda-embedder")
    behind.wake()
    eventually(lambda: behind.failure is not None and not behind._is_running())
    assert "ended unexpectedly" in str(behind.failure)
    behind.wake()
    eventually(lambda: behind.failure is None)
    assert done == [0, 1]
    behind.close()


def test_it_works_also_if_its_store_is_closed_before_its_thread_gets_to_run() -> None:
    done: list[int] = []
    behind = BackgroundWorker(lambda: done.append(1), name="memoranda-embedder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", lambda _: None)
        behind.wake()
    behind.close(seconds=HANG_SECONDS)
    behind._run()
    assert done == [1]


def test_it_is_busy_from_being_woken_until_its_work_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    woken, go, states = threading.Event(), threading.Event(), list[bool]()
    behind = BackgroundWorker(lambda: states.append(behind.is_busy), name="memoranda-embedder")
    wait = behind._wakeup.wait

    def slow() -> bool:
        is_woken = wait()
        woken.set()
        assert go.wait(HANG_SECONDS)  # as if other threads ran first
        return is_woken

    monkeypatch.setattr(behind, "_wakeup", SimpleNamespace(**_methods(behind._wakeup), wait=slow))
    states.append(behind.is_busy)
    behind.wake()
    assert woken.wait(HANG_SECONDS)
    states.append(behind.is_busy)
    go.set()
    eventually(lambda: not behind.is_busy)
    assert states == [False, True, True]
    behind.close()


def _methods(wakeup: Wakeup) -> dict[str, Callable[[], object]]:
    return {"set": wakeup.set, "is_set": wakeup.is_set, "clear": wakeup.clear}


def test_a_search_during_the_indexers_last_look_makes_it_look_again(path: Path) -> None:
    with memoranda.open(path, embedder=Hashing()) as store:
        worker: Any = core_of(store).background_indexer._worker
        vectors = core_of(store).vectors
        looks: list[int] = []

        def look() -> int:
            looks.append(len(looks))
            if len(looks) == 1:
                vectors.index_soon()  # what a search calls that finds a queue
            return 0

        worker._work = look
        vectors.index_soon()
        eventually(lambda: looks == [0, 1])


def test_what_is_indexed_during_the_first_search_gets_vectors(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoranda.search.vectors.embedder._local", Hashing)
    with memoranda.open(path) as store:
        remember(store.bind(agent_id="a"), TEXTS[:3])
        search = PreparedQuery.search

        def late(*arguments: Any, **named: Any) -> Any:
            """Search in a snapshot that was opened before the indexer emptied the queue."""
            core_of(store).background_indexer._wake()
            eventually(lambda: store.stats().index_backlog == 0)
            eventually(lambda: not core_of(store).background_indexer._worker.is_busy)
            return search(*arguments, **named)

        monkeypatch.setattr(PreparedQuery, "search", late)
        assert sources(nearest(store, "word1"))
        eventually(lambda: store.stats().vectors == 3)


def test_a_store_in_memory_has_vectors_too() -> None:
    with memoranda.open(":memory:", embedder=Hashing()) as store:
        bound: Store = store.bind(agent_id="a")
        ids = remember(bound, TEXTS)
        eventually(lambda: store.stats().vectors == 12)
        assert ids[5] in sources(nearest(store, "word5"))
