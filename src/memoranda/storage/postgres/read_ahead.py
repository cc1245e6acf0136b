"""Reads that are fetched together: what was fetched, what of it still holds, and the scout.

A writer that needs a row from the server first lets the rest of its work be rehearsed. The scout
answers from what was fetched; what is missing it notes, and raises `Unread`. So one round trip
fetches what all parts of a rehearsal need next, and as many follow as the longest chain of reads
that depend on each other has links: their number does not grow with the size of the work.

What was fetched holds until a statement changes a table that the read names. Some frequent reads
find rows by a column of which every INSERT has the value: of these, only a read of the same value
is outdated (`_ROW_KEYS`, `_READS_BY_KEY`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import NoReturn

import msgspec

from memoranda.storage.port import Rehearsal, Result, Row, Unread
from memoranda.storage.postgres.statements import (
    Statement,
    Statements,
    number_parameters,
    query_text,
)

_ROW_KEYS: Mapping[str, str] = {
    "graph_node": "key",
    "graph_statement": "subject_root",
    "memory": "memory_id",
    "memory_state": "memory",
    "memory_title": "title",
    "scope": "agent_id",
    "state": "key",
    "txn": "txn_id",
}
"""For each table, the parameter of its INSERTs by which reads are told apart."""
_NEW_ROWS_ONLY = ()
"""For a table that is joined by its ids: a new row has an id that no older row names."""
_READS_BY_KEY: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "graph_node_find": {"graph_node": ("key",)},
    "graph_timeline_short": {"graph_statement": ("subject",)},
    "memory_last_state": {"memory_state": ("memory",)},
    "memory_number": {"memory": ("memory_id",)},
    "scope_find": {"scope": ("agent_id",)},
    "state_head": {"state": ("key",), "scope": ("agent_id",)},
    "title_find": {"memory_title": ("title",), "memory": _NEW_ROWS_ONLY},
    "txn_find_or_token": {"txn": ("txn_id", "token")},
}
"""For each read that finds rows by their keys, the parameters with the keys in each table."""
_GUESSED_EMPTY = frozenset(
    (
        "graph_assertions_from",
        "graph_cited_beside",
        "graph_cited_on_timelines",
        "link_exists_to",
        "link_find",
        "links_from",
        "links_relied_on",
        "links_to",
        "memory_dependents",
        "notices_known",
        "notices_open_at",
        "state_dependents",
        "state_version_place",
    )
)
"""Reads that seldom find anything, and that nobody caches: a rehearsal goes on without them."""
_TARGET = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM) memoranda\.(\w+)")


class Read(msgspec.Struct, frozen=True):
    """A read with its values, as the server gets them."""

    query: str
    values: tuple[object, ...]


class _Target(msgspec.Struct, frozen=True):
    """What a statement changes."""

    tables: frozenset[str]
    inserts: bool
    key: int | None
    """The place of the value by which the new row is told apart; None: by none."""


@cache
def _target_of(query: str) -> _Target:
    """Return what a statement changes: one table, or those it names if that is unclear."""
    statement = number_parameters(query_text(query))
    match = _TARGET.match(statement.text)
    if match is None:
        return _Target(statement.tables, False, None)
    table, inserts = match[1], match[0].startswith("INSERT")
    column = _ROW_KEYS.get(table) if inserts else None
    key = statement.names.index(column) if column in statement.names else None
    return _Target(frozenset((table,)), inserts, key)


class Changes:
    """What statements have changed since rows were fetched."""

    def __init__(self) -> None:
        self._statements: list[tuple[str, Row]] = []
        """Statements that the next two do not have yet: most batches never need these."""
        self._changed: set[str] = set()
        """Tables any of whose rows may have changed."""
        self._keys: dict[str, set[object]] = {}
        """Tables with new rows only, and the keys of these."""

    def add(self, query: str, values: Row) -> None:
        """Note a statement."""
        self._statements.append((query, values))

    def _index(self) -> None:
        for query, values in self._statements:
            target = _target_of(query)
            if target.inserts:
                (table,) = target.tables
                key = None if target.key is None else values[target.key]
                self._keys.setdefault(table, set()).add(key)
            else:
                self._changed |= target.tables
        self._statements.clear()

    def clear(self) -> None:
        """Note that everything is fetched again."""
        self._statements.clear()
        self._changed.clear()
        self._keys.clear()

    def affect(self, read: Read, statement: Statement) -> bool:
        """Say whether a read may return something else now."""
        self._index()
        if not self._changed.isdisjoint(statement.tables):
            return True
        return any(
            self._affect_by_key(read, statement, table)
            for table in statement.tables & self._keys.keys()
        )

    def _affect_by_key(self, read: Read, statement: Statement, table: str) -> bool:
        parameters = _READS_BY_KEY.get(read.query, {}).get(table)
        if parameters is None:
            return True
        keys = self._keys[table]
        return any(
            None in keys or read.values[statement.names.index(parameter)] in keys
            for parameter in parameters
        )


class FetchedRows:
    """The rows of reads, as long as nothing has changed them."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self._rows: dict[Read, list[Row]] = {}
        self.changes = Changes()

    def get(self, read: Read) -> list[Row] | None:
        """Return what was fetched for a read, if it still holds."""
        rows = self._rows.get(read)
        return None if rows is None or self.is_affected(read) else rows

    def is_affected(self, read: Read) -> bool:
        """Say whether a statement may have changed what a read returns."""
        return self.changes.affect(read, self._statements.own(read.query))

    def put(self, rows: Mapping[Read, list[Row]]) -> None:
        """Keep rows that were fetched before the changes, which do not affect them."""
        self._rows.update(rows)

    def settle(self) -> None:
        """Drop what is outdated: from here on, rows are fetched behind the changes."""
        self._rows = {read: rows for read, rows in self._rows.items() if not self.is_affected(read)}
        self.changes.clear()

    def clear(self) -> None:
        """Drop everything."""
        self._rows.clear()
        self.changes.clear()


class Scout:
    """The writer of a rehearsal: it notes the reads that are missing, and writes nothing."""

    coverage = None

    def __init__(
        self,
        statements: Statements,
        bind: Callable[[Statement, Sequence[object]], Row],
        fetched: FetchedRows,
    ) -> None:
        self._statements = statements
        self._bind = bind
        self._fetched = fetched
        self.missing: dict[Read, None] = {}
        """The reads that a rehearsal could not go on without, in their order."""

    def row(self, query: str, /, **values: object) -> Row | None:
        """Return the first row, if there is one."""
        statement = self._statements[query]
        if statement is None:
            raise Unread
        return self.find(query, *(values[name] for name in statement.names))

    def find(self, query: str, /, *values: object) -> Row | None:
        """As `row`, with values by position."""
        rows = self._fetch(query, values)
        return rows[0] if rows else None

    def rows(self, query: str, /, *, budget: int | None = None, **values: object) -> list[Row]:
        """Return the rows of a read that was fetched."""
        statement = self._statements[query]
        if statement is None or budget is not None:
            raise Unread
        return self._fetch(query, [values[name] for name in statement.names])

    def rows_each(self, query: str, items: Sequence[Row], /) -> list[list[Row]]:
        """Return the rows of reads that were fetched; all that are missing are noted."""
        results: list[list[Row]] = []
        for item in items:
            with suppress(Unread):
                results.append(self._fetch(query, item))
        if len(results) < len(items):
            raise Unread
        return results

    def _fetch(self, query: str, values: Sequence[object]) -> list[Row]:
        statement = self._statements[query]
        if statement is None:
            raise Unread
        read = Read(query, self._bind(statement, values))
        rows = self._fetched.get(read)
        if rows is None:
            self.missing[read] = None
            if query not in _GUESSED_EMPTY:
                raise Unread
            return []
        return rows

    def cached(self, read: Callable[..., Result], /, *arguments: Hashable) -> Result:
        """Return `read(self, *arguments)`."""
        return read(self, *arguments)

    def has_foreign_writes(self) -> bool:
        """Return false: the work has begun."""
        return False

    def look_ahead(self, rehearse: Rehearsal, /) -> None:
        """Do nothing: this is the rehearsal."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        """Refuse what is more than a read."""
        raise Unread

    rows_before = stream = columns = has = put = put_all = add = run = copy_table = trial = _refuse
