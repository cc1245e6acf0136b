"""Copies of a store in a SQLite database: every row of every table, of one snapshot."""

from __future__ import annotations

from itertools import islice

from memoranda.storage.port import Progress
from memoranda.storage.postgres.connection import Connection
from memoranda.storage.sqlite import connection as sqlite
from memoranda.storage.sqlite.engine import SqliteEngine

_PAGE_ROWS = 512
"""Rows that are written at once."""
_INDEX_TABLES = frozenset({"passage", "shelf", "vector", "words"})
"""Tables of the side file."""


def copy_rows(reader: Connection, target: SqliteEngine, progress: Progress | None = None) -> None:
    """Copy the rows that a reader's snapshot has to a new database, in one transaction."""
    target.write(lambda writer: _copy_tables(reader, writer, progress))


def _copy_tables(reader: Connection, writer: sqlite.Connection, progress: Progress | None) -> None:
    tables = writer.rows("stored_tables")
    for number, (table, columns) in enumerate(tables, start=1):
        rows = (
            reader.side.table_rows(table, columns)
            if table in _INDEX_TABLES
            else reader.table_rows(table, columns)
        )
        while page := [*islice(rows, _PAGE_ROWS)]:
            writer.put_rows(table, columns, page)
        if progress is not None:
            progress(number, len(tables))
