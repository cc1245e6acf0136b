"""The tables of a store as an attacker finds them: looked up, so that new ones are met too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

Value = Any
Row = dict[str, Value]


@dataclass(frozen=True)
class Table:
    """A table, its columns and their types, and those that tell its rows apart."""

    name: str
    columns: dict[str, str]
    key: tuple[str, ...]
    optional: frozenset[str]


@contextmanager
def opened(path: Path) -> Iterator[apsw.Connection]:
    """Open a store's file with nothing of the engine around it."""
    with closing(apsw.Connection(str(path))) as database:
        yield database


INDEX = (
    *("to_index", "shelf", "passage", "vector", "words", "word_count"),
    *("words_config", "words_content", "words_data", "words_docsize", "words_idx"),
)
"""What can be searched: derived, no part of what is proven, and made anew by a rebuild.

How far a deep verification checks it, tests/unit/search/test_filling.py shows.
"""


def tables_of(database: apsw.Connection) -> list[Table]:
    rows = database.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    )
    names = [str(name) for (name,) in rows.fetchall()]
    return [_table(database, name) for name in names if name not in INDEX]


def _table(database: apsw.Connection, name: str) -> Table:
    columns = database.execute(f"SELECT name, type, pk, [notnull] FROM pragma_table_info('{name}')")
    rows: list[tuple[Any, ...]] = columns.fetchall()
    keys = sorted((pk, column) for column, _, pk, _ in rows if pk)
    return Table(
        name,
        {column: kind for column, kind, _, _ in rows},
        tuple(column for _, column in keys) or ("rowid",),
        frozenset(column for column, _, pk, filled in rows if not filled and not pk),
    )


def rows_of(database: apsw.Connection, table: Table) -> list[Row]:
    """Return a table's rows, with their `rowid` where nothing else tells them apart."""
    hidden = ["rowid"] if table.key == ("rowid",) else []
    names = [*hidden, *table.columns]
    query = f"SELECT {', '.join(names)} FROM {table.name} ORDER BY {', '.join(table.key)}"
    return [dict(zip(names, row, strict=True)) for row in database.execute(query)]


def update(database: apsw.Connection, table: Table, row: Row, changes: Row) -> None:
    """Change columns of one row. Text is given as bytes, so that it may be none."""
    texts = {name for name in changes if table.columns[name] == "TEXT"}
    sets = ", ".join(f"{name} = {_value(is_text=name in texts)}" for name in changes)
    values = [*map(_bound, changes.values()), *(row[name] for name in table.key)]
    database.execute(f"UPDATE {table.name} SET {sets} WHERE {_which(table)}", values)


def insert(database: apsw.Connection, table: Table, row: Row) -> None:
    names = [*table.columns]
    values = ", ".join(_value(is_text=table.columns[name] == "TEXT") for name in names)
    database.execute(
        f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({values})",
        [_bound(row[name]) for name in names],
    )


def delete(database: apsw.Connection, table: Table, row: Row) -> None:
    values = [row[name] for name in table.key]
    database.execute(f"DELETE FROM {table.name} WHERE {_which(table)}", values)


def _which(table: Table) -> str:
    return " AND ".join(f"{name} IS ?" for name in table.key)


def _value(*, is_text: bool) -> str:
    return "CAST(? AS TEXT)" if is_text else "?"


def _bound(value: Value) -> Value:
    return value.encode() if isinstance(value, str) else value


@contextmanager
def without_types(database: apsw.Connection, table: Table) -> Iterator[None]:
    """Let a table's columns take anything for a while, as whoever can write the file can."""
    query = "SELECT sql FROM sqlite_schema WHERE name = ?"
    strict = str(database.execute(query, (table.name,)).get)
    loose = re.sub(r"STRICT,?", "", strict.replace("NOT NULL", ""))
    loose = re.sub(r"\b(INTEGER|TEXT|REAL)\b(?! PRIMARY)", "BLOB", loose)
    _redefine(database, table, loose)
    try:
        yield
    finally:
        _redefine(database, table, strict)


def _redefine(database: apsw.Connection, table: Table, sql: str) -> None:
    database.pragma("writable_schema", True)
    database.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, table.name))
    database.execute("PRAGMA writable_schema = RESET")
