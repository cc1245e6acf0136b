"""Group commit: transactions queue, one thread leads, and a whole batch shares one disk sync.

A commit is handled in one of four ways. `commit` and `submit` decide which:

1. The queue is empty, there is no leader and the last batch had one commit: the calling thread
   becomes the leader and writes its own request at once, without the queue (`_try_lead_alone`).
2. There is no leader: the thread queues its request and becomes the leader. It writes a batch from
   the front of the queue, delivers every outcome, and repeats until its own commit is written.
   Then it gives up leadership and wakes the first thread of the queue.
3. There is a leader: the thread queues its request and waits. It is woken either with its outcome
   or because leadership is free and it is first in the queue. Then case 2 applies.
4. The request comes from an event loop: a worker thread leads until the queue is empty, and
   notifies each loop once per batch. Stores of one process can share worker threads (`leaders`).
   Then it leads for one batch, and queues again behind the other stores for the next.

Commits that were written together often come back together. So a leader whose last batch had
several commits waits for as many again, as long as more keep arriving: one large batch costs much
less than two small ones, and the second would be written while the threads of the first compete
with it for the interpreter.

A compaction writes its slices through the same leadership. It reserves it (`_reserved_for`), so
that batches and slices alternate and neither starves.

Which lock protects what:

* `_mutex` protects the queue, `_queued_bytes`, taking leadership, the reservation, `_closed` and
  `_worker`. It is held for a few assignments, never while anything is written or waited for.
* Leadership (`_leader`) protects the `BatchWriter` and everything below it, which are used by one
  thread at a time. It is not a lock: it is taken under the mutex and given up by an assignment.

Interrupts. Ctrl-C can arrive between any two calls, in the leader too. Three rules keep the others
from waiting for ever:

* Every method that may take leadership gives it up at the start of its `finally` block, by an
  assignment. No call stands before it, so no interrupt can come in between.
* A wake-up is a hint. A waiting thread looks for itself every `RECHECK_SECONDS`.
* A request that a leader took out of the queue and did not settle is queued again by the leader,
  or by the thread that waits for it (`recover`). It may be durable by then, so it is marked
  `may_be_logged` and looked up in the log before it is written again.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import msgspec

from memoranda.errors import CommitUnknown, MemorandaError, StoreBusy, StoreClosed
from memoranda.log.commit.batch import BatchWriter
from memoranda.log.commit.commit_counts import CommitCounts
from memoranda.log.commit.outcome import CommitOutcome, CommitResult
from memoranda.log.commit.staged_transaction import Request
from memoranda.log.compaction.compactor import Compaction, Plan, Slice, Step
from memoranda.log.read.wakeup import Signal
from memoranda.storage.thread_locks import (
    ChainedWakeup,
    Wakeup,
    check_process,
    link_waiters,
    new_lock,
    reentrant_write_error,
)

# Pending commits: how a waiting caller learns the outcome of its request.


def unwrap_outcome(outcome: CommitOutcome) -> CommitResult:
    """Return the commit, or raise the error that prevented it."""
    if isinstance(outcome, MemorandaError):
        raise outcome
    return outcome


class LeaderToken:
    """Identifies one call that leads or wants to lead, and the thread it runs in."""

    __slots__ = ("thread",)

    def __init__(self) -> None:
        self.thread = threading.get_ident()


class PendingCommit:
    """A request that is queued or being written."""

    __slots__ = ("channel", "leader", "outcome", "request", "size")

    def __init__(self, request: Request, channel: Channel | ChainedWakeup) -> None:
        self.request = request
        self.channel = channel
        self.size = request.size
        self.leader: LeaderToken | None = None
        """The leader that took it out of the queue; None while it is queued."""
        self.outcome: CommitOutcome | None = None
        """None until the request is decided and durable."""

    def result(self) -> CommitResult:
        """Return the commit, or raise the error that prevented it."""
        assert self.outcome is not None, "result() was called before the outcome was delivered"
        return unwrap_outcome(self.outcome)


class Channel(Protocol):
    """How an event loop is notified of the commits it waits for."""

    def settle(self, settled: Sequence[PendingCommit]) -> None:
        """Report that these have their outcome; called once per batch, in the leader's thread."""
        ...


def deliver_outcomes(
    batch: Sequence[PendingCommit], outcomes: Sequence[CommitOutcome], own: ChainedWakeup | None
) -> None:
    """Give every request of a batch its outcome, and wake the callers.

    `own` is the leader's own channel: its thread is awake already.
    """
    first = link_waiters(
        [
            pending.channel
            for pending in batch
            if isinstance(pending.channel, ChainedWakeup) and pending.channel is not own
        ]
    )
    loops: dict[Channel, list[PendingCommit]] = {}
    for pending, outcome in zip(batch, outcomes, strict=True):
        pending.outcome = outcome
        if not isinstance(pending.channel, ChainedWakeup):
            loops.setdefault(pending.channel, []).append(pending)
    for channel, settled in loops.items():
        channel.settle(settled)
    if first is not None:
        first.set()


# The committer.

MAX_QUEUED_COMMITS = 10_000
"""Commits that may wait; one more raises `StoreBusy`, so that memory stays bounded."""
MAX_QUEUED_BYTES = 256 * 1024 * 1024
"""Bytes of requests that may wait, for the same reason."""
MAX_BATCH_COMMITS = 512
"""Commits per batch: the sync is spread over enough of them, and none waits long for the others."""
MAX_SHARED_BATCH_COMMITS = 32
"""The same where stores of a process take turns, as in a server: a commit of another store waits
for a batch, which takes about 1.5 ms. A larger one costs little less for each of its commits."""
MAX_BATCH_BYTES = 16 * 1024 * 1024
"""Bytes of requests per batch, which bounds how long a batch holds the write lock."""
RECHECK_SECONDS = 0.5
"""Seconds after which a waiting thread looks for itself, in case a wake-up was lost."""
_LEADER_POLL_SECONDS = 0.002
"""Seconds between two checks whether another thread still leads."""
_MAX_COMPACTION_PAUSE_SECONDS = 0.1
"""Longest pause of a compaction after a slice; it normally pauses as long as the slice took."""
_PEER_WAIT_SECONDS = 0.0005
"""Seconds within which one more commit must arrive for a leader to go on waiting for peers."""
_RETURN_SECONDS = 0.0001
"""Seconds more for each peer that is missing, if an event loop queues commits: most of them come
from clients, which first have to hear of their last one. A commit of a large batch costs half as
much as one of a small batch, so the more are missing, the longer it is worth while to wait."""


class Committer:
    """The only way into the log."""

    def __init__(
        self, writer: BatchWriter, signal: Signal, leaders: ThreadPoolExecutor | None = None
    ) -> None:
        self._writer = writer
        self._signal = signal
        self._owner = os.getpid()
        self._mutex = new_lock()
        self._batch_ready = Wakeup()
        """Set when the queue has as many commits as the last batch had."""
        self._last_batch_size = 1
        """Commits in the last batch: an estimate of how many threads commit at the same time."""
        self._queue: deque[PendingCommit] = deque()
        self._queued_bytes = 0
        self._leader: LeaderToken | None = None
        """The call that may write; None: the next one that asks takes it."""
        self._reserved_for: LeaderToken | None = None
        """The compaction that leads next: no other call takes leadership while this is set."""
        self._closed = False
        self._leaders = leaders
        """Threads that lead for the event loops of several stores; None: there is an own one."""
        self._worker: ThreadPoolExecutor | None = None
        """Its own thread, which leads for event loops: they must not block."""
        self._next_lead: Future[None] | None = None
        """The last call that was given to a worker thread. Until it runs there is no second one,
        or a store would have two turns among those that share the threads."""

    @property
    def counts(self) -> CommitCounts:
        """What was committed so far."""
        return self._writer.counts

    @property
    def last_commit(self) -> int:
        """The last commit that callers were told of; 0: none."""
        return self._writer.last_commit

    @property
    def queued(self) -> tuple[int, int]:
        """How many requests wait to be written, and their bytes."""
        return len(self._queue), self._queued_bytes

    def commit(self, request: Request) -> CommitResult:
        """Commit and return the commit, or raise the error that prevented it.

        Only `CommitUnknown` leaves open whether the transaction was written.
        """
        check_process(self._owner)
        token = LeaderToken()
        try:
            if not self._try_lead_alone(token):
                return self._commit_in_queue(request, token)
            (outcome,) = self._writer.write((request,))
            self._after_write()
            return unwrap_outcome(outcome)
        finally:
            if self._leader is token:
                self._leader = None
                self._wake_next()

    def _commit_in_queue(self, request: Request, token: LeaderToken) -> CommitResult:
        """Queue a request, then wait or lead until it is written."""
        channel = ChainedWakeup()
        pending = PendingCommit(request, channel)
        try:
            self._enqueue(pending)
            while pending.outcome is None:
                if self._try_lead(token):
                    self._write_batch(token, channel)
                else:
                    channel.wait(RECHECK_SECONDS)
                self.recover(pending)
            return pending.result()
        finally:
            channel.wake_next()
            if pending.outcome is None:
                self.withdraw(pending)

    def compact(self, plan: Plan, *, confirmed: bool) -> Compaction:
        """Compact a namespace while others write; unless `confirmed`, only preview it."""
        check_process(self._owner)
        return self._writer.compactor(plan).run(self._write_slice, confirmed=confirmed)

    def _write_slice(self, plan: Plan, part: Slice) -> Step:
        """Write a slice of a compaction, then pause for as long as that took."""
        token = LeaderToken()
        try:
            self._wait_to_lead(token)
            step = self._writer.write_slice(plan, part)
            if step.commit_ts is not None:
                self._after_write()
        finally:
            if self._reserved_for is token:
                self._reserved_for = None
            if self._leader is token:
                self._leader = None
            self._wake_next()
        if step.seconds > 0:
            Wakeup().wait(min(step.seconds, _MAX_COMPACTION_PAUSE_SECONDS))
        return step

    def _wait_to_lead(self, token: LeaderToken) -> None:
        """Reserve leadership, and wait until the current leader gives it up."""
        pause = Wakeup()
        while not self._try_reserved_lead(token):
            if self._closed:
                raise StoreClosed
            pause.wait(_LEADER_POLL_SECONDS)
        if self._closed:
            raise StoreClosed

    def _try_reserved_lead(self, token: LeaderToken) -> bool:
        """Reserve leadership if it is not reserved, and take it if that is possible."""
        with self._mutex:
            if self._reserved_for is None:
                self._reserved_for = token
        return self._try_lead(token)

    def submit(self, request: Request, channel: Channel) -> PendingCommit:
        """Queue a commit of an event loop; `ensure_leader` must be called afterwards."""
        check_process(self._owner)
        pending = PendingCommit(request, channel)
        self._enqueue(pending)
        return pending

    def ensure_leader(self) -> None:
        """Start the worker if requests are queued and no thread leads."""
        check_process(self._owner)
        with self._mutex:
            idle = self._queue and self._leader is None
        if idle:
            self._start_worker()

    def withdraw(self, pending: PendingCommit) -> bool:
        """Remove a request from the queue; return False if it is already being written."""
        with self._mutex:
            if pending not in self._queue:
                return False
            self._queued_bytes -= pending.size
            self._queue.remove(pending)
            return True

    def recover(self, pending: PendingCommit) -> None:
        """Queue a request again if its leader was interrupted before it delivered the outcome."""
        if pending.leader is None or self._leader is pending.leader or pending.outcome is not None:
            return
        with self._mutex:
            if pending not in self._queue and pending.outcome is None:
                self._requeue(pending)

    def close(self) -> None:
        """Accept no more requests, and return when all accepted ones are written."""
        if self._owner != os.getpid():
            return
        with self._mutex:
            self._closed = True
        self.write_queued()
        self._write_refusal_counts()
        with self._mutex:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.shutdown()

    def write_queued(self) -> None:
        """Write all queued requests, and wait for another leader's batch."""
        if self._owner != os.getpid() or self._is_reentrant():
            return
        token, pause = LeaderToken(), Wakeup()
        while self._queue or self._leader is not None:
            try:
                if not self._try_lead(token):
                    pause.wait(_LEADER_POLL_SECONDS)
                elif self._queue:
                    self._write_batch(token)
            finally:
                if self._leader is token:
                    self._leader = None
                    self._wake_next()

    def _write_refusal_counts(self) -> None:
        """Log how many refusals were only counted: no later note can report them."""
        if self._is_reentrant():
            return
        token = LeaderToken()
        try:
            if self._try_lead(token):
                self._writer.note_refusals(counts=True)
        finally:
            if self._leader is token:
                self._leader = None

    def _enqueue(self, pending: PendingCommit) -> None:
        """Append a request to the queue, or raise `StoreBusy` if the queue is full."""
        with self._mutex:
            if self._closed:
                raise StoreClosed
            queue, size = self._queue, pending.size
            if len(queue) >= MAX_QUEUED_COMMITS or self._queued_bytes + size > MAX_QUEUED_BYTES:
                raise StoreBusy(
                    f"{len(queue)} commits of {self._queued_bytes} bytes are waiting to be "
                    "written, and no more fit: try again shortly"
                )
            self._queued_bytes += size
            queue.append(pending)
            if len(queue) == self._last_batch_size > 1:
                self._batch_ready.set()

    def _try_lead_alone(self, token: LeaderToken) -> bool:
        """Take leadership if no other thread commits at the moment (case 1)."""
        with self._mutex:
            is_free = self._leader is None and self._reserved_for is None
            no_peers = is_free and not self._queue and self._last_batch_size == 1
            if not no_peers or self._closed:
                return False
            self._leader = token
            return True

    def _try_lead(self, token: LeaderToken) -> bool:
        """Take leadership unless another call has it or reserved it; return whether we lead."""
        with self._mutex:
            leader = self._leader
            if leader is None:
                if self._reserved_for is not None and self._reserved_for is not token:
                    return False
                leader = self._leader = token
            elif leader is not token and leader.thread == token.thread:
                # A signal handler interrupted the leader in this very thread: waiting would be a
                # deadlock.
                raise reentrant_write_error()
            return leader is token

    def _is_reentrant(self) -> bool:
        """Return whether this is a signal handler's call inside the thread that leads."""
        leader = self._leader
        return leader is not None and leader.thread == threading.get_ident()

    def _wake_next(self) -> None:
        """Wake the first caller of the queue, which may now lead."""
        with self._mutex:
            channel = self._queue[0].channel if self._queue else None
        if isinstance(channel, ChainedWakeup):
            channel.set()
        elif channel is not None:
            self._start_worker()

    def _write_batch(self, token: LeaderToken, own: ChainedWakeup | None = None) -> None:
        """Write one batch and deliver its outcomes; `own` is the leader's own channel."""
        batch: list[PendingCommit] = []
        try:
            self._fill_batch(token, batch, _RETURN_SECONDS if own is None else 0.0)
            outcomes = self._writer.write([pending.request for pending in batch])
            deliver_outcomes(batch, outcomes, own)
        finally:
            unsettled = [pending for pending in batch if pending.outcome is None]
            if not unsettled:
                pass
            elif isinstance(sys.exception(), Exception):
                # A defect, which may happen again with the same requests: do not retry them.
                errors = [CommitUnknown(pending.request.txn_id) for pending in unsettled]
                deliver_outcomes(unsettled, errors, own)
            else:
                # An interrupt of this thread only: the next leader writes the others' requests.
                self._requeue_in_front(unsettled)
        self._after_write()

    def _requeue_in_front(self, batch: Sequence[PendingCommit]) -> None:
        """Put unsettled requests back at the front of the queue, in their order."""
        with self._mutex:
            for pending in reversed(batch):
                if pending not in self._queue:
                    self._requeue(pending)
                    self._queue.rotate(1)

    def _requeue(self, pending: PendingCommit) -> None:
        """Append a request that may be in the log already; the mutex is held."""
        pending.request = msgspec.structs.replace(pending.request, may_be_logged=True)
        pending.leader = None
        self._queued_bytes += pending.size
        self._queue.append(pending)

    def _after_write(self) -> None:
        """Log refusals and wake subscriptions, after the callers have their outcomes."""
        self._writer.failpoint("acknowledged")
        self._writer.note_refusals()
        self._signal.notify()
        self._writer.announce()
        self._writer.after_batch()

    def _fill_batch(
        self, token: LeaderToken, batch: list[PendingCommit], return_seconds: float
    ) -> None:
        """Move requests from the queue into a batch.

        Each is appended to the batch before it leaves the queue. An interrupt in between leaves it
        in both, never in neither, and `_requeue_in_front` skips what is still queued.
        """
        if len(self._queue) < self._last_batch_size:
            self._wait_for_peers(return_seconds)
        size = 0
        limit = MAX_BATCH_COMMITS if self._leaders is None else MAX_SHARED_BATCH_COMMITS
        with self._mutex:
            queue = self._queue
            while queue and len(batch) < limit and size < MAX_BATCH_BYTES:
                pending = queue[0]
                pending.leader = token
                batch.append(pending)
                size += pending.size
                self._queued_bytes -= pending.size
                queue.popleft()
        self._last_batch_size = len(batch)

    def _wait_for_peers(self, return_seconds: float) -> None:
        """Wait until as many requests are queued as the last batch had, or no more arrive.

        `return_seconds` are added to the wait for each request that is missing.
        """
        self._batch_ready.clear()
        previous = 0
        while previous < len(self._queue) < self._last_batch_size:
            previous = len(self._queue)
            missing = self._last_batch_size - previous
            self._batch_ready.wait(_PEER_WAIT_SECONDS + missing * return_seconds)

    def _start_worker(self) -> None:
        with self._mutex:
            lead = self._next_lead
            if lead is not None and not lead.running() and not lead.done():
                return
            threads = self._leaders or self._worker
            if threads is None:
                threads = self._worker = ThreadPoolExecutor(
                    1, thread_name_prefix="memoranda-committer"
                )
            self._next_lead = threads.submit(self._lead_in_worker)

    def _lead_in_worker(self) -> None:
        """Lead until the queue is empty, another call leads, or somebody else is to lead next."""
        token = LeaderToken()
        try:
            while self._queue and self._try_lead(token):
                self._write_batch(token)
                if self._reserved_for is not None or self._leaders is not None:
                    break
        finally:
            if self._leader is token:
                self._leader = None
                self._wake_next()
