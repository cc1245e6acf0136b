"""Replay: what was done, in order, as far as the log went when it was asked."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import groupby, islice

import msgspec

from recollect.errors import Corruption
from recollect.log import moments, pages
from recollect.log.selection import Selection
from recollect.model import codec
from recollect.model.event import ReplayEvent
from recollect.model.instant import Instant, to_micros
from recollect.model.scope import ALL_AGENTS, ALL_NAMESPACES
from recollect.storage.port import Engine, Reader, Row

_Sized = tuple[int, int, ReplayEvent]
"""A commit's number, how many bytes it took to store, and the event."""


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
        self.at = after
        """The commit up to which everything has been read."""
        self._events = self._merge(scopes, after)

    def next_page(self) -> list[ReplayEvent]:
        """Return the next events."""
        page: list[ReplayEvent] = []
        while not page and self.at < self.through:
            page = self.next_stretch()
        return page

    def next_stretch(self) -> list[ReplayEvent]:
        """Return what is asked for in the next stretch of the log: perhaps nothing, but soon."""
        asked: list[ReplayEvent] = []
        budget = pages.PAGE_BYTES
        looked_at = 0
        for commit_ts, size, event in islice(self._events, pages.PAGE_ROWS):
            looked_at += 1
            self.at = commit_ts
            if part := self._selection.part_of(event):
                asked.append(part)
            budget -= size
            if budget <= 0:
                return asked
        if looked_at < pages.PAGE_ROWS:
            self.at = max(self.at, self.through)
        return asked

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

    def _merge(self, scopes: list[int], after: int) -> Iterator[_Sized]:
        """Yield each event once, though several of the agent's scopes may be in it."""
        if self._selection.agent_id is ALL_AGENTS:
            yield from self._paged("event_page_of_all", after)
        elif len(scopes) == 1:
            yield from self._paged("event_page_of_scope", after, scope_id=scopes[0])
        else:
            yield from self._events_of_many(scopes, after)

    def _paged(self, query: str, after: int, **scope: int) -> Iterator[_Sized]:
        """Yield the events of one query, read in pages."""
        while after < self.through:
            with self._engine.reading() as reader:
                rows = reader.rows(
                    query,
                    after=after,
                    through=self.through,
                    most=pages.PAGE_ROWS,
                    budget=pages.PAGE_BYTES,
                    **scope,
                )
            if not rows:
                return
            for row in rows:
                yield self._decode(row)
            after = rows[-1][0]

    def _events_of_many(self, scopes: list[int], after: int) -> Iterator[_Sized]:
        """Merge the commits' numbers first, which are small, and read each event once."""
        streams = [self._commits_of(scope_id, after, len(scopes)) for scope_id in scopes]
        for commit_ts, _ in groupby(heapq.merge(*streams)):
            with self._engine.reading() as reader:
                row = reader.row("event_shown", commit_ts=commit_ts)
            if row is None:
                raise Corruption(f"commit {commit_ts}, which the index names, is not in the log")
            yield self._decode(row)

    def _commits_of(self, scope_id: int, after: int, scopes: int) -> Iterator[int]:
        most = max(pages.PAGE_ROWS // scopes, 8)
        while after < self.through:
            with self._engine.reading() as reader:
                rows = reader.rows(
                    "commits_of_scope",
                    scope_id=scope_id,
                    after=after,
                    through=self.through,
                    most=most,
                )
            if not rows:
                return
            for (commit_ts,) in rows:
                yield commit_ts
            after = rows[-1][0]

    def _decode(self, row: Row) -> _Sized:
        commit_ts, committed_at, event_hash, envelope, operations = row
        sender = codec.decode_envelope(envelope)
        event = ReplayEvent(
            commit_ts,
            committed_at,
            sender.txn_id,
            sender.actor,
            codec.decode_operations(operations),
            event_hash,
            self._log_id,
        )
        return commit_ts, len(operations), event
