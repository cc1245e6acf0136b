"""Compaction of facts: which statements a horizon retains, and deleting the others."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.log import pages
from memoranda.log.compaction.retention import Decision, RetainedRefs, RetentionPolicy, rests_on
from memoranda.log.views import Eraser, RewrittenEvent
from memoranda.model import codec
from memoranda.model.erasure import LogPosition
from memoranda.model.ids import IdSource
from memoranda.model.operations import (
    AnyOperation,
    Assert,
    AssertPrivately,
    End,
    EndFrom,
    EndPrivately,
    NamesResidue,
    Withdraw,
    WithdrawPrivately,
)
from memoranda.model.operations.graph import Name
from memoranda.storage.port import Engine, Reader, Row, Writer

_SALT_BYTES = 16
"""The length of the salt of a residue, as of every redacted operation."""


class GraphRetentionPolicy(RetentionPolicy):
    """Retains the statements that stood at the horizon.

    1. A statement that stood at the horizon stays, and so do names and cardinalities.
    2. A statement that was withdrawn by then goes, in the same commit as its withdrawal: without
       the withdrawal alone, it would stand again.
    3. If something that stays refers to a fact, the whole timeline of the fact stays, withdrawn
       statements included: what was believed at the time of reference is derived from them.
    """

    kinds = (
        Assert,
        AssertPrivately,
        End,
        EndFrom,
        EndPrivately,
        Withdraw,
        WithdrawPrivately,
    )

    def __init__(self, retained: RetainedRefs, ids: IdSource) -> None:
        self._retained = retained
        self._ids = ids
        self._referenced: set[LogPosition] = set()
        """The withdrawn statements that stay by the third rule."""
        self._event_key: tuple[int, Row | None] = (0, None)
        """The commit of the decoded event, and the last erasure when it was decoded."""
        self._event_operations: tuple[AnyOperation, ...] = ()

    def mark(self, _: Reader, __: LogPosition, operation: AnyOperation, /) -> None:
        """Retain the memories that statements have as their sources."""
        if isinstance(operation, (Assert, End)):
            for ref in rests_on(operation):
                self._retained.retain(ref)

    def finish_marking(self, engine: Engine, /) -> None:
        """Find the withdrawn statements that stay because their timeline is referred to."""
        horizon = self._retained.horizon
        for assertion_id in self._retained.facts:
            with engine.reading() as reader:
                rows = reader.rows(
                    "graph_timeline_withdrawn", assertion_id=assertion_id, horizon=horizon
                )
            self._referenced.update((commit_ts, position) for commit_ts, position in rows)

    def residue_of(
        self, reader: Reader, log_position: LogPosition, operation: AnyOperation, /
    ) -> AnyOperation | None:
        """Return the whole operation, the names first mentioned in it, or None.

        1. A withdrawal stays if a statement it withdraws stays whole.
        2. A statement that stands, or is referred to, stays whole.
        3. An end that came with an assertion goes or stays with it. It has no names of its own.
        4. A statement that mentions a name for the first time leaves that name, so that node ids
           keep their order. With a source it stays whole instead: an erasure of the source must
           erase the name as well, and the reference to the source is in the operation.
        """
        if isinstance(operation, Withdraw):
            decisions = self._withdrawn_statements(reader, operation)
            stays = any(residue is statement for _, statement, residue in decisions)
            return operation if stays else None
        assert isinstance(operation, (Assert, End)), "other kinds are not compacted here"
        if self._is_retained(reader, log_position, operation):
            return operation
        assertion = self._assertion_before(reader, log_position, operation)
        if assertion is not None:
            before = (log_position[0], log_position[1] - 1)
            return operation if self.residue_of(reader, before, assertion) is assertion else None
        names = tuple(
            name
            for name in (operation.subject, operation.relation, operation.object)
            if name and _is_first_mention(reader, log_position, operation, name)
        )
        if not names:
            return None
        if operation.source is not None:
            return operation
        scope, salt = operation.scope, self._ids.entropy(_SALT_BYTES)
        return NamesResidue(scope.namespace, scope.agent_id, names, salt, operation.private)

    def erased_with(self, reader: Reader, operation: AnyOperation, /) -> Iterator[Decision]:
        """Yield the statements that a withdrawal has to be erased together with."""
        if isinstance(operation, Withdraw):
            yield from self._withdrawn_statements(reader, operation)

    def _withdrawn_statements(self, reader: Reader, operation: Withdraw) -> Iterator[Decision]:
        """Yield the statements that an operation withdraws, and their residues."""
        rows = reader.rows("graph_statement_positions", assertion_id=operation.assertion_id)
        for commit_ts, position, _ in rows:
            statement = self._operations(reader, commit_ts)[position]
            if isinstance(statement, (Assert, End)):
                log_position = (commit_ts, position)
                yield log_position, statement, self.residue_of(reader, log_position, statement)

    def _operations(self, reader: Reader, commit_ts: int) -> tuple[AnyOperation, ...]:
        """Return the operations of an event. The last event is cached until an erasure.

        One event may have thousands of statements, and each is asked for on its own.
        """
        key = (commit_ts, reader.row("erasure_last"))
        if key != self._event_key:
            (event,) = pages.events_of(reader, [commit_ts])
            self._event_key = key
            self._event_operations = codec.decode_effective(event.operations)
        return self._event_operations

    def _is_retained(
        self, reader: Reader, log_position: LogPosition, operation: Assert | End
    ) -> bool:
        """Say whether a statement stood at the horizon, or is in a timeline that is referred to."""
        if log_position in self._referenced:
            return True
        rows = reader.rows("graph_statement_positions", assertion_id=operation.assertion_id)
        ends = {(commit_ts, position): until_commit for commit_ts, position, until_commit in rows}
        return log_position not in ends or ends[log_position] > self._retained.horizon

    def _assertion_before(
        self, reader: Reader, log_position: LogPosition, operation: Assert | End
    ) -> Assert | None:
        """Return the assertion that an end came with: the operation right before it."""
        if not isinstance(operation, End) or not log_position[1]:
            return None
        previous = self._operations(reader, log_position[0])[log_position[1] - 1]
        if isinstance(previous, Assert) and previous.assertion_id == operation.assertion_id:
            return previous
        return None


def _is_first_mention(
    reader: Reader, log_position: LogPosition, operation: Assert | End, name: Name
) -> bool:
    """Say whether this commit was the first to mention a name."""
    row = reader.row(
        "graph_node_first_commit",
        agent_id=operation.agent_id,
        namespace=operation.namespace,
        kind=name.kind,
        key=name.key,
    )
    return row == (log_position[0],)


# Deleting what a compaction erased.
#
# A compaction erases withdrawn statements only, and leaves names where they were first mentioned.
# So intervals and nodes stay as they are: no timeline is derived again.


class GraphTrimmer(Eraser):
    """Deletes the statements that a compaction erased from the log."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def apply_rewrite(self, rewritten: RewrittenEvent, /) -> None:
        """Delete the rows of the statements that an event has lost."""
        for position, before, after in rewritten.changes():
            if isinstance(before, (Assert, End)) and not isinstance(after, (Assert, End)):
                self._writer.run(
                    "graph_statement_drop",
                    assertion_id=before.assertion_id,
                    commit_ts=rewritten.before.commit_ts,
                    position=position,
                )
