"""Locks that neither an interrupt nor a fork leaves taken."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import Store, StoreBusy
from memoranda.storage.files import lock_file
from memoranda.storage.thread_locks import Wakeup, WeakRegistry, hold, new_lock
from tests.cores import core_of
from tests.patience import HANG_SECONDS


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = tmp_path / "store.db" if request.param == "file" else ":memory:"
    with memoranda.open(url, durability="relaxed", embedder=None) as store:
        yield store.bind(agent_id="a")


class TestHeld:
    def test_it_lends_the_value_and_gives_the_lock_back(self) -> None:
        lock, value = new_lock(), object()
        manager = hold(lock, value)
        with manager as lent, manager as again:
            assert lent is again is value
            assert not self.is_free(lock)
        assert self.is_free(lock)

    def test_an_error_in_the_block_gives_it_back(self) -> None:
        lock = new_lock()
        with pytest.raises(ZeroDivisionError), hold(lock, None):
            raise ZeroDivisionError
        assert self.is_free(lock)

    def test_who_waits_too_long_is_told_so(self) -> None:
        lock = new_lock()
        with ThreadPoolExecutor(1) as other:
            with lock, pytest.raises(StoreBusy):
                other.submit(lambda: hold(lock, None, 0.01).__enter__()).result()
            assert self.is_free(lock)

    @staticmethod
    def is_free(lock: threading.RLock) -> bool:
        def take() -> bool:
            if item := lock.acquire(blocking=False):
                lock.release()
            return bool(item)

        with ThreadPoolExecutor(1) as other:
            return other.submit(take).result()


def test_a_wake_up_is_kept_for_who_waits_next() -> None:
    wakeup = Wakeup()
    assert not wakeup.wait(0)
    wakeup.set()
    wakeup.set()
    assert wakeup.is_set()
    assert wakeup.wait(0)
    assert not wakeup.wait(-1)
    wakeup.set()
    wakeup.clear()
    assert not wakeup.is_set()


def test_a_signal_whose_handler_ran_before_the_wait_began_ends_it() -> None:
    """The handler runs in another thread here, so it does not interrupt the wait either."""
    woken = Wakeup()

    def interrupt() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    timer = threading.Timer(0.2, interrupt)
    timer.start()
    rescue = threading.Timer(HANG_SECONDS, woken.set)
    rescue.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            woken.wait()
        assert rescue.is_alive(), "nothing but the signal ended it"
    finally:
        rescue.cancel()
        timer.join()


def test_a_registry_keeps_nothing_alive_and_does_not_grow() -> None:
    class Thing:
        pass

    registry, stored_item = WeakRegistry[Thing](), [Thing() for _ in range(10)]
    for thing in stored_item:
        registry.add(thing)
    for _ in range(1_000):
        registry.add(Thing())
    gc.collect()
    assert set(registry.alive()) == set(stored_item)
    assert len(registry._refs) < 200


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_lock_is_free_in_a_fork() -> None:
    lock = new_lock()
    with ThreadPoolExecutor(1) as other:
        other.submit(lock.acquire).result()
        if not (child := os.fork()):
            signal.alarm(int(HANG_SECONDS))
            with lock:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        other.submit(lock.release).result()


def test_a_file_lock_that_is_interrupted_is_given_back(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as caught, lock_file(tmp_path / "a.lock"):
        raise KeyboardInterrupt
    with lock_file(tmp_path / "a.lock") as file:
        assert not file.closed
    assert caught.value.__traceback__ is not None


def test_a_handler_that_writes_in_the_middle_of_a_write_is_refused(store: Store) -> None:
    refused: list[StoreBusy] = []

    def handle(name: str) -> None:
        if name == "appended" and not refused:
            for call in (
                lambda: store.write(key="inner", value={}),
                lambda: core_of(store).engine.write(lambda writer: writer.row("event_last")),
            ):
                with pytest.raises(StoreBusy, match="is inside a write") as error:
                    call()
                refused.append(error.value)

    core_of(store).committer._writer.failpoint = handle
    assert store.write(key="outer", value={}).commit_ts == 1
    assert len(refused) == 2
    assert list(store.list_keys()) == ["outer"]
    assert store.verify(deep=True).commits == 1


def test_a_handler_may_close_the_store_it_interrupts(store: Store) -> None:
    def handle(name: str) -> None:
        if name == "appended":
            store.close()

    core_of(store).committer._writer.failpoint = handle
    with pytest.raises(memoranda.StoreClosed):
        store.write(key="k", value={})


class TestReaders:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with memoranda.open(tmp_path / "store.db", embedder=None) as store:
            yield store.bind(agent_id="a")

    def test_one_that_still_reads_is_not_lent_again(self, store: Store) -> None:
        for number in range(5):
            store.write(key=f"k{number}", value={})
        engine, stored_item = core_of(store).engine, []

        def read() -> None:
            with engine.reading() as reader:
                rows = reader.stream("meta_rows")
                stored_item.append((next(rows), rows))
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            read()
        store.write(key="k", value={})
        with engine.reading() as again:
            assert again.database.txn_state() == apsw.SQLITE_TXN_NONE  # type: ignore[attr-defined]
        assert core_of(store).head() == 6

    def test_one_in_a_transaction_is_lent_without_it(self, store: Store) -> None:
        engine = core_of(store).engine

        def read() -> None:
            with engine.reading() as reader:
                reader.run("begin_reading")  # type: ignore[attr-defined]
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            read()
        assert store.write(key="k", value={}).commit_ts == core_of(store).head() == 1
