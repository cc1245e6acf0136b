"""Summing up: how a reader of the log gets past what was compacted.

Up to its horizon a namespace's operations are not shown one by one, but in one event at the
horizon, with all that is left of them, in the order they were made: applied, they give what held.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from memoranda.errors import Compacted
from memoranda.log import horizons, pages
from memoranda.log.horizons import Horizon
from memoranda.log.selection import Selection
from memoranda.model import codec
from memoranda.model.event import ReplayEvent
from memoranda.model.operations import AnyOperation, OperationType
from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES
from memoranda.storage.port import Engine, Reader, Row


class Summing:
    """The horizons that a replay passes."""

    def __init__(self, engine: Engine, log_id: str, selection: Selection) -> None:
        self._engine = engine
        self._log_id = log_id
        self._selection = selection
        self._agent_id = None if selection.agent_id is ALL_AGENTS else selection.agent_id
        self._ahead: dict[str, Horizon] = {}

    def begin(self, reader: Reader, after: int, through: int) -> None:
        """Find the horizons that are passed; a replay that ends before one cannot be given."""
        for horizon in self._selected(reader):
            if after >= horizon.commit_ts or self._ahead.get(horizon.namespace) == horizon:
                continue
            end = min(through, horizon.commit_ts)
            if not self._missed(reader, horizon.namespace, after, end):
                continue
            if through < horizon.commit_ts:
                raise Compacted(
                    horizon.commit_ts,
                    f"namespace {horizon.namespace!r} cannot be replayed up to commit {through}",
                )
            self._ahead[horizon.namespace] = horizon

    def is_new(self, after: int, through: int) -> bool:
        """Say whether a horizon is passed, from a commit on, that was set since this was asked.

        Nothing is erased of a namespace before its horizon is set: what was read before this is
        asked, and no new one found, is whole.
        """
        known = dict(self._ahead)
        with self._engine.reading() as reader:
            self.begin(reader, after, through)
        return known != self._ahead

    @property
    def leap(self) -> int | None:
        """The commit to go on behind, if nothing else is asked for up to there."""
        if self._selection.namespace is ALL_NAMESPACES or not self._ahead:
            return None
        return next(iter(self._ahead.values())).commit_ts

    def passed(self, events: list[ReplayEvent], after: int, through: int) -> list[ReplayEvent]:
        """Return the events of a stretch, with what is summed up in one at each horizon."""
        if not self._ahead:
            return events
        shown = {event.commit_ts: self._without(event) for event in events}
        for horizon in [each for each in self._ahead.values() if after < each.commit_ts <= through]:
            whole = self._summary(horizon)
            there = shown.get(horizon.commit_ts)
            if there is not None and (there.summary or there.operations):
                whole = replace(
                    there, operations=(*whole.operations, *there.operations), summary=True
                )
            shown[horizon.commit_ts] = whole
        told = (shown[commit_ts] for commit_ts in sorted(shown))
        return [event for event in told if event.operations or event.summary]

    def _selected(self, reader: Reader) -> list[Horizon]:
        namespace = self._selection.namespace
        if namespace is ALL_NAMESPACES:
            return horizons.listed(reader)
        found = horizons.find(reader, namespace)
        return [] if found is None else [found]

    def _missed(self, reader: Reader, namespace: str, after: int, through: int) -> bool:
        """Say whether there was anything in these commits that a reader has not seen."""
        values = {"agent_id": self._agent_id, "namespace": namespace}
        row = reader.row("namespace_touched", **values, after=after, through=through)
        return row is not None

    def _without(self, event: ReplayEvent) -> ReplayEvent:
        left = [each for each in event.operations if not self._is_summed(event.commit_ts, each)]
        return event if len(left) == len(event.operations) else event.only(left)

    def _is_summed(self, commit_ts: int, operation: AnyOperation) -> bool:
        horizon = self._ahead.get(operation.namespace)
        return horizon is not None and commit_ts <= horizon.commit_ts

    def _summary(self, horizon: Horizon) -> ReplayEvent:
        """Return what is left up to a horizon, as of one moment: more of it may be going."""
        includes, left = self._selection.includes, list[AnyOperation]()
        with self._engine.snapshot() as reader:
            for row in self._rows(reader, horizon):
                left.extend(
                    operation
                    for operation in codec.decode_standing(row[4])
                    if operation.namespace == horizon.namespace
                    and operation.type is not OperationType.ERASED
                    and includes(operation)
                )
            there = reader.row("event_shown", commit_ts=horizon.commit_ts)
            summed = reader.row("event_shown", commit_ts=horizon.summed_in)
        assert there is not None, "a horizon is a commit"
        assert summed is not None, "another commit has set it"
        by = codec.decode_envelope(summed[3])
        return ReplayEvent(
            horizon.commit_ts,
            there[1],
            by.txn_id,
            by.actor,
            tuple(left),
            there[2],
            self._log_id,
            True,
        )

    def _rows(self, reader: Reader, horizon: Horizon) -> Iterator[Row]:
        """Yield the events up to a horizon that may have something of what is asked for."""
        after, query, scope = 0, "event_page_of_all", dict[str, int]()
        if self._agent_id is not None:
            row = reader.row("scope_find", agent_id=self._agent_id, namespace=horizon.namespace)
            assert row is not None, "it was touched"
            query, scope = "event_page_of_scope", {"scope_id": row[0]}
        bounds = {"through": horizon.commit_ts, "most": pages.PAGE_ROWS}
        while rows := reader.rows(query, **scope, **bounds, after=after, budget=pages.PAGE_BYTES):
            yield from rows
            after = rows[-1][0]
