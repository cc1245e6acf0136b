"""The local carrier: the handler of a call runs at once, in the caller's thread."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

from memoranda.audit.checkpoints import SignedCheckpoint
from memoranda.audit.signers import Signer
from memoranda.audit.trusted_keys import KeyRules, TrustRequest
from memoranda.calls.call import Call, WriteCall
from memoranda.calls.core import Core
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.open_transaction import OpenTransaction
from memoranda.calls.registry import handle, stage_write
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import CommittedTransaction, describe_commit
from memoranda.calls.within import read_within
from memoranda.calls.write import StagedTransaction, StagedWrite
from memoranda.errors import InvalidInput, LinkCycle, NotFound, ReflectionTooDeep
from memoranda.log.commit.conflict_queue import ConflictQueue, QueueTicket
from memoranda.log.commit.outcome import CommitResult
from memoranda.log.commit.transaction_signature import TransactionSigner
from memoranda.log.pages import Pages
from memoranda.model.clock import Clock
from memoranda.model.ids import IdSource
from memoranda.model.limits import Limits
from memoranda.sdk.calls import Calls
from memoranda.sdk.feed import EventFeed
from memoranda.sdk.local.feed import LocalFeed
from memoranda.sdk.signers import log_signer
from memoranda.storage.port import Progress

Answer = TypeVar("Answer")
Item = TypeVar("Item")


class LocalCalls(Calls):
    """Runs handlers on an open store, in the calling thread, which waits for them."""

    def __init__(
        self, core: Core, grant: Grant = EVERYTHING, signing: TransactionSigner | None = None
    ) -> None:
        self.core = core
        self._grant = grant
        self._signing = signing
        """Signs what this handle commits; None: it is not signed."""

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

    def bound_to(self, grant: Grant, signing: TransactionSigner | None) -> LocalCalls:
        """Return the carrier of another handle of the same store."""
        return type(self)(self.core, grant, signing)

    def seeing(self, min_commit: int) -> LocalCalls:
        """Return a carrier whose reads see a commit, where they go to a replica."""
        if self.core.min_commit < min_commit:
            self.core = replace(self.core, min_commit=min_commit)
        return self

    def close(self) -> None:
        """Close the store."""
        self.core.close()

    def ask(self, call: Call[Answer], progress: Progress | None = None) -> Answer:
        """Return what the handler answers."""
        return handle(self.core, self._grant, call, progress, self._signing)

    def open_pages(self, call: Call[Item]) -> Pages[Item]:
        """Return the pages of a call that has a long answer."""
        pages: Any = handle(self.core, self._grant, call)
        return pages  # type: ignore[no-any-return]

    def write(
        self,
        call: WriteCall[Answer],
        ticket: QueueTicket | None = None,
        *,
        is_named: bool = True,
    ) -> Answer:
        """Commit a call that writes in a transaction of its own, and return its answer.

        `is_named`: whether the caller chose the `txn_id`, as `StagedWrite` explains.
        """
        core = self.core
        staged = stage_write(core, self._grant, call, self._signing, is_named=is_named)
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

    def check_claim(self, signing: TransactionSigner) -> None:
        """Raise if the log would not accept the key for its agent."""
        claim = signing.claim
        assert isinstance(claim, TrustRequest), "it claims a key for an agent"
        with self.core.engine.reading() as reader:
            list(KeyRules(reader).decide(claim))

    def sign_checkpoint(self, signer: Signer, actor: str) -> SignedCheckpoint:
        """Sign a checkpoint of the log."""
        return log_signer(self.core, signer, actor).sign()

    def new_feed(self, call: Subscribe) -> LocalFeed:
        """Return the feed of a subscription."""
        return LocalFeed(self.core, self._grant, call)

    def open_feed(self, feed: EventFeed) -> None:
        """Open a feed of this store."""
        local_feed(feed).open()

    def fill_feed(self, feed: EventFeed) -> bool:
        """Read the next page if the buffer is empty."""
        return local_feed(feed).fill()

    def is_at_end(self, feed: EventFeed) -> bool:  # noqa: ARG002
        """Return True: the feed has just read to the end of the log."""
        return True

    def poll_feed(self, feed: EventFeed) -> None:
        """Read the head of the log."""
        local_feed(feed).poll()

    def new_transaction(self, timeout: float, txn_id: str | None) -> OpenTransaction:
        """Return a new transaction, which begins when it is first used."""
        assert self._grant.covers_everything, "others send their transactions as data"
        actor = self._grant.acting(None)
        draft = self.core.draft(actor, timeout, txn_id, self._signing)
        return OpenTransaction.of(self.core, self._grant, draft)

    def begin(self, transaction: OpenTransaction) -> None:
        """Read where the log ends now."""
        transaction.draft.begin()

    def ask_within(self, transaction: OpenTransaction, call: Call[Answer]) -> Answer:
        """Return the answer of a read inside a transaction."""
        answer: Answer = read_within(self.core, transaction, call)
        return answer

    def open_pages_within(self, transaction: OpenTransaction, call: Call[Item]) -> Pages[Item]:
        """Return the pages of a read inside a transaction."""
        pages: Pages[Item] = read_within(self.core, transaction, call)
        return pages

    def commit(
        self, transaction: OpenTransaction, ticket: QueueTicket | None
    ) -> CommittedTransaction:
        """Commit a transaction, and return its commit when it is durable."""
        core, staged = self.core, StagedTransaction(transaction)
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
        for seconds in self.core.background_indexer.pauses(commit_ts):
            self.rest(seconds)

    def _commit(
        self, staged: StagedWrite[Any] | StagedTransaction, ticket: QueueTicket | None
    ) -> CommitResult:
        request = staged.request
        if ticket is not None:
            ticket.check(request.reads)
        try:
            result = self.core.committer.commit(request)
        except (InvalidInput, NotFound) as error:
            raise staged.named_by_caller(error) from error
        except (LinkCycle, ReflectionTooDeep) as error:
            raise staged.masked(error) from None
        return result


def local_feed(feed: EventFeed) -> LocalFeed:
    """Return the feed of a subscription, which a local carrier has created."""
    assert isinstance(feed, LocalFeed), "a feed is of the carrier that made it"
    return feed
