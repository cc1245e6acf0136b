"""How tools reach a store of a server: by its dispatcher, under the grant of a caller."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from memoranda.calls.call import Call, WriteCall
from memoranda.errors import TransactionConflict
from memoranda.model.backoff import Backoff
from memoranda.server.dispatcher import Caller, Dispatcher

Answer = TypeVar("Answer")
Item = TypeVar("Item")

_BACKOFF = Backoff(first=0.002, longest=0.25)
"""Waits between the attempts of a write that lost a conflict, in seconds."""
_ATTEMPTS = 8
"""Attempts of a write that loses conflicts: about half a second."""


class DispatchedCarrier:
    """Carries the calls of one request; the bytes of the request are counted where it comes in."""

    def __init__(self, dispatcher: Dispatcher, caller: Caller, store: str) -> None:
        self._dispatcher = dispatcher
        self._caller = caller
        self._store = store

    async def ask(self, call: Call[Answer]) -> Answer:
        """Return the answer of a call."""
        return await self._dispatcher.ask(self._caller, self._store, call)

    async def write(self, call: WriteCall[Answer]) -> Answer:
        """Commit a call, and return its answer once it is durable; retry a conflict."""
        attempt = 0
        while True:
            try:
                return await self._dispatcher.write(self._caller, self._store, call)
            except TransactionConflict:
                if attempt >= _ATTEMPTS:
                    raise
            await asyncio.sleep(_BACKOFF.seconds(attempt))
            attempt += 1

    async def first(self, call: Call[Item], limit: int) -> tuple[list[Item], bool]:
        """Return the first items of a long answer, and whether there are more."""
        page = await self._dispatcher.page(self._caller, self._store, call, None, limit)
        has_more = page.position is not None or page.is_cut or len(page.items) > limit
        return page.items[:limit], has_more
