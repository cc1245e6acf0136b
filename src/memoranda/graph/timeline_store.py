"""Timelines in the tables: store what a commit asserts, ends or withdraws.

The table `graph_statement` has every statement, `graph_edge` the intervals that follow from those
that stand. After every commit, `graph_edge` equals what `derive_intervals` returns for the
statements of each timeline. Two ways lead there:

- A small timeline is derived as a whole.
- A large one is updated around the point of the statement only. In a single-valued timeline the
  next assertion decides again which object holds, whatever came before it, so a statement changes
  nothing beyond that assertion. In a multi-valued one, objects do not end each other. So the cost
  of a statement does not grow with the timeline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from memoranda.graph.timeline import (
    OPEN_END_POINT,
    Interval,
    Statement,
    TimelinePoint,
    derive_intervals,
    make_statement,
)
from memoranda.log import pages
from memoranda.model.intervals import OPEN_END
from memoranda.model.operations import Withdraw
from memoranda.storage.port import Reader, Row, WriteBuffer, Writer

_MIN_INSTANT = -(2**63)
"""An instant before every other, in microseconds: the smallest integer that databases store."""

NodeInterval = Interval[int]
"""An interval as the tables have it: the object is a node id."""
TimelineId = tuple[int, int]
"""The node ids of a timeline's subject and relation."""


class TimelineChange(NamedTuple):
    """The intervals that a statement touched, before and after it. Some may be equal."""

    old: list[NodeInterval]
    new: list[NodeInterval]


class Timeline(msgspec.Struct, frozen=True, gc=False):
    """The stored timeline of one subject and relation, given by their node ids."""

    writer: Writer
    subject: int
    relation: int

    def update(
        self, statement: Statement[int], *, withdrawal: bool, single: bool
    ) -> TimelineChange:
        """Bring the intervals up to date with a statement that was just added or withdrawn.

        The statement itself is already in `graph_statement`, or marked there as withdrawn.
        """
        if single:
            change = self._update_single_valued(statement, withdrawal=withdrawal)
        elif statement.asserts:
            change = self._update_object(statement, withdrawal=withdrawal)
        elif statement.ends_others:
            change = self._update_ended(statement, withdrawal=withdrawal)
        else:
            change = TimelineChange([], [])  # an assertion's own end is its bound already
        self.put(change)
        return change

    def put(self, change: TimelineChange) -> None:
        """Write what a change of the intervals changes in the table."""
        self._put_rows(self.replace(change))

    def rebuild(self, *, single: bool) -> None:
        """Derive all intervals again from the statements that stand."""
        key = {"subject": self.subject, "relation": self.relation}
        self.writer.run("graph_timeline_drop", **key)
        rows = self.writer.rows("graph_timeline_statements", **key)
        statements = [decode_statement(row) for row in rows]
        intervals = derive_intervals(statements, single=single)
        self._put_rows([self._row(interval) for interval in intervals])

    def size(self) -> int:
        """Return the number of statements that stand."""
        row = self.writer.row("graph_timeline_size", subject=self.subject, relation=self.relation)
        assert row is not None, "a count has a row"
        return int(row[0])

    def replace(self, change: TimelineChange) -> list[Row]:
        """Delete the intervals that are gone, and return the rows of new and changed ones."""
        if not change.old:
            return [*map(self._row, change.new)]
        old = {interval.start: interval for interval in change.old}
        for start in old.keys() - {interval.start for interval in change.new}:
            self.writer.run("graph_edge_drop", **self._key(start))
        return [
            self._row(interval) for interval in change.new if old.get(interval.start) != interval
        ]

    def _update_single_valued(
        self, statement: Statement[int], *, withdrawal: bool
    ) -> TimelineChange:
        """Derive the stretch from a point to the next assertion, and join it to its neighbours.

        An assertion of X that is added there:

        1. X holds already: its interval goes on, and only `last` may move.
        2. Y holds: its interval is closed at the point, and X holds from there.
        3. Y holds, and Y is asserted again later: its interval is cut in two, with X in between.
        4. The next assertion is of X too: both become one interval, which now starts earlier.

        An end of X that is added there:

        5. X holds: its interval is closed. If X is asserted again later, a second interval starts
           with that assertion.
        6. Another object holds, or none: nothing changes.

        A statement that is removed undoes each of these: the interval before it is reopened up to
        the next assertion or end, and intervals that were cut in two become one again.
        """
        point = statement.point
        before = self._interval("graph_edge_before", point)
        if before is not None and before.end < point:
            before = None  # it was over by then
        own = self._interval("graph_edge_from", point)
        following = self._assertion("graph_assertion_after", point)
        tail = None if following is None else self._interval_of(following.point, own or before)
        head = None if before is None else self._head(before, point)

        # Between the point and the next assertion there is at most this one statement. What holds
        # right before it stands for everything earlier, as one assertion.
        stretch = [] if withdrawal else [statement]
        if head is not None:
            stretch.insert(0, Statement(head.start, asserts=True, object=head.object))
        intervals = [
            replace(interval, last=head.last)
            if head is not None and interval.last == head.start
            else interval
            for interval in derive_intervals(stretch, single=True)
        ]
        if intervals and intervals[-1].end == OPEN_END_POINT:
            intervals[-1] = self._end_after(intervals[-1], point)
        if following is not None and tail is not None:
            intervals = _join_following(intervals, following, tail)
        old = [interval for interval in (before, own, tail) if interval is not None]
        return TimelineChange(old, intervals)

    def _head(self, interval: NodeInterval, point: TimelinePoint) -> NodeInterval:
        """Return what an interval is by its assertions before a point alone: without an end."""
        if interval.last < point:
            return replace(interval, end=OPEN_END_POINT)
        last = self._assertion("graph_assertion_before", point)
        assert last is not None, "an interval that starts before a point has an assertion there"
        return replace(interval, last=last.point, end=OPEN_END_POINT)

    def _interval_of(self, assertion: TimelinePoint, current: NodeInterval | None) -> NodeInterval:
        """Return the interval of an assertion: the one it starts, or else the current one."""
        interval = self._interval("graph_edge_from", assertion) or current
        assert interval is not None, "every assertion belongs to an interval"
        return interval

    def _end_after(self, interval: NodeInterval, point: TimelinePoint) -> NodeInterval:
        """Return an interval with the first end of its object after a point, if there is one."""
        end = self._next_end("graph_end_after", interval.object, point)
        own = self._next_end("graph_bound_after", interval.object, point)
        return replace(interval, end=min(end, own))

    def _next_end(self, query: str, object_: int, point: TimelinePoint) -> TimelinePoint:
        row = self.writer.row(query, object=object_, **self._key(point))
        return OPEN_END_POINT if row is None else (row[0], row[1], row[2])

    def _update_object(self, statement: Statement[int], *, withdrawal: bool) -> TimelineChange:
        """Apply an assertion to a multi-valued timeline: it touches one interval at most.

        That is the interval of the same object and instant. An assertion that is added starts it,
        or prolongs it to its own end. One that is removed leaves it to the remaining assertions.
        """
        assert statement.object is not None, "an assertion has an object"
        current = self._interval("graph_edge_of_object", statement.point, object=statement.object)
        if withdrawal:
            assert current is not None, "an assertion that stood was part of an interval"
            return TimelineChange([current], self._derive_again(current))
        end = self._next_end("graph_end_after", statement.object, statement.point)
        end = min(statement.bound, end)
        if current is None:
            start = statement.point
            return TimelineChange([], [Interval(statement.object, start, start, end)])
        longer = replace(current, last=statement.point, end=max(current.end, end))
        return TimelineChange([current], [longer])

    def _update_ended(self, statement: Statement[int], *, withdrawal: bool) -> TimelineChange:
        """Apply an end of its own to a multi-valued timeline.

        An end that is added cuts every interval that crosses it. One that is removed lets the
        intervals it ended go on to their next end. Neither looks before the previous end of the
        same object: an interval that started earlier was over by then.
        """
        since = self._previous_end(statement)
        if withdrawal:
            query = "graph_edges_ended_at"
            old = self._intervals(query, statement.point, since=since, object=statement.object)
            return TimelineChange(
                old, [new for interval in old for new in self._derive_again(interval)]
            )
        if statement.object is None:
            old = self._intervals("graph_edges_crossing", statement.point, since=since)
        else:
            query = "graph_edges_crossing_of_object"
            old = self._intervals(query, statement.point, object=statement.object, since=since)
        return TimelineChange(old, [replace(interval, end=statement.point) for interval in old])

    def _derive_again(self, interval: NodeInterval) -> list[NodeInterval]:
        """Derive an interval of a multi-valued timeline again: one, or none if nothing stands."""
        if interval.start == interval.last:
            row = self.writer.row("graph_statement_bound", **self._key(interval.start))
            if row is None:
                return []
            statement = make_statement(interval.start, True, interval.object, row[0])
            end = self._next_end("graph_end_after", interval.object, interval.start)
            return [replace(interval, end=min(statement.bound, end))]
        return self._derive_from_several(interval)

    def _derive_from_several(self, interval: NodeInterval) -> list[NodeInterval]:
        """Derive it from its assertions, the ends at their instant, and the first end after it."""
        at, object_ = interval.valid_from, interval.object
        _, last_commit, last_position = interval.last
        rows = self.writer.rows(
            "graph_statements_at",
            object=object_,
            **self._key(interval.start),
            last_commit=last_commit,
            last_position=last_position,
        )
        statements = [
            make_statement((at, commit_ts, position), asserts, object_, bound)
            for commit_ts, position, asserts, bound in rows
        ]
        end = self._next_end("graph_end_after", object_, (at, OPEN_END, 0))
        if end != OPEN_END_POINT:
            statements.append(Statement(end, asserts=False, object=object_))
        return derive_intervals(statements, single=False)

    def _previous_end(self, statement: Statement[int]) -> int:
        """Return the instant of the last end of the same object before an end."""
        row = self.writer.row(
            "graph_end_before", object=statement.object or 0, **self._key(statement.point)
        )
        return _MIN_INSTANT if row is None else int(row[0])

    def _put_rows(self, rows: list[Row]) -> None:
        self.writer.put_all("graph_edge_put", rows)

    def _row(self, interval: NodeInterval) -> Row:
        return (
            self.subject,
            self.relation,
            interval.object,
            *interval.start,
            *interval.last,
            *interval.end,
        )

    def _interval(self, query: str, point: TimelinePoint, **values: int) -> NodeInterval | None:
        row = self.writer.row(query, **self._key(point), **values)
        return None if row is None else _decode_interval(row)

    def _intervals(
        self, query: str, point: TimelinePoint, **values: int | None
    ) -> list[NodeInterval]:
        rows = self.writer.rows(query, **self._key(point), **values)
        return [_decode_interval(row) for row in rows]

    def _assertion(self, query: str, point: TimelinePoint) -> Statement[int] | None:
        row = self.writer.row(query, **self._key(point))
        return None if row is None else Statement((row[0], row[1], row[2]), True, row[3])

    def _key(self, point: TimelinePoint) -> dict[str, int]:
        at, commit_ts, position = point
        return {
            "subject": self.subject,
            "relation": self.relation,
            "at": at,
            "commit_ts": commit_ts,
            "position": position,
        }


def _join_following(
    intervals: list[NodeInterval], following: Statement[int], tail: NodeInterval
) -> list[NodeInterval]:
    """Append the interval of the next assertion, of which `tail` is the stored form.

    1. The last interval is over by then: the next one starts with the assertion.
    2. It has the same object: both are one interval.
    3. It has another object: the assertion ends it.
    """
    assert following.object is not None, "an assertion has an object"
    upcoming = Interval(following.object, following.point, tail.last, tail.end)
    if not intervals or intervals[-1].end < following.point:
        return [*intervals, upcoming]
    *intervals, current = intervals
    if current.object == upcoming.object:
        return [*intervals, replace(upcoming, start=current.start)]
    return [*intervals, replace(current, end=upcoming.start), upcoming]


def _decode_interval(row: Row) -> NodeInterval:
    return Interval(
        row[0], (row[1], row[2], row[3]), (row[4], row[5], row[6]), (row[7], row[8], row[9])
    )


def decode_statement(row: Row) -> Statement[int]:
    """Return a statement from its columns: point, asserts, object and bound."""
    return make_statement((row[0], row[1], row[2]), row[3], row[4] or None, row[5])


# Writing the statements of one commit.
#
# Rows are gathered and written together. A small timeline is derived once, after everything the
# commit says about it. A large one is updated at the point of each statement.

SMALL_TIMELINE_STATEMENTS = 8
"""The number of statements, withdrawn ones included, up to which a timeline is derived as a whole.

Up to there, reading them in one query costs less than the queries that find the neighbours.
"""

OnChange = Callable[[TimelineId, TimelineChange], None]
"""Called with each change of a timeline's intervals."""


class _SmallTimeline(msgspec.Struct, frozen=True, gc=False):
    """A timeline that is derived as a whole."""

    timeline: Timeline
    single: bool
    before: list[Statement[int]]
    """The statements that stood before this commit, in timeline order."""
    additions: list[Statement[int]]
    """The statements of this commit, in any order."""

    def change(self) -> TimelineChange:
        """Return the intervals before this commit, and with it."""
        after = sorted([*self.before, *self.additions], key=_point)
        return TimelineChange(
            derive_intervals(self.before, single=self.single) if self.before else [],
            derive_intervals(after, single=self.single),
        )


class TimelineWriter:
    """Writes the statements of one commit. Call `flush` before reading the tables."""

    def __init__(self, writer: Writer, on_change: OnChange) -> None:
        self.writer = writer
        self.on_change = on_change
        self._rows = WriteBuffer(writer)
        self._timelines: dict[TimelineId, _SmallTimeline | Timeline] = {}
        """The timelines this commit has touched since the last `flush`."""

    def flush(self) -> Writer:
        """Bring the tables up to date with the statements so far, and return their writer."""
        for timeline_id, entry in self._timelines.items():
            if isinstance(entry, _SmallTimeline):
                change = entry.change()
                for row in entry.timeline.replace(change):
                    self._rows.add("graph_edge_put", *row)
                self.on_change(timeline_id, change)
        self._timelines.clear()
        return self._rows.flush()

    def add_statement(
        self,
        timeline_id: TimelineId,
        statement: Statement[int],
        row: Row,
        *,
        single: bool,
        new: bool,
    ) -> None:
        """Add a statement and its row; `new`: the tables have nothing about its subject yet."""
        entry = self._timelines.get(timeline_id)
        if entry is None:
            entry = self._timelines[timeline_id] = self._load(timeline_id, single=single, new=new)
        self._rows.add("graph_statement_add", *row)
        if isinstance(entry, _SmallTimeline):
            entry.additions.append(statement)
            return
        self._rows.flush()
        self.on_change(timeline_id, entry.update(statement, withdrawal=False, single=single))

    def _load(
        self, timeline_id: TimelineId, *, single: bool, new: bool
    ) -> _SmallTimeline | Timeline:
        """Read a timeline if it is small."""
        timeline = Timeline(self.writer, *timeline_id)
        if new:
            return _SmallTimeline(timeline, single, [], [])
        rows = read_if_small(self.writer, timeline_id)
        if len(rows) > SMALL_TIMELINE_STATEMENTS:
            return timeline
        statements = [decode_statement(row) for row in rows if row[6] == OPEN_END]
        return _SmallTimeline(timeline, single, sorted(statements, key=_point), [])


def read_if_small(reader: Reader, timeline_id: TimelineId) -> list[Row]:
    """Return the statements of a timeline, or one more than a small one has."""
    (rows,) = _read_if_small(reader, (timeline_id,))
    return rows


def _read_if_small(reader: Reader, timeline_ids: Sequence[TimelineId]) -> list[list[Row]]:
    limit = SMALL_TIMELINE_STATEMENTS + 1
    items = [(subject, relation, limit) for subject, relation in timeline_ids]
    return reader.rows_each("graph_timeline_short", items)


def _point(statement: Statement[int]) -> TimelinePoint:
    return statement.point


# Withdrawing or removing statements, all of one commit together.
#
# A small timeline is derived as a whole from what remains. A few statements of a large one are
# taken out one by one, each at its point. Where many of one timeline go, it is derived once.

SingleRelations = Callable[[Reader, Sequence[int]], Mapping[int, bool]]
"""Says which relations, given by their node ids, are single-valued."""
_BULK_WITHDRAWAL_THRESHOLD = 64
"""Up to this many statements of one timeline are always withdrawn one by one."""
_WITHDRAWAL_COST_FACTOR = 32
"""Withdrawing one statement costs about as much as deriving this many again."""


class _Withdrawal(NamedTuple):
    """A statement that is withdrawn, with the number of its row and the reason."""

    row_id: int
    statement: Statement[int]
    reason: str | None


def withdraw_statements(
    timelines: TimelineWriter,
    commit_ts: int,
    operations: Sequence[Withdraw],
    singles: SingleRelations,
) -> None:
    """Withdraw assertions and the ends that came with them."""
    writer = timelines.flush()
    withdrawals: dict[TimelineId, list[_Withdrawal]] = {}
    for chunk in pages.chunks(operations):
        ids = [(operation.assertion_id,) for operation in chunk]
        rows_of_each = writer.rows_each("graph_statements_live", ids)
        for operation, rows in zip(chunk, rows_of_each, strict=True):
            for row_id, subject, relation, *columns in rows:
                withdrawal = _Withdrawal(row_id, decode_statement(tuple(columns)), operation.reason)
                withdrawals.setdefault((subject, relation), []).append(withdrawal)
    is_single = singles(writer, [relation for _, relation in withdrawals])
    for timeline_ids in pages.chunks([*withdrawals]):
        rows_of_each = _read_if_small(writer, timeline_ids)
        for timeline_id, rows in zip(timeline_ids, rows_of_each, strict=True):
            _withdraw(
                timelines,
                commit_ts,
                timeline_id,
                withdrawals[timeline_id],
                rows,
                single=is_single[timeline_id[1]],
            )


def _withdraw(
    timelines: TimelineWriter,
    commit_ts: int,
    timeline_id: TimelineId,
    withdrawals: Sequence[_Withdrawal],
    rows: Sequence[Row],
    *,
    single: bool,
) -> None:
    """Withdraw statements of one timeline, of which the rows are all if it is small."""
    writer = timelines.writer
    timeline = Timeline(writer, *timeline_id)
    is_small = len(rows) <= SMALL_TIMELINE_STATEMENTS
    in_bulk = not is_small and _is_bulk(timeline, len(withdrawals))
    for row_id, statement, reason in withdrawals:
        writer.run("graph_statement_withdraw", id=row_id, commit_ts=commit_ts, reason=reason)
        if not (is_small or in_bulk):
            change = timeline.update(statement, withdrawal=True, single=single)
            timelines.on_change(timeline_id, change)
    if is_small:
        standing = sorted((decode_statement(row) for row in rows if row[6] == OPEN_END), key=_point)
        withdrawn = {withdrawal.statement.point for withdrawal in withdrawals}
        remaining = [statement for statement in standing if statement.point not in withdrawn]
        change = TimelineChange(
            derive_intervals(standing, single=single), derive_intervals(remaining, single=single)
        )
        timeline.put(change)
        timelines.on_change(timeline_id, change)
    elif in_bulk:
        timeline.rebuild(single=single)


def remove_statements(writer: Writer, row_ids: Sequence[int], singles: SingleRelations) -> None:
    """Delete statements, as if they had never been made."""
    removals: dict[TimelineId, list[tuple[int, Statement[int] | None]]] = {}
    """The rows of each timeline, with the statement if it stands."""
    for chunk in pages.chunks([(row_id,) for row_id in row_ids]):
        for (row_id,), (row,) in zip(
            chunk, writer.rows_each("graph_statement_get", chunk), strict=True
        ):
            subject, relation, until_commit, *columns = row
            statement = decode_statement(tuple(columns)) if until_commit == OPEN_END else None
            removals.setdefault((subject, relation), []).append((row_id, statement))
    is_single = singles(writer, [relation for _, relation in removals])
    for timeline_id, statements in removals.items():
        timeline, single = Timeline(writer, *timeline_id), is_single[timeline_id[1]]
        in_bulk = _is_bulk(timeline, len(statements))
        for row_id, statement in statements:
            writer.run("graph_statement_remove", id=row_id)
            if statement is not None and not in_bulk:
                timeline.update(statement, withdrawal=True, single=single)
        if in_bulk:
            timeline.rebuild(single=single)


def _is_bulk(timeline: Timeline, count: int) -> bool:
    """Say whether deriving a timeline once costs less than taking statements out one by one."""
    return count > _BULK_WITHDRAWAL_THRESHOLD and count * _WITHDRAWAL_COST_FACTOR >= timeline.size()
