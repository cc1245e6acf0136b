"""Time as bars: when things held, drawn under each other over one axis of dates.

It draws and knows nothing else: what the rows are, how wide the terminal is and what it can show
are told to it. Times are shown in UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

import click

from memoranda.cli.axis import Axis, make_axis, needs_context
from memoranda.cli.text import safe
from memoranda.model.instant import to_micros

LEAST_WIDTH = 40
_LEAST_ACROSS = 22
"""Room for the bars: two dates stand over it. Notes have to give way."""
_LEAST_NOTE = 4
_DATE = 10
_GAP = "  "
_dim = partial(click.style, dim=True)
_holding = partial(click.style, fg="green")


class Bar(NamedTuple):
    """One row: what it is about, when it held, and what else there is to say."""

    label: str
    start: datetime
    end: datetime | None = None
    """None: it holds still."""
    note: str = ""


class Glyphs(NamedTuple):
    """What bars are made of."""

    block: str
    onward: str
    """Where it goes on beyond the axis."""
    moment: str
    """What held for no time at all."""
    line: str
    tick: str
    more: str
    """The rest of a text that was cut."""


BLOCKS = Glyphs("█", "▶", "│", "─", "┬", "…")
ASCII = Glyphs("#", ">", "|", "-", "+", "~")


def glyphs_for(encoding: str | None) -> Glyphs:
    """Return what a terminal can show that speaks this encoding."""
    try:
        "".join(BLOCKS).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def draw(
    rows: Sequence[Bar], width: int, *, until: datetime | None = None, glyphs: Glyphs = BLOCKS
) -> list[str]:
    """Return the lines: dates, a ruler, then a line a row, none wider than `width`.

    The axis goes from the first time to the last there is in the rows, and to `until` if that is
    later. A terminal narrower than 40 columns gets lines of 40.
    """
    if not rows:
        return []
    spans = [_span(row) for row in rows]
    first, last = _range(spans, until)
    columns = _columns(rows, max(width, LEAST_WIDTH), with_day=needs_context(first, last))
    axis = make_axis(first, last, columns.bars, onward=any(end is None for _, end in spans))
    lines = _heading(axis, columns.label, glyphs)
    for row, span in zip(rows, spans, strict=True):
        lines.append(_line(row, _bar(axis, *span, glyphs), columns, glyphs))
    return lines


class _Columns(NamedTuple):
    """How wide the parts of a line are; a note of 0 is left out."""

    label: int
    bars: int
    note: int


def _columns(rows: Sequence[Bar], width: int, *, with_day: bool) -> _Columns:
    """Share the width: labels get what they need up to three tenths, notes up to a quarter."""
    label = max(_cells(safe(row.label)) for row in rows)
    label = min(max(label, _DATE if with_day else 1), width * 3 // 10)
    bars = width - label - len(_GAP)
    said = max(_cells(safe(row.note)) for row in rows)
    note = min(said, width // 4, bars - len(_GAP) - _LEAST_ACROSS)
    if not said or note < min(said, _LEAST_NOTE):
        return _Columns(label, bars, 0)
    return _Columns(label, bars - len(_GAP) - note, note)


def _line(row: Bar, bar: str, columns: _Columns, glyphs: Glyphs) -> str:
    parts = [_padded(row.label, columns.label, glyphs), _holding(bar) if row.end is None else bar]
    if columns.note and row.note:
        parts[1] += " " * (columns.bars - len(bar))
        parts.append(_dim(_cut(safe(row.note), columns.note, glyphs)))
    return _GAP.join(parts)


def _span(row: Bar) -> tuple[int, int | None]:
    """Return when it begins and ends, in microseconds; an end before that is one at once."""
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
    """Return the bar with the empty room before it; what is shorter than a cell fills one."""
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
    return set_cell_size(text, width - 1).rstrip() + glyphs.more


def _padded(text: str, width: int, glyphs: Glyphs) -> str:
    cut = _cut(safe(text), width, glyphs)
    return cut + " " * (width - _cells(cut))
