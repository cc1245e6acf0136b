"""The local carriers of programs that record spans: each call is one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from memoranda.calls.call import Call, WriteCall
from memoranda.calls.core import Core
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.transactions import CommittedTransaction
from memoranda.log.commit.conflict_queue import QueueTicket
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.pages import Pages
from memoranda.sdk.async_calls import AsyncPages
from memoranda.sdk.lanes import Lanes
from memoranda.sdk.local.async_calls import AsyncLocalCalls
from memoranda.sdk.local.calls import LocalCalls
from memoranda.sdk.spans import Kind, Spans
from memoranda.storage.port import Progress

Answer = TypeVar("Answer")
Item = TypeVar("Item")


class TracedLocalCalls(LocalCalls):
    """Runs handlers in the calling thread, each call as a span."""

    def __init__(
        self, core: Core, grant: Grant = EVERYTHING, signing: TransactionSigner | None = None
    ) -> None:
        super().__init__(core, grant, signing)
        self._spans = Spans("INTERNAL", core.log_id)

    def ask(self, call: Call[Answer], progress: Progress | None = None) -> Answer:
        """Return what the handler answers."""
        with self._spans.of(call) as span:
            return span.answered(super().ask(call, progress))

    def open_pages(self, call: Call[Item]) -> Pages[Item]:
        """Return the pages of a call that has a long answer; reading them is not in its span."""
        with self._spans.of(call):
            return super().open_pages(call)

    def write(
        self,
        call: WriteCall[Answer],
        ticket: QueueTicket | None = None,
        *,
        is_named: bool = True,
    ) -> Answer:
        """Commit a call that writes in a transaction of its own, and return its answer."""
        with self._spans.of(call) as span:
            return span.answered(super().write(call, ticket, is_named=is_named))

    def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        """Commit a transaction, and return its commit when it is durable."""
        with self._spans.of_commit(transaction):
            return super().commit(transaction, ticket)


class TracedAsyncLocalCalls(AsyncLocalCalls):
    """Runs handlers in threads, while the event loop runs on, each call as a span."""

    def __init__(
        self,
        core: Core,
        grant: Grant = EVERYTHING,
        signing: TransactionSigner | None = None,
        lanes: Lanes | None = None,
        channels: threading.local | None = None,
        *,
        kind: Kind = "INTERNAL",
    ) -> None:
        super().__init__(core, grant, signing, lanes, channels)
        self._kind: Kind = kind
        self._spans = Spans(kind, core.log_id)

    def bound_to(self, grant: Grant, signing: TransactionSigner | None) -> AsyncLocalCalls:
        """Return the carrier of another handle of the same store."""
        shared = (self._lanes, self._channels)
        return type(self)(self.core, grant, signing, *shared, kind=self._kind)

    async def ask(self, call: Call[Answer], progress: Progress | None = None) -> Answer:
        """Return what the handler answers, from a thread of the call's lane."""
        with self._spans.of(call) as span:
            return span.answered(await super().ask(call, progress))

    async def ask_encoded(self, call: Call[Answer], encode: Callable[[Answer], bytes]) -> bytes:
        """Return the encoded answer of a call, from a thread of its lane."""
        with self._spans.of(call) as span:
            return await super().ask_encoded(call, lambda answer: encode(span.answered(answer)))

    async def open_pages(self, call: Call[Item]) -> AsyncPages[Item]:
        """Return the pages of a call that has a long answer; reading them is not in its span."""
        with self._spans.of(call):
            return await super().open_pages(call)

    async def ask_pages(self, call: Call[Item], read: Callable[[Pages[Item]], Answer]) -> Answer:
        """Return what a function reads of the pages of a call."""
        with self._spans.of(call):
            return await super().ask_pages(call, read)

    async def write(
        self,
        call: WriteCall[Answer],
        ticket: QueueTicket | None = None,
        *,
        is_named: bool = True,
    ) -> Answer:
        """Commit a call that writes in a transaction of its own, and return its answer."""
        with self._spans.of(call) as span:
            return span.answered(await super().write(call, ticket, is_named=is_named))

    async def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        """Commit a transaction, and return its commit when it is durable."""
        with self._spans.of_commit(transaction):
            return await super().commit(transaction, ticket)
