"""Files of facts: CSV with a header, and JSON Lines. What a line says, and lines to write.

A row keeps where it stands and its own text, so that one that cannot be taken can be written to a
file which, once mended, is read like any other.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, repeat
from typing import Any, BinaryIO, ClassVar, Protocol

from memoranda.cli.fact_inputs import instant, thing
from memoranda.errors import InvalidInput

NEEDED = ("subject", "relation", "object")
COLUMNS = (*NEEDED, "object_kind", "valid_from", "valid_to", "confidence", "source")
REPORTED = ("line", "reason")
"""What is said of a row that was set aside; read again, it is passed over."""
_REPORT = re.compile(r'\A\d+,("([^"]|"")*"|[^",]*),')
"""How a line begins that was set aside before."""
_LONGEST_LINE = 2**20
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Row(dict[str, Any]):
    """What a row says, in the words of the library."""

    line: int = 0
    text: str = ""
    problem: InvalidInput | None = None
    """Why it could not be understood; it says nothing then."""
    broken: bool = False
    """Whether its text is of no form: where it ends is then a guess."""


class Rows(Protocol):
    """One form of a file of facts."""

    def read(self) -> Iterator[Row]:
        """Yield the rows, also those that cannot be understood."""
        ...

    def header(self) -> str:
        """Return what stands before rows that are set aside."""
        ...

    def set_aside(self, row: Row, reason: str) -> str:
        """Return a row that could not be taken, as a line."""
        ...


class Lines:
    """The lines of a file in UTF-8, counted; it remembers those since it was last asked."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._since: list[str] = []
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raw = self._file.readline(_LONGEST_LINE)
        if not raw:
            raise StopIteration
        self.number += 1
        if len(raw) == _LONGEST_LINE and not raw.endswith(b"\n"):
            raise self.wrong(f"is longer than {_LONGEST_LINE:,} bytes")
        if self.number == 1:
            if raw.startswith(_UTF16):
                raise self.wrong("is UTF-16: save the file as UTF-8")
            raw = raw.removeprefix(_BOM)
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            problem = f"is not UTF-8 (byte {error.start + 1}): save the file as UTF-8"
            raise self.wrong(problem) from error
        self._since.append(line)
        return line

    def wrong(self, problem: str) -> InvalidInput:
        """Return an error about the current line."""
        return InvalidInput("path", f"line {max(self.number, 1)} of {self._name} {problem}")

    def taken(self) -> str:
        """Return the lines since the last call, without the end of the last one."""
        text = "".join(self._since).removesuffix("\n").removesuffix("\r")
        self._since.clear()
        return text


class CsvRows:
    """Comma-separated values; the first line names the columns."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._reader = csv.reader(lines, strict=True)
        try:
            header = next(self._reader, [])
        except csv.Error as error:
            raise lines.wrong(f"is no header: {error}") from error
        lines.taken()
        self._columns = [name.strip().lower() for name in header]
        _check_columns(lines, self._columns)
        self._reported = tuple(self._columns[: len(REPORTED)]) == REPORTED

    def read(self) -> Iterator[Row]:
        """Yield the rows; lines without anything in them are none."""
        while True:
            begin = self._lines.number + 1
            row = Row()
            try:
                cells = next(self._reader, None)
            except csv.Error as error:
                row.problem = InvalidInput("row", f"is no CSV: {error}")
                row.text, row.broken = self._lines.taken(), True
            else:
                self._lines.taken()
                if cells is None:
                    return
                if not cells:
                    continue
                self._fill(row, cells)
            row.line = begin
            yield row

    def header(self) -> str:
        """Return the columns, behind those that report."""
        return csv_line([*REPORTED, *self._said(self._columns)])

    def set_aside(self, row: Row, reason: str) -> str:
        """Return the row's cells behind the report; what is no CSV, as it was.

        A quote that is not closed swallows lines that are right: each of these has a report, so
        that all can be read once the quote is mended.
        """
        if not row.broken:
            return f"{csv_line([row.line, reason])},{row.text}"
        texts = (self._unreported(text) for text in row.text.split("\n"))
        reports = chain([reason], repeat(f"goes with line {row.line}"))
        numbered = zip(count(row.line), reports, texts)  # two of them do not end
        return "\n".join(f"{csv_line(report)},{text}" for *report, text in numbered)

    def _fill(self, row: Row, cells: Sequence[str]) -> None:
        row.text = csv_line(self._said(cells))
        if len(cells) != len(self._columns):
            there, wanted = len(cells), len(self._columns)
            row.problem = InvalidInput("row", f"has {there} cells, and the header has {wanted}")
            return
        said = dict(zip(self._columns, cells, strict=True))
        _understand(row, {name: cell for name, cell in said.items() if cell})

    def _said(self, cells: Sequence[str]) -> Sequence[str]:
        """Return the cells without those of an earlier report."""
        return cells[len(REPORTED) :] if self._reported else cells

    def _unreported(self, text: str) -> str:
        """Return the text of what is no CSV, without an earlier report, which is."""
        return _REPORT.sub("", text, count=1) if self._reported else text


class JsonRows:
    """An object a line."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def read(self) -> Iterator[Row]:
        """Yield the rows; lines without anything in them are none."""
        for line in self._lines:
            self._lines.taken()
            if not line.strip():
                continue
            row = Row()
            row.line, row.text = self._lines.number, line.rstrip("\r\n")
            try:
                said = json.loads(line)
            except (ValueError, RecursionError) as error:
                row.problem = InvalidInput("row", f"is not JSON: {error}")
            else:
                self._fill(row, said)
            yield row

    def header(self) -> str:
        """Return nothing: an object names its own members."""
        return ""

    def set_aside(self, row: Row, reason: str) -> str:
        """Return the object with the report in it; what is none, as a text."""
        report = {"line": row.line, "reason": reason}
        try:
            said = json.loads(row.text)
        except (ValueError, RecursionError):
            said = None
        kept = said if isinstance(said, dict) else {"text": row.text}
        return _encodable({**report, **_unreported(kept)})

    def _fill(self, row: Row, said: object) -> None:
        if not isinstance(said, dict):
            row.problem = InvalidInput("row", "is no JSON object")
            return
        if unknown := [name for name in said if name not in (*COLUMNS, *REPORTED)]:
            problem = f"has {unknown[0]!r}, which is none of {', '.join(COLUMNS)}"
            row.problem = InvalidInput("row", problem)
            return
        _understand(row, {name: value for name, value in said.items() if value is not None})


FORMS: Mapping[str, type[CsvRows | JsonRows]] = {"csv": CsvRows, "jsonl": JsonRows}
SUFFIXES: Mapping[str, str] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


class CsvLines:
    """Writes facts as CSV."""

    begin: ClassVar[str] = ",".join(COLUMNS[:-1]) + "\n"

    @staticmethod
    def line(said: Mapping[str, Any]) -> str:
        """Return a fact."""
        cells = ("" if said[name] is None else said[name] for name in COLUMNS[:-1])
        return csv_line(cells) + "\n"


class JsonLines:
    """Writes facts as JSON Lines."""

    begin: ClassVar[str] = ""

    @staticmethod
    def line(said: Mapping[str, Any]) -> str:
        """Return a fact."""
        return _encodable({name: value for name, value in said.items() if value is not None}) + "\n"


WRITERS: Mapping[str, type[CsvLines | JsonLines]] = {"csv": CsvLines, "jsonl": JsonLines}


def csv_line(cells: Iterable[object]) -> str:
    """Return cells as CSV, without an end: that would be the place to lose a carriage return."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerow(cells)
    return written.getvalue().removesuffix("\r\n")


def _check_columns(lines: Lines, columns: Sequence[str]) -> None:
    if not any(columns):
        raise lines.wrong(f"is empty: a header is expected, such as {','.join(COLUMNS)}")
    for name in columns:
        if name not in (*COLUMNS, *REPORTED):
            known = ", ".join(COLUMNS)
            raise lines.wrong(f"has the column {name!r}, which is none of {known}")
        if columns.count(name) > 1:
            raise lines.wrong(f"has the column {name!r} twice")
    for name in NEEDED:
        if name not in columns:
            found = ", ".join(columns)
            raise lines.wrong(f"has no column {name!r}: it has {found}")


def _understand(row: Row, said: Mapping[str, Any]) -> None:
    """Put what was written into the words of the library, or say what is wrong with it."""
    try:
        row.update(_said(said))
    except InvalidInput as error:
        row.clear()
        row.problem = error


def _said(written: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in NEEDED:
        if name not in written:
            raise InvalidInput(name, "is empty")
    yield "subject", written["subject"]
    yield "relation", written["relation"]
    yield "object", _object(written["object"], written.get("object_kind"))
    for name in ("valid_from", "valid_to"):
        if name in written:
            value = written[name]
            yield name, instant(value.strip()) if isinstance(value, str) else value
    if "valid_to" in written and "valid_from" not in written:
        raise InvalidInput("valid_from", "is empty, and valid_to is not: say since when it held")
    if "confidence" in written:
        yield "confidence", _number(written["confidence"])
    if "source" in written:
        yield "source", written["source"]


def _object(value: object, kind: object) -> object:
    """Return a name or a value; JSON has numbers and truth values of its own."""
    from memoranda.graph.literal import Literal

    if isinstance(value, (bool, int, float)):
        return Literal(value) if kind is None else thing(json.dumps(value), str(kind))
    if kind is None or not isinstance(value, str):
        return value
    return thing(value, str(kind).strip())


def _number(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError as error:
        raise InvalidInput("confidence", f"{value!r} is not a number from 0 to 1") from error


def _encodable(said: Mapping[str, Any]) -> str:
    """Return JSON as people read it; half a character, which JSON can spell, stays spelled."""
    text = json.dumps(said, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(said)
    return text


def _unreported(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if name not in REPORTED}
