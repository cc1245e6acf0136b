"""Timelines as bars over an axis of dates, in UTC.

The caller passes the rows, the width of the terminal and the characters it can show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, time
from functools import partial
from typing import NamedTuple

import click

from memoranda.cli.output import safe
from memoranda.model.clock import to_datetime, to_micros

# The axis: round dates at columns, as many as fit without overlapping.

_SECOND = 1_000_000
"""In microseconds, as all times here."""
_DAY = 86_400 * _SECOND
"""In microseconds."""
_MONTH = 2_629_746 * _SECOND
"""In microseconds: a twelfth of a Gregorian year, to choose between steps only."""
_FIRST_MONDAY = 4 * _DAY
"""1970-01-05, in microseconds since the epoch: steps of whole weeks begin on a Monday."""
_CLOCK_RANGE = 2 * _DAY
"""A shorter axis is labelled with times of day, and its date stands beside it."""
_LABEL_GAP = 2
"""Columns between two labels, unless the last one has to move to the left."""


class Tick(NamedTuple):
    """A column of the axis, and its label."""

    column: int
    text: str


class Axis(NamedTuple):
    """An axis of `width` columns; the first `scaled` ones span the first to the last instant."""

    first: int
    last: int
    width: int
    scaled: int
    ticks: tuple[Tick, ...] = ()
    context: str = ""
    """The date of the first instant, if the ticks are times of day."""

    def column(self, micros: int) -> int:
        """Return the nearest column edge: a bar that ends then meets one that begins then."""
        length = self.last - self.first
        return ((micros - self.first) * self.scaled * 2 + length) // (length * 2) if length else 0

    def tick(self, micros: int, write: Callable[[datetime], str]) -> Tick:
        """Return the tick of an instant."""
        return Tick(min(self.column(micros), self.width - 1), write(to_datetime(micros)))

    @property
    def labels(self) -> str:
        """The line of labels; a label that would overlap the previous one is left out."""
        line = ""
        for tick in self.ticks:
            column = min(tick.column, self.width - len(tick.text))
            if not line or column > len(line):
                line = line.ljust(column) + tick.text
        return line


class _Step(NamedTuple):
    """A distance between ticks, and the format of their labels."""

    micros: int
    """Approximate if the step is a number of months."""
    months: int
    """0 if the step is a number of microseconds."""
    size: int
    """Characters of a label."""
    write: Callable[[datetime], str]


def make_axis(first: int, last: int, width: int, *, onward: bool) -> Axis:
    """Return the axis between two instants in microseconds, with all the labels that fit.

    With `onward`, the last columns are left free for bars that have no end.
    """
    axis = Axis(first, last, width, width - max(width // 12, 2) if onward else width)
    clock = needs_context(first, last)
    if clock:
        axis = axis._replace(context=_day(to_datetime(first)))
    for step in _STEPS:
        fits = step.micros * axis.scaled >= (step.size + _LABEL_GAP) * (last - first)
        if fits and (step.micros < _DAY) == clock:
            ticks = (axis.tick(micros, step.write) for micros in _rounded(step, first, last))
            rounded = axis._replace(ticks=tuple(ticks))
            if len(rounded.labels.split()) > 1:
                return rounded
            break
    return axis._replace(ticks=_ends(axis))


def needs_context(first: int, last: int) -> bool:
    """Return whether the axis is labelled with times of day, so that its date is needed."""
    return last - first < _CLOCK_RANGE and not (first == last and first % _DAY == 0)


def _ends(axis: Axis) -> tuple[Tick, ...]:
    """Return ticks at both ends, for an axis on which no two round dates fit."""
    length = axis.last - axis.first
    write = _clock(15 if length < _SECOND and axis.first % _SECOND + length else 8)
    if length > _DAY // 2 or not needs_context(axis.first, axis.last):
        write = _day
    instants = (axis.first, axis.last) if length else (axis.first,)
    return tuple(axis.tick(micros, write) for micros in instants)


def _rounded(step: _Step, first: int, last: int) -> Iterator[int]:
    """Yield the round instants from the first to the last."""
    if not step.months:
        origin = _FIRST_MONDAY if step.micros >= _DAY else 0
        begin = origin - (origin - first) // step.micros * step.micros
        yield from range(begin, last + 1, step.micros)
        return
    start, end = to_datetime(first), to_datetime(last)
    begin = -(-(start.year * 12 + start.month - 1) // step.months) * step.months
    for month in range(begin, end.year * 12 + end.month, step.months):
        instant = datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC)
        if instant >= start:
            yield to_micros("tick", instant)


def _day(instant: datetime) -> str:
    return f"{instant.date()}"


def _month(instant: datetime) -> str:
    return _day(instant)[:7]


def _year(instant: datetime) -> str:
    return str(instant.year)


def _clock(characters: int) -> Callable[[datetime], str]:
    def write(instant: datetime) -> str:
        """Return the time of day, or the date at midnight."""
        if instant.time() == time.min:
            return _day(instant)[5:]
        return instant.time().isoformat("microseconds")[:characters]

    return write


def _steps() -> Iterator[_Step]:
    """Yield the steps that are easy to read, shortest first."""
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


# The bars: valid-time intervals, one a row, over one axis.

MIN_WIDTH = 40
"""Columns; narrower terminals get lines of this width."""
_MIN_BAR_COLUMNS = 22
"""Columns that notes leave to the bars: two dates fit over them."""
_MIN_NOTE_COLUMNS = 4
"""Columns: narrower notes are left out, as nobody could read them."""
_DATE_COLUMNS = 10
"""Columns of a date, such as 2026-02-07."""
_GAP = "  "
_dim = partial(click.style, dim=True)
_green = partial(click.style, fg="green")


class Bar(NamedTuple):
    """One row: a label, an interval and a note."""

    label: str
    start: datetime
    end: datetime | None = None
    """None: the interval is open."""
    note: str = ""


class Glyphs(NamedTuple):
    """The characters of a chart."""

    block: str
    onward: str
    """The end of a bar without an end."""
    moment: str
    """An interval of length zero."""
    line: str
    tick: str
    ellipsis: str
    """The end of a text that was cut."""


BLOCKS = Glyphs("█", "▶", "│", "─", "┬", "…")
ASCII = Glyphs("#", ">", "|", "-", "+", "~")


def glyphs_for(encoding: str | None) -> Glyphs:
    """Return the characters that the encoding of a terminal has."""
    try:
        "".join(BLOCKS).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def draw(
    rows: Sequence[Bar], width: int, *, until: datetime | None = None, glyphs: Glyphs = BLOCKS
) -> list[str]:
    """Return the lines of a chart: labels, a ruler, then a line for each row.

    The axis spans the times of the rows, and `until` if that is later. No line is wider than
    `width`, or than `MIN_WIDTH` if that is more.
    """
    if not rows:
        return []
    spans = [_span(row) for row in rows]
    first, last = _range(spans, until)
    columns = _columns(rows, max(width, MIN_WIDTH), with_day=needs_context(first, last))
    axis = make_axis(first, last, columns.bars, onward=any(end is None for _, end in spans))
    lines = _heading(axis, columns.label, glyphs)
    for row, span in zip(rows, spans, strict=True):
        lines.append(_line(row, _bar(axis, *span, glyphs), columns, glyphs))
    return lines


class _Columns(NamedTuple):
    """The widths of the parts of a line; with 0 columns, notes are left out."""

    label: int
    bars: int
    note: int


def _columns(rows: Sequence[Bar], width: int, *, with_day: bool) -> _Columns:
    """Share the width: labels get up to three tenths of it, notes up to a quarter."""
    label = max(_cells(safe(row.label)) for row in rows)
    label = min(max(label, _DATE_COLUMNS if with_day else 1), width * 3 // 10)
    bars = width - label - len(_GAP)
    longest = max(_cells(safe(row.note)) for row in rows)
    note = min(longest, width // 4, bars - len(_GAP) - _MIN_BAR_COLUMNS)
    if not longest or note < min(longest, _MIN_NOTE_COLUMNS):
        return _Columns(label, bars, 0)
    return _Columns(label, bars - len(_GAP) - note, note)


def _line(row: Bar, bar: str, columns: _Columns, glyphs: Glyphs) -> str:
    parts = [_padded(row.label, columns.label, glyphs), _green(bar) if row.end is None else bar]
    if columns.note and row.note:
        parts[1] += " " * (columns.bars - len(bar))
        parts.append(_dim(_cut(safe(row.note), columns.note, glyphs)))
    return _GAP.join(parts)


def _span(row: Bar) -> tuple[int, int | None]:
    """Return start and end in microseconds; an end before the start is moved to it."""
    start = to_micros("start", row.start)
    return start, None if row.end is None else max(start, to_micros("end", row.end))


def _range(spans: Sequence[tuple[int, int | None]], until: datetime | None) -> tuple[int, int]:
    times = [time for span in spans for time in span if time is not None]
    last = max(times) if until is None else max(*times, to_micros("until", until))
    return min(times), last


def _heading(axis: Axis, label_width: int, glyphs: Glyphs) -> list[str]:
    ruler = [glyphs.line] * axis.width
    for tick in axis.ticks:
        ruler[tick.column] = glyphs.tick
    context = _padded(axis.context, label_width, glyphs)
    dates = f"{context}{_GAP}{axis.labels}".rstrip()
    return [_dim(dates), _dim(f"{' ' * label_width}{_GAP}{''.join(ruler)}")]


def _bar(axis: Axis, start: int, end: int | None, glyphs: Glyphs) -> str:
    """Return a bar and the blanks before it; an interval shorter than a column fills one."""
    first = min(axis.column(start), axis.width - 1)
    before = " " * first
    if end is None:
        return before + glyphs.block * (axis.width - 1 - first) + glyphs.onward
    if end == start:
        return before + glyphs.moment
    return before + glyphs.block * max(min(axis.column(end), axis.width) - first, 1)


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _cut(text: str, width: int, glyphs: Glyphs) -> str:
    from rich.cells import set_cell_size

    if _cells(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + glyphs.ellipsis


def _padded(text: str, width: int, glyphs: Glyphs) -> str:
    visible = _cut(safe(text), width, glyphs)
    return visible + " " * (width - _cells(visible))
