"""How the store's work is called: at once, or from asyncio in a thread.

`store.py`, `subscription.py` and `transaction.py` do everything that may wait through one of these.
That is the whole difference between the synchronous classes and the asynchronous ones generated
from them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from typing import ParamSpec, TypeVar

from recollect.log.committer import Committer, Pending
from recollect.log.pages import Pages
from recollect.log.signal import Signal
from recollect.log.transaction import Request
from recollect.model.clock import Clock, SystemClock

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
Item = TypeVar("Item")


class Calls:
    """The caller waits."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def run(
        self, work: Callable[Asked, Answer], *args: Asked.args, **kwargs: Asked.kwargs
    ) -> Answer:
        """Do the work."""
        return work(*args, **kwargs)

    def commit(self, committer: Committer, request: Request) -> int:
        """Commit, and wait until it is durable."""
        return committer.commit(request)

    def sleep(self, seconds: float) -> None:
        """Let some time pass."""
        self._clock.sleep(seconds)

    def wait(self, signal: Signal, seen: int, seconds: float) -> None:
        """Wait until the signal was given more than `seen` times, or for so long at most."""
        signal.wait(seen, seconds)

    def rest(self, seconds: float) -> None:
        """Let real time pass, whatever clock the store has."""
        SystemClock().sleep(seconds)


class _LoopChannel:
    """Tells an event loop of its settled commits, with one wake-up a batch."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._expected: dict[Pending, asyncio.Future[None]] = {}

    def expect(self, pending: Pending) -> asyncio.Future[None]:
        """Return what is done when the commit is settled."""
        return self._expected.setdefault(pending, self.loop.create_future())

    def forget(self, pending: Pending) -> None:
        """Expect nothing any more of a commit that was taken back."""
        del self._expected[pending]

    def settle(self, settled: Sequence[Pending]) -> None:
        """Pass the news into the loop; one that is closed has nobody left to tell."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._resolve, settled)

    def _resolve(self, settled: Sequence[Pending]) -> None:
        for pending in settled:
            self._expected.pop(pending).set_result(None)


class AsyncCalls:
    """The event loop goes on while a thread works."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._channel: _LoopChannel | None = None

    async def run(
        self, work: Callable[Asked, Answer], *args: Asked.args, **kwargs: Asked.kwargs
    ) -> Answer:
        """Do the work in a thread."""
        return await asyncio.to_thread(work, *args, **kwargs)

    async def commit(self, committer: Committer, request: Request) -> int:
        """Commit, and wait until it is durable.

        Cancelling takes the commit back if it is not being written yet; else it completes first.
        """
        loop = asyncio.get_running_loop()
        if self._channel is None or self._channel.loop is not loop:
            self._channel = _LoopChannel(loop)
        channel = self._channel
        pending = committer.submit(request, channel)
        settled = channel.expect(pending)
        try:
            await asyncio.shield(settled)
        except asyncio.CancelledError:
            if committer.withdraw(pending):
                channel.forget(pending)
            else:
                await asyncio.wait([settled])
            raise
        return pending.result()

    async def sleep(self, seconds: float) -> None:
        """Let some time pass."""
        await asyncio.to_thread(self._clock.sleep, seconds)

    async def wait(self, signal: Signal, seen: int, seconds: float) -> None:
        """Wait until the signal was given more than `seen` times, or for so long at most."""
        loop, given = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # a loop that is closed has nobody left to wake
                loop.call_soon_threadsafe(given.set)

        watcher = signal.watch(wake)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    if signal.count <= seen:
                        await given.wait()
        finally:
            signal.unwatch(watcher)

    async def rest(self, seconds: float) -> None:
        """Let real time pass, whatever clock the store has."""
        await asyncio.sleep(seconds)


def paged(calls: Calls, pages: Pages[Item]) -> Iterator[Item]:
    """Yield the items of a paged answer, fetching a page when the last one is used up."""
    while page := calls.run(pages.next_page):
        yield from page


async def async_paged(calls: AsyncCalls, pages: Pages[Item]) -> AsyncIterator[Item]:
    """Yield the items of a paged answer, fetching a page when the last one is used up."""
    while page := await calls.run(pages.next_page):
        for item in page:
            yield item
