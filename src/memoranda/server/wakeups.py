"""Wake-ups of subscriptions: one watcher for each store, however many subscriptions wait there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from memoranda.calls.core import Core
from memoranda.errors import MemorandaError
from memoranda.log.read.wakeup import Signal
from memoranda.sdk.local.async_calls import AsyncLocalCalls

POLL_SECONDS = 0.25
"""Seconds between two looks for commits of other processes, while anybody waits for them. A server
owns its stores, so that others write to them only on purpose."""


class StoreWakeup:
    """Wakes all subscriptions of a store, in the event loop, when its log has grown.

    `_wake` is called in the thread of a commit. It schedules `_notify` in the loop once, until that
    has run: many commits are one wake-up. Everything else runs in the loop.
    """

    def __init__(self, calls: AsyncLocalCalls, core: Core) -> None:
        self._loop = asyncio.get_running_loop()
        self._calls = calls
        self._core = core
        self._grown: asyncio.Future[None] = self._loop.create_future()
        """Done when the log has grown; then there is another one."""
        self._is_due = False
        """Whether `_notify` is scheduled."""
        self._watcher = core.signal.watch(self._wake)
        self._polling = self._loop.create_task(self._poll())
        self.waiting = 0
        """Subscriptions that use it."""

    async def wait(self, count: int, seconds: float) -> bool:
        """Wait until the store's signal was notified more than `count` times; say whether it was.

        Read the count before the log, so that no commit is missed.
        """
        if self._core.signal.count <= count:
            await asyncio.wait((self._grown,), timeout=seconds)
        return self._core.signal.count > count

    def close(self) -> None:
        """Stop watching."""
        self._core.signal.unwatch(self._watcher)
        self._polling.cancel()
        self._grown.cancel()

    def _wake(self) -> None:
        if not self._is_due:
            self._is_due = True
            with suppress(RuntimeError):  # the loop is closed, and nothing waits
                self._loop.call_soon_threadsafe(self._notify)

    def _notify(self) -> None:
        self._is_due = False
        if not self._grown.done():
            self._grown.set_result(None)
            self._grown = self._loop.create_future()

    async def _poll(self) -> None:
        """Look for commits of other processes."""
        core = self._core
        while True:
            await asyncio.sleep(POLL_SECONDS)
            with suppress(MemorandaError):  # the subscriptions find it themselves
                core.engine.listen(core.signal.notify)
                core.signal.note_head(await self._calls.run(core.head))


class Wakeups:
    """The wake-ups of all stores that have subscriptions."""

    def __init__(self) -> None:
        self._stores: dict[Signal, StoreWakeup] = {}

    @contextmanager
    def of(self, calls: AsyncLocalCalls, core: Core) -> Iterator[StoreWakeup]:
        """Return the wake-up of a store, for the length of a block."""
        wakeup = self._stores.get(core.signal)
        if wakeup is None:
            wakeup = self._stores[core.signal] = StoreWakeup(calls, core)
        wakeup.waiting += 1
        try:
            yield wakeup
        finally:
            wakeup.waiting -= 1
            if not wakeup.waiting:
                del self._stores[core.signal]
                wakeup.close()
