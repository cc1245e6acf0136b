"""The committer: decide → chain → append and apply, in one storage transaction."""

from __future__ import annotations

from recollect.errors import IdempotencyMismatch, TransactionConflict, TransactionExpired
from recollect.log import chain, epochs, pages
from recollect.log.transaction import Request
from recollect.log.views import Commit, Views
from recollect.model import codec
from recollect.model.clock import Clock
from recollect.model.event import Envelope, Head, SealedEvent
from recollect.model.ids import IdSource
from recollect.model.operations import AnyOperation
from recollect.storage.port import Engine, Writer


class Committer:
    """The only way into the log."""

    def __init__(
        self, engine: Engine, log_id: str, views: Views, *, clock: Clock, ids: IdSource
    ) -> None:
        self._engine = engine
        self._genesis = chain.genesis(log_id)
        self._log_id = log_id
        self._views = views
        self._clock = clock
        self._ids = ids
        self._at_home = False

    def commit(self, request: Request) -> int:
        """Return the commit the request became, now durable, or raise; then nothing was written."""
        if not request.staged and not request.named:
            with self._engine.reading() as reader:
                return pages.head_commit(reader)
        with self._engine.writing() as writer:
            head = pages.head(writer, self._genesis)
            if request.named and (earlier := _find_earlier(writer, request)):
                return earlier
            if not request.staged:
                return head.commit_ts
            self._check_deadline(request)
            self._check_reads(writer, request, head)
            operations = self._decide(writer, request, head)
            self._append(writer, request, head, operations)
        self._at_home = True
        return head.commit_ts + 1

    def _check_deadline(self, request: Request) -> None:
        if self._clock.monotonic() > request.deadline:
            raise TransactionExpired

    def _check_reads(self, writer: Writer, request: Request, head: Head) -> None:
        if request.since == head.commit_ts:
            return
        changed = self._views.changed(writer, request.reads, request.since)
        if changed is not None:
            raise TransactionConflict(
                f"{changed} has changed since commit {request.since}, where this transaction "
                "began: run it again, as `store.transact` does"
            )

    def _decide(self, writer: Writer, request: Request, head: Head) -> list[AnyOperation]:
        operations = self._views.decide(writer, request.staged)
        if not self._at_home:
            home = self._engine.home()
            operations[:0] = epochs.begin_if_moved(writer, home, self._log_id, head, self._ids)
        return operations

    def _append(
        self, writer: Writer, request: Request, head: Head, operations: list[AnyOperation]
    ) -> None:
        salts = self._ids.entropy(chain.SALT_SIZE * chain.salt_count(len(operations)))
        envelope = Envelope(
            txn_id=request.txn_id,
            actor=request.actor,
            request_hash=chain.request_hash(salts, request.encoded),
        )
        committed_at = max(head.committed_at + 1, self._clock.now())
        event = chain.seal(head, committed_at, salts, envelope, operations)
        writer.run(
            "event_append",
            commit_ts=event.commit_ts,
            committed_at=event.committed_at,
            hash=event.hash,
            salts=event.salts,
            envelope=event.envelope,
            operations=event.operations,
        )
        commit = Commit(event.commit_ts, committed_at, envelope, tuple(operations))
        self._views.apply(writer, commit)


def _find_earlier(writer: Writer, request: Request) -> int | None:
    """Return the commit of the same request, if the log has it; another under its name raises."""
    found = writer.row("txn_find", txn_id=request.txn_id, actor=request.actor)
    if found is None:
        return None
    row = writer.row("event_get", commit_ts=found[0])
    assert row is not None, "the index names a commit the log does not have"
    event = SealedEvent(*row)
    known = codec.decode_envelope(event.envelope).request_hash
    if chain.request_hash(event.salts, request.encoded) != known:
        raise IdempotencyMismatch(
            f"txn_id {request.txn_id!r} was committed as {event.commit_ts} with other operations: "
            "use a new txn_id"
        )
    return event.commit_ts
