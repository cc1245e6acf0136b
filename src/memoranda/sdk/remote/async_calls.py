"""The remote carrier for asyncio: calls are sent to a server, while the event loop runs on."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from msgspec.structs import replace

from memoranda.audit.checkpoints import SignedCheckpoint
from memoranda.audit.signers import Signer
from memoranda.calls.call import Call, WriteCall
from memoranda.calls.client_transaction import ClientTransaction
from memoranda.calls.directory import DescribeStore, StoreDescription
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.log import Replay
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import CommittedTransaction
from memoranda.errors import InvalidInput, MemorandaError, NotFound, StoreClosed
from memoranda.log.commit.conflict_queue import ConflictQueue, QueueTicket
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.model.clock import Clock
from memoranda.model.ids import IdSource
from memoranda.model.limits import Limits
from memoranda.sdk.async_calls import AsyncCalls, AsyncPages
from memoranda.sdk.async_staging import Stagings
from memoranda.sdk.feed import EventFeed
from memoranda.sdk.remote.async_connection import AsyncConnection
from memoranda.sdk.remote.async_feed import AsyncRemoteFeed
from memoranda.sdk.remote.async_pages import AsyncRemotePages, AsyncReplayPages
from memoranda.sdk.remote.calls import checkpoint_elsewhere, client_transaction
from memoranda.sdk.remote.errors import ConnectionLost
from memoranda.sdk.remote.options import RemoteOptions
from memoranda.sdk.remote.sending import Sender, Signing
from memoranda.sdk.remote.transports import open_async_transport
from memoranda.sdk.remote.writes import PendingWrite
from memoranda.storage.port import Progress
from memoranda.storage.thread_locks import check_process
from memoranda.wire.batches import outcome_of
from memoranda.wire.codec import answer_of
from memoranda.wire.methods import METHOD_OF

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Item = TypeVar("Item")

_THREADS = 8
"""Threads in which transactions are staged that have to ask the server meanwhile."""


class LoopConnection:
    """The connection of a store in one event loop, and the sender of its writes."""

    def __init__(self, options: RemoteOptions, ids: IdSource) -> None:
        self.connection, self.writes = open_async_transport(options, ids)

    async def close(self) -> None:
        """Wait for the writes on their way, and end the connection."""
        await self.writes.close(self.connection.options.timeout)
        await self.connection.close()


class AsyncRemoteStore:
    """The state that the handles of one store of a server share.

    Each event loop has a connection of its own: the transports belong to one loop.
    """

    def __init__(self, options: RemoteOptions, clock: Clock, ids: IdSource) -> None:
        self.options = options
        self.place = str(options.url)
        self.clock = clock
        self.ids = ids
        self.turns = ConflictQueue()
        self.is_closed = False
        self.description: StoreDescription
        self._owner = os.getpid()
        self._connections: dict[asyncio.AbstractEventLoop, LoopConnection] = {}
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="memoranda-remote")
        self._caller = threading.local()
        """Has the event loop for which a thread works."""

    def connected(self) -> LoopConnection:
        """Return the connection of the running event loop; raise `StoreClosed` if it is closed."""
        check_process(self._owner)
        if self.is_closed:
            raise StoreClosed
        loop = asyncio.get_running_loop()
        if loop not in self._connections:
            self._connections = {
                other: connection
                for other, connection in self._connections.items()
                if not other.is_closed()
            }
            self._connections[loop] = LoopConnection(self.options, self.ids)
        return self._connections[loop]

    async def describe(self) -> None:
        """Read the description of the store from the server; raise if there is no such store."""
        message = Sender(self.place, self.options.url.store).request(DescribeStore())
        try:
            response = await self.connected().connection.ask(
                METHOD_OF[DescribeStore], message, self.options.timeout
            )
        except MemorandaError:
            await self.close()
            raise
        self.description = answer_of(DescribeStore, response)

    async def close(self) -> None:
        """Wait for the writes of the running loop, and end its connection; others end with theirs.

        A fork of the process that opened it has nothing to close.
        """
        if self.is_closed or self._owner != os.getpid():
            return
        connection = self._connections.pop(asyncio.get_running_loop(), None)
        if connection is not None:
            await connection.close()
        self.is_closed = True
        self._threads.shutdown(wait=False)

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Do work in a thread that may wait for calls of the running event loop."""
        loop = asyncio.get_running_loop()
        if self.is_closed:
            raise StoreClosed
        return await loop.run_in_executor(
            self._threads, partial(copy_context().run, self._work_for, loop, work)
        )

    def _work_for(self, loop: asyncio.AbstractEventLoop, work: Callable[[], Answer]) -> Answer:
        self._caller.loop = loop
        return work()

    def wait_for(self, work: Any) -> Any:
        """Return the result of a coroutine, which runs in the loop that this thread works for."""
        return asyncio.run_coroutine_threadsafe(work, self._caller.loop).result()


class AsyncRemoteCalls(AsyncCalls):
    """Sends the calls of one handle to a server."""

    def __init__(
        self,
        store: AsyncRemoteStore,
        grant: Grant = EVERYTHING,
        signing: TransactionSigner | None = None,
    ) -> None:
        self._store = store
        actor = store.description.actor
        self._grant = grant if actor is None else replace(grant, actor=actor)
        """The grant for staging in this process; the server enforces the token's own grant."""
        self._sender = Sender(
            store.place,
            store.options.url.store,
            grant.actor or "",
            None if signing is None else Signing(signing, store.description.log_id, store.ids),
        )

    @property
    def place(self) -> str:
        """The URL of the store."""
        return self._store.place

    @property
    def is_closed(self) -> bool:
        """Whether the store is closed."""
        return self._store.is_closed

    @property
    def limits(self) -> Limits:
        """The limits of the store, as its server reported them."""
        return self._store.description.limits

    @property
    def turns(self) -> ConflictQueue:
        """The conflict queue of this client."""
        return self._store.turns

    @property
    def _time(self) -> tuple[Clock, IdSource]:
        return self._store.clock, self._store.ids

    @property
    def _connection(self) -> AsyncConnection:
        return self._store.connected().connection

    def bound_to(self, grant: Grant, signing: TransactionSigner | None) -> AsyncRemoteCalls:
        """Return the carrier of another handle of the same store."""
        return type(self)(self._store, grant, signing)

    async def close(self) -> None:
        """Wait for the writes on their way, and end the connection."""
        await self._store.close()

    async def ask(self, call: Call[Answer], progress: Progress | None = None) -> Answer:
        """Return what the server answers."""
        message, kind = self._sender.request(call), type(call)
        method = METHOD_OF[kind]
        if method.shape == "long":
            return await self._ask_long(call, message, progress)
        answer: Answer = answer_of(kind, await self._connection.ask(method, message))
        return answer

    async def _ask_long(
        self, call: Call[Answer], message: Any, progress: Progress | None
    ) -> Answer:
        """Report the progress of a call that takes long, and return its answer."""
        connection, kind = self._connection, type(call)
        patience = connection.patience()
        while True:
            stream = connection.stream(METHOD_OF[kind], message)
            try:
                while (step := await stream.read()) is not None:
                    if not step.HasField("progress"):
                        answer: Answer = answer_of(kind, step)
                        return answer
                    if progress is not None:
                        progress(step.progress.done, step.progress.total)
                raise ConnectionLost(f"{self.place} has not answered")
            except MemorandaError as error:
                await asyncio.sleep(patience.pause(error))
            finally:
                stream.cancel()

    async def open_pages(self, call: Call[Item]) -> AsyncPages[Item]:
        """Return the pages of a long answer."""
        if isinstance(call, Replay):
            pages: Any = await AsyncReplayPages(self._connection, self._sender, call).open()
            return pages  # type: ignore[no-any-return]
        return await AsyncRemotePages(self._connection, call).open(self._sender, call)

    async def write(self, call: WriteCall[Answer], ticket: QueueTicket | None = None) -> Answer:  # noqa: ARG002
        """Commit a call that writes in a transaction of its own, and return its answer."""
        named = call.txn_id is not None
        own = call if named else replace(call, txn_id=self._store.ids.unique())
        return await self._write(own, is_named=named)

    async def _write(self, call: WriteCall[Answer], *, is_named: bool) -> Answer:
        """Send a write that has a `txn_id`; a busy server is asked again under the same one."""
        connected = self._store.connected()
        message = self._sender.write_request(call, is_named=is_named)
        assert call.txn_id is not None, "a write that is sent has an id"
        patience = connected.connection.patience()
        pending = PendingWrite(message, call.txn_id)
        while True:
            outcome = outcome_of(await connected.writes.write(pending))
            if not isinstance(outcome, MemorandaError):
                answer: Answer = outcome
                return answer
            await asyncio.sleep(patience.pause(outcome, pending.refusal))

    async def sign_checkpoint(self, signer: Signer, actor: str) -> SignedCheckpoint:  # noqa: ARG002
        """Refuse: a checkpoint is signed where the log is."""
        raise checkpoint_elsewhere(self.place)

    def new_feed(self, call: Subscribe) -> AsyncRemoteFeed:
        """Return the feed of a subscription."""
        return AsyncRemoteFeed(self._sender, call)

    async def open_feed(self, feed: EventFeed) -> None:
        """Open a feed of this store."""
        await _remote_feed(feed).open(self._connection)

    async def fill_feed(self, feed: EventFeed) -> bool:
        """Wait for events, unless the server has sent all that there are."""
        if self._store.is_closed:
            feed.close()
            return bool(feed.events)
        return await _remote_feed(feed).fill(self._connection)

    async def is_at_end(self, feed: EventFeed) -> bool:
        """Ask the server once more."""
        return await _remote_feed(feed).is_at_end(self._connection)

    async def poll_feed(self, feed: EventFeed) -> None:
        """Do nothing: the server polls."""

    def new_transaction(self, timeout: float, txn_id: str | None) -> OpenTransaction:
        """Return a new transaction, which is staged here and decided by the server."""
        return ClientTransaction(
            self._ask_from_thread,
            self._grant,
            self.limits,
            txn_id=txn_id,
            timeout=timeout,
            clock=self._store.clock,
            ids=self._store.ids,
        )

    def _ask_from_thread(self, call: Call[Any]) -> Any:
        return self._store.wait_for(self.ask(call))

    async def begin(self, transaction: OpenTransaction) -> None:
        """Ask the server where its log ends now."""
        if not transaction.draft.has_begun:
            await self.run(transaction.draft.begin)

    async def run_staging(
        self, transaction: OpenTransaction, work: Callable[[OpenTransaction], Answer]
    ) -> Answer:
        """Run work that stages many requests in a transaction."""
        await Stagings.of(transaction).wait()
        return await self.run(work, transaction)

    async def ask_within(self, transaction: OpenTransaction, call: Call[Answer]) -> Answer:
        """Return the answer of a read inside a transaction."""
        await Stagings.of(transaction).wait()
        return await self.run(client_transaction(transaction).ask_within, call)

    async def open_pages_within(
        self, transaction: OpenTransaction, call: Call[Item]
    ) -> AsyncPages[Item]:
        """Return the pages of a read inside a transaction."""
        await Stagings.of(transaction).wait()
        within = await self.run(client_transaction(transaction).list_within, call)
        return await self.open_pages(within)

    async def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        """Send the staged calls, and return their commit when it is durable."""
        await Stagings.of(transaction).wait()
        await self.begin(transaction)
        call = client_transaction(transaction).commit_call()
        if ticket is not None:
            ticket.check(transaction.draft.reads)
        try:
            return await self._write(call, is_named=call.is_named)
        except (InvalidInput, NotFound) as error:
            raise transaction.draft.named_by_caller(error) from error

    async def give_way(self, commit_ts: int) -> None:
        """Do nothing: the server answers a large commit when its indexer has nearly caught up."""

    async def run(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Run work in a thread, which may send calls to the server."""
        return await self._store.run(partial(work, *args, **kwargs))


def _remote_feed(feed: EventFeed) -> AsyncRemoteFeed:
    assert isinstance(feed, AsyncRemoteFeed), "a feed is of the carrier that made it"
    return feed
