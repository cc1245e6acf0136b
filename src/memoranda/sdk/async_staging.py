"""Staging in an asynchronous transaction: in threads, one call after another.

Kept apart from `calls/open_transaction.py`, which knows of no event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from memoranda.calls.open_transaction import OpenTransaction

Item = TypeVar("Item")


class Done(Generic[Item]):
    """The result of a call that is staged; awaiting it does not wait."""

    def __init__(self, result: Item) -> None:
        self._result = result

    def __await__(self) -> Generator[Any, None, Item]:
        yield from ()
        return self._result


class Stagings:
    """The calls of one transaction that are being staged in threads, in their order.

    A call that nobody awaits is not lost: the next read, or the commit, waits for it, and raises
    its error. A task that awaits a call gets its error instead.
    """

    def __init__(self) -> None:
        self._tasks: deque[StagingTask] = deque()
        self._refused: deque[StagingTask] = deque()
        """Calls that ended with an error, awaited or not."""

    @classmethod
    def of(cls, transaction: OpenTransaction) -> Stagings:
        """Return those of a transaction."""
        if transaction.stagings is None:
            transaction.stagings = cls()
        assert isinstance(transaction.stagings, cls), "one carrier stages a transaction"
        return transaction.stagings

    @property
    def is_idle(self) -> bool:
        """Whether every call so far is staged or refused."""
        self._drop_done()
        return not self._tasks

    def add(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> StagingTask:
        """Stage a call once those before it are staged."""
        last = self._tasks[-1] if self._tasks else None
        task = StagingTask(work, last)
        self._tasks.append(task)
        return task

    async def wait(self) -> None:
        """Wait until all calls are staged, and raise the first error that no task has received.

        Several tasks may wait at a time, and each looks anew for what is left.
        """
        while not self.is_idle:
            await self._tasks[0].settled()
        while self._refused:
            self._refused.popleft().raise_untold()

    def _drop_done(self) -> None:
        """Drop calls that are done, so that a long transaction does not hold them all."""
        while self._tasks and self._tasks[0].is_done:
            task = self._tasks.popleft()
            if task.is_refused:
                self._refused.append(task)


class StagingTask:
    """A call that is being staged; awaiting it gives the id of what it makes."""

    def __init__(
        self, work: Callable[[], Coroutine[Any, Any, Any]], previous: StagingTask | None
    ) -> None:
        self._previous = previous
        self._is_told = False
        self._task = asyncio.ensure_future(self._run(work))
        self._task.add_done_callback(_take_error)

    @property
    def is_done(self) -> bool:
        """Whether it is staged or refused."""
        return self._task.done()

    @property
    def is_refused(self) -> bool:
        """Whether it ended with an error."""
        return self._task.cancelled() or self._task.exception() is not None

    def __await__(self) -> Generator[Any, None, Any]:
        yield from asyncio.wait([self._task]).__await__()
        self._is_told = True  # not before: a task that is cancelled while it waits gets no error
        return self._task.result()

    async def settled(self) -> None:
        """Wait until it is staged or refused."""
        await asyncio.wait([self._task])

    def raise_untold(self) -> None:
        """Raise its error, unless a task awaited it."""
        if not self._is_told:
            self._task.result()

    async def _run(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        if self._previous is not None:
            await self._previous.settled()
            self._previous = None
        return await work()


def _take_error(task: asyncio.Task[Any]) -> None:
    """Keep asyncio from reporting an error that the transaction raises, or discards."""
    if not task.cancelled():
        task.exception()
