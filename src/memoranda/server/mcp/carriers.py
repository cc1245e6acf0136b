"""How tools reach a store: an open one, local or remote. `dispatched_carrier.py` is for servers.

Tools make calls of the registry and nothing else. So the rules, the grants and the limits of a call
are the same as on every other surface.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from memoranda.calls.call import Call, WriteCall
from memoranda.calls.defaults import Defaults
from memoranda.sdk.aio.store.handle import AsyncHandle
from memoranda.sdk.aio.store.store import AsyncStore

Answer = TypeVar("Answer")
Item = TypeVar("Item")


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
