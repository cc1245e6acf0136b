"""Streams of pages: a long answer, a replay or a subscription on its way to a caller.

One page is read ahead while its predecessor is sent. So a stream has two pages in memory at most,
however slowly its caller reads; small pages of a replay are read some at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Generic, Self, TypeVar

from memoranda.server.metering import Admission

Page = TypeVar("Page")


class PageStream(Generic[Page]):
    """The pages of one stream; `aclose` ends it."""

    def __init__(
        self,
        pages: AsyncGenerator[Page, None],
        admission: Admission,
        check: Callable[[], None],
    ) -> None:
        self._pages = pages
        self._admission = admission
        self._check = check
        """Raises if the caller may no longer read."""
        self._next: asyncio.Task[Page] | None = None
        """Reads the next page, once the first was given out."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Page:
        self._check()
        ahead, self._next = self._next, None
        try:
            page = await (anext(self._pages) if ahead is None else ahead)
        except asyncio.CancelledError:
            self._next = ahead  # for `aclose`, which ends it
            raise
        self._next = asyncio.ensure_future(anext(self._pages))
        return page

    async def throttle(self, size: int) -> None:
        """Count bytes that were sent, and wait for as long as the caller's rates ask for."""
        seconds = self._admission.spend(size)
        if seconds > 0:
            await asyncio.sleep(seconds)

    async def aclose(self) -> None:
        """End the stream, and release its pages."""
        ahead, self._next = self._next, None
        if ahead is not None:
            ahead.cancel()
            await asyncio.wait((ahead,))
            if not ahead.cancelled():
                ahead.exception()  # no caller needs that page any more
        await self._pages.aclose()
