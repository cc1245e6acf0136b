"""Rows with named columns: as a table for people, as CSV and as JSON for programs."""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import click

from memoranda.cli.output import write_json
from memoranda.cli.text import safe

Row = dict[str, Any]
Write = Callable[[Iterable[Row]], bool]
"""Writes rows as they come, and says whether there were any."""

_SAMPLE = 100
"""How many rows are looked at to choose the widths of a table's columns."""
_LEAST_WIDTH = 8
_GAP = "  "


def write_json_rows(rows: Iterable[Row]) -> bool:
    """Write an object a row."""
    written = False
    for row in rows:
        write_json({name: _hex_if_bytes(cell) for name, cell in row.items()})
        written = True
    return written


class _Utf8Lines:
    """What the csv module writes to: stdout in UTF-8; a terminal is not sent control characters."""

    def write(self, line: str) -> None:
        if sys.stdout.isatty():
            line = safe(line.removesuffix("\n")) + "\n"
        sys.stdout.buffer.write(line.encode())


def write_csv(rows: Iterable[Row]) -> bool:
    """Write a line of names, then a line a row."""
    writer = csv.writer(_Utf8Lines(), lineterminator="\n")
    written = False
    for row in rows:
        if not written:
            writer.writerow(row)
        writer.writerow(map(_hex_if_bytes, row.values()))
        written = True
    return written


def write_table(rows: Iterable[Row]) -> bool:
    """Write aligned columns, as wide as the first rows need and the terminal has room for."""
    rows = iter(rows)
    sample = list(islice(rows, _SAMPLE))
    if not sample:
        return False
    names = [safe(name) for name in sample[0]]
    widths = _widths(names, [list(_cells(row)) for row in sample])
    click.secho(_line(names, widths), bold=True)
    for row in chain(sample, rows):
        click.echo(_line(list(_cells(row)), widths))
    return True


def _cells(row: Row) -> Iterator[str]:
    """Yield what is shown of each cell."""
    for cell in row.values():
        yield "" if cell is None else safe(str(_hex_if_bytes(cell)))


def _hex_if_bytes(cell: object) -> object:
    return cell.hex() if isinstance(cell, bytes) else cell


def _widths(names: Sequence[str], sample: Sequence[Sequence[str]]) -> list[int]:
    """Return how wide each column is: what is too wide for the terminal gives way first."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(names, *sample, strict=True)]
    if not sys.stdout.isatty():
        return widths
    room = shutil.get_terminal_size().columns - len(_GAP) * (len(widths) - 1)
    widths = [min(width, room) for width in widths]
    while sum(widths) > room and max(widths) > _LEAST_WIDTH:
        widths[widths.index(max(widths))] -= 1
    return widths


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    from rich.cells import cell_len, set_cell_size

    parts = []
    for cell, width in zip(cells, widths, strict=True):
        fits = cell_len(cell) <= width
        parts.append(set_cell_size(cell, width) if fits else set_cell_size(cell, width - 1) + "…")
    return _GAP.join(parts).rstrip()


FORMS: Mapping[str, Write] = {"json": write_json_rows, "csv": write_csv, "table": write_table}
