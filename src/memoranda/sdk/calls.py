"""How a store's work is called: at once, in the caller's thread.

The classes of `sdk/store/` and `sdk/transaction/` do everything that may wait through `Calls`. The
asynchronous classes generated from them use `AsyncCalls` (`sdk/async_calls.py`) instead; that is
the whole difference. Both are local carriers of calls: they run the handlers in this process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, ParamSpec, TypeVar

from memoranda.audit.trusted_keys import KeyRules, TrustRequest
from memoranda.calls.call import Call, WriteCall
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.registry import handle, stage_write
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import CommittedTransaction, describe_commit, stage
from memoranda.calls.within import read_within
from memoranda.calls.write import StagedTransaction, StagedWrite
from memoranda.errors import InvalidInput, LinkCycle, NotFound, ReflectionTooDeep
from memoranda.log.commit.conflict_queue import QueueTicket
from memoranda.log.commit.outcome import CommitResult
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.pages import Pages
from memoranda.log.read.feed import Feed
from memoranda.log.read.wakeup import Signal
from memoranda.model.clock import SystemClock
from memoranda.model.limits import short_repr
from memoranda.storage.port import Progress

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Argument = TypeVar("Argument")
Item = TypeVar("Item")


class Opened:
    """What is opened when it is made: a transaction, or a subscription."""

    def __init__(self, calls: Calls, open_now: Callable[[], object]) -> None:
        self._calls = calls
        open_now()


class Calls:
    """Runs work in the calling thread, which waits for it."""

    def __init__(self, core: Core, grant: Grant, signing: TransactionSigner | None = None) -> None:
        self._core = core
        self._grant = grant
        self._signing = signing
        """Signs what this handle commits; None: it is not signed."""

    @property
    def place(self) -> str:
        """Where the store is, for a `repr`."""
        return str(self._core.engine.path or ":memory:")

    @property
    def is_closed(self) -> bool:
        """Whether the store is closed."""
        return self._core.engine.is_closed

    def bound_to(self, grant: Grant, signing: TransactionSigner | None) -> Calls:
        """Return the carrier of another handle of the same store."""
        return type(self)(self._core, grant, signing)

    def ask(self, call: Call[Answer], progress: Progress | None = None) -> Answer:
        """Return the answer of a call; a long one can report its progress."""
        return handle(self._core, self._grant, call, progress, self._signing)

    def open_pages(self, call: Call[Item]) -> Pages[Item]:
        """Return the pages of a call that has a long answer."""
        pages: Any = handle(self._core, self._grant, call)
        return pages  # type: ignore[no-any-return]

    def open_feed(self, call: Subscribe) -> Feed:
        """Return the feed of a subscription."""
        feed: Any = handle(self._core, self._grant, call)
        return feed  # type: ignore[no-any-return]

    def write(self, call: WriteCall[Answer], ticket: QueueTicket | None = None) -> Answer:
        """Commit a call that writes in a transaction of its own, and return its answer."""
        core = self._core
        staged = stage_write(core, self._grant, call, self._signing)
        core.answering.append(None)
        try:
            result = self._commit(staged, ticket)
            answer = staged.answer_from_memory(result)
            if answer is None:
                answer = staged.answer(result)
        finally:
            core.answering.pop()
        if staged.has_transaction:
            self.give_way(result.commit_ts)
        return answer

    def begin(self, timeout: float, txn_id: str | None) -> OpenTransaction:
        """Return a new transaction, which begins when it is first used."""
        assert self._grant.covers_everything, "others send their transactions as data"
        actor = self._grant.acting(None)
        draft = self._core.draft(actor, timeout, txn_id, self._signing)
        return OpenTransaction.of(self._core, self._grant, draft)

    def check_claim(self, signing: TransactionSigner) -> None:
        """Raise if the log would refuse that a key signs for its agent."""
        claim = signing.claim
        assert isinstance(claim, TrustRequest), "it claims a key for an agent"
        with self._core.engine.reading() as reader:
            list(KeyRules(reader).decide(claim))

    def run_staging(
        self, transaction: OpenTransaction, work: Callable[[OpenTransaction], Answer]
    ) -> Answer:
        """Do work that stages much in a transaction."""
        return work(transaction)

    def ask_within(self, transaction: OpenTransaction, call: Call[Answer]) -> Answer:
        """Return the answer of a read inside a transaction."""
        answer: Answer = read_within(self._core, transaction, call)
        return answer

    def open_pages_within(self, transaction: OpenTransaction, call: Call[Item]) -> Pages[Item]:
        """Return the pages of a read inside a transaction."""
        pages: Pages[Item] = read_within(self._core, transaction, call)
        return pages

    def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        """Commit a transaction, and return its commit when it is durable."""
        core, staged = self._core, StagedTransaction(transaction)
        core.answering.append(None)
        try:
            if staged.request.is_empty:
                result = CommitResult(core.head())
            else:
                result = self._commit(staged, ticket)
            return describe_commit(core, transaction, result)
        finally:
            core.answering.pop()

    def give_way(self, commit_ts: int) -> None:
        """After a large commit, wait until the indexer has nearly caught up."""
        for seconds in self._core.background_indexer.pauses(commit_ts):
            self.rest(seconds)

    def _commit(
        self, staged: StagedWrite[Any] | StagedTransaction, ticket: QueueTicket | None
    ) -> CommitResult:
        request = staged.request
        if ticket is not None:
            ticket.check(request.reads)
        try:
            result = self._core.committer.commit(request)
        except (InvalidInput, NotFound) as error:
            raise staged.named_by_caller(error) from error
        except (LinkCycle, ReflectionTooDeep) as error:
            raise staged.masked(error) from None
        return result

    def run(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Do the work."""
        return work(*args, **kwargs)

    def run_search(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Do a part of a call that searches much, or writes much."""
        return work(*args, **kwargs)

    def run_apart(
        self, work: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Answer:
        """Do work that mostly waits, for a disk or a server."""
        return work(*args, **kwargs)

    def close(self, work: Callable[[], None]) -> None:
        """Close the store."""
        work()

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

    def sleep(self, seconds: float) -> None:
        """Wait on the store's clock."""
        self._core.clock.sleep(seconds)

    def wait(self, signal: Signal, count: int, seconds: float) -> None:
        """Wait until the signal was set more than `count` times, for `seconds` at most."""
        signal.wait(count, seconds)

    def rest(self, seconds: float) -> None:
        """Wait in real time, whatever clock the store has."""
        SystemClock().sleep(seconds)


def open_transaction(calls: Calls, timeout: float, txn_id: str | None) -> OpenTransaction:
    """Return a new transaction, which begins when it is first used."""
    return calls.begin(timeout, txn_id)


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


def feed_of(calls: Calls, call: Subscribe) -> Feed:
    """Return the feed of a subscription, opened in this thread."""
    return calls.open_feed(call)


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
    """Yield what a function makes of each item of an answer."""
    return map(change, listed(calls, call))
