"""Outcomes: the commit of a request, and its operations as they were applied.

An answer to the caller is made from the operations that were applied. Only a retry, whose commit
was made by an earlier call, reads them back from the log.
"""

from __future__ import annotations

import msgspec

from memoranda.errors import MemorandaError
from memoranda.log.commit import idempotency
from memoranda.log.views import Commit
from memoranda.model.clock import to_datetime
from memoranda.model.operations import AnyOperation
from memoranda.model.receipt import CommitFields, Outcome
from memoranda.storage.port import Reader


class CommitResult(msgspec.Struct, frozen=True, gc=False):
    """The commit of a request, durable by now."""

    commit_ts: int
    applied: Commit | None = None
    """The commit that this request made. None: a retry found the commit of an earlier call, or the
    request changed nothing, and `commit_ts` is the log's head."""

    def load(self, reader: Reader) -> Commit:
        """Return the commit as it was applied, or read it from the log.

        Where something was erased since, one that is read has residues in place of operations.
        """
        return self.applied or Commit.load(reader, self.commit_ts)

    def time(self, reader: Reader) -> int:
        """Return the commit's time in microseconds; only that of an earlier commit is read."""
        if self.applied is not None:
            return self.applied.committed_at
        row = reader.row("event_time", commit_ts=self.commit_ts)
        return int(row[0]) if row else 0


CommitOutcome = CommitResult | MemorandaError
"""The commit of a request, or the error that prevented it."""


class Committed(msgspec.Struct, frozen=True):
    """A committed transaction, and the viewer its result is read for."""

    result: CommitResult
    txn_id: str
    actor: str
    viewer: str

    @property
    def commit(self) -> int:
        """The number of the commit."""
        return self.result.commit_ts

    def own_operations(self, reader: Reader) -> tuple[AnyOperation, ...]:
        """Return the operations of its commit; none if it made none."""
        return self.result.load(reader).operations if self.is_own(reader) else ()

    def answer(self, reader: Reader, outcome: Outcome) -> CommitFields:
        """Return the fields that the answer of every write has."""
        return {
            "outcome": outcome,
            "commit_ts": self.commit,
            "committed_at": to_datetime(self.result.time(reader)),
        }

    def is_own(self, reader: Reader) -> bool:
        """Return whether it made that commit, now or in an earlier call of which this is a retry.

        A transaction that changed nothing made none.
        """
        if self.result.applied is not None:
            return True
        return idempotency.commit_of(reader, self.txn_id, self.actor) == self.commit
