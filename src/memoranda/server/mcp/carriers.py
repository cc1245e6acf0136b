"""How tools reach a store: an open one, or one of a server with the caller's token.

Tools make calls of the registry and nothing else. So the rules, the grants and the limits of a call
are the same as on every other surface.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, TypeVar

from memoranda.calls.call import Call, WriteCall
from memoranda.calls.defaults import Defaults
from memoranda.errors import TransactionConflict
from memoranda.model.backoff import Backoff
from memoranda.sdk.aio.store.handle import AsyncHandle
from memoranda.sdk.aio.store.store import AsyncStore
from memoranda.server.dispatcher import Caller, Dispatcher

Answer = TypeVar("Answer")
Item = TypeVar("Item")

_BACKOFF = Backoff(first=0.002, longest=0.25)
"""Waits between the attempts of a write that lost a conflict, in seconds."""
_ATTEMPTS = 8


class Carrier(Protocol):
    """Carries the calls of one connection to its store."""

    async def ask(self, call: Call[Answer]) -> Answer:
        """Return the answer of a call."""
        ...

    async def write(self, call: WriteCall[Answer]) -> Answer:
        """Commit a call, and return its answer once it is durable; retry a conflict."""
        ...

    async def first(self, call: Call[Item], limit: int) -> tuple[list[Item], bool]:
        """Return the first items of a long answer, and whether there are more."""
        ...


class StoreCarrier(AsyncHandle):
    """Carries calls to an open store, local or remote, in the name of one agent."""

    @classmethod
    def of(cls, store: AsyncStore, defaults: Defaults) -> StoreCarrier:
        """Return a carrier that shares the connections of a store."""
        return cls(store._calls, defaults)  # noqa: SLF001  # as `bind` makes another handle

    async def ask(self, call: Call[Answer]) -> Answer:
        """Return the answer of a call."""
        return await self._calls.ask(call)

    async def write(self, call: WriteCall[Answer]) -> Answer:
        """Commit a call, and return its answer once it is durable; retry a conflict."""
        return await self._write(call)

    async def first(self, call: Call[Item], limit: int) -> tuple[list[Item], bool]:
        """Return the first items of a long answer, and whether there are more."""
        pages = await self._calls.open_pages(call)
        items: list[Item] = []
        try:
            while len(items) <= limit and (page := await pages.next_page()):
                items += page
        finally:
            pages.close()
        return items[:limit], len(items) > limit


class DispatchedCarrier:
    """Carries calls to a store of a server, by its dispatcher, under the grant of a caller."""

    def __init__(self, dispatcher: Dispatcher, caller: Caller, store: str, size: int = 0) -> None:
        self._dispatcher = dispatcher
        self._caller = caller
        self._store = store
        self._size = size
        """Bytes of the request, which its first call is counted with."""

    def _take_size(self) -> int:
        size, self._size = self._size, 0
        return size

    async def ask(self, call: Call[Answer]) -> Answer:
        """Return the answer of a call."""
        size = self._take_size()
        return await self._dispatcher.ask(self._caller, self._store, call, size=size)

    async def write(self, call: WriteCall[Answer]) -> Answer:
        """Commit a call, and return its answer once it is durable; retry a conflict."""
        attempt = 0
        while True:
            size = self._take_size()
            try:
                return await self._dispatcher.write(self._caller, self._store, call, size=size)
            except TransactionConflict:
                if attempt >= _ATTEMPTS:
                    raise
            await asyncio.sleep(_BACKOFF.seconds(attempt))
            attempt += 1

    async def first(self, call: Call[Item], limit: int) -> tuple[list[Item], bool]:
        """Return the first items of a long answer, and whether there are more."""
        size = self._take_size()
        page = await self._dispatcher.page(self._caller, self._store, call, None, limit, size=size)
        has_more = page.position is not None or page.is_cut or len(page.items) > limit
        return page.items[:limit], has_more
