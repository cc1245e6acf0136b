"""How the store's work is called: at once, or from asyncio in a thread.

`store.py`, `subscription.py` and `transaction.py` do everything that may wait through one of these.
That is the whole difference between the synchronous classes and the asynchronous ones generated
from them.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from typing import ParamSpec, TypeVar

from memoranda.errors import InvalidInput
from memoranda.log.committer import LOOK_AGAIN, Committer
from memoranda.log.pages import Pages
from memoranda.log.pending import Pending
from memoranda.log.signal import Signal
from memoranda.log.transaction import Request
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.limits import shown

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
Argument = TypeVar("Argument")
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

    def perform(self, work: Callable[[Argument], Answer], argument: Argument) -> Answer:
        """Call a function of the caller's, which must be done when it returns."""
        result = work(argument)
        if isinstance(result, Coroutine):
            result.close()
        if isinstance(result, Awaitable):
            raise InvalidInput(
                "work",
                f"{shown(work)} is asynchronous, and nobody awaits it here: give a plain function, "
                "or open the store with open_async",
            )
        return result

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

    def __init__(self, loop: asyncio.AbstractEventLoop, committer: Committer) -> None:
        self.loop = loop
        self._committer = committer
        self._expected: dict[Pending, asyncio.Future[None]] = {}
        self._setting_off = False
        self._looking = False

    def commit(self, request: Request) -> Pending:
        """Queue a commit, to be written together with those of all tasks that are ready to run."""
        pending = self._committer.submit(request, self)
        if not self._setting_off:
            self._setting_off = True
            atexit.register(self._committer.write_queued)  # should the loop not go on
            self.loop.call_soon(self._set_off)
        return pending

    def expect(self, pending: Pending) -> asyncio.Future[None]:
        """Return a new future that is done when the commit is settled."""
        future = self._expected[pending] = self.loop.create_future()
        if not self._looking:
            self.loop.call_later(LOOK_AGAIN, self._look_again)
            self._looking = True
        return future

    def forget(self, pending: Pending) -> None:
        """Expect nothing any more of a commit that was taken back."""
        del self._expected[pending]

    def settle(self, settled: Sequence[Pending]) -> None:
        """Pass the news into the loop; one that is closed has nobody left to tell."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._resolve, settled)

    def _set_off(self) -> None:
        self._setting_off = False
        self._committer.set_off()
        atexit.unregister(self._committer.write_queued)

    def _resolve(self, settled: Sequence[Pending]) -> None:
        for pending in settled:
            future = self._expected.pop(pending, None)
            if future is not None and not future.done():  # else it was cancelled
                future.set_result(None)

    def _look_again(self) -> None:
        """Make up for what an interrupt at a bad moment may have left undone."""
        self._looking = False
        self._resolve([pending for pending in self._expected if pending.outcome is not None])
        for pending in self._expected:
            self._committer.recover(pending)
        if self._expected:
            self._looking = True
            self.loop.call_later(LOOK_AGAIN, self._look_again)
            self._set_off()


class AsyncCalls:
    """The event loop goes on while a thread works."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._here = threading.local()
        """Where the channel of the loop is kept that runs in a thread."""

    async def run(
        self, work: Callable[Asked, Answer], *args: Asked.args, **kwargs: Asked.kwargs
    ) -> Answer:
        """Do the work in a thread."""
        return await asyncio.to_thread(work, *args, **kwargs)

    async def perform(
        self, work: Callable[[Argument], Awaitable[Answer]], argument: Argument
    ) -> Answer:
        """Call an asynchronous function of the caller's, and await it."""
        result = work(argument)
        if not isinstance(result, Awaitable):
            raise InvalidInput(
                "work",
                f"{shown(work)} is not asynchronous: give an async function here, or open the "
                "store with open",
            )
        return await result

    async def commit(self, committer: Committer, request: Request) -> int:
        """Commit, and wait until it is durable.

        Cancelling takes the commit back if it is not being written yet; else it completes first.
        """
        channel = self._channel(committer)
        pending = channel.commit(request)
        try:
            await channel.expect(pending)
        except asyncio.CancelledError:
            if committer.withdraw(pending):
                channel.forget(pending)
            elif pending.outcome is None:
                await channel.expect(pending)
            raise
        return pending.result()

    def _channel(self, committer: Committer) -> _LoopChannel:
        loop = asyncio.get_running_loop()
        channel: _LoopChannel | None = getattr(self._here, "channel", None)
        if channel is None or channel.loop is not loop:
            channel = self._here.channel = _LoopChannel(loop, committer)
        return channel

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
