"""Vectors are filled behind the commits, whatever the embedder does."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import memoranda
from memoranda import Store
from memoranda.model.clock import SystemClock
from memoranda.search import filler
from memoranda.search.behind import Behind
from memoranda.search.kept import counted, read
from tests.embedders import Hashing
from tests.unit.search.stores import eventually, indexed, nearest, remember, sources

TEXTS = [f"number {number} likes word{number}" for number in range(12)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture(autouse=True)
def _fill_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filler, "EVERY", 4)


Threads = Callable[[], list[str]]


@pytest.fixture
def threads() -> Threads:
    """Return what tells which embedders' threads there are that were not there before."""
    before = set(threading.enumerate())

    def since() -> list[str]:
        new = set(threading.enumerate()) - before
        return [each.name for each in new if each.name == "memoranda-embedder"]

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
    monkeypatch.setattr("memoranda.search.embedding._local", lambda: model)
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
    monkeypatch.setattr("memoranda.search.embedding._local", Hashing)
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
        behind = store._core.vectors.behind
        assert behind is not None
        behind._first_rest = behind._rest = 0.01
        ids = remember(store.bind(agent_id="a"), TEXTS)
        eventually(lambda: store.stats().warnings != ())
        stats = store.stats()
        assert "nobody is there" in stats.warnings[0]
        assert (stats.vectors, stats.vector_backlog) == (0, 12)
        assert nearest(store, "word3") is None
        model.before = None
        eventually(lambda: store.stats().vectors == 12)
        assert store.stats().warnings == ()
        store._core.vectors._rests_until = 0
        assert ids[3] in sources(nearest(store, "word3"))


def test_closing_waits_for_what_has_begun_but_not_for_ever(path: Path) -> None:
    model, begun, go = Hashing(), threading.Event(), threading.Event()

    def hang(_: Sequence[str]) -> None:
        begun.set()
        go.wait(20)

    model.before = hang
    store = memoranda.open(path, embedder=model)
    remember(store.bind(agent_id="a"), TEXTS[:4])
    assert begun.wait(10)
    behind = store._core.vectors.behind
    assert behind is not None
    clock = SystemClock()
    before = clock.monotonic()
    behind.close(seconds=0.05)
    store.close()
    assert clock.monotonic() - before < 5
    thread = behind._thread
    assert thread is not None
    go.set()
    thread.join(10)
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
        both.wait(10)

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
        behind = store._core.vectors.behind
        assert behind is not None
        owner, behind._owner = behind._owner, -1  # as it is in a process that was forked
        behind._bell.clear()
        behind.wake()
        assert not behind._bell.is_set()
        behind.close()
        assert not behind._ending.is_set()
        behind._owner = owner
        assert owner == os.getpid()


def test_how_far_vectors_go_is_kept_with_them(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        remember(store.bind(agent_id="a"), TEXTS)
        store.reindex()
        engine, model = store._core.engine, Hashing()
        from memoranda.search.vector_filling import fill_some

        upto = []
        while fill_some(engine, model, most=5):
            with engine.reading() as reader:
                kept = read(reader)
                assert kept is not None
                upto.append(kept.upto)
                made, left = counted(reader, kept)
                assert made + left == 12
        assert upto == [5, 10, 12]


def test_nobody_is_woken_once_it_is_closed() -> None:
    behind = Behind(lambda: 0, name="memoranda-embedder")
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

    behind = Behind(work, name="memoranda-embedder")
    behind.wake()
    eventually(lambda: behind.failure is not None and not behind._is_running())
    assert "broke off" in str(behind.failure)
    behind.wake()
    eventually(lambda: behind.failure is None)
    assert done == [0, 1]
    behind.close()


def test_a_store_in_memory_has_vectors_too() -> None:
    with memoranda.open(":memory:", embedder=Hashing()) as store:
        bound: Store = store.bind(agent_id="a")
        ids = remember(bound, TEXTS)
        eventually(lambda: store.stats().vectors == 12)
        assert ids[5] in sources(nearest(store, "word5"))
