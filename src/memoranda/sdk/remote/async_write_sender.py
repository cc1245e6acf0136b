"""Sending the writes of a store, for one event loop: tasks that write at a time share messages."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from functools import partial
from typing import Any

from memoranda.errors import StoreClosed
from memoranda.sdk.remote.async_connection import AsyncConnection
from memoranda.sdk.remote.writes import PendingWrite, WriteQueue


class AsyncWriteSender(ABC):
    """Takes writes, and returns their outcomes; each takes effect exactly once.

    Everything runs in the loop. A task adds its write to the queue and waits; other tasks send what
    is queued.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._queue = WriteQueue(connection.options.url.store)
        self._is_closing = False

    async def write(self, pending: PendingWrite) -> Any:
        """Send a write, and return what the server says became of it.

        A task that is cancelled withdraws a write that was not sent; another one goes on alone.
        """
        self._connection.check_open()
        if self._is_closing:
            raise StoreClosed
        future: asyncio.Future[None] = self._connection.loop.create_future()
        pending.expect(partial(_wake, future))
        self._queue.add(pending)
        self._wake()
        try:
            await future
        finally:
            if not pending.is_settled:
                self._queue.withdraw(pending)
        return pending.result()

    @abstractmethod
    def _wake(self) -> None:
        """Let the queue be sent."""

    @abstractmethod
    async def close(self, seconds: float) -> None:
        """Take no more writes, and wait until those on their way have outcomes, or so long."""


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():  # else its task was cancelled
        future.set_result(None)
