"""Commits without a lock: decide with what is cached, and send everything in one round trip.

The store's stamp is drawn by chance with every commit. A writer that knows the stamp of its last
commit decides before it has asked the server for anything. Its statements wait here, and its commit
swaps the stamp: if that is another one by now, nothing is written, and the caller decides again
under the lock.

1. A read of tables that no waiting statement names is sent at once, together with a read of the
   stamp: what it returns is from before any commit of others.
2. A read of any other table, of the side file, or of a stream begins a transaction, which locks the
   row of the store and runs the waiting statements first.
3. At the end, statements that have a form for many rows (`commit_statement.sql`) become one
   statement. If there is any other one, all are sent as one transaction, in one round trip too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache

from memoranda.storage import query_loader
from memoranda.storage.port import Result, Row
from memoranda.storage.postgres.connection import Connection
from memoranda.storage.postgres.statements import Statement, Statements, number_parameters


class Outdated(Exception):
    """Another process has written to the store since the last commit of this one."""


class OptimisticWriter:
    """A writer whose statements wait until a read needs them, or until the commit."""

    coverage = None

    def __init__(
        self, connection: Connection, statements: Statements, lock_wait_ms: int, *, relaxed: bool
    ) -> None:
        self._connection = connection
        self._statements = statements
        self._lock_wait_ms = lock_wait_ms
        self._relaxed = relaxed
        self._waiting: list[tuple[str, Row]] = []
        self._tables: set[str] = set()
        """The tables that waiting statements name."""
        self._begun = False
        """Whether a transaction has begun: then nothing waits any more."""

    # Reading.

    def row(self, query: str, /, **values: object) -> Row | None:
        """Return the first row, if there is one; values are bound by name."""
        if not self._is_apart(query):
            return self._begin().row(query, **values)
        statement = self._statements.own(query)
        rows = self._read(statement, [values[name] for name in statement.names])
        return rows[0] if rows else None

    def find(self, query: str, /, *values: object) -> Row | None:
        """Return the first row, if there is one; values are bound by position."""
        if not self._is_apart(query):
            return self._begin().find(query, *values)
        rows = self._read(self._statements.own(query), values)
        return rows[0] if rows else None

    def rows(self, query: str, /, *, budget: int | None = None, **values: object) -> list[Row]:
        """Return the rows; with a budget of bytes, PostgreSQL ends the page that exhausts it."""
        if budget is not None or not self._is_apart(query):
            return self._begin().rows(query, budget=budget, **values)
        statement = self._statements.own(query)
        return self._read(statement, [values[name] for name in statement.names])

    def stream(self, query: str, /, **values: object) -> Iterator[Row]:
        """Yield the rows one by one, inside a transaction."""
        return self._begin().stream(query, **values)

    def columns(self, query: str, /) -> tuple[str, ...]:
        """Return the names of a query's columns."""
        return self._begin().columns(query)

    def has(self, table: str, column: str | None = None, /) -> bool:
        """Say whether the database has a table, or a column of it."""
        return self._begin().has(table, column)

    def cached(self, read: Callable[..., Result], /, *arguments: Hashable) -> Result:
        """Return `read(self, *arguments)`: inside a write, each call reads."""
        return read(self, *arguments)

    def _is_apart(self, query: str) -> bool:
        """Say whether no waiting statement can change what a query returns."""
        if self._begun:
            return False
        statement = self._statements[query]
        return statement is not None and self._tables.isdisjoint(statement.tables)

    def _read(self, statement: Statement, values: Sequence[object]) -> list[Row]:
        rows = self._connection.read_if_current(statement, values)
        if rows is None:
            raise Outdated
        return rows

    # Writing.

    def put(self, query: str, /, *values: object) -> None:
        """Run a statement with values by position."""
        if not self._begun:
            statement = self._statements[query]
            if statement is not None:
                self._tables |= statement.tables
                self._waiting.append((query, values))
                return
        self._begin().put(query, *values)

    def put_all(self, query: str, rows: Sequence[Row], /) -> None:
        """Run a statement for each row."""
        if self._begun or self._statements[query] is None:
            self._begin().put_all(query, rows)
        else:
            for row in rows:
                self.put(query, *row)

    def add(self, query: str, /, *values: object) -> int:
        """Run a statement that returns the id of the row it adds."""
        return self._begin().add(query, *values)

    def run(self, query: str, /, **values: object) -> None:
        """Run a statement with values by name."""
        statement = self._statements[query]
        if self._begun or statement is None:
            self._begin().run(query, **values)
        else:
            self.put(query, *(values[name] for name in statement.names))

    def copy_table(self, table: str, /) -> None:
        """Refuse: views are rebuilt in place here."""
        self._begin().copy_table(table)

    def trial(self) -> AbstractContextManager[None]:
        """Undo everything that the block writes, when it ends."""
        return self._begin().trial()

    def has_foreign_writes(self) -> bool:
        """Say whether another connection has committed since the last call."""
        return self._connection.has_foreign_writes()

    # Transactions.

    def _begin(self) -> Connection:
        """Lock the store if nobody has written to it, and run the waiting statements."""
        if not self._begun:
            self._connection.begin_if_current(self._lock_wait_ms, relaxed=self._relaxed)
            self._begun = True
            self._run_waiting()
        return self._connection

    def _run_waiting(self) -> None:
        """Run the statements in their order; neighbours of one text together."""
        waiting, self._waiting = self._waiting, []
        first = 0
        while first < len(waiting):
            query, end = waiting[first][0], first + 1
            while end < len(waiting) and waiting[end][0] == query:
                end += 1
            self._connection.put_all(query, [row for _, row in waiting[first:end]])
            first = end

    def commit(self) -> None:
        """Write everything, or raise `Outdated` if another process has written."""
        if not self._begun and not self._waiting:
            if not self._connection.is_current():
                raise Outdated
            return
        if not self._begun:
            parts = _group(self._waiting)
            if parts is not None:
                statement, values = _compose(parts, relaxed=self._relaxed)
                swap = {"lock_wait": self._lock_wait_ms, **values}
                if not self._connection.commit_at_once(statement, swap):
                    raise Outdated
                return
        self._begin().commit()


# The one statement: rows grouped by the query they are for, each group as arrays.

_PACKAGE = "memoranda.storage.postgres"
_SET, _ADD, _SET_ID, _ADD_VERSION = "state_set", "state_add", 3, 3
"""A key's values are set by (version, commit_ts, value, id), and added behind (id, scope, key)."""


def _group(waiting: Sequence[tuple[str, Row]]) -> dict[str, list[Row]] | None:
    """Return the rows of each query; None if one has no form for many rows.

    The parts of a statement see the tables as they were before it, and a row can be changed once:
    so only the last values of a key are left, in the row that adds it if there is one.
    """
    forms = _parts()
    groups: dict[str, list[Row]] = {}
    added: dict[object, int] = {}
    last_set: dict[object, int] = {}
    for query, row in waiting:
        if query not in forms:
            return None
        rows = groups.setdefault(query, [])
        if query == _ADD:
            added[row[0]] = len(rows)
        elif query == _SET:
            key_id = row[_SET_ID]
            if key_id in added:
                keys, place = groups[_ADD], added[key_id]
                keys[place] = (*keys[place][:_ADD_VERSION], *row[:_SET_ID])
                continue
            if key_id in last_set:
                rows[last_set[key_id]] = row
                continue
            last_set[key_id] = len(rows)
        rows.append(row)
    return {query: rows for query, rows in groups.items() if rows}


def _compose(
    groups: dict[str, list[Row]], *, relaxed: bool
) -> tuple[Statement, dict[str, list[object]]]:
    """Return the statement for these groups, and its arrays by the names of its parameters."""
    statement, names = _statement_of(tuple(sorted(groups)), relaxed=relaxed)
    arrays = {
        name: [*column]
        for query, rows in groups.items()
        for name, column in zip(names[query], zip(*rows, strict=True), strict=True)
    }
    return statement, arrays


@cache
def _statement_of(
    queries: tuple[str, ...], *, relaxed: bool
) -> tuple[Statement, dict[str, tuple[str, ...]]]:
    """Return the statement with some parts, and the parameters of each part."""
    parts = _parts()
    expressions = ", ".join(f"{query} AS ({parts[query]})" for query in ("head", *queries))
    text = f"WITH {expressions} {parts['relaxed' if relaxed else 'durable']}"
    return number_parameters(text), {
        query: number_parameters(parts[query]).names for query in queries
    }


@cache
def _parts() -> dict[str, str]:
    return query_loader.parse(query_loader.read_sql(_PACKAGE, "commit_statement.sql"))
