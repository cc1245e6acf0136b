"""Lanes: the threads in which an asynchronous store works, apart for short and for long calls.

A deep verification takes minutes, a search milliseconds, a read microseconds. In one pool of
threads, six verifications would keep every read waiting until one of them ends. So each kind of
call has threads of its own, and a bounded queue: a caller beyond it is told to come back later, and
memory does not grow with callers.

Threads of one process share the interpreter. A long call gives it up at each step it reports, so
that a short one does not wait for the interpreter's own switch interval.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
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
    """How much a lane takes at a time."""

    threads: int
    calls: int
    """Calls that run or wait; a further one raises `StoreBusy`."""


SIZES: Mapping[Lane, LaneSize] = MappingProxyType(
    {
        "short": LaneSize(threads=8, calls=4096),  # they end in less time than a thread switch
        "search": LaneSize(threads=4, calls=256),  # each reads and ranks for some milliseconds
        "long": LaneSize(threads=1, calls=16),  # a second one would only halve the speed of both
    }
)
WORK_SECONDS, YIELD_SECONDS = 0.00025, 0.0001
"""Work of a long call between two pauses, and a pause: enough for another thread to run."""


class Lanes:
    """The threads of one asynchronous store; its event loops share them."""

    def __init__(self, sizes: Mapping[Lane, LaneSize] = SIZES) -> None:
        self._sizes = sizes
        self._threads = {
            name: ThreadPoolExecutor(size.threads, thread_name_prefix=f"memoranda-{name}")
            for name, size in sizes.items()
        }
        self._lock = new_lock()
        """Protects the counts: calls come from several loops, and end in the threads."""
        self._calls: dict[Lane, int] = dict.fromkeys(sizes, 0)
        """Calls that run or wait."""
        self._is_closed = False

    async def submit_call(self, lane: Lane, work: Callable[[], Answer]) -> Answer:
        """Answer a new call in a lane; raise `StoreBusy` if it is full."""
        limit = self._sizes[lane].calls
        if self._calls[lane] >= limit:
            raise StoreBusy(
                f"{limit} {lane} calls of this store are waiting already: try again later, or make "
                "fewer at a time"
            )
        return await self.submit(lane, work)

    async def submit(self, lane: Lane, work: Callable[[], Answer]) -> Answer:
        """Do a part of a call that has begun; it may have committed, so it is never refused.

        Work runs in its caller's context. Work that begins only after its caller was cancelled is
        skipped.
        """
        if self._is_closed:  # the work itself says so, or has nothing to do with the store
            return await asyncio.to_thread(work)
        item = _Item(partial(copy_context().run, work))
        with self._lock:
            self._calls[lane] += 1
        future = self._threads[lane].submit(self._do, lane, item)
        try:
            # Shielded, since a cancelled item would stay in the queue of the threads uncounted.
            answer: Answer = await asyncio.shield(asyncio.wrap_future(future))
        except asyncio.CancelledError:
            item.is_cancelled = True
            raise
        return answer

    def close(self) -> None:
        """Let the threads end once they are idle."""
        self._is_closed = True
        for threads in self._threads.values():
            threads.shutdown(wait=False)

    def _do(self, lane: Lane, item: _Item) -> Any:
        try:
            return None if item.is_cancelled else item.work()
        finally:
            with self._lock:
                self._calls[lane] -= 1


class _Item:
    """Work in the queue of a lane."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.is_cancelled = False


def yielding(progress: Progress | None) -> Progress:
    """Return a progress function that also lets other threads run, again and again."""
    clock = SystemClock()
    resumed_at = clock.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal resumed_at
        if clock.monotonic() - resumed_at >= WORK_SECONDS:
            clock.sleep(YIELD_SECONDS)
            resumed_at = clock.monotonic()
        if progress is not None:
            progress(done, total)

    return report
