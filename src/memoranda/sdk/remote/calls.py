"""The remote carrier, for threads: calls are sent to a server, and the caller waits."""

from __future__ import annotations

from typing import Any, TypeVar

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
from memoranda.errors import InvalidInput, MemorandaError, NotFound
from memoranda.log.commit.conflict_queue import ConflictQueue, QueueTicket
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.pages import Pages
from memoranda.model.clock import Clock
from memoranda.model.ids import IdSource
from memoranda.model.limits import Limits
from memoranda.sdk.calls import Calls
from memoranda.sdk.feed import EventFeed
from memoranda.sdk.remote.errors import ConnectionLost
from memoranda.sdk.remote.feed import RemoteFeed
from memoranda.sdk.remote.options import RemoteOptions
from memoranda.sdk.remote.pages import RemotePages, ReplayPages
from memoranda.sdk.remote.sending import Sender, Signing
from memoranda.sdk.remote.transports import open_transport
from memoranda.sdk.remote.writes import PendingWrite
from memoranda.storage.port import Progress
from memoranda.wire.batches import outcome_of
from memoranda.wire.codec import answer_of
from memoranda.wire.methods import METHOD_OF

Answer = TypeVar("Answer")
Item = TypeVar("Item")


class RemoteStore:
    """The state that the handles of one store of a server share."""

    def __init__(self, options: RemoteOptions, clock: Clock, ids: IdSource) -> None:
        self.clock = clock
        self.ids = ids
        self.turns = ConflictQueue()
        self.connection, self.writes = open_transport(options, ids)
        self.description = self._describe(options)

    def _describe(self, options: RemoteOptions) -> StoreDescription:
        """Read the description of the store from the server; raise if there is no such store."""
        sender = Sender(self.connection.place, options.url.store)
        message = sender.request(DescribeStore())
        try:
            response = self.connection.ask(METHOD_OF[DescribeStore], message, options.timeout)
        except MemorandaError:
            self.connection.close()
            raise
        description: StoreDescription = answer_of(DescribeStore, response)
        return description

    def close(self) -> None:
        """Wait for the writes on their way, and end the connection."""
        if not self.connection.is_closed and not self.connection.is_forked:
            self.writes.close(self.connection.options.timeout)
            self.connection.close()


class RemoteCalls(Calls):
    """Sends the calls of one handle to a server."""

    def __init__(
        self,
        store: RemoteStore,
        grant: Grant = EVERYTHING,
        signing: TransactionSigner | None = None,
    ) -> None:
        self._store = store
        self._connection = store.connection
        actor = store.description.actor
        self._grant = grant if actor is None else replace(grant, actor=actor)
        """The grant for staging in this process; the server enforces the token's own grant."""
        self._sender = Sender(
            self._connection.place,
            self._connection.options.url.store,
            grant.actor or "",
            None if signing is None else Signing(signing, store.description.log_id, store.ids),
        )

    @property
    def place(self) -> str:
        """The URL of the store."""
        return self._connection.place

    @property
    def is_closed(self) -> bool:
        """Whether the store is closed."""
        return self._connection.is_closed

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

    def bound_to(self, grant: Grant, signing: TransactionSigner | None) -> RemoteCalls:
        """Return the carrier of another handle of the same store."""
        return type(self)(self._store, grant, signing)

    def close(self) -> None:
        """Wait for the writes on their way, and end the connection."""
        self._store.close()

    def ask(self, call: Call[Answer], progress: Progress | None = None) -> Answer:
        """Return what the server answers."""
        message, kind = self._sender.request(call), type(call)
        method = METHOD_OF[kind]
        if method.shape == "long":
            return self._ask_long(call, message, progress)
        answer: Answer = answer_of(kind, self._connection.ask(method, message))
        return answer

    def _ask_long(self, call: Call[Answer], message: Any, progress: Progress | None) -> Answer:
        """Report the progress of a call that takes long, and return its answer."""
        kind, patience = type(call), self._connection.patience()
        while True:
            stream = self._connection.stream(METHOD_OF[kind], message)
            try:
                while (step := stream.read()) is not None:
                    if not step.HasField("progress"):
                        answer: Answer = answer_of(kind, step)
                        return answer
                    if progress is not None:
                        progress(step.progress.done, step.progress.total)
                raise ConnectionLost(f"{self.place} has not answered")
            except MemorandaError as error:
                seconds = patience.pause(error)
            finally:
                stream.cancel()
            self._connection.rest(seconds)

    def open_pages(self, call: Call[Item]) -> Pages[Item]:
        """Return the pages of a long answer."""
        if isinstance(call, Replay):
            pages: Any = ReplayPages(self._connection, self._sender, call)
            return pages  # type: ignore[no-any-return]
        return RemotePages(self._connection, self._sender, call)

    def write(self, call: WriteCall[Answer], ticket: QueueTicket | None = None) -> Answer:  # noqa: ARG002
        """Commit a call that writes in a transaction of its own, and return its answer."""
        named = call.txn_id is not None
        own = call if named else replace(call, txn_id=self._store.ids.unique())
        return self._write(own, is_named=named)

    def _write(self, call: WriteCall[Answer], *, is_named: bool) -> Answer:
        """Send a write that has a `txn_id`; a busy server is asked again under the same one."""
        message = self._sender.write_request(call, is_named=is_named)
        assert call.txn_id is not None, "a write that is sent has an id"
        patience = self._connection.patience()
        pending = PendingWrite(message, call.txn_id)
        while True:
            outcome = outcome_of(self._store.writes.write(pending))
            if not isinstance(outcome, MemorandaError):
                answer: Answer = outcome
                return answer
            self._connection.rest(patience.pause(outcome, pending.refusal))

    def check_claim(self, signing: TransactionSigner) -> None:
        """Do nothing: the first commit checks the key."""

    def sign_checkpoint(self, signer: Signer, actor: str) -> SignedCheckpoint:  # noqa: ARG002
        """Refuse: a checkpoint is signed where the log is."""
        raise checkpoint_elsewhere(self.place)

    def new_feed(self, call: Subscribe) -> RemoteFeed:
        """Return the feed of a subscription."""
        return RemoteFeed(self._connection, self._sender, call)

    def open_feed(self, feed: EventFeed) -> None:
        """Open a feed of this store."""
        _remote_feed(feed).open()

    def fill_feed(self, feed: EventFeed) -> bool:
        """Wait for events, unless the server has sent all that there are."""
        return _remote_feed(feed).fill()

    def is_at_end(self, feed: EventFeed) -> bool:
        """Ask the server once more."""
        return _remote_feed(feed).is_at_end()

    def poll_feed(self, feed: EventFeed) -> None:
        """Do nothing: the server polls."""

    def new_transaction(self, timeout: float, txn_id: str | None) -> OpenTransaction:
        """Return a new transaction, which is staged here and decided by the server."""
        return ClientTransaction(
            self.ask,
            self._grant,
            self.limits,
            txn_id=txn_id,
            timeout=timeout,
            clock=self._store.clock,
            ids=self._store.ids,
        )

    def begin(self, transaction: OpenTransaction) -> None:
        """Ask the server where its log ends now."""
        transaction.draft.begin()

    def ask_within(self, transaction: OpenTransaction, call: Call[Answer]) -> Answer:
        """Return the answer of a read inside a transaction."""
        return client_transaction(transaction).ask_within(call)

    def open_pages_within(self, transaction: OpenTransaction, call: Call[Item]) -> Pages[Item]:
        """Return the pages of a read inside a transaction."""
        return self.open_pages(client_transaction(transaction).list_within(call))

    def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        """Send the staged calls, and return their commit when it is durable."""
        call = client_transaction(transaction).commit_call()
        if ticket is not None:
            ticket.check(transaction.draft.reads)
        try:
            return self._write(call, is_named=call.is_named)
        except (InvalidInput, NotFound) as error:
            raise transaction.draft.named_by_caller(error) from error

    def give_way(self, commit_ts: int) -> None:
        """Do nothing: the server answers a large commit when its indexer has nearly caught up."""


def checkpoint_elsewhere(place: str) -> InvalidInput:
    """Return the error of a caller that would sign the log of a server with a key of its own."""
    return InvalidInput(
        "signer",
        f"signs a log where it is, and this one is at {place}: open the file there with this "
        "signer, or ask for a checkpoint of the server's own signer with no `signer`",
    )


def client_transaction(transaction: OpenTransaction) -> ClientTransaction:
    """Return a transaction that a remote carrier has made."""
    assert isinstance(transaction, ClientTransaction), "it is of the carrier that made it"
    return transaction


def _remote_feed(feed: EventFeed) -> RemoteFeed:
    assert isinstance(feed, RemoteFeed), "a feed is of the carrier that made it"
    return feed
