"""Replay: what was done, in order, as far as the log went when it was asked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec
from msgspec.structs import replace

from memoranda.errors import Corruption
from memoranda.log import merging, moments, pages, signing
from memoranda.log.masking import masked
from memoranda.log.selection import Selection
from memoranda.log.summing import Summing
from memoranda.model import codec
from memoranda.model.event import ReplayEvent
from memoranda.model.instant import Instant, to_micros
from memoranda.model.operations import Erased, Redacted, is_restated, is_unproven, shown
from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES
from memoranda.storage.port import Engine, Reader, Row

_ERASED = frozenset((Erased, Redacted))


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of the log is asked for, as the caller says it."""

    from_timestamp: Instant | None = None
    to_timestamp: Instant | None = None
    after_commit: int | str | None = None
    through_commit: int | None = None

    def resolve(self, reader: Reader, log_id: str) -> tuple[int, int]:
        """Return the commits as (after, through]; what is committed later is never part of it."""
        after, through = 0, pages.head_commit(reader)
        if self.after_commit is not None:
            after = moments.commit_of_token(reader, "after_commit", log_id, self.after_commit)
        if self.through_commit is not None:
            through = min(through, moments.check_commit("through_commit", self.through_commit))
        if self.from_timestamp is not None:
            first = to_micros("from_timestamp", self.from_timestamp)
            after = max(after, moments.commit_at_time(reader, first - 1))
        if self.to_timestamp is not None:
            end = to_micros("to_timestamp", self.to_timestamp)
            through = min(through, moments.commit_at_time(reader, end - 1))
        return after, through


class Replay:
    """The pages of one replay. Its bounds are fixed when it is made."""

    def __init__(
        self, engine: Engine, log_id: str, selection: Selection, bounds: Bounds | None = None
    ) -> None:
        self._engine = engine
        self._log_id = log_id
        self._selection = selection
        with engine.reading() as reader:
            after, self.through = (bounds or Bounds()).resolve(reader, log_id)
            scopes = self._find_scopes(reader, after) if after < self.through else []
            self._summing = Summing(engine, log_id, selection)
            self._summing.begin(reader, after, self.through)
        self.at = after
        """The commit up to which everything has been read."""
        self._scopes = scopes
        self._merged: Iterator[int] | None = None

    def next_page(self) -> list[ReplayEvent]:
        """Return the next events."""
        page: list[ReplayEvent] = []
        while not page and self.at < self.through:
            page = self.next_stretch()
        return page

    def next_stretch(self) -> list[ReplayEvent]:
        """Return what is asked for in the next stretch of the log: perhaps nothing, but soon."""
        after, leap = self.at, self._summing.leap
        if leap is not None and after < leap:
            self.at = leap
            return self._summing.passed([], after, leap)
        rows = self._next_rows() if self.at < self.through else []
        if rows and self._summing.is_new(after, self.through):
            self._merged = None  # something of what was read may have gone meanwhile
            return []
        self.at = rows[-1][0] if rows else max(self.at, self.through)
        decode, part_of = self._decode, self._selection.part_of
        events = [part for row in rows if (part := part_of(decode(row)))]
        return self._summing.passed(self._masked(events), after, self.at)

    def _masked(self, events: list[ReplayEvent]) -> list[ReplayEvent]:
        """Return events without the names of what others keep to themselves."""
        viewer = self._selection.viewer
        if viewer in (None, self._selection.agent_id) or not events:
            return events
        assert viewer is not None, "somebody looks"
        with self._engine.reading() as reader:
            return masked(reader, events, viewer)

    def _find_scopes(self, reader: Reader, after: int) -> list[int]:
        """Return the scopes of the agent that may have something to show."""
        agent_id, namespace = self._selection.agent_id, self._selection.namespace
        if agent_id is ALL_AGENTS:
            return []
        if namespace is not ALL_NAMESPACES:
            rows = reader.rows("scope_find", agent_id=agent_id, namespace=namespace)
        else:
            rows = reader.rows(
                "scopes_with_events", agent_id=agent_id, after=after, through=self.through
            )
        return [row[0] for row in rows]

    def _next_rows(self) -> list[Row]:
        """Read the next events: each once, though several of the agent's scopes may be in it."""
        if len(self._scopes) > 1:
            return self._rows_of_many()
        if self._selection.agent_id is ALL_AGENTS:
            return self._page("event_page_of_all")
        return self._page("event_places_of_scope", scope_id=self._scopes[0]) if self._scopes else []

    def _page(self, query: str, **scope: int) -> list[Row]:
        with self._engine.reading() as reader:
            return reader.rows(
                query,
                **scope,
                after=self.at,
                through=self.through,
                most=pages.PAGE_ROWS,
                budget=pages.PAGE_BYTES,
            )

    def _rows_of_many(self) -> list[Row]:
        """Merge the commits' numbers first, which are small, and read each event once."""
        commits, self._merged = self._merged, None  # begun anew, if this fails
        if commits is None:
            commits = merging.commits_of(
                self._engine, self._scopes, after=self.at, through=self.through
            )
        rows: list[Row] = []
        budget = pages.PAGE_BYTES
        for commit_ts in islice(commits, pages.PAGE_ROWS):
            with self._engine.reading() as reader:
                row = reader.row("event_shown", commit_ts=commit_ts)
            if row is None:
                raise Corruption(f"commit {commit_ts}, which the index names, is not in the log")
            rows.append(row)
            budget -= len(row[-1])
            if budget <= 0:
                break
        self._merged = commits
        return rows

    def _decode(self, row: Row) -> ReplayEvent:
        commit_ts, committed_at, event_hash, envelope, *places, operations = row
        try:
            sender = codec.read_envelope(envelope)
            if places and places[0] is not None:
                said = codec.read_spans(operations, places[0])
            else:
                said = codec.read_operations(operations)
        except codec.UNREADABLE:  # or erased
            sender, said = codec.decode_envelope(envelope), codec.decode_operations(operations)
        event = ReplayEvent(
            commit_ts, committed_at, sender.txn_id, sender.actor, said, event_hash, self._log_id
        )
        if sender.signature is None and _ERASED.isdisjoint(map(type, said)):  # as most are
            return event
        restated = any(is_restated(each) for each in said)
        return replace(
            event,
            operations=tuple(map(shown, said)),
            # who signed did not sign what is left of what was erased
            signature=None if restated else signing.shown(sender),
            unproven=any(is_unproven(each) for each in said),
        )
