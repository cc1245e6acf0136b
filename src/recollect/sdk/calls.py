"""How the store's work is called: at once, or from asyncio in a thread.

`store.py` and `transaction.py` do everything that may wait through one of these. That is the whole
difference between the synchronous classes and the asynchronous ones generated from them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import ParamSpec, TypeVar

from recollect.log.pages import Pages
from recollect.model.clock import Clock

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
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

    def sleep(self, seconds: float) -> None:
        """Let some time pass."""
        self._clock.sleep(seconds)


class AsyncCalls:
    """The event loop goes on while a thread works."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def run(
        self, work: Callable[Asked, Answer], *args: Asked.args, **kwargs: Asked.kwargs
    ) -> Answer:
        """Do the work in a thread."""
        return await asyncio.to_thread(work, *args, **kwargs)

    async def sleep(self, seconds: float) -> None:
        """Let some time pass."""
        await asyncio.to_thread(self._clock.sleep, seconds)


def paged(calls: Calls, pages: Pages[Item]) -> Iterator[Item]:
    """Yield the items of a paged answer, fetching a page when the last one is used up."""
    while page := calls.run(pages.next_page):
        yield from page


async def async_paged(calls: AsyncCalls, pages: Pages[Item]) -> AsyncIterator[Item]:
    """Yield the items of a paged answer, fetching a page when the last one is used up."""
    while page := await calls.run(pages.next_page):
        for item in page:
            yield item
