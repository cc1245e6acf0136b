"""Derive a timeline from its statements: which object held when, and what ended it.

A *timeline* belongs to one subject and one relation. A *statement* is an assertion ("from here on,
this object holds") or an end ("from here on, it does not"). An *interval* is one stretch of valid
time during which an object holds.

Everything here is a pure function of the statements that stand. The functions sort nothing
themselves: statements come in the order of their points, so the order in which they were committed
does not matter, and deriving a timeline twice gives the same intervals.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from memoranda.model.intervals import OPEN_END
from memoranda.model.operations import AnyOperation, Assert, End

TimelinePoint = tuple[int, int, int]
"""Where a statement takes effect: its valid time in microseconds, its commit, its position there.

Valid time comes first. The commit and the position order statements about the same instant.
"""

OPEN_END_POINT: TimelinePoint = (OPEN_END, 0, 0)
"""The end of an interval that has none: it sorts after every real point."""

ObjectT = TypeVar("ObjectT", bound=Hashable)
"""How objects are given: as node ids, or by name while a transaction is still staged."""


class Statement(msgspec.Struct, Generic[ObjectT], frozen=True, gc=False):
    """One assertion, or one end. An end without an object ends whichever object holds."""

    point: TimelinePoint
    asserts: bool
    object: ObjectT | None
    bound: TimelinePoint = OPEN_END_POINT
    """The end that came with an assertion (its `valid_to`). That end statement carries it too."""

    @property
    def ends_others(self) -> bool:
        """Whether this is an end of its own, so that it can end any earlier assertion."""
        return not self.asserts and self.bound == OPEN_END_POINT


def make_statement(
    point: TimelinePoint, asserts: object, object_: ObjectT | None, bound: int = OPEN_END
) -> Statement[ObjectT]:
    """Return a statement as the tables hold it, where `bound` is only an instant.

    The end that comes with an assertion is the operation right after it in the same commit.
    """
    if bound == OPEN_END:
        return Statement(point, bool(asserts), object_)
    _, commit_ts, position = point
    end = (bound, commit_ts, position + 1) if asserts else point
    return Statement(point, bool(asserts), object_, end)


class Interval(msgspec.Struct, Generic[ObjectT], frozen=True, gc=False):
    """A stretch of valid time during which one object holds."""

    object: ObjectT
    start: TimelinePoint
    """The first assertion of the interval."""
    last: TimelinePoint
    """The last assertion of the interval; equal to `start` if there is only one."""
    end: TimelinePoint = OPEN_END_POINT
    """The statement that ends it, excluded from the interval."""

    @property
    def is_open(self) -> bool:
        """Whether no end is known."""
        return self.end == OPEN_END_POINT

    @property
    def valid_from(self) -> int:
        """The first instant at which the object holds, in microseconds."""
        return self.start[0]

    @property
    def valid_to(self) -> int:
        """The first instant at which it no longer holds, in microseconds; `OPEN_END`: none."""
        return self.end[0]


def derive_intervals(
    statements: Iterable[Statement[ObjectT]], *, single: bool
) -> list[Interval[ObjectT]]:
    """Return the intervals that follow from statements in timeline order, in the same order."""
    return _derive_single_valued(statements) if single else _derive_multi_valued(statements)


def interval_indexes(
    statements: Iterable[Statement[ObjectT]],
    intervals: Sequence[Interval[ObjectT]],
    *,
    single: bool,
) -> Iterator[int | None]:
    """Yield for each statement the index of the interval it asserts; None for an end."""
    starts = [interval.start for interval in intervals]
    indexes = {
        (interval.object, interval.valid_from): index for index, interval in enumerate(intervals)
    }
    for statement in statements:
        if not statement.asserts or statement.object is None:
            yield None
        elif single:
            yield bisect_right(starts, statement.point) - 1
        else:
            yield indexes[statement.object, statement.point[0]]


def coalesced_ends(intervals: Iterable[Interval[ObjectT]]) -> dict[TimelinePoint, TimelinePoint]:
    """Map the start of each interval of one object to the end of the run it overlaps with.

    Intervals of a multi-valued relation may overlap, and the object holds during their union. So it
    ends where the last interval of a run of overlapping ones ends.
    """
    ends: dict[TimelinePoint, TimelinePoint] = {}
    run: list[TimelinePoint] = []
    run_end = OPEN_END_POINT
    for interval in sorted(intervals, key=lambda interval: interval.start):
        if run and interval.valid_from >= run_end[0]:
            ends.update(dict.fromkeys(run, run_end))
            run = []
        run_end = max(run_end, interval.end) if run else interval.end
        run.append(interval.start)
    return ends | dict.fromkeys(run, run_end)


def _derive_single_valued(statements: Iterable[Statement[ObjectT]]) -> list[Interval[ObjectT]]:
    """Derive a timeline that has at most one object at a time.

    The statement decides, given the interval that is open when it comes:

    1. An assertion of the object that holds already extends the interval: only `last` moves.
    2. An assertion of another object ends the open interval and starts a new one.
    3. An assertion while nothing holds starts a new interval.
    4. An end of the object that holds, or of any object, ends the open interval.
    5. An end of another object, or while nothing holds, changes nothing.

    An end that came with an assertion counts as an ordinary end of its object.
    """
    intervals: list[Interval[ObjectT]] = []
    current: Interval[ObjectT] | None = None
    for statement in statements:
        if statement.asserts:
            assert statement.object is not None, "an assertion has an object"
            if current is not None and current.object == statement.object:
                current = replace(current, last=statement.point)
                continue
            if current is not None:
                intervals.append(replace(current, end=statement.point))
            current = Interval(statement.object, statement.point, statement.point)
        elif current is not None and statement.object in (None, current.object):
            intervals.append(replace(current, end=statement.point))
            current = None
    return intervals if current is None else [*intervals, current]


def _derive_multi_valued(statements: Iterable[Statement[ObjectT]]) -> list[Interval[ObjectT]]:
    """Derive a timeline that may have many objects at a time.

    1. An assertion starts an interval that lasts until its own bound. Objects do not end each
       other.
    2. Assertions of one object at one instant share an interval, which lasts as long as the
       longest of them.
    3. An end of its own cuts every interval of its object that started before it, or of all objects
       if it names none. An interval whose bound is earlier keeps that bound.
    4. An end that came with an assertion changes nothing: the assertion has it as its bound.

    Only the first end cuts an interval. `uncut` has the intervals that no end has reached so far.
    """
    intervals: dict[tuple[ObjectT, int], Interval[ObjectT]] = {}
    uncut: dict[ObjectT, set[tuple[ObjectT, int]]] = {}
    for statement in statements:
        if statement.asserts:
            assert statement.object is not None, "an assertion has an object"
            key = (statement.object, statement.point[0])
            earlier = intervals.get(key)
            start, end = statement.point, statement.bound
            if earlier is not None:
                start, end = earlier.start, max(earlier.end, statement.bound)
            intervals[key] = Interval(statement.object, start, statement.point, end)
            uncut.setdefault(statement.object, set()).add(key)
        elif statement.ends_others:
            for object_ in list(uncut) if statement.object is None else [statement.object]:
                for key in uncut.pop(object_, ()):
                    interval = intervals[key]
                    intervals[key] = replace(interval, end=min(interval.end, statement.point))
    return sorted(intervals.values(), key=lambda interval: interval.start)


# The valid time an operation applies from.


def times_of(operations: Sequence[AnyOperation], position: int, now: int) -> tuple[int, int]:
    """Return the valid time that an assertion or an end applies from, and its bound.

    The time is `now` if it names none. The bound of an assertion is the instant of the end that
    came with it, and of that end its own instant, which tells it from an end that stands alone;
    else it is `OPEN_END`. Such an end is never earlier than its assertion, which it follows.
    """
    operation = operations[position]
    if isinstance(operation, Assert):
        at = now if operation.valid_from is None else operation.valid_from
        following = operations[position + 1] if position + 1 < len(operations) else None
        if isinstance(following, End) and following.assertion_id == operation.assertion_id:
            return at, max(at, now if following.at is None else following.at)
        return at, OPEN_END
    assert isinstance(operation, End), "only assertions and ends have a valid time"
    at = now if operation.at is None else operation.at
    previous = operations[position - 1] if position else None
    if isinstance(previous, Assert) and previous.assertion_id == operation.assertion_id:
        at = max(at, now if previous.valid_from is None else previous.valid_from)
        return at, at
    return at, OPEN_END
