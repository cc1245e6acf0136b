"""Replay: the selected operations of the log in order, up to the head at the time of the call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

import msgspec
from msgspec.structs import replace

from memoranda.errors import Corruption
from memoranda.log import pages
from memoranda.log.commit import transaction_signature
from memoranda.log.compaction.summary import CompactionSummaries
from memoranda.log.pages import Position, ResumablePages
from memoranda.log.read import as_of, visibility
from memoranda.log.read.visibility import Selection, mask_private, scopes_in
from memoranda.model import codec
from memoranda.model.clock import Instant, to_micros
from memoranda.model.event import ReplayEvent, StoredEvent
from memoranda.model.operations import Erased, Redacted, is_restated, is_unproven, visible_operation
from memoranda.model.receipt import HasCommit
from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES
from memoranda.storage.port import Engine, Reader, Row

_ERASED_KINDS = frozenset((Erased, Redacted))


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The requested part of the log, as the caller states it."""

    from_timestamp: Instant | None = None
    to_timestamp: Instant | None = None
    after_commit: int | str | HasCommit | None = None
    through_commit: int | HasCommit | None = None

    def resolve(self, reader: Reader, log_id: str) -> tuple[int, int]:
        """Return the commits as (after, through]; later commits are never included."""
        after, through = 0, pages.head_commit(reader)
        if self.after_commit is not None:
            after = as_of.commit_of_token(reader, "after_commit", log_id, self.after_commit)
        if self.through_commit is not None:
            through = min(through, as_of.check_commit("through_commit", self.through_commit))
        if self.from_timestamp is not None:
            first = to_micros("from_timestamp", self.from_timestamp)
            after = max(after, as_of.commit_at_time(reader, first - 1))
        if self.to_timestamp is not None:
            end = to_micros("to_timestamp", self.to_timestamp)
            through = min(through, as_of.commit_at_time(reader, end - 1))
        return after, through


class Replay(ResumablePages[ReplayEvent]):
    """The pages of one replay; its bounds are fixed when it is created."""

    def __init__(
        self, engine: Engine, log_id: str, selection: Selection, bounds: Bounds | None = None
    ) -> None:
        self._engine = engine
        self._log_id = log_id
        self._selection = selection
        with engine.reading() as reader:
            self.at, self.through = (bounds or Bounds()).resolve(reader, log_id)
            """The commit through which everything was read, and the last commit."""
            self._start = self.at
            self._begin(reader)

    def _begin(self, reader: Reader) -> None:
        """Look up what is the same for all pages."""
        self._scopes = self._find_scopes(reader, self.at) if self.at < self.through else []
        self._summaries = CompactionSummaries(self._engine, self._log_id, self._selection)
        self._summaries.find_horizons(reader, self._start, self.through)
        self._commit_iterator: Iterator[tuple[int, list[int]]] | None = None

    @property
    def position(self) -> Position:
        """The commits after which it began, with which it ends, and through which it has read.

        A summary replaces what came before it. So whether one is due depends on where the replay
        began, not only on what is left of it.
        """
        return [self._start, self.through, self.at]

    @position.setter
    def position(self, position: Position) -> None:
        self._start, self.through, self.at = position
        with self._engine.reading() as reader:
            self._begin(reader)

    def next_page(self) -> list[ReplayEvent]:
        """Return the next events."""
        page: list[ReplayEvent] = []
        while not page and self.at < self.through:
            page = self.next_stretch()
        return page

    def next_stretch(self) -> list[ReplayEvent]:
        """Return the selected events of the next stretch of the log, soon: perhaps none."""
        after, leap = self.at, self._summaries.skip_to
        if leap is not None and after < leap:
            self.at = leap
            return self._masked(self._summaries.insert_summaries([], after, leap))
        decode, part_of = self._decode, self._selection.part_of
        events = [part for row in self._read_rows() if (part := part_of(decode(row)))]
        return self._masked(self._summaries.insert_summaries(events, after, self.at))

    def next_stored_stretch(self) -> list[StoredEvent | ReplayEvent]:
        """As `next_stretch`, with the stored bytes of events that the viewer sees unchanged."""
        if not self._selection.needs_scopes_only or self._summaries.horizons:
            return [*self.next_stretch()]
        return [event for row in self._read_rows() if (event := self._stored(row))]

    def _read_rows(self) -> list[Row]:
        """Read the next rows, and move behind them; none if they may be erased meanwhile."""
        rows: list[Row] = []
        if self.at < self.through:
            rows, horizons = self._next_rows()
            if rows and self._summaries.has_new_horizon(horizons, self.at, self.through):
                self._commit_iterator = None  # read them again
                return []
        self.at = rows[-1][0] if rows else max(self.at, self.through)
        return rows

    def _stored(self, row: Row) -> StoredEvent | ReplayEvent | None:
        """Return the selected part of an event, as it is stored if nothing of it was erased."""
        commit_ts, committed_at, event_hash, envelope, *places, operations = row
        try:
            if places and places[0] is not None:
                selected: bytes | None = codec.cut_spans(operations, places[0])
            else:
                selected = codec.cut_matching(operations, self._includes)
        except codec.UNREADABLE:  # damaged: decoding it says so
            selected = None
        if selected is None or codec.is_erased_envelope(envelope):
            return self._selection.part_of(self._decode(row))
        if not selected:
            return None
        return StoredEvent(commit_ts, committed_at, event_hash, envelope, selected)

    def _includes(self, head: codec.OperationHead) -> bool:
        return self._selection.includes_scope(head.agent_id, head.namespace)

    def _masked(self, events: list[ReplayEvent]) -> list[ReplayEvent]:
        """Return events without references to what the viewer may not see."""
        selection = self._selection
        sees_all = selection.viewer in (None, selection.agent_id) and selection.coverage is None
        if sees_all or not events:
            return events
        with self._engine.reading() as reader:
            return mask_private(reader, events, selection.viewer)

    def _find_scopes(self, reader: Reader, after: int) -> list[int]:
        """Return the scopes that may have selected operations; none if all of them may."""
        agent_id, namespace = self._selection.agent_id, self._selection.namespace
        if self._reads_whole_log:
            return []
        if agent_id is ALL_AGENTS:
            return scopes_in(reader, namespace, after=after, through=self.through)
        if namespace is not ALL_NAMESPACES:
            rows = reader.rows("scope_find", agent_id=agent_id, namespace=namespace)
        else:
            rows = reader.rows(
                "scopes_with_events", agent_id=agent_id, after=after, through=self.through
            )
        return [row[0] for row in rows]

    @property
    def _reads_whole_log(self) -> bool:
        return self._selection.agent_id is ALL_AGENTS and self._selection.coverage is None

    def _next_rows(self) -> tuple[list[Row], list[Row]]:
        """Read the next events, and the horizons behind them.

        Each event is read once, although several of the agent's scopes may be in it.
        """
        if len(self._scopes) > 1:
            return self._rows_of_scopes()
        if self._reads_whole_log:
            return self._page("event_page_of_all")
        if not self._scopes:
            return [], []
        return self._page("event_places_of_scope", scope_id=self._scopes[0])

    def _page(self, query: str, **scope: int) -> tuple[list[Row], list[Row]]:
        with self._engine.reading() as reader:
            return reader.rows_before(
                query,
                *self._summaries.query,
                **scope,
                after=self.at,
                through=self.through,
                limit=self.rows,
                budget=pages.PAGE_BYTES,
            )

    def _rows_of_scopes(self) -> tuple[list[Row], list[Row]]:
        """Merge the commit numbers of all scopes, and read each event once."""
        commits, self._commit_iterator = self._commit_iterator, None  # created again if this fails
        if commits is None:
            commits = visibility.commits_of(
                self._engine, self._scopes, after=self.at, through=self.through
            )
        batch = [*islice(commits, self.rows)]
        rows: list[Row] = []
        horizons: list[Row] = []
        if batch:
            with self._engine.reading() as reader:
                rows, horizons = self._events_of(reader, batch)
        self._commit_iterator = chain(batch[len(rows) :], commits)
        return rows, horizons

    def _events_of(
        self, reader: Reader, commits: Sequence[tuple[int, list[int]]]
    ) -> tuple[list[Row], list[Row]]:
        """Read the first of some events, with the spans of the scopes' operations if all are known.

        Both are read in one query: an erasure in between would move the spans.
        """
        rows = []
        stored, horizons = reader.rows_before(
            "event_places_of_scopes",
            *self._summaries.query,
            events=commits,
            budget=pages.PAGE_BYTES,
        )
        for row in stored:
            *columns, encoded_places, operations = row
            places = [bytes.fromhex(place) for place in msgspec.json.decode(encoded_places)]
            rows.append((*columns, codec.join_spans(places), operations))
        is_cut = sum(len(row[-1]) for row in rows) >= pages.PAGE_BYTES
        for number, (commit_ts, _) in enumerate(commits[: len(rows)] if is_cut else commits):
            if number == len(rows) or rows[number][0] != commit_ts:
                raise Corruption(f"commit {commit_ts} is in the index and not in the log")
        return rows, horizons

    def _decode(self, row: Row) -> ReplayEvent:
        commit_ts, committed_at, event_hash, envelope, *places, operations = row
        try:
            sender = codec.read_envelope(envelope)
            if places and places[0] is not None:
                decoded = codec.read_spans(operations, places[0])
            else:
                decoded = codec.read_operations(operations)
        except codec.UNREADABLE:  # damaged, or partly erased
            sender, decoded = codec.decode_envelope(envelope), codec.decode_operations(operations)
        event = ReplayEvent(
            commit_ts, committed_at, sender.txn_id, sender.actor, decoded, event_hash, self._log_id
        )
        is_signed, is_traced = sender.signature is not None, sender.trace_id is not None
        if not (is_signed or is_traced) and _ERASED_KINDS.isdisjoint(map(type, decoded)):
            return event  # as most are
        restated = any(is_restated(operation) for operation in decoded)
        return replace(
            event,
            operations=tuple(map(visible_operation, decoded)),
            # the agent did not sign a residue that replaces a name
            signature=None if restated else transaction_signature.signature_hex(sender),
            unproven=any(is_unproven(operation) for operation in decoded),
            request_only=not restated and transaction_signature.is_request_only(sender),
            trace_id=sender.trace_hex,
        )


def decode_stored(event: StoredEvent, log_id: str) -> ReplayEvent:
    """Decode an event that a store has sent as it is stored; it raises `Corruption`."""
    sender = codec.decode_envelope(event.envelope)
    return ReplayEvent(
        event.commit_ts,
        event.committed_micros,
        sender.txn_id,
        sender.actor,
        codec.decode_operations(event.operations),
        event.hash,
        log_id,
        signature=transaction_signature.signature_hex(sender),
        request_only=transaction_signature.is_request_only(sender),
        trace_id=sender.trace_hex,
    )
