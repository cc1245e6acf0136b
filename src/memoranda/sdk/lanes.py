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
from concurrent.futures import Future, ThreadPoolExecutor
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
WORK_SECONDS, YIELD_SECONDS = 0.0005, 0.0001
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

    async def submit(self, lane: Lane, work: Callable[[], Answer]) -> Answer:
        """Run work in a lane, in the caller's context; raise `StoreBusy` if it is full."""
        limit = self._sizes[lane].calls
        with self._lock:
            if self._calls[lane] >= limit:
                raise StoreBusy(
                    f"{limit} {lane} calls of this process are waiting already: try again later, "
                    "or make fewer at a time"
                )
            self._calls[lane] += 1
        future = self._threads[lane].submit(copy_context().run, work)
        # Not of the task's future: a cancelled task leaves, and its work goes on.
        future.add_done_callback(partial(self._leave, lane))
        return await asyncio.wrap_future(future)

    def _leave(self, lane: Lane, _: Future[Any]) -> None:
        with self._lock:
            self._calls[lane] -= 1


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
