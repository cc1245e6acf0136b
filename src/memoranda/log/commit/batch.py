"""Batches: transactions decided, chained, appended and applied, with one sync for all."""

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
    NotFound,
    MemorandaError,
    ReflectionTooDeep,
    TransactionConflict,
    TransactionExpired,
)
from memoranda.log import (
    blobs,
    chain,
    commitments,
    epochs,
    fingerprints,
    forgetting,
    horizons,
    pages,
    refusals,
    retries,
    salting,
    signing,
)
from memoranda.log.compaction import Compactor
from memoranda.log.failpoints import Failpoint
from memoranda.log.slices import Plan, Slice, SliceEraser, Step
from memoranda.log.transaction import Request
from memoranda.log.views import Commit, Views
from memoranda.model.clock import Clock
from memoranda.model.erasure import AGENT, Forget
from memoranda.model.event import Envelope, Head
from memoranda.model.ids import IdSource
from memoranda.model.instant import check_commit_time
from memoranda.model.operations import AnyOperation, Erase
from memoranda.storage.port import Engine, OutcomeUnknown, Writer

_REFUSALS = (
    Conflict,
    NotFound,
    InvalidInput,
    LinkCycle,
    ReflectionTooDeep,
    TransactionExpired,
)
"""Errors about one transaction, raised before anything of it is written; the batch goes on."""


Outcome = int | MemorandaError
"""The commit a request became, or why it became none."""


class BatchWriter:
    """Turns requests into events. Used by one thread at a time."""

    def __init__(
        self,
        engine: Engine,
        log_id: str,
        views: Views,
        *,
        clock: Clock,
        ids: IdSource,
        failpoint: Failpoint,
        behind: Callable[[], None],
    ) -> None:
        self._engine = engine
        self._genesis = chain.genesis(log_id)
        self._log_id = log_id
        self._views = views
        self._clock = clock
        self._ids = ids
        self.failpoint = failpoint
        self.behind = behind
        """Called when a batch is written and everybody was told."""
        self.refusals = refusals.Refusals(clock)
        self._salts = salting.SaltSource(ids)
        self._at_home = False
        self._certain = True
        self._head: Head | None = None
        """The log's end, as far as this process knows; None if it must look."""

    def write(self, requests: Sequence[Request]) -> list[Outcome]:
        """Return what became of each request, durable by then."""
        known, self._certain = self._certain, False  # until it is known how this ends
        if not known:
            self._forget()
        try:
            head, outcomes, refused = self._engine.write(partial(self._settle_all, requests))
        except OutcomeUnknown as error:
            return [_caused(CommitUnknown(request.txn_id), error) for request in requests]
        except MemorandaError as error:  # rolled back
            return [_caused(copy(error), error.__cause__) for _ in requests]
        self._at_home = self._at_home or head is not self._head
        self._head = head
        self._certain = True
        for each in refused:
            self.refusals.refused(*each)
        self.failpoint("after-commit")
        return outcomes

    def note_refusals(self, *, counts: bool = False) -> None:
        """Write what was refused lately, and the `counts` of what is not noted one by one.

        Nobody is told if it fails: what is not written is said with what is refused next.
        """
        noted = self.refusals.take_all() if counts else self.refusals.take()
        if noted:
            (outcome,) = self.write((refusals.request(self._ids.unique(), noted),))
            if isinstance(outcome, MemorandaError):
                self.refusals.lost(noted)

    def compactor(self, plan: Plan) -> Compactor:
        """Return who compacts a namespace."""
        return Compactor(self._engine, self._views, self._ids, plan)

    def carry_out(self, plan: Plan, part: Slice) -> Step:
        """Carry out a slice of a compaction, durable by then."""
        self._forget()
        request = Request(
            self._ids.unique(), False, plan.by, (), b"", frozenset(), 0, 0.0, signing=plan.signing
        )
        try:
            step = self._engine.write(partial(self._carry_out, plan, part, request))
        except OutcomeUnknown as error:
            raise CommitUnknown(request.txn_id) from error
        finally:
            self._forget()
        return replace(step, seconds=self._clock.monotonic() - step.seconds)

    def _carry_out(self, plan: Plan, part: Slice, request: Request, writer: Writer) -> Step:
        begun = self._clock.monotonic()  # from here on others wait
        head = pages.head(writer, self._genesis)
        self._time_behind(head)
        claimed = self._claimed(writer, request, ())
        eraser = SliceEraser(writer, self._views, self._ids, plan, head)
        operations, step = eraser.carry_out(part, self.failpoint)
        if operations:
            home = self._engine.home()
            moved = epochs.begin_if_moved(writer, home, self._log_id, head, self._ids)
            head = self._append(writer, request, head, [*moved, *claimed, *operations])
            self.failpoint("compaction-appended")
            step = replace(step, commit_ts=head.commit_ts)
        self.failpoint("before-commit")
        return replace(step, seconds=begun)

    def _forget(self) -> None:
        """Remember nothing of the tables: something was rolled back, or may have been."""
        self._head = None
        self._at_home = False
        self._views.forget()
        self._salts.forget()

    def _settle_all(
        self, requests: Sequence[Request], writer: Writer
    ) -> tuple[Head, list[Outcome], list[tuple[MemorandaError, str]]]:
        """Return the log's new head, what became of each request, and who was refused what."""
        self.failpoint("batch-begun")
        if writer.others_wrote() or self._head is None:
            self._views.forget()
            self._salts.forget()
            self._head = pages.head(writer, self._genesis)
        head = self._head
        outcomes: list[Outcome] = []
        refused: list[tuple[MemorandaError, str]] = []
        for request in requests:
            try:
                head, outcome = self._settle(writer, request, head)
            except _REFUSALS as error:
                outcome = error
                refused.append((error, request.actor))
            outcomes.append(outcome)
        self.failpoint("before-commit")
        return head, outcomes, refused

    def _settle(self, writer: Writer, request: Request, head: Head) -> tuple[Head, Outcome]:
        """Return the log's new head, and what became of one request."""
        looked_up = request.named or request.again
        if looked_up and (earlier := retries.find_earlier(writer, self._views, request)):
            return head, earlier
        if not request.staged:
            return head, head.commit_ts
        if self._clock.monotonic() > request.deadline:
            raise TransactionExpired
        self._time_behind(head)  # refused before anything is written, or erased
        if request.since != head.commit_ts:
            self._check_unchanged(writer, request)
        try:
            operations = self._decide(writer, request, head)
        except NotFound:
            farewell = _farewell(writer, request)
            if farewell is None:
                raise
            return head, farewell
        if not operations and not request.named:  # it is all as it was asked to be
            return head, head.commit_ts
        self.failpoint("decided")
        head = self._append(writer, request, head, operations)
        return head, head.commit_ts

    def _time_behind(self, head: Head) -> int:
        """Return the time of the next commit."""
        return check_commit_time(max(head.committed_at + 1, self._clock.now()))

    def _check_unchanged(self, writer: Writer, request: Request) -> None:
        """Raise if what a transaction was made from is not as it was when it began."""
        if request.reads:
            self._check_reads(writer, request)
        if request.era is not None and request.era != retries.era(
            writer, request.txn_id, request.actor, pages.head_commit(writer)
        ):
            raise TransactionConflict(
                f"something was forgotten since commit {request.since}, where this transaction "
                "began, so the ids it gave out may be taken: run it again, as `store.transact` does"
            )

    def _check_reads(self, writer: Writer, request: Request) -> None:
        since = request.since
        behind = horizons.set_behind(writer, since)
        if forgetting.was_forgotten_since(writer, since) or any(
            each.commit_ts > since for each in behind
        ):
            raise TransactionConflict(
                f"something was erased since commit {request.since}, where this transaction began, "
                "and it may have read that: run it again, as `store.transact` does"
            )
        changed = self._views.changed(writer, request.reads, request.since)
        if changed is not None:
            error = TransactionConflict(
                f"{changed} has changed since commit {request.since}, where this transaction "
                "began: run it again, as `store.transact` does"
            )
            error.reads = (changed,)
            raise error

    def _decide(self, writer: Writer, request: Request, head: Head) -> list[AnyOperation]:
        if request.erases is None:
            operations = self._views.decide(writer, request.staged)
            if request.signing is not None and (operations or request.named):
                operations[:0] = self._claimed(writer, request, operations)
        else:  # whatever could refuse it comes before anything is erased
            operations = self._claimed(writer, request, ())
            operations.append(self._erase(writer, request.erases, request.actor, head))
        if not self._at_home and (operations or request.named):
            home = self._engine.home()
            operations[:0] = epochs.begin_if_moved(writer, home, self._log_id, head, self._ids)
        return operations

    def _claimed(
        self, writer: Writer, request: Request, operations: Sequence[AnyOperation]
    ) -> list[AnyOperation]:
        """Return what comes of it that a key is claimed to sign for the actor."""
        if request.signing is None or _forgets_itself(request):
            return []
        claimed = self._views.decide(writer, (request.signing.claim,))
        return signing.without_repeats(claimed, operations)

    def _erase(self, writer: Writer, asked: Forget, by: str, head: Head) -> AnyOperation:
        """Erase what is asked for, and return the operation that says so."""
        self._salts.forget()
        return forgetting.forget(
            writer, self._views, asked, by=by, commit_ts=head.commit_ts + 1, ids=self._ids
        )

    def _append(
        self, writer: Writer, request: Request, head: Head, operations: list[AnyOperation]
    ) -> Head:
        salts, erases = self._salts.draw(operations), request.erases
        if erases is None:
            asked = chain.request_hash(salts, request.encoded, len(operations))
        else:  # what is to be erased must not be guessed: the salt of its hash is kept nowhere
            drawn = self._ids.entropy(commitments.SALT_SIZE)
            asked = chain.request_hash(drawn, request.encoded, 0)
        if request.named:
            asked += fingerprints.of(request.staged)
        actor = request.actor if erases is None else _actor(request, operations)
        envelope = Envelope(request.txn_id, actor, asked)
        committed_at = self._time_behind(head)
        if request.signing is not None and not _forgets_itself(request):
            place = (head.commit_ts + 1, committed_at)
            within = signing.Within(self._log_id, head.hash)
            envelope = signing.signed(envelope, place, salts, operations, request.signing, within)
        event = chain.seal(head, committed_at, salts, envelope, operations, self._salts.known)
        writer.put("event_append", *msgspec.structs.astuple(event))
        if request.blobs:
            blobs.append(writer, event.commit_ts, operations, request.blobs)
        self.failpoint("appended")
        commit = Commit(
            event.commit_ts, committed_at, envelope, tuple(operations), event.operations
        )
        self._views.apply(writer, commit)
        self.failpoint("applied")
        return Head(event.commit_ts, event.committed_at, event.hash)


def _caused(error: MemorandaError, cause: BaseException | None) -> MemorandaError:
    """Return the error with its cause: each who waits raises one of its own."""
    error.__cause__ = cause
    return error


def _forgets_itself(request: Request) -> bool:
    """Say whether who asks is to be forgotten: then nothing of what is written names it."""
    asked = request.erases
    return asked is not None and (asked.target.kind, asked.target.name) == (AGENT, request.actor)


def _actor(request: Request, operations: Sequence[AnyOperation]) -> str:
    """Return who is to stand in the envelope: not who asks to be forgotten."""
    if not _forgets_itself(request):
        return request.actor
    (said,) = (each for each in operations if isinstance(each, Erase))
    return said.by


def _farewell(writer: Writer, request: Request) -> int | None:
    """Return the commit in which who asks was forgotten before, if this asks for it again."""
    if not request.named or not _forgets_itself(request):
        return None
    return retries.find_farewell(writer, request)
