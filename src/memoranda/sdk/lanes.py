"""Lanes: the threads of asynchronous stores, separate ones for short and for long calls.

A deep verification takes minutes, a search milliseconds, a read microseconds. In one pool of
threads, six verifications would keep every read waiting until one of them ends. So each kind of
call has threads of its own, and a bounded queue. A caller that finds the queue full gets
`StoreBusy`, so memory does not grow with callers.

Stores of one process can share the threads of a `LanePool`. Each store has queues of its own, which
take turns. So a call waits for at most one call of every other store, however many these have
queued. A store may also use a part of the threads only, so that its long calls leave some to the
others.

Threads of one process share the interpreter. A long call gives it up at each step it reports, so
that a short one does not wait for the interpreter's own switch interval. At such a step it also
ends, if its caller no longer waits.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from memoranda.calls.call import Lane
from memoranda.errors import StoreBusy
from memoranda.model.clock import SystemClock
from memoranda.storage.port import Progress
from memoranda.storage.thread_locks import new_lock

Answer = TypeVar("Answer")


class LaneSize(msgspec.Struct, frozen=True):
    """The capacity of a lane."""

    threads: int
    calls: int
    """Calls of one store that run or wait; a further one raises `StoreBusy`."""
    store_threads: int | None = None
    """Threads that one store may use at a time; None: all."""


class LaneLoad(msgspec.Struct, frozen=True):
    """The load of a lane."""

    threads: int
    running: int
    waiting: int
    finished: int
    """Calls, and parts of calls, that were done since it was made."""


SIZES: Mapping[Lane, LaneSize] = MappingProxyType(
    {
        "short": LaneSize(threads=8, calls=4096),  # they end in less time than a thread switch
        "search": LaneSize(threads=4, calls=256),  # each reads and ranks for some milliseconds
        "long": LaneSize(threads=1, calls=16),  # a second one would only halve the speed of both
    }
)
"""The lanes of one store."""
WORK_SECONDS, YIELD_SECONDS = 0.00025, 0.0001
"""Work of a long call between two pauses, and a pause: enough for another thread to run."""


def shared_sizes(processors: int) -> Mapping[Lane, LaneSize]:
    """Return the lanes of many stores: two that are busy leave threads to a third.

    A search computes all the time, and a commit waits for a processor at each of its steps: so the
    searches of one store have half of the processors at most.
    """
    searches = min(max(processors // 2, 1), 2)
    return {
        "short": LaneSize(threads=8, calls=4096, store_threads=4),
        "search": LaneSize(threads=4, calls=256, store_threads=searches),
        "long": LaneSize(threads=4, calls=16, store_threads=1),
    }


class LanePool:
    """Threads that several stores share, and take turns in."""

    def __init__(self, sizes: Mapping[Lane, LaneSize]) -> None:
        self.lanes = {name: _LaneThreads(name, size) for name, size in sizes.items()}
        self.is_closed = False

    def loads(self) -> dict[Lane, LaneLoad]:
        """Return how much each lane has to do."""
        return {name: threads.load for name, threads in self.lanes.items()}

    def close(self) -> None:
        """Let the threads end when they are idle."""
        self.is_closed = True
        for threads in self.lanes.values():
            threads.close()


class Lanes:
    """The queues of one asynchronous store, in threads of its own or of a pool.

    Event loops may share it.
    """

    def __init__(
        self, sizes: Mapping[Lane, LaneSize] = SIZES, pool: LanePool | None = None
    ) -> None:
        self._pool = pool or LanePool(sizes)
        self._is_pool_shared = pool is not None
        self._queues = {name: _Queue() for name in self._pool.lanes}

    def count(self, lane: Lane) -> int:
        """Return how many calls run or wait."""
        queue = self._queues[lane]
        return len(queue.items) + queue.running

    async def submit_call(self, lane: Lane, work: Callable[[], Answer]) -> Answer:
        """Answer a new call in a lane; raise `StoreBusy` if it is full."""
        limit = self._pool.lanes[lane].size.calls
        if self.count(lane) >= limit:
            raise StoreBusy(
                f"{limit} {lane} calls of this store are waiting already: try again later, or make "
                "fewer at a time"
            )
        return await self.submit(lane, work)

    async def submit(self, lane: Lane, work: Callable[[], Answer]) -> Answer:
        """Run a part of a call that has begun. It may have committed, so it is never refused.

        Work runs in its caller's context. Work that begins only after its caller was cancelled is
        skipped.
        """
        if self._pool.is_closed:  # the work itself says so, or has nothing to do with the store
            return await asyncio.to_thread(work)
        item = _Item(partial(copy_context().run, work))
        self._pool.lanes[lane].put(self._queues[lane], item)
        answer: Answer = await item.outcome
        return answer

    def close(self) -> None:
        """Let the threads end once they are idle, unless they are shared."""
        if not self._is_pool_shared:
            self._pool.close()


class _Item:
    """Work in the queue of a lane, and the future of the task that awaits it."""

    __slots__ = ("_loop", "_work", "outcome")

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[Any] = self._loop.create_future()

    def do(self) -> Any:
        """Do the work, unless its caller was cancelled; called in a thread."""
        return None if self.outcome.cancelled() else self._work()

    def settle(self, future: Future[Any]) -> None:
        """Pass the outcome to the event loop; called in a thread."""
        with suppress(RuntimeError):  # the loop is closed, and no task waits
            self._loop.call_soon_threadsafe(self._settle, future)

    def _settle(self, future: Future[Any]) -> None:
        if self.outcome.cancelled():
            return
        error = future.exception()
        if error is None:
            self.outcome.set_result(future.result())
        else:
            self.outcome.set_exception(error)


class _Queue:
    """The queue of one store in a lane. The lock of the lane protects it."""

    __slots__ = ("has_turn", "items", "running")

    def __init__(self) -> None:
        self.items: deque[_Item] = deque()
        self.running = 0
        """The number of its items that are running."""
        self.has_turn = False
        """Whether it is among the queues that take turns: it has items, and may use a thread."""


class _LaneThreads:
    """The threads of one lane.

    Items wait in the queues of their stores, not in a queue of the threads. A free thread gets the
    item whose turn it is at that moment.
    """

    def __init__(self, name: Lane, size: LaneSize) -> None:
        self.size = size
        self._store_threads = size.store_threads or size.threads
        self._threads = ThreadPoolExecutor(size.threads, thread_name_prefix=f"memoranda-{name}")
        self._lock = new_lock()
        """Protects the fields below and the queues: calls come from several loops, and end in
        threads."""
        self._turns: deque[_Queue] = deque()
        self._running = 0
        self._waiting = 0
        """Items in the queues of all stores."""
        self._finished = 0
        self._is_closed = False

    @property
    def load(self) -> LaneLoad:
        """Its load now, and the calls that it has finished."""
        return LaneLoad(self.size.threads, self._running, self._waiting, self._finished)

    def put(self, queue: _Queue, item: _Item) -> None:
        """Do an item when its turn comes."""
        with self._lock:
            queue.items.append(item)
            self._waiting += 1
            self._give_turn(queue)
            self._fill_threads()

    def close(self) -> None:
        """Let the threads end when nothing is left to do."""
        with self._lock:
            self._is_closed = True
            self._fill_threads()

    def _give_turn(self, queue: _Queue) -> None:
        """Let a queue take turns, if it may; the lock is held."""
        if queue.items and not queue.has_turn and queue.running < self._store_threads:
            queue.has_turn = True
            self._turns.append(queue)

    def _fill_threads(self) -> None:
        """Hand items over to free threads; the lock is held."""
        while self._turns and self._running < self.size.threads:
            queue = self._turns.popleft()
            queue.has_turn = False
            item = queue.items.popleft()
            self._waiting -= 1
            queue.running += 1
            self._running += 1
            self._give_turn(queue)
            self._threads.submit(self._do, queue, item).add_done_callback(item.settle)
        if self._is_closed and not self._running:
            self._threads.shutdown(wait=False)

    def _do(self, queue: _Queue, item: _Item) -> Any:
        """Do an item in this thread, and hand over the next one."""
        try:
            return item.do()
        finally:
            with self._lock:
                queue.running -= 1
                self._running -= 1
                self._finished += 1
                self._give_turn(queue)
                self._fill_threads()


def yielding(progress: Progress | None, abandoned: threading.Event | None = None) -> Progress:
    """Return a progress function that also lets other threads run, again and again.

    Once the work is abandoned, it raises `CancelledError` in the thread, which ends the work.
    """
    clock = SystemClock()
    resumed_at = clock.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal resumed_at
        if abandoned is not None and abandoned.is_set():
            raise asyncio.CancelledError
        if clock.monotonic() - resumed_at >= WORK_SECONDS:
            clock.sleep(YIELD_SECONDS)
            resumed_at = clock.monotonic()
        if progress is not None:
            progress(done, total)

    return report
