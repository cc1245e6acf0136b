"""Carriers that encode and decode every call and every answer, as if a server were between."""

from __future__ import annotations

from typing import Any

from memoranda import AsyncStore, Store
from memoranda.calls.call import Call, WriteCall
from memoranda.calls.client_transaction import ClientTransaction
from memoranda.calls.codec import decode_answer, decode_call, encode_answer, encode_call
from memoranda.calls.core import check_timeout
from memoranda.calls.defaults import Defaults
from memoranda.calls.grant import EVERYTHING
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.transactions import Begin, CommittedTransaction
from memoranda.errors import InvalidInput, NotFound
from memoranda.log.commit.conflict_queue import QueueTicket
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
    """Runs the handlers here, with what arrives; transactions are those of a client."""

    def ask(self, call: Call[Any], progress: Progress | None = None) -> Any:
        if call.local_only is not None:
            return super().ask(call, progress)
        return returned(super().ask(sent(call), progress))

    def open_pages(self, call: Call[Any]) -> Pages[Any]:
        return ReturnedPages(super().open_pages(sent(call)))

    def write(self, call: WriteCall[Any], ticket: QueueTicket | None = None) -> Any:
        arrived = sent(call)
        assert isinstance(arrived, WriteCall)
        return returned(super().write(arrived, ticket))

    def begin(self, timeout: float, txn_id: str | None) -> OpenTransaction:
        check_timeout(timeout)
        core = self._core
        begun = self.ask(Begin(txn_id))
        return ClientTransaction(begun, self.ask, self._grant, timeout, core.clock, core.ids)

    def ask_within(self, transaction: OpenTransaction, call: Call[Any]) -> Any:
        assert isinstance(transaction, ClientTransaction)
        return transaction.ask_within(call)

    def open_pages_within(self, transaction: OpenTransaction, call: Call[Any]) -> Pages[Any]:
        assert isinstance(transaction, ClientTransaction)
        return self.open_pages(transaction.list_within(call))

    def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        assert isinstance(transaction, ClientTransaction)
        try:
            committed: CommittedTransaction = self.write(transaction.commit_call(), ticket)
        except (InvalidInput, NotFound) as error:
            raise transaction.draft.named_by_caller(error) from error
        return committed


class AsyncLoopbackCalls(AsyncCalls):
    """The same for asyncio."""

    async def ask(self, call: Call[Any], progress: Progress | None = None) -> Any:
        if call.local_only is not None:
            return await super().ask(call, progress)
        return returned(await super().ask(sent(call), progress))

    async def open_pages(self, call: Call[Any]) -> Pages[Any]:
        return ReturnedPages(await super().open_pages(sent(call)))

    async def write(self, call: WriteCall[Any], ticket: QueueTicket | None = None) -> Any:
        arrived = sent(call)
        assert isinstance(arrived, WriteCall)
        return returned(await super().write(arrived, ticket))

    def begin(self, timeout: float, txn_id: str | None) -> OpenTransaction:
        return self._sync.begin(timeout, txn_id)

    async def ask_within(self, transaction: OpenTransaction, call: Call[Any]) -> Any:
        assert isinstance(transaction, ClientTransaction)
        return await self.run(transaction.ask_within, call)

    async def open_pages_within(self, transaction: OpenTransaction, call: Call[Any]) -> Pages[Any]:
        assert isinstance(transaction, ClientTransaction)
        return await self.open_pages(transaction.list_within(call))

    async def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        assert isinstance(transaction, ClientTransaction)
        try:
            committed: CommittedTransaction = await self.write(transaction.commit_call(), ticket)
        except (InvalidInput, NotFound) as error:
            raise transaction.draft.named_by_caller(error) from error
        return committed

    @property
    def _sync(self) -> LoopbackCalls:
        return LoopbackCalls(self._core, self._grant, self._signing)


def through_loopback(store: Store) -> Store:
    """Return another handle of a store, whose calls go through bytes."""
    return Store(store._core, Defaults(), LoopbackCalls(store._core, EVERYTHING))


def through_async_loopback(store: AsyncStore) -> AsyncStore:
    return AsyncStore(store._core, Defaults(), AsyncLoopbackCalls(store._core, EVERYTHING))
