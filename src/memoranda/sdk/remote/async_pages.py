"""Long answers of a server, for asyncio: pages that are read when they are used."""

from __future__ import annotations

import asyncio
from typing import Any, Generic, Self, TypeVar

from memoranda.calls.call import Call
from memoranda.calls.log import Replay
from memoranda.errors import MemorandaError
from memoranda.model.event import ReplayEvent
from memoranda.sdk.remote.async_connection import AsyncConnection, AsyncMessageStream
from memoranda.sdk.remote.errors import ConnectionLost
from memoranda.sdk.remote.events import ReplayProgress
from memoranda.sdk.remote.pages import lost_list
from memoranda.sdk.remote.sending import Sender
from memoranda.wire.codec import items_of
from memoranda.wire.methods import METHOD_OF

Item = TypeVar("Item")


class AsyncRemotePages(Generic[Item]):
    """The pages of a listing. Its first message says that the call is checked and its moment set.

    While no page is read, the server waits. Dropping the pages ends the call.
    """

    def __init__(self, connection: AsyncConnection, call: Call[Item]) -> None:
        self._connection = connection
        self._kind = type(call)
        self._stream: Any = None
        self._first: list[Item] | None = None
        self._count = 0

    async def open(self, sender: Sender, call: Call[Item]) -> Self:
        """Send the call, and read its first message."""
        connection, patience = self._connection, self._connection.patience()
        method, message = METHOD_OF[self._kind], sender.request(call)
        while True:
            self._stream = connection.stream(method, message)
            try:
                self._first = await self._read()
            except MemorandaError as error:
                await asyncio.sleep(patience.pause(error))
            else:
                return self

    async def next_page(self) -> list[Item]:
        """Return the next items; an empty list at the end."""
        items, self._first = self._first, []
        try:
            while items == []:
                items = await self._read()
        except ConnectionLost as error:
            raise lost_list(self._connection.place, self._count) from error
        self._count += len(items or ())
        return items or []

    def close(self) -> None:
        """End the call."""
        self._stream.cancel()

    async def _read(self) -> list[Item] | None:
        """Return the items of the next message; None at the end."""
        message = await self._stream.read()
        return None if message is None else items_of(self._kind, message)


class AsyncReplayPages:
    """The pages of a replay, which goes on by itself after a lost connection."""

    def __init__(self, connection: AsyncConnection, sender: Sender, call: Replay) -> None:
        self._connection = connection
        self._sender = sender
        self._progress = ReplayProgress(call)
        self._patience = connection.patience()
        self._stream: AsyncMessageStream | None = None
        self._first: list[ReplayEvent] | None = None

    async def open(self) -> Self:
        """Send the call, and read its first message, which fixes the bound."""
        self._first = await self._read()
        return self

    async def next_page(self) -> list[ReplayEvent]:
        """Return the next events; an empty list at the end."""
        events, self._first = self._first, []
        while events == []:
            events = await self._read()
        return events or []

    def close(self) -> None:
        """End the call."""
        if self._stream is not None:
            self._stream.cancel()

    async def _read(self) -> list[ReplayEvent] | None:
        """Return the events of the next message, perhaps none; None at the end."""
        while True:
            try:
                if self._stream is None:
                    request = self._sender.request(self._progress.call, stored=True)
                    self._stream = self._connection.stream(METHOD_OF[Replay], request)
                page = await self._stream.read()
            except MemorandaError as error:
                self._stream = None
                await asyncio.sleep(self._patience.pause(error))
            else:
                self._patience.reset()
                return None if page is None else self._progress.take(page)
