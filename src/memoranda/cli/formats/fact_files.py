"""Files of facts: CSV with a header, and JSON Lines.

A row keeps its line number and its text, so that rejected rows can be written to a file, which the
user corrects and imports.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, repeat
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Protocol

from memoranda.cli.inputs import fact_object
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.graph.records import Fact

REQUIRED_COLUMNS = ("subject", "relation", "object")
COLUMNS = (
    *REQUIRED_COLUMNS,
    "object_kind",
    "valid_from",
    "valid_to",
    "confidence",
    "visibility",
    "source",
)
REJECTION_COLUMNS = ("line", "reason")
"""Columns that a file of rejected rows has before the others; a reader skips them."""
_REJECTION = re.compile(r'\A\d+,("([^"]|"")*"|[^",]*),')
"""The cells of `REJECTION_COLUMNS` at the start of a line that is not valid CSV."""
_MAX_LINE_BYTES = 2**20
"""A longer line is an error: it is not a fact, and reading it would take unbounded memory."""
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Row(dict[str, Any]):
    """The fields of a row, as arguments of `assert_fact`."""

    line: int = 0
    text: str = ""
    problem: InvalidInput | None = None
    """Why it could not be parsed; the row has no fields then."""
    broken: bool = False
    """Whether its text is not valid CSV, so that its end is uncertain."""


class Rows(Protocol):
    """A reader of one file format."""

    def read(self) -> Iterator[Row]:
        """Yield the rows, also those that cannot be parsed."""
        ...

    def header(self) -> str:
        """Return the header of a file of rejected rows."""
        ...

    def rejected_line(self, row: Row, reason: str) -> str:
        """Return a row as a line of a file of rejected rows."""
        ...


class Lines:
    """The lines of a file in UTF-8, with their numbers; `take` returns the lines of one row."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._lines: list[str] = []
        """The lines that were read since the last `take`."""
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raw = self._file.readline(_MAX_LINE_BYTES)
        if not raw:
            raise StopIteration
        self.number += 1
        if len(raw) == _MAX_LINE_BYTES and not raw.endswith(b"\n"):
            raise self.error(f"is longer than {_MAX_LINE_BYTES:,} bytes")
        if self.number == 1:
            if raw.startswith(_UTF16):
                raise self.error("is UTF-16: save the file as UTF-8")
            raw = raw.removeprefix(_BOM)
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            problem = f"is not UTF-8 (byte {error.start + 1}): save the file as UTF-8"
            raise self.error(problem) from error
        self._lines.append(line)
        return line

    def error(self, problem: str) -> InvalidInput:
        """Return an error about the current line."""
        return InvalidInput("path", f"line {max(self.number, 1)} of {self._name} {problem}")

    def take(self) -> str:
        """Return the lines since the last call, without the last line's end."""
        text = "".join(self._lines).removesuffix("\n").removesuffix("\r")
        self._lines.clear()
        return text


class CsvRows:
    """A reader of CSV; the first line is the header."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._reader = csv.reader(lines, strict=True)
        try:
            header = next(self._reader, [])
        except csv.Error as error:
            raise lines.error(f"is not a CSV header: {error}") from error
        lines.take()
        self._columns = [name.strip().lower() for name in header]
        _check_columns(lines, self._columns)
        self._has_rejections = tuple(self._columns[: len(REJECTION_COLUMNS)]) == REJECTION_COLUMNS

    def read(self) -> Iterator[Row]:
        """Yield the rows, without empty lines."""
        while True:
            first_line = self._lines.number + 1
            row = Row()
            try:
                cells = next(self._reader, None)
            except csv.Error as error:
                row.problem = InvalidInput("row", f"is not CSV: {error}")
                row.text, row.broken = self._lines.take(), True
            else:
                self._lines.take()
                if cells is None:
                    return
                if not cells:
                    continue
                self._fill(row, cells)
            row.line = first_line
            yield row

    def header(self) -> str:
        """Return the columns, after those of the rejection."""
        return csv_line([*REJECTION_COLUMNS, *self._without_rejection(self._columns)])

    def rejected_line(self, row: Row, reason: str) -> str:
        """Return the line number, the reason and the row's cells; text that is not CSV, unchanged.

        An unclosed quotation mark swallows the valid lines after it. Each of these lines gets its
        own rejection, so that all of them can be read once the quotation mark is corrected.
        """
        if not row.broken:
            return f"{csv_line([row.line, reason])},{row.text}"
        texts = (self._text_without_rejection(text) for text in row.text.split("\n"))
        reasons = chain([reason], repeat(f"goes with line {row.line}"))
        lines = zip(count(row.line), reasons, texts)  # texts is the only finite one
        return "\n".join(f"{csv_line(rejection)},{text}" for *rejection, text in lines)

    def _fill(self, row: Row, cells: Sequence[str]) -> None:
        row.text = csv_line(self._without_rejection(cells))
        if len(cells) != len(self._columns):
            problem = f"has {len(cells)} cells, and the header has {len(self._columns)}"
            row.problem = InvalidInput("row", problem)
            return
        members = dict(zip(self._columns, cells, strict=True))
        _parse(row, {name: cell for name, cell in members.items() if cell})

    def _without_rejection(self, cells: Sequence[str]) -> Sequence[str]:
        """Return the cells without those of an earlier rejection."""
        return cells[len(REJECTION_COLUMNS) :] if self._has_rejections else cells

    def _text_without_rejection(self, text: str) -> str:
        """Return a text that is not CSV without the cells of an earlier rejection."""
        return _REJECTION.sub("", text, count=1) if self._has_rejections else text


class JsonRows:
    """A reader of JSON Lines."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def read(self) -> Iterator[Row]:
        """Yield the rows, without empty lines."""
        for line in self._lines:
            self._lines.take()
            if not line.strip():
                continue
            row = Row()
            row.line, row.text = self._lines.number, line.rstrip("\r\n")
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                row.problem = InvalidInput("row", f"is not JSON: {error}")
            else:
                self._fill(row, value)
            yield row

    def header(self) -> str:
        """Return an empty text: JSON objects name their members."""
        return ""

    def rejected_line(self, row: Row, reason: str) -> str:
        """Return the object with the line number and the reason; other text, as a member."""
        rejection = {"line": row.line, "reason": reason}
        try:
            value = json.loads(row.text)
        except (ValueError, RecursionError):
            value = None
        members = value if isinstance(value, dict) else {"text": row.text}
        return _encode({**rejection, **_without_rejection(members)})

    def _fill(self, row: Row, value: object) -> None:
        if not isinstance(value, dict):
            row.problem = InvalidInput("row", "is not a JSON object")
            return
        if unknown := [name for name in value if name not in (*COLUMNS, *REJECTION_COLUMNS)]:
            problem = f"has {unknown[0]!r}, which is none of {', '.join(COLUMNS)}"
            row.problem = InvalidInput("row", problem)
            return
        _parse(row, {name: member for name, member in value.items() if member is not None})


FORMS: Mapping[str, type[CsvRows | JsonRows]] = {"csv": CsvRows, "jsonl": JsonRows}
SUFFIXES: Mapping[str, str] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


class CsvLines:
    """Writes facts as CSV."""

    begin: ClassVar[str] = ",".join(COLUMNS[:-1]) + "\n"

    @staticmethod
    def line(members: Mapping[str, Any]) -> str:
        """Return a fact as a line."""
        cells = ("" if members[name] is None else members[name] for name in COLUMNS[:-1])
        return csv_line(cells) + "\n"


class JsonLines:
    """Writes facts as JSON Lines."""

    begin: ClassVar[str] = ""

    @staticmethod
    def line(members: Mapping[str, Any]) -> str:
        """Return a fact as a line."""
        return _encode({name: value for name, value in members.items() if value is not None}) + "\n"


WRITERS: Mapping[str, type[CsvLines | JsonLines]] = {"csv": CsvLines, "jsonl": JsonLines}


def csv_line(cells: Iterable[object]) -> str:
    """Return cells as CSV without a line end.

    The writer quotes a cell with a carriage return only if that is part of its line end.
    """
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)
    return buffer.getvalue().removesuffix("\r\n")


def _check_columns(lines: Lines, columns: Sequence[str]) -> None:
    if not any(columns):
        raise lines.error(f"is empty: a header is expected, such as {','.join(COLUMNS)}")
    for name in columns:
        if name not in (*COLUMNS, *REJECTION_COLUMNS):
            names = ", ".join(COLUMNS)
            raise lines.error(f"has the column {name!r}, which is none of {names}")
        if columns.count(name) > 1:
            raise lines.error(f"has the column {name!r} twice")
    for name in REQUIRED_COLUMNS:
        if name not in columns:
            raise lines.error(f"has no column {name!r}: it has {', '.join(columns)}")


def _parse(row: Row, members: Mapping[str, Any]) -> None:
    """Set the fields of a row from the members of a line, or its problem."""
    try:
        row.update(_fields(members))
    except InvalidInput as error:
        row.clear()
        row.problem = error


def _fields(members: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in REQUIRED_COLUMNS:
        if name not in members:
            raise InvalidInput(name, "is empty")
    yield "subject", members["subject"]
    yield "relation", members["relation"]
    yield "object", _object(members["object"], members.get("object_kind"))
    for name in ("valid_from", "valid_to"):
        if name in members:
            value = members[name]
            yield name, value.strip() if isinstance(value, str) else value
    if "valid_to" in members and "valid_from" not in members:
        raise InvalidInput(
            "valid_from", "is empty, and valid_to is not: give the start of the valid time"
        )
    if "confidence" in members:
        yield "confidence", _number(members["confidence"])
    if "visibility" in members:
        value = members["visibility"]
        yield "visibility", value.strip() if isinstance(value, str) else value
    if "source" in members:
        yield "source", members["source"]


def _object(value: object, kind: object) -> object:
    """Return an entity's name or a literal; numbers and booleans of JSON are literals."""
    from memoranda.graph.entities import Literal

    if isinstance(value, (bool, int, float)):
        return Literal(value) if kind is None else fact_object(json.dumps(value), str(kind))
    if kind is None or not isinstance(value, str):
        return value
    return fact_object(value, str(kind).strip())


def _number(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError as error:
        raise InvalidInput("confidence", f"{value!r} is not a number from 0 to 1") from error


def _encode(members: Mapping[str, Any]) -> str:
    """Return readable JSON; a lone surrogate, which UTF-8 cannot encode, stays an escape."""
    text = json.dumps(members, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(members)
    return text


def _without_rejection(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name not in REJECTION_COLUMNS}


def file_row(fact: Fact, visibility: str) -> dict[str, Any]:
    """Return the columns of a fact; any store can import them."""
    from memoranda.calls.as_json import to_json

    members = to_json(fact) | {"visibility": visibility}
    return {name: members[name] for name in COLUMNS[:-1]}
