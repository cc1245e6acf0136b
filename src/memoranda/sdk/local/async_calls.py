"""The local carrier for asyncio: handlers run in threads, while the event loop runs on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

from msgspec.structs import replace

from memoranda.audit.checkpoints import SignedCheckpoint
from memoranda.audit.signers import Signer
from memoranda.calls.call import Call, Lane, WriteCall
from memoranda.calls.core import Core
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.registry import handle, may_read_to_stage, stage_write
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import CommittedTransaction, describe_commit
from memoranda.calls.within import read_within
from memoranda.calls.write import StagedTransaction, StagedWrite
from memoranda.log.commit.conflict_queue import ConflictQueue, QueueTicket
from memoranda.log.commit.outcome import CommitResult
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.pages import Pages
from memoranda.model.clock import Clock
from memoranda.model.ids import IdSource
from memoranda.model.limits import Limits
from memoranda.sdk.async_calls import AsyncCalls, AsyncPages
from memoranda.sdk.async_staging import Stagings
from memoranda.sdk.feed import EventFeed
from memoranda.sdk.lanes import Lanes, yielding
from memoranda.sdk.local.calls import local_feed
from memoranda.sdk.local.feed import LocalFeed
from memoranda.sdk.local.submitted_writes import LoopChannel, SubmittedWrite
from memoranda.sdk.signers import log_signer
from memoranda.storage.port import Progress

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Item = TypeVar("Item")


class LanePages(Generic[Item]):
    """The pages of an answer, each read in a thread of the call's lane."""

    def __init__(self, lanes: Lanes, lane: Lane, pages: Pages[Item]) -> None:
        self._lanes = lanes
        self._lane = lane
        self._pages = pages

    async def next_page(self) -> list[Item]:
        """Return the next items; an empty list at the end."""
        return await self._lanes.submit(self._lane, self._pages.next_page)

    def close(self) -> None:
        """Do nothing: between two pages, no resource is held."""


class AsyncLocalCalls(AsyncCalls):
    """Runs handlers on an open store, in threads, while the event loop runs on."""

    def __init__(
        self,
        core: Core,
        grant: Grant = EVERYTHING,
        signing: TransactionSigner | None = None,
        lanes: Lanes | None = None,
        channels: threading.local | None = None,
    ) -> None:
        self.core = core
        self._grant = grant
        self._signing = signing
        """Signs what this handle commits; None: it is not signed."""
        self._lanes = lanes or Lanes()
        self._channels = channels or threading.local()
        """Holds the channel of the event loop that runs in the current thread."""

    @property
    def place(self) -> str:
        """The path of the store."""
        return self.core.engine.name

    @property
    def is_closed(self) -> bool:
        """Whether the store is closed."""
        return self.core.engine.is_closed

    @property
    def limits(self) -> Limits:
        """The limits of the store."""
        return self.core.limits

    @property
    def turns(self) -> ConflictQueue:
        """The conflict queue of the store."""
        return self.core.turns

    @property
    def _time(self) -> tuple[Clock, IdSource]:
        return self.core.clock, self.core.ids

    def bound_to(self, grant: Grant, signing: TransactionSigner | None) -> AsyncLocalCalls:
        """Return the carrier of another handle of the same store."""
        return type(self)(self.core, grant, signing, self._lanes, self._channels)

    def seeing(self, min_commit: int) -> AsyncLocalCalls:
        """Return a carrier whose reads see a commit, where they go to a replica."""
        if self.core.min_commit < min_commit:
            self.core = replace(self.core, min_commit=min_commit)
        return self

    async def close(self) -> None:
        """Close the store, however full its lanes are."""
        await asyncio.to_thread(self.core.close)
        self._lanes.close()

    async def ask(self, call: Call[Answer], progress: Progress | None = None) -> Answer:
        """Return what the handler answers, from a thread of the call's lane."""
        if call.local_only is not None:  # it mostly waits for a disk
            work = partial(handle, self.core, self._grant, call, progress, self._signing)
            return await asyncio.to_thread(work)
        if call.lane == "long":
            return await self._ask_long(call, progress)
        work = partial(handle, self.core, self._grant, call, None, self._signing)
        return await self._lanes.submit_call(call.lane, work)

    async def ask_encoded(self, call: Call[Answer], encode: Callable[[Answer], bytes]) -> bytes:
        """Return the encoded answer of a call that is not long, made in the thread that answers.

        An event loop that encoded a large answer would keep all other callers waiting.
        """
        assert call.lane != "long", "a long call is asked, and its progress reported"

        def work() -> bytes:
            return encode(handle(self.core, self._grant, call, None, self._signing))

        return await self._lanes.submit_call(call.lane, work)

    async def _ask_long(self, call: Call[Answer], progress: Progress | None) -> Answer:
        """Answer a long call; when its caller is cancelled, it ends at the next step it reports."""
        abandoned = threading.Event()
        report = yielding(progress, abandoned)
        work = partial(handle, self.core, self._grant, call, report, self._signing)
        try:
            return await self._lanes.submit_call(call.lane, work)
        except asyncio.CancelledError:
            abandoned.set()
            raise

    async def open_pages(self, call: Call[Item]) -> AsyncPages[Item]:
        """Return the pages of a call that has a long answer."""
        work: Any = partial(handle, self.core, self._grant, call)
        return LanePages(self._lanes, call.lane, await self._lanes.submit_call(call.lane, work))

    async def ask_pages(self, call: Call[Item], read: Callable[[Pages[Item]], Answer]) -> Answer:
        """Return what a function reads of the pages of a call, all in one thread of its lane."""

        def work() -> Answer:
            pages: Any = handle(self.core, self._grant, call)
            return read(pages)

        return await self._lanes.submit_call(call.lane, work)

    async def write(
        self,
        call: WriteCall[Answer],
        ticket: QueueTicket | None = None,
        *,
        is_named: bool = True,
    ) -> Answer:
        """Commit a call that writes in a transaction of its own, and return its answer.

        `is_named`: whether the caller chose the `txn_id`, as `StagedWrite` explains.
        """
        work = partial(stage_write, self.core, self._grant, call, self._signing, is_named=is_named)
        if may_read_to_stage(self._grant, call):
            staged: StagedWrite[Answer] = await self._lanes.submit_call(call.lane, work)
        else:
            staged = work()
        self.core.answering.append(None)
        try:
            result = await self._commit(staged, ticket)
            answer = staged.answer_from_memory(result)
            if answer is None:
                answer = await self._lanes.submit(call.lane, partial(staged.answer, result))
        finally:
            self.core.answering.pop()
        if staged.has_transaction:
            await self.give_way(result.commit_ts)
        return answer

    async def sign_checkpoint(self, signer: Signer, actor: str) -> SignedCheckpoint:
        """Sign a checkpoint of the log, in a thread for calls that write much."""
        return await self._lanes.submit("search", log_signer(self.core, signer, actor).sign)

    def new_feed(self, call: Subscribe) -> LocalFeed:
        """Return the feed of a subscription."""
        return LocalFeed(self.core, self._grant, call)

    async def open_feed(self, feed: EventFeed) -> None:
        """Open a feed of this store."""
        await self.run(local_feed(feed).open)

    async def fill_feed(self, feed: EventFeed) -> bool:
        """Read the next page if the buffer is empty."""
        return await self.run(local_feed(feed).fill)

    async def is_at_end(self, feed: EventFeed) -> bool:  # noqa: ARG002
        """Return True: the feed has just read to the end of the log."""
        return True

    async def poll_feed(self, feed: EventFeed) -> None:
        """Read the head of the log."""
        await self.run(local_feed(feed).poll)

    def new_transaction(self, timeout: float, txn_id: str | None) -> OpenTransaction:
        """Return a new transaction, which begins when it is first used."""
        assert self._grant.covers_everything, "others send their transactions as data"
        actor = self._grant.acting(None)
        draft = self.core.draft(actor, timeout, txn_id, self._signing)
        return OpenTransaction.of(self.core, self._grant, draft)

    async def begin(self, transaction: OpenTransaction) -> None:
        """Read where the log ends now."""
        await self.run(transaction.draft.begin)

    async def run_staging(
        self, transaction: OpenTransaction, work: Callable[[OpenTransaction], Answer]
    ) -> Answer:
        """Run work that stages many requests in a transaction."""
        await Stagings.of(transaction).wait()
        return await self._lanes.submit("search", partial(work, transaction))

    async def ask_within(self, transaction: OpenTransaction, call: Call[Answer]) -> Answer:
        """Return the answer of a read inside a transaction."""
        await Stagings.of(transaction).wait()
        work: Any = partial(read_within, self.core, transaction, call)
        answer: Answer = await self._lanes.submit_call("short", work)
        return answer

    async def open_pages_within(
        self, transaction: OpenTransaction, call: Call[Item]
    ) -> AsyncPages[Item]:
        """Return the pages of a read inside a transaction."""
        await Stagings.of(transaction).wait()
        work: Any = partial(read_within, self.core, transaction, call)
        return LanePages(self._lanes, "short", await self._lanes.submit_call("short", work))

    async def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        """Commit a transaction, and return its commit when it is durable."""
        await Stagings.of(transaction).wait()
        core, staged = self.core, StagedTransaction(transaction)
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
        for seconds in self.core.background_indexer.pauses(commit_ts):
            await self.rest(seconds)

    async def run(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Do a short part of a call in a thread."""
        return await self._lanes.submit("short", partial(work, *args, **kwargs))

    def submit(self, staged: StagedWrite[Any] | StagedTransaction) -> SubmittedWrite:
        """Queue a staged write behind earlier ones; raise `StoreBusy` if the queue is full."""
        return SubmittedWrite(self.channel(), staged)

    async def _commit(
        self, staged: StagedWrite[Any] | StagedTransaction, ticket: QueueTicket | None
    ) -> CommitResult:
        if ticket is not None:
            ticket.check(staged.request.reads)
        return await self.submit(staged).decided()

    def channel(self) -> LoopChannel:
        """Return the channel of the event loop that runs in this thread."""
        loop = asyncio.get_running_loop()
        channel: LoopChannel | None = getattr(self._channels, "channel", None)
        if channel is None or channel.loop is not loop:
            channel = self._channels.channel = LoopChannel(loop, self.core.committer)
        return channel
