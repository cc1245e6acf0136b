"""Rows with named columns as a table, as CSV or as JSON."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from types import NoneType
from typing import Any

import click

from memoranda.cli.output import max_columns, safe, write_json

Row = dict[str, Any]
Write = Callable[[Iterable[Row]], bool]
"""Writes rows as they arrive; returns whether there were any."""

_SAMPLE_ROWS = 100
"""Rows that are read ahead to choose the widths of a table's columns."""
_MIN_COLUMNS = 8
"""A column is not made narrower than this; the lines wrap then."""
_GAP = "  "
_WHOLE = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # an id
    r"|\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?"  # a time or a date
    r"|[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|-?inf|nan"  # a number
    r"|[0-9a-f]{64}"  # a hash
)
"""Texts that are not cut."""


def write_json_rows(rows: Iterable[Row]) -> bool:
    """Write each row as an object on a line."""
    empty = True
    for row in rows:
        write_json({name: _hex_if_bytes(cell) for name, cell in row.items()})
        empty = False
    return not empty


class _Utf8Lines:
    """A file for the csv module: stdout in UTF-8, without control characters on a terminal."""

    def write(self, line: str) -> None:
        if sys.stdout.isatty():
            line = safe(line.removesuffix("\n")) + "\n"
        sys.stdout.buffer.write(line.encode())


def write_csv(rows: Iterable[Row]) -> bool:
    """Write a header, then each row on a line."""
    writer = csv.writer(_Utf8Lines(), lineterminator="\n")
    empty = True
    for row in rows:
        if empty:
            writer.writerow(row)
        writer.writerow(map(_hex_if_bytes, row.values()))
        empty = False
    return not empty


def write_table(rows: Iterable[Row]) -> bool:
    """Write aligned columns; on a terminal, cut the widest texts to its width.

    Ids, numbers and times are never cut: half of one is of no use. Numbers are aligned right.
    """
    rows = iter(rows)
    sample = list(islice(rows, _SAMPLE_ROWS))
    if not sample:
        return False
    names = [safe(name) for name in sample[0]]
    columns = [list(column) for column in zip(*(row.values() for row in sample), strict=True)]
    numeric = [all(isinstance(cell, (int, float, NoneType)) for cell in cells) for cells in columns]
    widths = [
        _width((name, *map(_cell, cells))) for name, cells in zip(names, columns, strict=True)
    ]
    least = [_width(text for text in map(_cell, cells) if _is_whole(text)) for cells in columns]
    available = max_columns()
    if available is not None:
        widths = _fit(widths, least, available)
    click.secho(_line(names, widths, numeric), bold=True)
    for row in chain(sample, rows):
        click.echo(_line([_cell(cell) for cell in row.values()], widths, numeric))
    return True


def _width(texts: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, texts), default=0)


def _is_whole(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None


def _cell(cell: object) -> str:
    return "" if cell is None else safe(str(_hex_if_bytes(cell)))


def _hex_if_bytes(cell: object) -> object:
    return cell.hex() if isinstance(cell, bytes) else cell


def _fit(widths: Sequence[int], least: Sequence[int], available: int) -> list[int]:
    """Make the widest columns narrower until a line fits, but none narrower than its least width.

    If they cannot be made so narrow, the lines wrap.
    """
    result = list(widths)
    excess = sum(result) + len(_GAP) * (len(result) - 1) - available
    for _ in range(excess):
        numbers = range(len(result))
        shrinkable = [n for n in numbers if result[n] > max(least[n], _MIN_COLUMNS)]
        if not shrinkable:
            break
        result[max(shrinkable, key=result.__getitem__)] -= 1
    return result


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    """Return a line of a table; a text that is wider than its column is cut."""
    from rich.cells import cell_len, set_cell_size

    parts = []
    for cell, width, is_number in zip(cells, widths, numeric, strict=True):
        padding = " " * (width - cell_len(cell))
        if cell_len(cell) > width and not _is_whole(cell):
            parts.append(set_cell_size(cell, width - 1) + "…")
        else:
            parts.append(padding + cell if is_number else cell + padding)
    return _GAP.join(parts).rstrip()


FORMS: Mapping[str, Write] = {"json": write_json_rows, "csv": write_csv, "table": write_table}
