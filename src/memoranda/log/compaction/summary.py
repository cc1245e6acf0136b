"""Compaction summaries: how a replay passes a compacted part of the log.

Up to its horizon a namespace's operations are not shown one by one, but in one event at the
horizon. It has all remaining operations in their order: applied, they give the state at the
horizon.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from memoranda.errors import Compacted
from memoranda.log import pages
from memoranda.log.compaction import horizon as compaction_horizon
from memoranda.log.compaction.horizon import Horizon
from memoranda.log.read.visibility import Selection
from memoranda.model import codec
from memoranda.model.event import ReplayEvent
from memoranda.model.operations import AnyOperation, OperationType, effective_operation
from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES
from memoranda.storage.port import Engine, Reader, Row


class CompactionSummaries:
    """The horizons that a replay passes, and their summary events."""

    def __init__(self, engine: Engine, log_id: str, selection: Selection) -> None:
        self._engine = engine
        self._log_id = log_id
        self._selection = selection
        self._agent_id = None if selection.agent_id is ALL_AGENTS else selection.agent_id
        self._horizons: dict[str, Horizon] = {}

    @property
    def query(self) -> tuple[str, Row]:
        """The query that reads the horizons of the selection, and its values."""
        namespace = self._selection.namespace
        if namespace is ALL_NAMESPACES:
            return compaction_horizon.ALL, ()
        return compaction_horizon.ONE, (namespace,)

    def find_horizons(self, reader: Reader, after: int, through: int) -> None:
        """Find the horizons ahead; raise `Compacted` if the replay would end before one."""
        query, item = self.query
        (rows,) = reader.rows_each(query, [item])
        for horizon in self._unknown(rows, after):
            end = min(through, horizon.commit_ts)
            if not self._was_touched(reader, horizon.namespace, after, end):
                continue
            if through < horizon.commit_ts:
                raise Compacted(
                    horizon.commit_ts,
                    f"namespace {horizon.namespace!r} cannot be replayed up to commit {through}",
                )
            self._horizons[horizon.namespace] = horizon

    def _unknown(self, rows: Sequence[Row], after: int) -> list[Horizon]:
        """Return the horizons ahead, of these rows, that are not known yet."""
        return [
            horizon
            for horizon in map(compaction_horizon.horizon_of, rows)
            if after < horizon.commit_ts and self._horizons.get(horizon.namespace) != horizon
        ]

    def has_new_horizon(self, rows: Sequence[Row], after: int, through: int) -> bool:
        """Return whether the rows of `query` have a horizon ahead that was set since the last call.

        Nothing of a namespace is erased before its horizon is set. So what was read before such
        rows is complete if none is new.
        """
        if not self._unknown(rows, after):
            return False
        previous = dict(self._horizons)
        with self._engine.reading() as reader:
            self.find_horizons(reader, after, through)
        return previous != self._horizons

    @property
    def horizons(self) -> dict[str, int]:
        """The commits of the horizons that the replay passes, by namespace."""
        return {name: horizon.commit_ts for name, horizon in self._horizons.items()}

    @property
    def skip_to(self) -> int | None:
        """The commit to continue after, if the replay shows nothing before it."""
        if self._selection.namespace is ALL_NAMESPACES or not self._horizons:
            return None
        return next(iter(self._horizons.values())).commit_ts

    def insert_summaries(
        self, events: list[ReplayEvent], after: int, through: int
    ) -> list[ReplayEvent]:
        """Return the events of a stretch, with a summary event at each horizon."""
        if not self._horizons:
            return events
        by_commit = {event.commit_ts: self._unsummarized(event) for event in events}
        for horizon in self._horizons.values():
            if not after < horizon.commit_ts <= through:
                continue
            summary = self._summary(horizon)
            own_event = by_commit.get(horizon.commit_ts)
            if own_event is not None and (own_event.summary or own_event.operations):
                summary = replace(
                    own_event, operations=(*summary.operations, *own_event.operations), summary=True
                )
            by_commit[horizon.commit_ts] = summary
        sorted_events = (by_commit[commit_ts] for commit_ts in sorted(by_commit))
        return [event for event in sorted_events if event.operations or event.summary]

    def _was_touched(self, reader: Reader, namespace: str, after: int, through: int) -> bool:
        """Return whether these commits touched a namespace: else the reader misses nothing."""
        values = {"agent_id": self._agent_id, "namespace": namespace}
        row = reader.row("namespace_touched", **values, after=after, through=through)
        return row is not None

    def _unsummarized(self, event: ReplayEvent) -> ReplayEvent:
        remaining = [
            operation
            for operation in event.operations
            if not self._is_summarized(event.commit_ts, operation)
        ]
        return event if len(remaining) == len(event.operations) else event.only(remaining)

    def _is_summarized(self, commit_ts: int, operation: AnyOperation) -> bool:
        horizon = self._horizons.get(operation.namespace)
        return horizon is not None and commit_ts <= horizon.commit_ts

    def _summary(self, horizon: Horizon) -> ReplayEvent:
        """Return the summary event of a horizon, read in one snapshot: slices may be running."""
        includes, remaining = self._selection.includes, list[AnyOperation]()
        with self._engine.snapshot() as reader:
            for places, operations in self._stored(reader, horizon):
                remaining.extend(
                    operation
                    for operation in map(effective_operation, codec.decode_at(operations, places))
                    if operation.namespace == horizon.namespace
                    and operation.type is not OperationType.ERASED
                    and includes(operation)
                )
            row = reader.row("event_shown", commit_ts=horizon.commit_ts)
            setting_row = reader.row("event_shown", commit_ts=horizon.summed_in)
        assert row is not None, "a horizon is a commit"
        assert setting_row is not None, "another commit has set the horizon"
        envelope = codec.decode_envelope(setting_row[3])
        return ReplayEvent(
            horizon.commit_ts,
            row[1],
            envelope.txn_id,
            envelope.actor,
            tuple(remaining),
            row[2],
            self._log_id,
            True,
        )

    def _stored(self, reader: Reader, horizon: Horizon) -> Iterator[tuple[bytes | None, bytes]]:
        """Yield the encoded operations up to a horizon that may have some of the selection.

        Each comes with the spans of the selected scope's operations, if these are indexed.
        """
        after, query, scope = 0, "event_page_of_all", dict[str, int]()
        if self._agent_id is not None:
            row = reader.row("scope_find", agent_id=self._agent_id, namespace=horizon.namespace)
            assert row is not None, "the namespace was touched"
            query, scope = "event_places_of_scope", {"scope_id": row[0]}
        bounds = {"through": horizon.commit_ts, "limit": pages.PAGE_ROWS}
        while rows := reader.rows(query, **scope, **bounds, after=after, budget=pages.PAGE_BYTES):
            yield from ((row[-2] if scope else None, row[-1]) for row in rows)
            after = rows[-1][0]
