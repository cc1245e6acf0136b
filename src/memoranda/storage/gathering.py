"""Gathering: rows that are added together, which costs less than adding each on its own."""

from __future__ import annotations

from memoranda.storage.port import Row, Writer


class Gathering:
    """Rows on their way into the tables. Whoever reads those asks for the rows to be `written`."""

    __slots__ = ("_rows", "_writer")

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._rows: dict[str, list[Row]] = {}

    def add(self, query: str, *values: object) -> None:
        """Add a row with the statement that adds it, to which the rows of others do not matter."""
        rows = self._rows.get(query)
        if rows is None:
            rows = self._rows[query] = []
        rows.append(values)

    def written(self) -> Writer:
        """Write what was gathered, in the order of each statement's rows, and return the writer."""
        if self._rows:
            for query, rows in self._rows.items():
                self._writer.put_all(query, rows)
            self._rows.clear()
        return self._writer
