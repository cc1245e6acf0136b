"""Carriers for asyncio: how the calls of a handle reach a store while the event loop runs on.

Kept apart from `sdk/calls.py`, so that a program without asyncio does not load it.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from functools import partial
from typing import Any, Generic, ParamSpec, Protocol, Self, TypeVar

from memoranda.audit.checkpoints import SignedCheckpoint
from memoranda.audit.signers import Signer
from memoranda.calls.call import Call, WriteCall
from memoranda.calls.grant import Grant
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.plain import with_own_data
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import CommittedTransaction, stage
from memoranda.errors import InvalidInput
from memoranda.log.commit.conflict_queue import ConflictQueue, QueueTicket
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.read.wakeup import Signal
from memoranda.model.backoff import jitter
from memoranda.model.clock import Clock
from memoranda.model.ids import IdSource
from memoranda.model.limits import Limits, short_repr
from memoranda.sdk.async_staging import Done, Stagings
from memoranda.sdk.calls import RETRY_BACKOFF
from memoranda.sdk.feed import EventFeed
from memoranda.storage.port import Progress

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Argument = TypeVar("Argument")
Item = TypeVar("Item")


class AsyncOpened:
    """A transaction or a subscription, which is opened by `await` or by its first use.

    Opening asks the store, and the event loop must not wait for that. `await` returns the object
    itself.
    """

    def __init__(self, calls: AsyncCalls, open_now: Callable[[], Awaitable[object]]) -> None:
        self._calls = calls
        self._open_now = open_now

    def __await__(self) -> Generator[Any, None, Self]:
        return self._opened().__await__()

    async def _opened(self) -> Self:
        await self._open_now()
        return self


class AsyncPages(Protocol[Item]):
    """A long result in pages."""

    def next_page(self) -> Coroutine[Any, Any, list[Item]]:
        """Return the next items; an empty list at the end."""
        ...

    def close(self) -> None:
        """Release the pages that are not read; no task may be reading one."""
        ...


class AsyncCalls(ABC):
    """A carrier of calls for one handle, for asyncio: see `Calls`, which has the same methods."""

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
    def bound_to(self, grant: Grant, signing: TransactionSigner | None) -> AsyncCalls:
        """Return the carrier of another handle of the same store."""

    def seeing(self, min_commit: int) -> AsyncCalls:  # noqa: ARG002 - no read of it is late
        """Return a carrier whose reads see a commit, where they go to a replica."""
        return self

    @abstractmethod
    async def close(self) -> None:
        """Close the store, for every handle of it. A second call has no effect."""

    # Calls of their own.

    @abstractmethod
    async def ask(self, call: Call[Answer], progress: Progress | None = None) -> Answer:
        """Return the answer of a call; a long one can report its progress."""

    @abstractmethod
    async def open_pages(self, call: Call[Item]) -> AsyncPages[Item]:
        """Return the pages of a long answer; the call is checked, and its moment set, here."""

    @abstractmethod
    async def write(self, call: WriteCall[Answer], ticket: QueueTicket | None = None) -> Answer:
        """Commit a call that writes in a transaction of its own, and return its answer."""

    @abstractmethod
    async def sign_checkpoint(self, signer: Signer, actor: str) -> SignedCheckpoint:
        """Sign a checkpoint of the log with the caller's own key."""

    # Subscriptions.

    @abstractmethod
    def new_feed(self, call: Subscribe) -> EventFeed:
        """Return the feed of a subscription, which is not open yet."""

    @abstractmethod
    async def open_feed(self, feed: EventFeed) -> None:
        """Open a feed, unless it is open: from here on, nothing is missed."""

    @abstractmethod
    async def fill_feed(self, feed: EventFeed) -> bool:
        """Fill the buffer of a feed if it is empty; return whether it has any event.

        An empty buffer does not mean that the feed has caught up.
        """

    @abstractmethod
    async def is_at_end(self, feed: EventFeed) -> bool:
        """Say of a feed that has caught up whether the log has no more events for it by now."""

    @abstractmethod
    async def poll_feed(self, feed: EventFeed) -> None:
        """Poll for events of other processes, and wake every feed if there are any."""

    # Transactions.

    @abstractmethod
    def new_transaction(self, timeout: float, txn_id: str | None) -> OpenTransaction:
        """Return a new transaction, which begins when it is first used."""

    @abstractmethod
    async def begin(self, transaction: OpenTransaction) -> None:
        """Fix where a transaction begins, unless that is known."""

    def stage(self, transaction: OpenTransaction, call: WriteCall[Any]) -> Awaitable[Any]:
        """Stage a call in a transaction; awaiting it gives the id of what it makes.

        A call that reads nothing is staged here and now. Others are staged in a thread, one after
        another, with the arguments as they are now; the next read and the commit wait for them,
        whether they are awaited or not.
        """
        transaction.draft.check()  # here: nothing waits for a staging after the end
        stagings = Stagings.of(transaction)
        if stagings.is_idle and not call.looks_up and transaction.draft.has_begun:
            return Done(stage(transaction, call))
        own = with_own_data(call, transaction.limits)
        return stagings.add(lambda: self.run(stage, transaction, own))

    @abstractmethod
    async def run_staging(
        self, transaction: OpenTransaction, work: Callable[[OpenTransaction], Answer]
    ) -> Answer:
        """Run work that stages many requests in a transaction."""

    @abstractmethod
    async def ask_within(self, transaction: OpenTransaction, call: Call[Answer]) -> Answer:
        """Return the answer of a read inside a transaction."""

    @abstractmethod
    async def open_pages_within(
        self, transaction: OpenTransaction, call: Call[Item]
    ) -> AsyncPages[Item]:
        """Return the pages of a read inside a transaction."""

    @abstractmethod
    async def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        """Commit a transaction, and return its commit when it is durable."""

    @abstractmethod
    async def give_way(self, commit_ts: int) -> None:
        """After a large commit, wait until the indexer has nearly caught up."""

    # Work of the caller's side, and waiting.

    @abstractmethod
    async def run(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Run short work in a thread."""

    async def run_apart(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Run work that mostly waits for a disk or a server, in a thread outside the lanes."""
        return await asyncio.to_thread(work, *args, **kwargs)

    async def perform(
        self, work: Callable[[Argument], Awaitable[Answer]], argument: Argument
    ) -> Answer:
        """Call an asynchronous function that the caller passed, and await it."""
        result = work(argument)
        if not isinstance(result, Awaitable):
            raise InvalidInput(
                "work",
                f"{short_repr(work)} is not asynchronous: give an async function here, or open the "
                "store with open",
            )
        return await result

    async def back_off(self, attempt: int) -> None:
        """Wait before the next attempt of a call; the first attempt has number 0."""
        clock, ids = self._time
        await asyncio.to_thread(clock.sleep, RETRY_BACKOFF.seconds(attempt) * jitter(ids))

    async def rest(self, seconds: float) -> None:
        """Wait in real time, whatever clock the store has."""
        await asyncio.sleep(seconds)

    async def rest_about(self, seconds: float) -> None:
        """Wait in real time for about so long, by chance, so that callers are not in step."""
        await self.rest(seconds * jitter(self._time[1]))

    async def wait(self, signal: Signal, count: int, seconds: float) -> None:
        """Wait until the signal was set more than `count` times, for `seconds` at most."""
        loop, signalled = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed, and no task waits
                loop.call_soon_threadsafe(signalled.set)

        watcher = signal.watch(wake)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    if signal.count <= count:
                        await signalled.wait()
        finally:
            signal.unwatch(watcher)


class AsyncListing(Generic[Item]):
    """The items of a long answer, which are read in pages.

    The first item opens it, or awaiting it does: then the arguments are checked, and the moment is
    set as of which it is read. `await` returns the listing itself. Tasks that share it take turns.
    If one is cancelled, the next task gets the page that was being read.
    """

    def __init__(
        self,
        open_pages: Callable[[], Coroutine[Any, Any, AsyncPages[Any]]],
        change: Callable[[Any], Item] | None = None,
    ) -> None:
        self._open_pages = open_pages
        self._change = change
        """Converts a record that was read to an item; None: the record is the item."""
        self._turn = asyncio.Lock()
        self._pages: AsyncPages[Any] | None = None
        self._page: asyncio.Task[list[Any]] | None = None
        """The page that is being read."""
        self._items: deque[Item] = deque()
        self._is_finished = False

    def __await__(self) -> Generator[Any, None, AsyncListing[Item]]:
        return self._opened().__await__()

    def __aiter__(self) -> AsyncListing[Item]:
        return self

    async def __anext__(self) -> Item:
        async with self._turn:
            if not self._items and not self._is_finished:
                page = await self._next_page()
                self._items.extend(page if self._change is None else map(self._change, page))
                self._is_finished = not self._items
            if not self._items:
                raise StopAsyncIteration
            return self._items.popleft()

    async def aclose(self) -> None:
        """End the listing, and release its pages."""
        async with self._turn:
            if self._page is None and self._pages is not None:
                self._pages.close()
            self._is_finished, self._pages = True, None
            self._items.clear()

    async def _opened(self) -> AsyncListing[Item]:
        async with self._turn:
            await self._open()
        return self

    async def _open(self) -> AsyncPages[Any]:
        if self._pages is None:
            self._pages = await self._open_pages()
        return self._pages

    async def _next_page(self) -> list[Any]:
        pages = await self._open()
        if self._page is None:
            self._page = asyncio.create_task(pages.next_page())
        try:
            return await asyncio.shield(self._page)
        finally:
            if self._page.done():
                self._page = None


def async_open_transaction(
    calls: AsyncCalls, timeout: float, txn_id: str | None
) -> OpenTransaction:
    """Return a new transaction, which begins when it is first used."""
    return calls.new_transaction(timeout, txn_id)


def async_check_signer(_: AsyncCalls, __: TransactionSigner | None) -> None:
    """Do nothing: binding a handle must not read, so the first commit checks the key."""


def async_stage_call(
    calls: AsyncCalls, transaction: OpenTransaction, call: WriteCall[Any]
) -> Awaitable[None]:
    """Stage a call in a transaction."""
    return calls.stage(transaction, call)


def async_stage_new(
    calls: AsyncCalls, transaction: OpenTransaction, call: WriteCall[Any]
) -> Awaitable[str]:
    """Stage a call in a transaction; awaiting it gives the id of what it makes."""
    return calls.stage(transaction, call)


def async_feed_of(calls: AsyncCalls, call: Subscribe) -> EventFeed:
    """Return the feed of a subscription, which is not open yet."""
    return calls.new_feed(call)


def async_listed_within(
    calls: AsyncCalls, transaction: OpenTransaction, call: Call[Item]
) -> AsyncIterator[Item]:
    """Return the items of an answer inside a transaction."""
    return AsyncListing(partial(calls.open_pages_within, transaction, call))


def async_listed(calls: AsyncCalls, call: Call[Item]) -> AsyncIterator[Item]:
    """Return the items of a call's answer."""
    return AsyncListing(partial(calls.open_pages, call))


def async_listed_as(
    calls: AsyncCalls, call: Call[Argument], change: Callable[[Argument], Item]
) -> AsyncIterator[Item]:
    """Return the items of a call's answer, each converted by a function."""
    return AsyncListing(partial(calls.open_pages, call), change)
