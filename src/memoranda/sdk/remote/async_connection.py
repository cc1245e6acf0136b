"""The connection of a store to its server, for one event loop: the same for every transport."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.model.ids import IdSource
from memoranda.sdk.remote.options import RemoteOptions
from memoranda.sdk.remote.patience import Patience
from memoranda.wire.methods import Method


class AsyncMessageStream(ABC):
    """An answer of several messages. Dropping it cancels the call."""

    @abstractmethod
    async def read(self) -> Any:
        """Return the next message; None at the end. Raise errors of ours."""

    @abstractmethod
    def cancel(self) -> None:
        """End the call, whatever comes of it, also while a task reads."""


class AsyncConnection(ABC):
    """Sends messages to a server, and repeats those that a lost connection left unanswered."""

    def __init__(self, options: RemoteOptions, ids: IdSource) -> None:
        self.options = options
        self.place = str(options.url)
        self.loop = asyncio.get_running_loop()
        self.is_closed = False
        self.tasks: set[asyncio.Task[Any]] = set()
        """The tasks of this connection; the event loop keeps no reference to a task."""
        self._ids = ids

    def check_open(self) -> None:
        """Raise `StoreClosed` if it is closed."""
        if self.is_closed:
            raise StoreClosed

    def patience(self) -> Patience:
        """Return the patience of a new call."""
        return Patience(self.options.timeout, self._ids)

    async def ask(self, method: Method, message: Any, timeout: float | None = None) -> Any:
        """Return the one answer of a call; try again if the connection was lost meanwhile."""
        patience = self.patience()
        while True:
            self.check_open()
            try:
                return await self._ask(method, message, timeout)
            except MemorandaError as error:
                seconds = patience.pause(error)
            await asyncio.sleep(seconds)

    def start(self, work: Any) -> asyncio.Task[Any]:
        """Run a coroutine beside the caller, for as long as the connection is open."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def close(self) -> None:
        """End the calls that are under way, and the connection. A second call does nothing."""
        if self.is_closed:
            return
        self.is_closed = True
        await self._close()

    @abstractmethod
    async def _ask(self, method: Method, message: Any, timeout: float | None) -> Any:
        """Return the one answer of a call, which is sent once; `timeout` seconds is a deadline."""

    @abstractmethod
    def stream(self, method: Method, message: Any) -> AsyncMessageStream:
        """Return the messages of an answer, which are read one by one."""

    @abstractmethod
    async def _close(self) -> None:
        """End running calls."""
