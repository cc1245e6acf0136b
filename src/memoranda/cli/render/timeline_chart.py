"""An axis of time: which dates stand where, so that they can be read and none hides another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time
from typing import NamedTuple

from memoranda.model.instant import to_datetime, to_micros

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_MONTH = 2_629_746 * _SECOND
_A_MONDAY = 4 * _DAY
_BY_THE_CLOCK = 2 * _DAY
"""What is shorter than this has times of a day on its axis, and its day beside it."""
_SPACE = 2
"""How many columns there are between two dates, unless the last has to move to the left."""


class Tick(NamedTuple):
    """A place on the axis, and what is written there."""

    column: int
    text: str


class Axis(NamedTuple):
    """So many columns, of which the first `scaled` go from the first instant to the last."""

    first: int
    last: int
    width: int
    scaled: int
    ticks: tuple[Tick, ...] = ()
    context: str = ""
    """The day it begins, where the ticks are times of a day."""

    def column(self, micros: int) -> int:
        """Return the nearest edge of a column, so that what ends meets what begins then."""
        length = self.last - self.first
        return ((micros - self.first) * self.scaled * 2 + length) // (length * 2) if length else 0

    def tick(self, micros: int, write: Callable[[datetime], str]) -> Tick:
        """Return the mark of an instant."""
        return Tick(min(self.column(micros), self.width - 1), write(to_datetime(micros)))

    @property
    def labels(self) -> str:
        """What stands over the ticks; where one would run into another, it is left out."""
        line = ""
        for tick in self.ticks:
            column = min(tick.column, self.width - len(tick.text))
            if not line or column > len(line):
                line = line.ljust(column) + tick.text
        return line


class _Step(NamedTuple):
    """A distance between ticks, and how a tick is written."""

    micros: int
    """For months, about."""
    months: int
    """0 where it is a number of microseconds."""
    size: int
    """How many characters a date has."""
    write: Callable[[datetime], str]


def make_axis(first: int, last: int, width: int, *, onward: bool) -> Axis:
    """Return the axis between two instants in microseconds, with all the dates it has room for.

    Where something goes on beyond the last instant there are columns left to show that.
    """
    axis = Axis(first, last, width, width - max(width // 12, 2) if onward else width)
    clock = needs_context(first, last)
    if clock:
        axis = axis._replace(context=_day(to_datetime(first)))
    for step in _STEPS:
        fits = step.micros * axis.scaled >= (step.size + _SPACE) * (last - first)
        if fits and (step.micros < _DAY) == clock:
            ticks = (axis.tick(micros, step.write) for micros in _rounded(step, first, last))
            rounded = axis._replace(ticks=tuple(ticks))
            if len(rounded.labels.split()) > 1:
                return rounded
            break
    return axis._replace(ticks=_ends(axis))


def needs_context(first: int, last: int) -> bool:
    """Say whether the axis is read together with its day, which stands beside it."""
    return last - first < _BY_THE_CLOCK and not (first == last and first % _DAY == 0)


def _ends(axis: Axis) -> tuple[Tick, ...]:
    """Return both ends, where no two round dates have room, or the one instant there is."""
    length = axis.last - axis.first
    write = _clock(15 if length < _SECOND and axis.first % _SECOND + length else 8)
    if length > _DAY // 2 or not needs_context(axis.first, axis.last):
        write = _day
    instants = (axis.first, axis.last) if length else (axis.first,)
    return tuple(axis.tick(micros, write) for micros in instants)


def _rounded(step: _Step, first: int, last: int) -> Iterator[int]:
    """Yield the round instants from the first to the last."""
    if not step.months:
        origin = _A_MONDAY if step.micros >= _DAY else 0
        begin = origin - (origin - first) // step.micros * step.micros
        yield from range(begin, last + 1, step.micros)
        return
    start, end = to_datetime(first), to_datetime(last)
    begin = -(-(start.year * 12 + start.month - 1) // step.months) * step.months
    for month in range(begin, end.year * 12 + end.month, step.months):
        when = datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC)
        if when >= start:
            yield to_micros("tick", when)


def _day(when: datetime) -> str:
    return f"{when.date()}"


def _month(when: datetime) -> str:
    return _day(when)[:7]


def _year(when: datetime) -> str:
    return str(when.year)


def _clock(characters: int) -> Callable[[datetime], str]:
    def write(when: datetime) -> str:
        """Write the time, or the day where a new one begins."""
        if when.time() == time.min:
            return _day(when)[5:]
        return when.time().isoformat("microseconds")[:characters]

    return write


def _steps() -> Iterator[_Step]:
    """Yield the distances that are easily read, the shortest first."""
    for places in range(6, 0, -1):
        for count in (1, 2, 5):
            size = 9 + places
            yield _Step(count * 10 ** (6 - places), 0, size, _clock(size))
    for seconds in (1, 2, 5, 10, 15, 30):
        yield _Step(seconds * _SECOND, 0, 8, _clock(8))
    for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720):
        yield _Step(minutes * 60 * _SECOND, 0, 5, _clock(5))
    for days in (1, 2, 7, 14):
        yield _Step(days * _DAY, 0, 10, _day)
    for months in (1, 2, 3, 6):
        yield _Step(months * _MONTH, months, 7, _month)
    for years in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000):
        yield _Step(years * 12 * _MONTH, years * 12, 4, _year)


_STEPS = tuple(_steps())
