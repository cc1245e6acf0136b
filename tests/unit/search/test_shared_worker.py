"""One thread for the background work of many stores: turns, failures, and closing."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator

import pytest

from memoranda.errors import InvalidInput, Unavailable
from memoranda.search import shared_worker
from memoranda.search.shared_worker import SharedWorker, WorkerThread
from tests.patience import HANG_SECONDS, wait_until


@pytest.fixture
def thread() -> Iterator[WorkerThread]:
    thread = WorkerThread("memoranda-test", first_backoff=0.001)
    yield thread
    thread.close()


class Pieces:
    """Work of a store: so many pieces, each noted in a list that stores share."""

    def __init__(self, name: str, count: int, done: list[str]) -> None:
        self.name = name
        self.left = count
        self.done = done

    def __call__(self) -> bool:
        self.done.append(self.name)
        self.left -= 1
        return self.left > 0


def held(thread: WorkerThread) -> tuple[SharedWorker, Callable[[], None]]:
    """Keep the thread busy with a worker until the function that is returned is called."""
    begun, go = threading.Event(), threading.Event()

    def work() -> bool:
        begun.set()
        assert go.wait(HANG_SECONDS)
        return False

    worker = thread.worker(work)
    worker.wake()
    assert begun.wait(HANG_SECONDS)
    return worker, go.set


def idle(*workers: SharedWorker) -> None:
    wait_until(lambda: not any(worker.is_busy for worker in workers))


def test_stores_take_turns(thread: WorkerThread) -> None:
    done: list[str] = []
    _, release = held(thread)
    workers = [thread.worker(Pieces(name, count, done)) for name, count in [("a", 4), ("b", 2)]]
    for worker in workers:
        worker.wake()
        worker.wake()  # is one turn all the same
    assert all(worker.is_busy for worker in workers)
    release()
    idle(*workers)
    assert done == ["a", "b", "a", "b", "a", "a"]


def test_there_is_one_thread_for_all(thread: WorkerThread) -> None:
    threads: set[int] = set()
    workers = [thread.worker(lambda: threads.add(threading.get_ident())) for _ in range(50)]
    for worker in workers:
        worker.wake()
    idle(*workers)
    assert len(threads) == 1


def test_a_wake_up_during_the_work_is_not_lost(thread: WorkerThread) -> None:
    done: list[int] = []

    def work() -> bool:
        done.append(1)
        if len(done) == 1:
            worker.wake()
        return False

    worker = thread.worker(work)
    worker.wake()
    idle(worker)
    assert len(done) == 2


def test_a_failing_store_waits_alone_and_is_tried_again(thread: WorkerThread) -> None:
    done: list[str] = []
    broken = True

    def fail() -> bool:
        done.append("failing")
        if broken:
            raise Unavailable("as if the disk did not answer")
        return False

    failing = thread.worker(fail)
    thread.first_backoff = failing._backoff = HANG_SECONDS
    failing.wake()
    wait_until(lambda: failing.failure is not None)
    other = thread.worker(Pieces("other", 3, done))
    other.wake()
    idle(other)
    assert done == ["failing", "other", "other", "other"]
    assert failing.is_busy
    broken = False
    failing.due_at = 0.0
    thread.wake()
    idle(failing)
    assert failing.failure is None
    assert done[-1] == "failing"


def test_pauses_grow_with_each_failure(
    thread: WorkerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_worker, "MAX_BACKOFF_SECONDS", 0.004)
    backoffs: list[float] = []

    def fail() -> bool:
        backoffs.append(worker._backoff)
        if len(backoffs) < 5:
            raise Unavailable
        return False

    worker = thread.worker(fail)
    worker.wake()
    idle(worker)
    assert backoffs == [0.001, 0.002, 0.004, 0.004, 0.004]
    assert worker._backoff == 0.001


def test_a_permanent_failure_is_not_retried(thread: WorkerThread) -> None:
    def fail() -> bool:
        raise InvalidInput("embedder", "is another one")

    worker = thread.worker(fail)
    worker.wake()
    idle(worker)
    assert isinstance(worker.failure, InvalidInput)


def test_whatever_ends_the_thread_the_others_get_a_new_one(
    thread: WorkerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    done: list[str] = []

    def end() -> bool:
        raise SystemExit

    _, release = held(thread)
    ending, other = thread.worker(end), thread.worker(Pieces("other", 2, done))
    ending.wake()
    other.wake()
    release()
    idle(ending, other)
    assert done == ["other", "other"]
    assert "ended unexpectedly" in str(ending.failure)


def test_work_that_another_thread_does_holds_nobody(thread: WorkerThread) -> None:
    done: list[str] = []
    locked, other = (thread.worker(Pieces(name, 1, done)) for name in ("locked", "other"))
    with locked.work_lock:
        locked.wake()
        other.wake()
        idle(other)
        assert done == ["other"]
        assert (locked.failure, locked.is_busy) == (None, True)
    idle(locked)
    assert done == ["other", "locked"]


class TestClosing:
    def test_a_closed_store_leaves_the_queue(self, thread: WorkerThread) -> None:
        done: list[str] = []
        _, release = held(thread)
        closed, other = (thread.worker(Pieces(name, 2, done)) for name in ("closed", "other"))
        closed.wake()
        other.wake()
        closed.close()
        closed.wake()
        release()
        idle(closed, other)
        assert done == ["other", "other"]

    def test_it_waits_for_the_piece_in_progress(self, thread: WorkerThread) -> None:
        worker, release = held(thread)
        closing = threading.Thread(target=worker.close, args=(HANG_SECONDS,))
        closing.start()
        wait_until(lambda: worker._is_closed)
        assert closing.is_alive()
        release()
        closing.join(HANG_SECONDS)
        assert not closing.is_alive()
        assert not worker.is_busy

    def test_a_delayed_store_is_not_tried_again(self, thread: WorkerThread) -> None:
        attempts: list[int] = []

        def fail() -> bool:
            attempts.append(1)
            raise Unavailable

        worker = thread.worker(fail)
        worker._backoff = HANG_SECONDS
        worker.wake()
        wait_until(lambda: worker.state == "delayed")
        worker.close()
        assert (thread.delayed, len(attempts)) == ([], 1)

    def test_it_may_close_its_own_store(self, thread: WorkerThread) -> None:
        worker = thread.worker(lambda: worker.close(HANG_SECONDS))
        worker.wake()
        idle(worker)
        assert worker.failure is None

    def test_a_closed_thread_takes_no_work(self) -> None:
        thread = WorkerThread("memoranda-test")
        thread.close()
        worker = thread.worker(lambda: True)
        worker.wake()
        assert not worker.is_busy

    def test_a_forked_process_starts_none(self, thread: WorkerThread) -> None:
        owner, thread._owner = thread._owner, -1
        worker = thread.worker(lambda: True)
        worker.wake()
        assert not worker.is_busy
        thread._owner = owner
        assert owner == os.getpid()
