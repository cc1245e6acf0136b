"""Batches: decide, chain, append and apply transactions, with one disk sync for all of them.

All requests of a batch are processed in one storage transaction, in their order:

1. Look up an idempotency key, and return the earlier commit if the log has it.
2. Check the deadline, and that nothing the transaction read has changed.
3. Decide: the views' rules turn requests into operations, or refuse the request.
4. Seal the event (salts, signature, hash), append it to the log, and apply it to the views.

A refused request wrote nothing, so the batch goes on without it. Any other error rolls back the
whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial

import msgspec
from msgspec.structs import replace

from memoranda.errors import (
    CommitUnknown,
    Conflict,
    InvalidInput,
    LinkCycle,
    LogForked,
    MemorandaError,
    NotFound,
    PermissionDenied,
    ReflectionTooDeep,
    TransactionConflict,
    TransactionExpired,
)
from memoranda.log import (
    blobs,
    chain,
    field_commitments,
    lineage,
    pages,
)
from memoranda.log.commit import (
    idempotency,
    refusals,
    transaction_signature,
)
from memoranda.log.commit.commit_counts import CommitCounts
from memoranda.log.commit.failpoints import Failpoint
from memoranda.log.commit.outcome import CommitOutcome, CommitResult
from memoranda.log.commit.rehearsal import BatchRehearsal
from memoranda.log.commit.request_signature import SignedRequest
from memoranda.log.commit.staged_transaction import Request
from memoranda.log.compaction import (
    horizon,
)
from memoranda.log.compaction.compactor import Compactor, Plan, Slice, SliceEraser, Step
from memoranda.log.erasure import (
    forget,
)
from memoranda.log.views import Commit, DecidedEvent, Views
from memoranda.model.clock import Clock, check_commit_time
from memoranda.model.erasure import AGENT, Forget
from memoranda.model.event import Envelope, Head
from memoranda.model.ids import IdSource
from memoranda.model.operations import AnyOperation, Erase
from memoranda.storage.port import Engine, OutcomeUnknown, Writer

_REFUSALS = (
    Conflict,
    NotFound,
    InvalidInput,
    LinkCycle,
    PermissionDenied,
    ReflectionTooDeep,
    TransactionExpired,
)
"""Errors that concern one request and are raised before it writes anything: the batch goes on."""


class BatchWriter:
    """Turns requests into events. Only the leader of the group commit uses it."""

    def __init__(
        self,
        engine: Engine,
        log_id: str,
        views: Views,
        *,
        clock: Clock,
        ids: IdSource,
        failpoint: Failpoint,
        after_batch: Callable[[], None],
    ) -> None:
        self._engine = engine
        self._genesis = chain.genesis(log_id)
        self._log_id = log_id
        self._views = views
        self._clock = clock
        self._ids = ids
        self.failpoint = failpoint
        self.announce = engine.announce
        """Tells other processes of a batch."""
        self.after_batch = after_batch
        """Called after a batch is written and its callers have their outcomes."""
        self.refusals = refusals.Refusals(clock)
        self.counts = CommitCounts()
        self._salts = field_commitments.SaltSource(ids)
        self._home: str | None = None
        """The identity of the file or database that was written to last."""
        self._home_recorded = False
        """Whether the log names that as its home: then no epoch has to begin."""
        self._certain = True
        """Whether the last storage transaction is known to be committed or rolled back."""
        self._head: Head | None = None
        """The log's head, cached; None: read it. Dropped when another connection has written."""
        self._acknowledged: Head | None = None
        """The head after the last batch that callers were told of."""
        self.last_commit = 0
        """The last commit that callers were told of; 0: none."""
        self._rehearsal: BatchRehearsal | None = None
        """What the batch that is being written will read; None: no batch is."""

    def write(self, requests: Sequence[Request]) -> list[CommitOutcome]:
        """Write a batch, and return the outcome of each request once it is durable."""
        was_certain, self._certain = self._certain, False  # until the outcome is known
        if not was_certain:
            self._drop_caches()
        try:
            head, outcomes, refused = self._engine.write(
                partial(self._process_batch, requests), repeatable=True
            )
        except OutcomeUnknown as error:
            return [_with_cause(CommitUnknown(request.txn_id), error) for request in requests]
        except MemorandaError as error:  # the whole batch was rolled back
            return [_with_cause(copy(error), error.__cause__) for _ in requests]
        self._home_recorded = self._home_recorded or head is not self._head
        self._head = self._acknowledged = head
        self.last_commit = head.commit_ts
        self._certain = True
        self.counts.add_batch(outcomes)
        for refusal in refused:
            self.refusals.record(*refusal)
        self.failpoint("after-commit")
        return outcomes

    def note_refusals(self, *, counts: bool = False) -> None:
        """Log the recent refusals; with `counts`, also how many were only counted.

        A failure is not reported: the next note includes these refusals in its count.
        """
        notes = self.refusals.take_all() if counts else self.refusals.take()
        if notes:
            (outcome,) = self.write((refusals.request(self._ids.unique(), notes),))
            if isinstance(outcome, MemorandaError):
                self.refusals.restore(notes)

    def compactor(self, plan: Plan) -> Compactor:
        """Return the compactor of a plan."""
        return Compactor(self._engine, self._views, self._ids, plan)

    def write_slice(self, plan: Plan, part: Slice) -> Step:
        """Write one slice of a compaction as a commit of its own, and return once it is durable."""
        self._drop_caches()
        self._rehearsal = None
        request = Request(
            self._ids.unique(), False, plan.by, (), b"", frozenset(), 0, 0.0, signing=plan.signing
        )
        try:
            step = self._engine.write(partial(self._write_slice, plan, part, request))
        except OutcomeUnknown as error:
            raise CommitUnknown(request.txn_id) from error
        finally:
            self._drop_caches()
        self.counts.commits += step.commit_ts is not None
        self.last_commit = step.commit_ts or self.last_commit
        return replace(step, seconds=self._clock.monotonic() - step.seconds)

    def _write_slice(self, plan: Plan, part: Slice, request: Request, writer: Writer) -> Step:
        started = self._clock.monotonic()  # the write lock is held from here on
        head = pages.head(writer, self._genesis)
        self._next_commit_time(head)
        key_claims = self._key_claims(writer, request, ())
        eraser = SliceEraser(writer, self._views, self._ids, plan, head)
        operations, step = eraser.erase_slice(part, self.failpoint)
        if operations:
            home = self._engine.identity(writer)
            epochs = lineage.new_epoch_if_moved(writer, home, self._log_id, head, self._ids)
            head, _ = self._append(writer, request, head, [*epochs, *key_claims, *operations])
            self.failpoint("compaction-appended")
            step = replace(step, commit_ts=head.commit_ts)
        self.failpoint("before-commit")
        return replace(step, seconds=started)

    def _drop_caches(self) -> None:
        """Drop everything cached from the tables: a rollback may have undone it."""
        self._head = None
        self._home_recorded = False
        self._views.drop_caches()
        self._salts.drop_caches()

    def _process_batch(
        self, requests: Sequence[Request], writer: Writer
    ) -> tuple[Head, list[CommitOutcome], list[tuple[MemorandaError, Request]]]:
        """Return the log's new head, each request's outcome, and each refused request."""
        self.failpoint("batch-begun")
        if writer.has_foreign_writes() or self._head is None:
            self._views.drop_caches()
            self._salts.drop_caches()
            self._check_acknowledged(writer)
            self._check_home(writer)
            self._head = pages.head(writer, self._genesis)
        head = self._head
        self._rehearsal = rehearsal = BatchRehearsal(self._views, requests, head)
        writer.look_ahead(rehearsal)
        outcomes: list[CommitOutcome] = []
        refusals: list[tuple[MemorandaError, Request]] = []
        for place, request in enumerate(requests):
            rehearsal.proceed(place, head)
            try:
                head, outcome = self._process(writer, request, head)
            except _REFUSALS as error:
                outcome = error
                refusals.append((error, request))
            outcomes.append(outcome)
        self._rehearsal = None
        self.failpoint("before-commit")
        return head, outcomes, refusals

    def _check_acknowledged(self, writer: Writer) -> None:
        """Raise `LogForked` if the log has lost a commit that this process acknowledged.

        A database that fails over to a copy which lags behind goes on without its last commits.
        """
        last = self._acknowledged
        if last is None or not last.commit_ts:
            return
        if writer.row("event_hash", commit_ts=last.commit_ts) != (last.hash,):
            raise LogForked(
                f"commit {last.commit_ts} was acknowledged by this process, and the log no longer "
                "has it: the database was restored, or failed over to a copy without it; find out "
                "what was lost, and open the store again"
            )

    def _check_home(self, writer: Writer) -> None:
        """Let an epoch begin if the log goes on elsewhere: in a copy that has taken over."""
        if self._home_recorded and self._engine.identity(writer) != self._home:
            self._home_recorded = False

    def _process(self, writer: Writer, request: Request, head: Head) -> tuple[Head, CommitOutcome]:
        """Process one request; return the log's new head and the outcome."""
        may_be_retry = request.idempotent or request.may_be_logged
        if may_be_retry and (earlier := idempotency.find_earlier(writer, self._views, request)):
            return head, CommitResult(earlier)
        if not request.staged:
            if request.refusal is not None:
                raise request.refusal.error
            return head, CommitResult(head.commit_ts)
        if self._clock.monotonic() > request.deadline:
            raise TransactionExpired
        self._next_commit_time(head)  # raises before anything is written or erased
        if request.base_commit != head.commit_ts:
            self._check_unchanged(writer, request)
        try:
            operations = self._decide(writer, request, head)
        except NotFound:
            earlier_erasure = _find_farewell(writer, request)
            if earlier_erasure is None:
                raise
            return head, CommitResult(earlier_erasure)
        if not operations and not request.is_recorded_unchanged:
            return head, CommitResult(head.commit_ts)
        self.failpoint("decided")
        head, commit = self._append(writer, request, head, operations)
        return head, CommitResult(commit.commit_ts, commit)

    def _next_commit_time(self, head: Head) -> int:
        """Return the next commit's time in microseconds: the clock's, but after the head's."""
        return check_commit_time(max(head.committed_at + 1, self._clock.now()))

    def _check_unchanged(self, writer: Writer, request: Request) -> None:
        """Raise `TransactionConflict` if the transaction's reads or derived ids are outdated."""
        if request.reads:
            self._check_reads(writer, request)
        if request.era is not None and request.era != idempotency.era(
            writer, request.txn_id, request.actor, pages.head_commit(writer)
        ):
            raise TransactionConflict(
                f"something was forgotten since commit {request.base_commit}, where this "
                "transaction began, so the ids it derived may be in use: run it again, as "
                "`store.transact` does"
            )

    def _check_reads(self, writer: Writer, request: Request) -> None:
        base_commit = request.base_commit
        horizons = horizon.set_after(writer, base_commit)
        if forget.was_forgotten_after(writer, base_commit) or any(
            changed_horizon.commit_ts > base_commit for changed_horizon in horizons
        ):
            raise TransactionConflict(
                f"something was erased since commit {request.base_commit}, where this "
                "transaction began, and it may have read that: run it again, as `store.transact` "
                "does"
            )
        read = self._views.first_changed(writer, request.reads, request.base_commit)
        if read is not None:
            error = TransactionConflict(
                f"{read} has changed since commit {request.base_commit}, where this transaction "
                "began: run it again, as `store.transact` does"
            )
            error.reads = (read,)
            raise error

    def _decide(self, writer: Writer, request: Request, head: Head) -> list[AnyOperation]:
        if request.erases is not None:
            # every check that can refuse the request runs before anything is erased
            operations = self._key_claims(writer, request, ())
            operations.append(self._erase(writer, request, request.erases, head))
            return self._with_epoch(writer, request, head, operations)
        decision = self._views.begin(writer)
        try:
            operations = decision.decide(request.staged)
            if request.signing is not None and (operations or request.is_recorded_unchanged):
                operations[:0] = self._key_claims(writer, request, operations)
            operations = self._with_epoch(writer, request, head, operations)
            if decision.has_consequences(operations):
                time = self._next_commit_time(head)
                event = DecidedEvent(head.commit_ts + 1, time, request.actor, operations)
                operations += decision.conclude(event)
            return operations
        finally:
            decision.close()

    def _with_epoch(
        self, writer: Writer, request: Request, head: Head, operations: list[AnyOperation]
    ) -> list[AnyOperation]:
        """Return the operations, after an epoch if the first event in this file needs one."""
        if not self._home_recorded and (operations or request.is_recorded_unchanged):
            self._home = self._engine.identity(writer)
            operations[:0] = lineage.new_epoch_if_moved(
                writer, self._home, self._log_id, head, self._ids
            )
        return operations

    def _key_claims(
        self, writer: Writer, request: Request, operations: Sequence[AnyOperation]
    ) -> list[AnyOperation]:
        """Return the TrustKey operations that the actor's signature needs and the request lacks."""
        if request.signing is None or _erases_its_actor(request):
            return []
        key_claims = self._views.decide(writer, (request.signing.claim,))
        return transaction_signature.remove_repeated_claims(key_claims, operations)

    def _erase(self, writer: Writer, request: Request, erasure: Forget, head: Head) -> AnyOperation:
        """Erase a target, and return the `Erase` operation that records it."""
        self._salts.drop_caches()
        return forget.forget(
            writer,
            self._views,
            erasure,
            by=request.actor,
            commit_ts=head.commit_ts + 1,
            ids=self._ids,
            search=request.search,
        )

    def _append(
        self, writer: Writer, request: Request, head: Head, operations: list[AnyOperation]
    ) -> tuple[Head, Commit]:
        """Append one event to the log and apply it; return the new head and the commit."""
        salts, erases = self._salts.draw(operations), request.erases
        request_salts = salts
        if erases is not None:  # no salt is kept: nobody can confirm a guess of the erased target
            request_salts = self._ids.entropy(field_commitments.SALT_SIZE)
        request_hash = chain.request_hash(request_salts, request.encoded, len(operations))
        if request.idempotent:
            request_hash += idempotency.fingerprint_of(request.staged)
        actor = request.actor if erases is None else _recorded_actor(request, operations)
        trace_id = None if _erases_its_actor(request) else request.trace_id
        envelope = Envelope(request.txn_id, actor, request_hash, None, trace_id)
        committed_at = self._next_commit_time(head)
        signing = request.signing
        if signing is not None and _erases_its_actor(request):
            signing = None
        if isinstance(signing, SignedRequest):
            request_salt = chain.request_salt(request_salts, len(operations))
            envelope = replace(envelope, signature=signing.stored(request_salt))
        elif signing is not None:
            place = (head.commit_ts + 1, committed_at)
            context = transaction_signature.SigningContext(self._log_id, head.hash)
            envelope = transaction_signature.sign_envelope(
                envelope, place, salts, operations, signing, context
            )
        event = chain.seal(head, committed_at, salts, envelope, operations, self._salts.commitments)
        writer.put("event_append", *msgspec.structs.astuple(event))
        if request.blobs:
            blobs.append(writer, event.commit_ts, operations, request.blobs)
        self.failpoint("appended")
        commit = Commit(
            event.commit_ts, committed_at, envelope, tuple(operations), event.operations
        )
        if self._rehearsal is not None:
            self._rehearsal.applied = commit
        self._views.apply(writer, commit)
        self.failpoint("applied")
        return Head(event.commit_ts, event.committed_at, event.hash), commit


def _with_cause(error: MemorandaError, cause: BaseException | None) -> MemorandaError:
    """Return an error with its cause; every waiting caller raises an error object of its own."""
    error.__cause__ = cause
    return error


def _erases_its_actor(request: Request) -> bool:
    """Return whether an agent erases itself: then nothing that is written may name it."""
    erasure = request.erases
    return erasure is not None and (erasure.target.kind, erasure.target.name) == (
        AGENT,
        request.actor,
    )


def _recorded_actor(request: Request, operations: Sequence[AnyOperation]) -> str:
    """Return the actor to record; an agent that erases itself is recorded by its pseudonym."""
    if not _erases_its_actor(request):
        return request.actor
    (erase,) = (operation for operation in operations if isinstance(operation, Erase))
    return erase.by


def _find_farewell(writer: Writer, request: Request) -> int | None:
    """Return the commit in which the actor erased itself, if this request is a retry of it."""
    if not request.idempotent or not _erases_its_actor(request):
        return None
    return idempotency.find_farewell(writer, request)
