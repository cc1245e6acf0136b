"""Carriers: how the calls of a handle reach a store, and how their answers come back.

The classes of `sdk/store/` and `sdk/transaction/` reach a store only through its carrier, `Calls`.
Everything that may wait goes through it. A local carrier (`sdk/local/`) runs the handlers in this
process; a remote one (`sdk/remote/`) sends the calls to a server. The asynchronous classes that are
generated from them use `AsyncCalls` (`sdk/async_calls.py`) instead; that is the whole difference.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, ParamSpec, TypeVar

from memoranda.audit.checkpoints import SignedCheckpoint
from memoranda.audit.signers import Signer
from memoranda.calls.call import Call, WriteCall
from memoranda.calls.grant import Grant
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import CommittedTransaction, stage
from memoranda.errors import InvalidInput
from memoranda.log.commit.conflict_queue import ConflictQueue, QueueTicket
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.pages import Pages
from memoranda.log.read.wakeup import Signal
from memoranda.model.backoff import Backoff, jitter
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.ids import IdSource
from memoranda.model.limits import Limits, short_repr
from memoranda.sdk.feed import EventFeed
from memoranda.storage.port import Progress

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Argument = TypeVar("Argument")
Item = TypeVar("Item")

RETRY_BACKOFF = Backoff(first=0.001, longest=0.25)
"""Waits between the attempts of a call that lost a conflict or found the store busy."""


class Opened:
    """A transaction or a subscription, which is open as soon as it is created."""

    def __init__(self, calls: Calls, open_now: Callable[[], object]) -> None:
        self._calls = calls
        open_now()


class Calls(ABC):
    """A carrier of calls for one handle; the calling thread waits for the answer.

    Handles of one store have carriers that share everything but the grant and the signer. An error
    of a handler is raised as it is, with the same fields and words, wherever the handler ran.
    """

    # The store.

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the store is, for a `repr`."""

    @property
    @abstractmethod
    def is_closed(self) -> bool:
        """Whether the store is closed."""

    @property
    @abstractmethod
    def limits(self) -> Limits:
        """The limits of the store, which callers check before they send much."""

    @property
    @abstractmethod
    def turns(self) -> ConflictQueue:
        """Orders the retries of transactions of this process that conflict with each other."""

    @property
    @abstractmethod
    def _time(self) -> tuple[Clock, IdSource]:
        """The clock on which retries wait, and the chance that keeps them from being in step."""

    @abstractmethod
    def bound_to(self, grant: Grant, signing: TransactionSigner | None) -> Calls:
        """Return the carrier of another handle of the same store."""

    def seeing(self, min_commit: int) -> Calls:  # noqa: ARG002 - no read of it is late
        """Return a carrier whose reads see a commit, where they go to a replica."""
        return self

    @abstractmethod
    def close(self) -> None:
        """Close the store, for every handle of it. A second call has no effect."""

    # Calls of their own.

    @abstractmethod
    def ask(self, call: Call[Answer], progress: Progress | None = None) -> Answer:
        """Return the answer of a call; a long one can report its progress."""

    @abstractmethod
    def open_pages(self, call: Call[Item]) -> Pages[Item]:
        """Return the pages of a long answer; the call is checked, and its moment set, here."""

    @abstractmethod
    def write(self, call: WriteCall[Answer], ticket: QueueTicket | None = None) -> Answer:
        """Commit a call that writes in a transaction of its own, and return its answer."""

    @abstractmethod
    def check_claim(self, signing: TransactionSigner) -> None:
        """Raise if the log would not accept the key for its agent."""

    @abstractmethod
    def sign_checkpoint(self, signer: Signer, actor: str) -> SignedCheckpoint:
        """Sign a checkpoint of the log with the caller's own key."""

    # Subscriptions.

    @abstractmethod
    def new_feed(self, call: Subscribe) -> EventFeed:
        """Return the feed of a subscription, which is not open yet."""

    @abstractmethod
    def open_feed(self, feed: EventFeed) -> None:
        """Open a feed, unless it is open: from here on, nothing is missed."""

    @abstractmethod
    def fill_feed(self, feed: EventFeed) -> bool:
        """Fill the buffer of a feed if it is empty; return whether it has any event.

        An empty buffer does not mean that the feed has caught up.
        """

    @abstractmethod
    def is_at_end(self, feed: EventFeed) -> bool:
        """Say of a feed that has caught up whether the log has no more events for it by now."""

    @abstractmethod
    def poll_feed(self, feed: EventFeed) -> None:
        """Poll for events of other processes, and wake every feed if there are any."""

    # Transactions.

    @abstractmethod
    def new_transaction(self, timeout: float, txn_id: str | None) -> OpenTransaction:
        """Return a new transaction, which begins when it is first used."""

    @abstractmethod
    def begin(self, transaction: OpenTransaction) -> None:
        """Fix where a transaction begins, unless that is known."""

    @abstractmethod
    def ask_within(self, transaction: OpenTransaction, call: Call[Answer]) -> Answer:
        """Return the answer of a read inside a transaction."""

    @abstractmethod
    def open_pages_within(self, transaction: OpenTransaction, call: Call[Item]) -> Pages[Item]:
        """Return the pages of a read inside a transaction."""

    @abstractmethod
    def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        """Commit a transaction, and return its commit when it is durable."""

    @abstractmethod
    def give_way(self, commit_ts: int) -> None:
        """After a large commit, wait until the indexer has nearly caught up."""

    def run_staging(
        self, transaction: OpenTransaction, work: Callable[[OpenTransaction], Answer]
    ) -> Answer:
        """Run work that stages many requests in a transaction."""
        return work(transaction)

    # Work of the caller's side, and waiting.

    def run(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Run the work."""
        return work(*args, **kwargs)

    def run_apart(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Run work that mostly waits for a disk or a server."""
        return work(*args, **kwargs)

    def perform(self, work: Callable[[Argument], Answer], argument: Argument) -> Answer:
        """Call a function that the caller passed; refuse a coroutine, which nobody would await."""
        result = work(argument)
        if isinstance(result, Coroutine):
            result.close()
        if isinstance(result, Awaitable):
            raise InvalidInput(
                "work",
                f"{short_repr(work)} is asynchronous, and this store is not: give a plain "
                "function, or open the store with open_async",
            )
        return result

    def back_off(self, attempt: int) -> None:
        """Wait before the next attempt of a call; the first attempt has number 0."""
        clock, ids = self._time
        clock.sleep(RETRY_BACKOFF.seconds(attempt) * jitter(ids))

    def rest(self, seconds: float) -> None:
        """Wait in real time, whatever clock the store has."""
        SystemClock().sleep(seconds)

    def rest_about(self, seconds: float) -> None:
        """Wait in real time for about so long, by chance, so that callers are not in step."""
        self.rest(seconds * jitter(self._time[1]))

    def wait(self, signal: Signal, count: int, seconds: float) -> None:
        """Wait until the signal was set more than `count` times, for `seconds` at most."""
        signal.wait(count, seconds)


def open_transaction(calls: Calls, timeout: float, txn_id: str | None) -> OpenTransaction:
    """Return a new transaction, which begins when it is first used."""
    return calls.new_transaction(timeout, txn_id)


def check_signer(calls: Calls, signing: TransactionSigner | None) -> None:
    """Raise if the log would refuse the key of a signer."""
    if signing is not None:
        calls.check_claim(signing)


def stage_call(_: Calls, transaction: OpenTransaction, call: WriteCall[Any]) -> None:
    """Stage a call in a transaction."""
    stage(transaction, call)


def stage_new(_: Calls, transaction: OpenTransaction, call: WriteCall[Any]) -> str:
    """Stage a call in a transaction, and return the id of what it makes."""
    item_id = stage(transaction, call)
    assert item_id is not None, "it makes something that has an id"
    return item_id


def feed_of(calls: Calls, call: Subscribe) -> EventFeed:
    """Return the feed of a subscription, which is not open yet."""
    return calls.new_feed(call)


def paged(calls: Calls, pages: Pages[Item]) -> Iterator[Item]:
    """Yield the items of a paged result, reading a page when the previous one is used up."""
    while page := calls.run(pages.next_page):
        yield from page


def listed_within(calls: Calls, transaction: OpenTransaction, call: Call[Item]) -> Iterator[Item]:
    """Yield the items of an answer inside a transaction."""
    return paged(calls, calls.open_pages_within(transaction, call))


def listed(calls: Calls, call: Call[Item]) -> Iterator[Item]:
    """Yield the items of an answer; the call is checked, and its moment set, at once."""
    return paged(calls, calls.open_pages(call))


def listed_as(
    calls: Calls, call: Call[Argument], change: Callable[[Argument], Item]
) -> Iterator[Item]:
    """Yield the items of an answer, each converted by a function."""
    return map(change, listed(calls, call))
