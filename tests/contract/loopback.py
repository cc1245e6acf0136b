"""Carriers that encode and decode every call and every answer, as if a server were between."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from memoranda import AsyncStore, Store
from memoranda.calls.call import Call, WriteCall
from memoranda.calls.client_transaction import ClientTransaction
from memoranda.calls.core import Core
from memoranda.calls.defaults import Defaults
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.signing import check_can_sign, signed
from memoranda.calls.transactions import CommittedTransaction
from memoranda.errors import InvalidInput, NotFound
from memoranda.log.commit.conflict_queue import QueueTicket
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.pages import Pages
from memoranda.sdk.async_calls import AsyncPages
from memoranda.sdk.local.async_calls import AsyncLocalCalls
from memoranda.sdk.local.calls import LocalCalls
from memoranda.storage.port import Progress
from memoranda.wire import codec
from tests.cores import core_of


def sent(call: Call[Any]) -> Call[Any]:
    request = codec.request_of(call, store="acme")
    return codec.call_of(type(request).FromString(request.SerializeToString()))


def returned(call: Call[Any], answer: Any) -> Any:
    response = codec.response_of(call, answer)
    return codec.answer_of(type(call), type(response).FromString(response.SerializeToString()))


def returned_page(call: Call[Any], items: list[Any]) -> list[Any]:
    page = codec.page_of(call, items)
    return codec.items_of(type(call), type(page).FromString(page.SerializeToString()))


def sent_write(
    call: WriteCall[Any], signing: TransactionSigner | None, core: Core, *, is_named: bool
) -> tuple[Any, bool]:
    """Return a write as it arrives, signed by its agent's client if that has a signer.

    Such a client names every request itself; the second value says whether its caller did.
    """
    arriving = sent(call)
    assert isinstance(arriving, WriteCall)
    if signing is None:
        return arriving, is_named
    name = core.ids.unique() if arriving.txn_id is None else arriving.txn_id
    named: WriteCall[Any] = replace(arriving, txn_id=name)
    arrived = sent(signed(named, signing, core.log_id, core.ids))
    return arrived, is_named and call.txn_id is not None


class ReturnedPages:
    """The pages of an answer, each encoded and decoded."""

    def __init__(self, call: Call[Any], pages: Pages[Any]) -> None:
        self._call = call
        self._pages = pages

    def next_page(self) -> list[Any]:
        return returned_page(self._call, self._pages.next_page())


class AsyncReturnedPages:
    """The same for asyncio."""

    def __init__(self, call: Call[Any], pages: AsyncPages[Any]) -> None:
        self._call = call
        self._pages = pages

    async def next_page(self) -> list[Any]:
        return returned_page(self._call, await self._pages.next_page())

    def close(self) -> None:
        self._pages.close()


class LoopbackCalls(LocalCalls):
    """Runs the handlers here, with what arrives; transactions are those of a client."""

    def ask(self, call: Call[Any], progress: Progress | None = None) -> Any:
        if call.local_only is not None:
            return super().ask(call, progress)
        check_can_sign(call, self._signing)
        return returned(call, super().ask(sent(call), progress))

    def open_pages(self, call: Call[Any]) -> Pages[Any]:
        return ReturnedPages(call, super().open_pages(sent(call)))

    def write(
        self, call: WriteCall[Any], ticket: QueueTicket | None = None, *, is_named: bool = True
    ) -> Any:
        arrived, named = sent_write(call, self._signing, self.core, is_named=is_named)
        server = LocalCalls(self.core, self._grant)
        return returned(call, server.write(arrived, ticket, is_named=named))

    def new_transaction(self, timeout: float, txn_id: str | None) -> OpenTransaction:
        core = self.core
        return ClientTransaction(
            self.ask,
            self._grant,
            core.limits,
            txn_id=txn_id,
            timeout=timeout,
            clock=core.clock,
            ids=core.ids,
        )

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


class AsyncLoopbackCalls(AsyncLocalCalls):
    """The same for asyncio."""

    async def ask(self, call: Call[Any], progress: Progress | None = None) -> Any:
        if call.local_only is not None:
            return await super().ask(call, progress)
        check_can_sign(call, self._signing)
        return returned(call, await super().ask(sent(call), progress))

    async def open_pages(self, call: Call[Any]) -> AsyncPages[Any]:
        return AsyncReturnedPages(call, await super().open_pages(sent(call)))

    async def write(
        self, call: WriteCall[Any], ticket: QueueTicket | None = None, *, is_named: bool = True
    ) -> Any:
        arrived, named = sent_write(call, self._signing, self.core, is_named=is_named)
        server = AsyncLocalCalls(self.core, self._grant, None, self._lanes, self._channels)
        return returned(call, await server.write(arrived, ticket, is_named=named))

    def new_transaction(self, timeout: float, txn_id: str | None) -> OpenTransaction:
        return self._sync.new_transaction(timeout, txn_id)

    async def ask_within(self, transaction: OpenTransaction, call: Call[Any]) -> Any:
        assert isinstance(transaction, ClientTransaction)
        return await self.run(transaction.ask_within, call)

    async def open_pages_within(
        self, transaction: OpenTransaction, call: Call[Any]
    ) -> AsyncPages[Any]:
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
        return LoopbackCalls(self.core, self._grant, self._signing)


def through_loopback(store: Store) -> Store:
    """Return another handle of a store, whose calls go through bytes."""
    return Store(LoopbackCalls(core_of(store)), Defaults())


def through_async_loopback(store: AsyncStore) -> AsyncStore:
    return AsyncStore(AsyncLoopbackCalls(core_of(store)), Defaults())
