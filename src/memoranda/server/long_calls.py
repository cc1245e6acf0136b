"""Long calls: reports of their progress, then their answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import msgspec

from memoranda.calls.call import Call
from memoranda.server.dispatcher import Caller, Dispatcher

PROGRESS_SECONDS = 0.1
"""Time between two reports of progress."""


class Step(msgspec.Struct, frozen=True):
    """The progress of the work."""

    done: int
    total: int


class Answer(msgspec.Struct, frozen=True):
    """The answer of a call, its last report."""

    value: Any


async def ask_long(
    dispatcher: Dispatcher, caller: Caller, store: str, call: Call[Any], *, size: int
) -> AsyncGenerator[Step | Answer, None]:
    """Yield the progress of a call, and then its answer; closing the iterator cancels the call.

    The first report comes at once, and the last one before the answer.
    """
    progress = _Progress(asyncio.get_running_loop())
    work = asyncio.ensure_future(dispatcher.ask(caller, store, call, progress.report, size=size))
    try:
        await asyncio.wait((work, progress.begun), return_when=asyncio.FIRST_COMPLETED)
        is_over = False
        while not is_over:
            is_over = work.done()
            if (step := progress.take()) is not None:
                yield step
            await asyncio.wait((work,), timeout=PROGRESS_SECONDS)
    finally:
        if not work.done():
            work.cancel()
            await asyncio.wait((work,))
    yield Answer(work.result())


class _Progress:
    """The last report of a thread, until it is sent."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._last: Step | None = None
        self._has_begun = False
        self.begun: asyncio.Future[None] = loop.create_future()
        """Done with the first report."""

    def report(self, done: int, total: int) -> None:
        """Note how far the work is; called in its thread, very often."""
        self._last = Step(done, total)
        if not self._has_begun:
            self._has_begun = True
            with suppress(RuntimeError):  # the loop is closed, and no task waits
                self._loop.call_soon_threadsafe(self.begun.set_result, None)

    def take(self) -> Step | None:
        """Return the last report, if it was not taken yet."""
        last, self._last = self._last, None
        return last
