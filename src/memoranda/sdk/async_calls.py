"""How a store's work is called from asyncio: in a thread, while the event loop runs on.

Kept apart from `sdk/calls.py`, so that a program without asyncio does not load it.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections import deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Sequence,
)
from contextlib import suppress
from functools import partial
from typing import Any, Generic, ParamSpec, Self, TypeVar

from memoranda.calls.call import Call, Lane, WriteCall
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.plain import with_own_data
from memoranda.calls.registry import handle, stage_write
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import CommittedTransaction, describe_commit, stage
from memoranda.calls.within import read_within
from memoranda.calls.write import StagedTransaction, StagedWrite
from memoranda.errors import InvalidInput, LinkCycle, NotFound, ReflectionTooDeep
from memoranda.log.commit.conflict_queue import QueueTicket
from memoranda.log.commit.group_commit import RECHECK_SECONDS, Committer, PendingCommit
from memoranda.log.commit.outcome import CommitResult
from memoranda.log.commit.staged_transaction import Request
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.pages import MappedPages, Pages
from memoranda.log.read.feed import Feed
from memoranda.log.read.wakeup import Signal
from memoranda.model.limits import short_repr
from memoranda.sdk.async_staging import Done, Stagings
from memoranda.sdk.lanes import Lanes, yielding
from memoranda.storage.port import Progress

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Argument = TypeVar("Argument")
Item = TypeVar("Item")


class _LoopChannel:
    """Passes the outcomes of commits to the event loop that awaits them, one wake-up a batch.

    All attributes are used in the loop's own thread. The leader of a batch runs in another one: it
    calls `settle`, which only schedules `_resolve` in the loop. An interrupt can hit the leader
    between writing a batch and `settle`; `_recheck` finds such commits by their outcome.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, committer: Committer) -> None:
        self.loop = loop
        self._committer = committer
        self._futures: dict[PendingCommit, asyncio.Future[None]] = {}
        """The commits that tasks await, and the futures that wake the tasks."""
        self._is_leader_due = False
        """Whether `_ensure_leader` is scheduled in the loop."""
        self._is_recheck_due = False
        """Whether `_recheck` is scheduled in the loop."""

    def commit(self, request: Request) -> PendingCommit:
        """Queue a commit.

        The leader starts after every ready task has run, so that one batch has all their commits.
        """
        pending = self._committer.submit(request, self)
        if not self._is_leader_due:
            self._is_leader_due = True
            atexit.register(self._committer.write_queued)  # in case the loop stops before
            self.loop.call_soon(self._ensure_leader)
        return pending

    def expect(self, pending: PendingCommit) -> asyncio.Future[None]:
        """Return a new future that is done when the commit has an outcome."""
        future = self._futures[pending] = self.loop.create_future()
        if not self._is_recheck_due:
            self.loop.call_later(RECHECK_SECONDS, self._recheck)
            self._is_recheck_due = True
        return future

    def forget(self, pending: PendingCommit) -> None:
        """Drop the future of a commit that was withdrawn."""
        del self._futures[pending]

    def settle(self, settled: Sequence[PendingCommit]) -> None:
        """Wake the tasks of these commits; called by the leader, in its own thread."""
        with suppress(RuntimeError):  # the loop is closed, and no task waits
            self.loop.call_soon_threadsafe(self._resolve, settled)

    def _ensure_leader(self) -> None:
        self._is_leader_due = False
        self._committer.ensure_leader()
        atexit.unregister(self._committer.write_queued)

    def _resolve(self, settled: Sequence[PendingCommit]) -> None:
        for pending in settled:
            future = self._futures.pop(pending, None)
            if future is not None and not future.done():  # else it was cancelled
                future.set_result(None)

    def _recheck(self) -> None:
        """Resolve or recover commits whose leader was interrupted before it told this loop."""
        self._is_recheck_due = False
        self._resolve([pending for pending in self._futures if pending.outcome is not None])
        for pending in self._futures:
            self._committer.recover(pending)
        if self._futures:
            self._is_recheck_due = True
            self.loop.call_later(RECHECK_SECONDS, self._recheck)
            self._ensure_leader()


class AsyncOpened:
    """What is opened by awaiting it, or by its first use: a transaction, or a subscription.

    Opening reads the store, which the event loop must not. `await` returns the object itself.
    """

    def __init__(self, calls: AsyncCalls, open_now: Callable[[], object]) -> None:
        self._calls = calls
        self._open_now = open_now

    def __await__(self) -> Generator[Any, None, Self]:
        return self._opened().__await__()

    async def _opened(self) -> Self:
        await self._calls.run(self._open_now)
        return self


class AsyncCalls:
    """Runs work in threads, while the event loop runs on."""

    def __init__(
        self,
        core: Core,
        grant: Grant,
        signing: TransactionSigner | None = None,
        lanes: Lanes | None = None,
        channels: threading.local | None = None,
    ) -> None:
        self._core = core
        self._grant = grant
        self._signing = signing
        """Signs what this handle commits; None: it is not signed."""
        self._lanes = lanes or Lanes()
        self._channels = channels or threading.local()
        """Holds the channel of the event loop that runs in the current thread."""

    @property
    def place(self) -> str:
        """Where the store is, for a `repr`."""
        return str(self._core.engine.path or ":memory:")

    @property
    def is_closed(self) -> bool:
        """Whether the store is closed."""
        return self._core.engine.is_closed

    def bound_to(self, grant: Grant, signing: TransactionSigner | None) -> AsyncCalls:
        """Return the carrier of another handle of the same store."""
        return type(self)(self._core, grant, signing, self._lanes, self._channels)

    async def ask(self, call: Call[Answer], progress: Progress | None = None) -> Answer:
        """Return the answer of a call; a long one can report its progress."""
        if call.local_only is not None:  # it mostly waits for a disk
            work = partial(handle, self._core, self._grant, call, progress, self._signing)
            return await asyncio.to_thread(work)
        report = yielding(progress) if call.lane == "long" else None
        work = partial(handle, self._core, self._grant, call, report, self._signing)
        return await self._lanes.submit_call(call.lane, work)

    async def open_pages(self, call: Call[Item]) -> Pages[Item]:
        """Return the pages of a call that has a long answer."""
        work: Any = partial(handle, self._core, self._grant, call)
        pages: Pages[Item] = await self._lanes.submit_call(call.lane, work)
        return pages

    def open_feed(self, call: Subscribe) -> Feed:
        """Return the feed of a subscription; called in a thread."""
        feed: Any = handle(self._core, self._grant, call)
        return feed  # type: ignore[no-any-return]

    async def write(self, call: WriteCall[Answer], ticket: QueueTicket | None = None) -> Answer:
        """Commit a call that writes in a transaction of its own, and return its answer."""
        work = partial(stage_write, self._core, self._grant, call, self._signing)
        if call.looks_up or call.txn_id is not None or call.lane != "short":
            staged: StagedWrite[Answer] = await self._lanes.submit_call(call.lane, work)
        else:  # it reads nothing
            staged = work()
        self._core.answering.append(None)
        try:
            result = await self._commit(staged, ticket)
            answer = staged.answer_from_memory(result)
            if answer is None:
                answer = await self._lanes.submit(call.lane, partial(staged.answer, result))
        finally:
            self._core.answering.pop()
        if staged.has_transaction:
            await self.give_way(result.commit_ts)
        return answer

    def begin(self, timeout: float, txn_id: str | None) -> OpenTransaction:
        """Return a new transaction, which begins when it is first used."""
        assert self._grant.covers_everything, "others send their transactions as data"
        actor = self._grant.acting(None)
        draft = self._core.draft(actor, timeout, txn_id, self._signing)
        return OpenTransaction.of(self._core, self._grant, draft)

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

    async def run_staging(
        self, transaction: OpenTransaction, work: Callable[[OpenTransaction], Answer]
    ) -> Answer:
        """Do work that stages much in a transaction."""
        await Stagings.of(transaction).wait()
        return await self.run_search(work, transaction)

    async def ask_within(self, transaction: OpenTransaction, call: Call[Answer]) -> Answer:
        """Return the answer of a read inside a transaction."""
        await Stagings.of(transaction).wait()
        work: Any = partial(read_within, self._core, transaction, call)
        answer: Answer = await self._lanes.submit_call("short", work)
        return answer

    async def open_pages_within(
        self, transaction: OpenTransaction, call: Call[Item]
    ) -> Pages[Item]:
        """Return the pages of a read inside a transaction."""
        await Stagings.of(transaction).wait()
        work: Any = partial(read_within, self._core, transaction, call)
        pages: Pages[Item] = await self._lanes.submit_call("short", work)
        return pages

    async def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        """Commit a transaction, and return its commit when it is durable."""
        await Stagings.of(transaction).wait()
        core, staged = self._core, StagedTransaction(transaction)
        core.answering.append(None)
        try:
            if staged.request.is_empty:
                result = CommitResult(await self.run(core.head))
            else:
                result = await self._commit(staged, ticket)
            if result.applied is not None:
                return describe_commit(core, transaction, result)
            return await self.run(describe_commit, core, transaction, result)
        finally:
            core.answering.pop()

    async def give_way(self, commit_ts: int) -> None:
        """After a large commit, wait until the indexer has nearly caught up."""
        for seconds in self._core.background_indexer.pauses(commit_ts):
            await self.rest(seconds)

    async def _commit(
        self, staged: StagedWrite[Any] | StagedTransaction, ticket: QueueTicket | None
    ) -> CommitResult:
        request = staged.request
        if ticket is not None:
            ticket.check(request.reads)
        try:
            result = await self._commit_request(request)
        except (InvalidInput, NotFound) as error:
            raise staged.named_by_caller(error) from error
        except (LinkCycle, ReflectionTooDeep) as error:
            raise staged.masked(error) from None
        return result

    async def read_page(self, lane: Lane, pages: Pages[Item]) -> list[Item]:
        """Return the next page of an answer."""
        return await self._lanes.submit(lane, pages.next_page)

    async def run(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Do a short part of a call."""
        return await self._lanes.submit("short", partial(work, *args, **kwargs))

    async def run_search(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Do a part of a call that searches much, or writes much."""
        return await self._lanes.submit("search", partial(work, *args, **kwargs))

    async def run_apart(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Do work that mostly waits, for a disk or a server, in a thread of no lane."""
        return await asyncio.to_thread(work, *args, **kwargs)

    async def close(self, work: Callable[[], None]) -> None:
        """Close the store, however full its lanes are."""
        await asyncio.to_thread(work)
        self._lanes.close()

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

    async def _commit_request(self, request: Request) -> CommitResult:
        """Commit a request, and wait until it is durable.

        Cancelling withdraws the commit if no leader has taken it yet; otherwise it completes first.
        """
        committer = self._core.committer
        channel = self._channel(committer)
        pending = channel.commit(request)
        try:
            await channel.expect(pending)
        except asyncio.CancelledError:
            if committer.withdraw(pending):
                channel.forget(pending)
            elif pending.outcome is None:
                await channel.expect(pending)
            raise
        return pending.result()

    def _channel(self, committer: Committer) -> _LoopChannel:
        loop = asyncio.get_running_loop()
        channel: _LoopChannel | None = getattr(self._channels, "channel", None)
        if channel is None or channel.loop is not loop:
            channel = self._channels.channel = _LoopChannel(loop, committer)
        return channel

    async def sleep(self, seconds: float) -> None:
        """Wait on the store's clock."""
        await asyncio.to_thread(self._core.clock.sleep, seconds)

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

    async def rest(self, seconds: float) -> None:
        """Wait in real time, whatever clock the store has."""
        await asyncio.sleep(seconds)


class AsyncListing(Generic[Item]):
    """The items of a long answer, which are read in pages.

    The first item opens it, or awaiting it does: then the arguments are checked, and the moment is
    set as of which it is read. `await` returns the listing itself. Tasks that share it take turns,
    and whoever is cancelled leaves the page that was being read to the next one.
    """

    def __init__(
        self,
        calls: AsyncCalls,
        open_pages: Callable[[], Coroutine[Any, Any, Pages[Item]]],
        lane: Lane = "short",
    ) -> None:
        self._calls = calls
        self._open_pages = open_pages
        self._lane = lane
        self._turn = asyncio.Lock()
        self._pages: Pages[Item] | None = None
        self._page: asyncio.Task[list[Item]] | None = None
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
                self._items.extend(await self._next_page())
                self._is_finished = not self._items
            if not self._items:
                raise StopAsyncIteration
            return self._items.popleft()

    async def aclose(self) -> None:
        """End the listing, and let go of what it reads."""
        async with self._turn:
            self._is_finished, self._pages = True, None
            self._items.clear()

    async def _opened(self) -> AsyncListing[Item]:
        async with self._turn:
            await self._open()
        return self

    async def _open(self) -> Pages[Item]:
        if self._pages is None:
            self._pages = await self._open_pages()
        return self._pages

    async def _next_page(self) -> list[Item]:
        pages = await self._open()
        if self._page is None:
            self._page = asyncio.create_task(self._calls.read_page(self._lane, pages))
        try:
            return await asyncio.shield(self._page)
        finally:
            if self._page.done():
                self._page = None


def async_open_transaction(
    calls: AsyncCalls, timeout: float, txn_id: str | None
) -> OpenTransaction:
    """Return a new transaction, which begins when it is first used."""
    return calls.begin(timeout, txn_id)


def async_check_signer(_: AsyncCalls, __: TransactionSigner | None) -> None:
    """Leave a key that the log refuses to the first commit: binding a handle must not read."""


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


def async_feed_of(calls: AsyncCalls, call: Subscribe) -> Feed:
    """Return the feed of a subscription, opened in this thread."""
    return calls.open_feed(call)


def async_listed_within(
    calls: AsyncCalls, transaction: OpenTransaction, call: Call[Item]
) -> AsyncIterator[Item]:
    """Return the items of an answer inside a transaction."""
    return AsyncListing(calls, partial(calls.open_pages_within, transaction, call))


def async_listed(calls: AsyncCalls, call: Call[Item]) -> AsyncIterator[Item]:
    """Return the items of a call's answer."""
    return AsyncListing(calls, partial(calls.open_pages, call), call.lane)


def async_listed_as(
    calls: AsyncCalls, call: Call[Argument], change: Callable[[Argument], Item]
) -> AsyncIterator[Item]:
    """Return what a function makes of each item of a call's answer."""

    async def opened() -> Pages[Item]:
        return MappedPages(await calls.open_pages(call), change)

    return AsyncListing(calls, opened, call.lane)
