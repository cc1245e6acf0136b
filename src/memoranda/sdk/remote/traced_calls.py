"""The remote carriers of programs that record spans: each call is one, and the server is told."""

from __future__ import annotations

from typing import TypeVar

from memoranda.calls.call import Call, WriteCall
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.transactions import CommittedTransaction
from memoranda.log.commit.conflict_queue import QueueTicket
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.pages import Pages
from memoranda.sdk.async_calls import AsyncPages
from memoranda.sdk.remote.async_calls import AsyncRemoteCalls, AsyncRemoteStore
from memoranda.sdk.remote.calls import RemoteCalls, RemoteStore
from memoranda.sdk.remote.options import RemoteOptions
from memoranda.sdk.spans import Spans
from memoranda.storage.port import Progress

Answer = TypeVar("Answer")
Item = TypeVar("Item")


def _spans(options: RemoteOptions, log_id: str) -> Spans:
    return Spans("CLIENT", log_id, (options.url.host, options.url.port))


class TracedRemoteCalls(RemoteCalls):
    """Sends calls to a server, each as a span."""

    def __init__(
        self,
        store: RemoteStore,
        grant: Grant = EVERYTHING,
        signing: TransactionSigner | None = None,
    ) -> None:
        super().__init__(store, grant, signing)
        self._spans = _spans(store.connection.options, store.description.log_id)

    def ask(self, call: Call[Answer], progress: Progress | None = None) -> Answer:
        """Return what the server answers."""
        with self._spans.of(call) as span:
            return span.answered(super().ask(call, progress))

    def open_pages(self, call: Call[Item]) -> Pages[Item]:
        """Return the pages of a long answer; reading them is not in its span."""
        with self._spans.of(call):
            return super().open_pages(call)

    def write(self, call: WriteCall[Answer], ticket: QueueTicket | None = None) -> Answer:
        """Commit a call that writes in a transaction of its own, and return its answer."""
        with self._spans.of(call) as span:
            return span.answered(super().write(call, ticket))

    def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        """Send what is staged, and return its commit when it is durable."""
        with self._spans.of_commit(transaction):
            return super().commit(transaction, ticket)


class TracedAsyncRemoteCalls(AsyncRemoteCalls):
    """Sends calls to a server, while the event loop runs on, each as a span."""

    def __init__(
        self,
        store: AsyncRemoteStore,
        grant: Grant = EVERYTHING,
        signing: TransactionSigner | None = None,
    ) -> None:
        super().__init__(store, grant, signing)
        self._spans = _spans(store.options, store.description.log_id)

    async def ask(self, call: Call[Answer], progress: Progress | None = None) -> Answer:
        """Return what the server answers."""
        with self._spans.of(call) as span:
            return span.answered(await super().ask(call, progress))

    async def open_pages(self, call: Call[Item]) -> AsyncPages[Item]:
        """Return the pages of a long answer; reading them is not in its span."""
        with self._spans.of(call):
            return await super().open_pages(call)

    async def write(self, call: WriteCall[Answer], ticket: QueueTicket | None = None) -> Answer:
        """Commit a call that writes in a transaction of its own, and return its answer."""
        with self._spans.of(call) as span:
            return span.answered(await super().write(call, ticket))

    async def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        """Send what is staged, and return its commit when it is durable."""
        with self._spans.of_commit(transaction):
            return await super().commit(transaction, ticket)
