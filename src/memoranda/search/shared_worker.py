"""Background work of many stores in one thread, a piece of each in turn.

A server has hundreds of stores open, and most have no work. One thread does it for all of them, so
that threads do not grow with stores and background work never has more than one share of the
processor. Of the stores that have work, each gets one piece, then the next store has its turn. A
store whose work fails pauses alone, longer after each failure, while the others continue.

A worker of one store (`SharedWorker`) is in one of four states. The lock of the thread protects it:

    idle ─wake()─► ready ─its turn─► running ─nothing left─► idle
                     ▲                  │ ├──there may be more, or it was woken meanwhile─► ready
                     └──time is up── delayed ◄──a failure, or somebody else does its work
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Literal

from memoranda.errors import InvalidInput, MemorandaError, StoreClosed, StoreReadOnly, Unavailable
from memoranda.model.clock import Clock, SystemClock
from memoranda.search.background_worker import (
    DRAIN_SECONDS,
    FIRST_BACKOFF_SECONDS,
    MAX_BACKOFF_SECONDS,
)
from memoranda.storage.thread_locks import Wakeup, new_lock

SHARED_WRITE_WAIT_SECONDS = 0.1
"""Seconds that a piece waits for the write lock of its store; all other stores wait meanwhile."""
_LOCKED_SECONDS = 0.1
"""Time after which work that another thread does is tried again."""


class WorkerThread:
    """A thread that several stores share. It is started by the first wake-up."""

    def __init__(
        self, name: str, clock: Clock | None = None, first_backoff: float = FIRST_BACKOFF_SECONDS
    ) -> None:
        self.name = name
        self.clock = clock or SystemClock()
        self.first_backoff = first_backoff
        self.lock = new_lock()
        """Protects the fields below, and the states of the workers."""
        self.ready: deque[SharedWorker] = deque()
        """The workers that have work, in the order of their turns."""
        self.delayed: list[SharedWorker] = []
        """The workers that wait until their `due_at`."""
        self._wakeup = Wakeup()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._owner = os.getpid()

    def worker(self, work: Callable[[], object]) -> SharedWorker:
        """Return a worker of one store; `work` does one piece and returns whether there is more."""
        return SharedWorker(self, work)

    @property
    def is_usable(self) -> bool:
        """Whether it takes work: a forked process has no such thread, and starts none."""
        return not self._is_closed and self._owner == os.getpid()

    def close(self) -> None:
        """End the thread after the piece that it does; every store is closed already."""
        self._is_closed = True
        self._wakeup.set()
        thread = self._thread
        if thread is not None and thread.is_alive() and self._owner == os.getpid():
            thread.join(DRAIN_SECONDS)

    def wake(self) -> None:
        """Look for workers with work; start the thread if necessary."""
        self._wakeup.set()
        with self.lock:
            if (self._thread is None or not self._thread.is_alive()) and self.is_usable:
                self._start()

    def is_current(self) -> bool:
        """Say whether this is called in the thread itself."""
        return threading.current_thread() is self._thread

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._is_closed:
                worker, seconds = self._next()
                if worker is None:
                    self._wakeup.wait(seconds)
                else:
                    worker.work_once()
        finally:
            # An unexpected exception ends this thread: the other stores get a new one.
            with self.lock:
                if self.is_usable and (self.ready or self.delayed):
                    self._start()

    def _next(self) -> tuple[SharedWorker | None, float | None]:
        """Return the worker whose turn it is, or the seconds until one is due; None: none is."""
        with self.lock:
            now = self.clock.monotonic()
            for worker in [worker for worker in self.delayed if worker.due_at <= now]:
                self.delayed.remove(worker)
                worker.become_ready()
            if self.ready:
                worker = self.ready.popleft()
                worker.state = "running"
                return worker, None
            due_at = min((worker.due_at for worker in self.delayed), default=None)
            return None, None if due_at is None else due_at - now


class SharedWorker:
    """The background work of one store, in a thread that others share.

    It has the interface of `BackgroundWorker`. But closing does no further piece: the rest stays
    queued in the store, since other stores wait for the thread.
    """

    def __init__(self, thread: WorkerThread, work: Callable[[], object]) -> None:
        self._thread = thread
        self._work = work
        self.failure: MemorandaError | None = None
        """The error of the last attempt, if it failed."""
        self.work_lock = new_lock()
        """Held during a piece of work: `fill` in another thread must not do the same work."""
        self.state: Literal["idle", "ready", "running", "delayed"] = "idle"
        self.due_at = 0.0
        """When a delayed worker is tried again, by the monotonic clock."""
        self._backoff = thread.first_backoff
        self._is_woken = False
        """Whether it was woken since its last piece began."""
        self._is_closed = False
        self._piece_done = threading.Event()

    @property
    def is_busy(self) -> bool:
        """Whether it has work, as far as it knows."""
        return self.state != "idle"

    def wake(self) -> None:
        """Look for work; also once more if it is working, as it may have looked before."""
        thread = self._thread
        if self._is_closed or not thread.is_usable:
            return
        with thread.lock:
            self._is_woken = True
            if self.state == "idle":
                self.become_ready()
        thread.wake()

    def become_ready(self) -> None:
        """Queue for a turn; the lock is held."""
        self.state = "ready"
        self._thread.ready.append(self)

    def close(self, seconds: float = DRAIN_SECONDS) -> None:
        """Start no further piece, and wait a bounded time for the present one."""
        thread = self._thread
        with thread.lock:
            self._is_closed = True
            self._piece_done.clear()
            is_running = self.state == "running"
            if not is_running:
                self._leave_queue()
        if is_running and not thread.is_current():
            self._piece_done.wait(max(seconds, DRAIN_SECONDS))

    def _leave_queue(self) -> None:
        if self.state == "ready":
            self._thread.ready.remove(self)
        elif self.state == "delayed":
            self._thread.delayed.remove(self)
        self.state = "idle"

    def work_once(self) -> None:
        """Do one piece, and queue again if there is more; called in the shared thread."""
        self._is_woken = False  # before the work: a wake-up during it is not lost
        delay: float | None = None
        has_more: object = False
        is_expected = False
        try:
            has_more, delay = self._do_piece()
            is_expected = True
        finally:
            if not is_expected:
                self.failure = Unavailable(
                    f"{self._thread.name} ended unexpectedly: it is restarted when there is work"
                )
            self._end_piece(has_more=bool(has_more), delay=delay)

    def _do_piece(self) -> tuple[object, float | None]:
        """Return whether there is more, and the seconds to wait before, if any."""
        if not self.work_lock.acquire(blocking=False):
            return True, _LOCKED_SECONDS
        try:
            has_more = self._work()
        except (InvalidInput, StoreClosed, StoreReadOnly) as error:  # permanent
            self.failure = error
            return False, None
        except MemorandaError as error:
            self.failure = error
            delay, self._backoff = self._backoff, min(self._backoff * 2, MAX_BACKOFF_SECONDS)
            return True, delay
        finally:
            self.work_lock.release()
        self.failure, self._backoff = None, self._thread.first_backoff
        return has_more, None

    def _end_piece(self, *, has_more: bool, delay: float | None) -> None:
        thread = self._thread
        with thread.lock:
            if self._is_closed:
                self.state = "idle"
            elif delay is not None:
                self.state, self.due_at = "delayed", thread.clock.monotonic() + delay
                thread.delayed.append(self)
            elif has_more or self._is_woken:
                self.become_ready()
            else:
                self.state = "idle"
            self._piece_done.set()
