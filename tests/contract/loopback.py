"""Carriers that encode and decode every call and every answer, as if a server were between."""

from __future__ import annotations

from typing import Any

from memoranda import AsyncStore, Store
from memoranda.calls.call import Call
from memoranda.calls.codec import decode_answer, decode_call, encode_answer, encode_call
from memoranda.calls.defaults import Defaults
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.log.pages import Pages
from memoranda.sdk.async_calls import AsyncCalls
from memoranda.sdk.calls import Calls
from memoranda.storage.port import Progress


def sent(call: Call[Any]) -> Call[Any]:
    return decode_call(encode_call(call))


def returned(answer: Any) -> Any:
    return decode_answer(encode_answer(answer))


class ReturnedPages:
    """The pages of an answer, each encoded and decoded."""

    def __init__(self, pages: Pages[Any]) -> None:
        self._pages = pages

    def next_page(self) -> list[Any]:
        page: list[Any] = returned(self._pages.next_page())
        return page


class LoopbackCalls(Calls):
    """Runs the handlers here, with what arrives."""

    def bound_to(self, grant: Grant) -> LoopbackCalls:
        return LoopbackCalls(self._core, grant)

    def ask(self, call: Call[Any], progress: Progress | None = None) -> Any:
        return returned(super().ask(sent(call), progress))

    def open_pages(self, call: Call[Any]) -> Pages[Any]:
        return ReturnedPages(super().open_pages(sent(call)))


class AsyncLoopbackCalls(AsyncCalls):
    """The same for asyncio."""

    async def ask(self, call: Call[Any], progress: Progress | None = None) -> Any:
        return returned(await super().ask(sent(call), progress))

    async def open_pages(self, call: Call[Any]) -> Pages[Any]:
        return ReturnedPages(await super().open_pages(sent(call)))


def through_loopback(store: Store) -> Store:
    """Return another handle of a store, whose calls go through bytes."""
    return Store(store._core, Defaults(), LoopbackCalls(store._core, EVERYTHING))


def through_async_loopback(store: AsyncStore) -> AsyncStore:
    return AsyncStore(store._core, Defaults(), AsyncLoopbackCalls(store._core, EVERYTHING))
