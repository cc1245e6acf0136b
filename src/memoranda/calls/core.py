"""The components of an open store, shared by all handles, and its views."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from memoranda.audit.checkpointer import Checkpointer
from memoranda.audit.trusted_keys import KeysView
from memoranda.calls.job_status import JobStatus
from memoranda.errors import InvalidInput
from memoranda.graph.effects import EffectCache
from memoranda.graph.view import GraphView
from memoranda.log import pages
from memoranda.log.commit import idempotency
from memoranda.log.commit.conflict_queue import ConflictQueue
from memoranda.log.commit.group_commit import Committer
from memoranda.log.commit.staged_transaction import Beginning, Draft, Request
from memoranda.log.commit.transaction_signature import Signing
from memoranda.log.erasure.log_search import LogSearch
from memoranda.log.read.as_of import AsOf, Moment, commit_at, resolve_as_of
from memoranda.log.read.scope_index import LogIndex, ScopeIds
from memoranda.log.read.wakeup import Signal
from memoranda.log.views import Views
from memoranda.memory.view import MemoryView
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.error_codec import ErrorCodec
from memoranda.model.ids import IdSource
from memoranda.model.limits import Limits, check_integer, check_seconds, check_text
from memoranda.search.index.background_indexer import BackgroundIndexer
from memoranda.search.index.view import SearchView
from memoranda.search.vectors.vector_index import VectorIndex
from memoranda.state.key_cache import KeyHeadCache
from memoranda.state.view import StateView
from memoranda.storage.memory_budget import MemoryBudget
from memoranda.storage.port import Engine
from memoranda.why.stale_notices import StaleNotices

# The registry of views: every view a store has.


def all_views(
    effects: EffectCache | None = None,
    search: SearchView | None = None,
    heads: KeyHeadCache | None = None,
    budget: MemoryBudget | None = None,
) -> Views:
    """Return a new instance of every view, in the order in which they apply an event.

    A set serves one database, since views cache rows of its tables. The search view comes last: its
    documents are derived from the other views. Their caches have shares of the budget.
    """
    scopes = ScopeIds(budget)
    state, memory = StateView(scopes, heads or KeyHeadCache(budget)), MemoryView(budget)
    graph = GraphView(scopes, effects or EffectCache(), budget)
    views = (LogIndex(scopes), state, memory, graph, KeysView(), search or SearchView())
    return Views(views, StaleNotices(scopes, state, memory, graph))


def error_codec() -> ErrorCodec:
    """Return the codec of errors for other processes, which knows the reads of every view."""
    return ErrorCodec(kind for view in all_views().all for kind in view.tracked_reads)


# The components of one open store, shared by every handle and transaction on it.

TIMEOUT = 30.0
"""Default lifetime of a transaction, in seconds, from its beginning to its commit."""
_ANSWER_SECONDS = 1.0
"""Seconds that closing waits for the answers of committed writes, which take milliseconds."""
_MAX_INTEGER = 2**63 - 1
"""The largest integer that databases store."""


class Core(msgspec.Struct, frozen=True):
    """The components of an open store, shared by all handles."""

    engine: Engine
    views: Views
    committer: Committer
    log_id: str
    clock: Clock
    ids: IdSource
    limits: Limits
    signal: Signal
    effects: EffectCache
    heads: KeyHeadCache
    background_indexer: BackgroundIndexer
    vectors: VectorIndex
    budget: MemoryBudget
    """Bounds the caches of this store, and of others that were opened with it."""
    turns: ConflictQueue = msgspec.field(default_factory=ConflictQueue)
    """Orders the retries of transactions of this process that conflict with each other."""
    checkpointer: Checkpointer | None = None
    """Signs checkpoints in the background; None: the store was opened without a signer."""
    replica: Callable[[int], Engine] | None = None
    """Returns an engine whose reads have seen a commit; None: reads go where writes go."""
    min_commit: int = 0
    """The commit that reads of this handle have seen at least."""
    numbers: Engine | None = None
    """The engine that counts commits, if `engine` covers only a part of the store: commit numbers
    are those of the whole log."""
    answering: deque[None] = msgspec.field(default_factory=deque)
    """One entry for each write that may be committed, and whose answer is pending."""
    jobs: Callable[[], Sequence[JobStatus]] = tuple
    """Returns the status of the scheduled jobs, if a server has the store open."""
    owner: int = msgspec.field(default_factory=os.getpid)
    """Process id of the process that opened the store."""

    def close(self) -> None:
        """Write the queued commits, sign a last checkpoint if there is a signer, and close storage.

        Do nothing in a forked child: the threads and the queue belong to its parent.
        """
        if self.owner != os.getpid():
            return
        try:
            if self.checkpointer is not None:
                self.checkpointer.close(self.committer.write_queued)
        finally:
            self.committer.close()
            self._wait_for_answers()
            self.background_indexer.close()
            self.vectors.close()
            self.views.drop_caches()
            self.engine.close()

    def _wait_for_answers(self) -> None:
        """Wait until other threads have read the answers of their commits, for a bounded time."""
        clock = SystemClock()
        until = clock.monotonic() + _ANSWER_SECONDS
        while self.answering and clock.monotonic() < until:
            clock.sleep(_ANSWER_SECONDS / 1000)

    def on_replica(self) -> Core:
        """Return the store as reads see it: its replica, which has every acknowledged commit."""
        if self.replica is None:
            return self
        engine = self.replica(max(self.min_commit, self.committer.last_commit))
        return replace(self, engine=engine)

    def head(self) -> int:
        """Return the number of the last commit; 0 for an empty log."""
        with self.engine.reading() as reader:
            return pages.head_commit(reader)

    def commit_at(self, field: str, moment: Moment | None) -> int:
        """Return the last commit at or before a moment; None means now."""
        with self.engine.reading() as reader:
            if moment is None:
                return pages.head_commit(reader)
            return commit_at(reader, field, moment)

    def as_of(self, at: Moment | None, field: str = "at") -> AsOf:
        """Return the commit and the time that a read is as of; None means now."""
        with self.engine.reading() as reader:
            return resolve_as_of(reader, self.clock, at, field)

    def draft(
        self,
        actor: str,
        timeout: float,
        txn_id: str | None,
        signing: Signing | None = None,
        since: Beginning | None = None,
        *,
        records_no_change: bool = True,
    ) -> Draft:
        """Return a transaction that reads as of the head when it is first used, or as of `since`.

        The beginning is read at first use, because a write that neither reads nor derives ids needs
        none.
        """
        check_timeout(timeout)
        name = self._txn_id(txn_id)

        def begin() -> Beginning:
            with (self.numbers or self.engine).reading() as reader:
                head = pages.head_commit(reader)
                if since is not None:
                    check_integer("since", since.commit_ts, minimum=0, maximum=head)
                    return since
                if txn_id is None:
                    return Beginning(head)
                return Beginning(head, idempotency.era(reader, name, actor, head))

        return Draft(
            txn_id=name,
            idempotent=txn_id is not None,
            actor=actor,
            begin=begin,
            timeout=timeout,
            clock=self.clock,
            limits=self.limits,
            signing=signing,
            records_no_change=records_no_change,
        )

    def request(
        self,
        actor: str,
        staged: msgspec.Struct,
        txn_id: str | None,
        signing: Signing | None = None,
        search: LogSearch | None = None,
        *,
        records_no_change: bool = True,
    ) -> Request:
        """Return a commit request for one staged request that depends on no reads."""
        return Request.of_one(
            staged,
            txn_id=self._txn_id(txn_id),
            idempotent=txn_id is not None,
            actor=actor,
            deadline=self.clock.monotonic() + TIMEOUT,
            limits=self.limits,
            signing=signing,
            search=search,
            records_no_change=records_no_change,
        )

    def _txn_id(self, txn_id: str | None) -> str:
        if txn_id is None:
            return self.ids.unique()
        return check_text("txn_id", txn_id, max_bytes=self.limits.txn_id_bytes)


def check_optional_integer(field: str, value: object, *, minimum: int) -> int | None:
    """Return an integer of 64 bits that is at least `minimum`; or None for None."""
    if value is None:
        return None
    return check_integer(field, value, minimum=minimum, maximum=_MAX_INTEGER)


def check_timeout(timeout: object) -> None:
    """Refuse a timeout that is not a positive number of seconds."""
    if not check_seconds("timeout", timeout):
        raise InvalidInput("timeout", "is 0: give a positive number of seconds")
