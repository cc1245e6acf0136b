"""Commits without a lock: decide with what is cached, and send everything in one round trip.

The store's stamp is drawn by chance with every commit. A writer that knows the stamp of its last
commit decides before it has asked the server for anything. Its statements wait here, and its commit
swaps the stamp: if that is another one by now, nothing is written, and the caller decides again
under the lock.

1. A read that no waiting statement can affect is sent at once, together with a read of the stamp:
   what it returns is from before any commit of others.
2. Any other read, of the side file, or of a stream begins a transaction, which locks the row of the
   store and runs the waiting statements first.
3. A read takes others with it: those that a rehearsal of the coming work needs (`read_ahead.py`).
4. At the end, statements that have a form for many rows (`commit_statement.sql`) become one
   statement. If there is any other one, all are sent as one transaction, in one round trip too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress

from memoranda.errors import MemorandaError
from memoranda.storage.port import Rehearsal, Result, Row, Unread
from memoranda.storage.postgres.commit_statement import compose_one, group_rows
from memoranda.storage.postgres.connection import Connection
from memoranda.storage.postgres.read_ahead import FetchedRows, Read, Scout
from memoranda.storage.postgres.shared_sender import SharedSender
from memoranda.storage.postgres.statements import Statements

_MOST_ROUNDS = 16
"""Times that reads are fetched ahead of one read: more than any kind of request has in a chain."""
_PATIENCE = 4
"""Rehearsals in a row that find nothing, before reads begin to go without one."""


class Outdated(Exception):
    """Another process has written to the store since the last commit of this one."""


class OptimisticWriter:
    """A writer whose statements wait until a read needs them, or until the commit.

    With `locked`, a transaction that holds the lock has begun already, and nothing waits.
    """

    coverage = None

    def __init__(
        self,
        connection: Connection,
        statements: Statements,
        lock_wait_ms: int,
        *,
        relaxed: bool,
        locked: bool = False,
        sender: SharedSender | None = None,
    ) -> None:
        self._connection = connection
        self._statements = statements
        self._lock_wait_ms = lock_wait_ms
        self._relaxed = relaxed
        self._sender = sender
        self._waiting: list[tuple[str, Row]] = []
        self._fetched = FetchedRows(statements)
        """The rows of reads; the changes behind them are the waiting statements, if any wait."""
        self._rehearse: Rehearsal | None = None
        self._fruitless = 0
        """How many rehearsals in a row have found nothing to fetch."""
        self._unrehearsed = 0
        """How many of the next reads go without a rehearsal."""
        self._begun = locked
        """Whether a transaction has begun: then nothing waits any more."""

    # Reading.

    def row(self, query: str, /, **values: object) -> Row | None:
        """Return the first row, if there is one; values are bound by name."""
        statement = self._statements[query]
        if statement is None:
            return self._begin().row(query, **values)
        return self.find(query, *(values[name] for name in statement.names))

    def find(self, query: str, /, *values: object) -> Row | None:
        """Return the first row, if there is one; values are bound by position."""
        statement = self._statements[query]
        if statement is None:
            return self._begin().find(query, *values)
        rows = self._read(Read(query, self._connection.bind(statement, values)))
        return rows[0] if rows else None

    def rows(self, query: str, /, *, budget: int | None = None, **values: object) -> list[Row]:
        """Return the rows; with a budget of bytes, PostgreSQL ends the page that exhausts it."""
        statement = self._statements[query]
        if statement is None or budget is not None:
            return self._begin().rows(query, budget=budget, **values)
        bound = self._connection.bind(statement, [values[name] for name in statement.names])
        return self._read(Read(query, bound))

    def rows_each(self, query: str, items: Sequence[Row], /) -> list[list[Row]]:
        """Return the rows for each item, which has values by position; they are read together."""
        statement = self._statements[query]
        if statement is None:
            return self._begin().rows_each(query, items)
        return self._read_all(
            [Read(query, self._connection.bind(statement, item)) for item in items]
        )

    def rows_before(
        self, query: str, following: str, item: Row, /, *, budget: int, **values: object
    ) -> tuple[list[Row], list[Row]]:
        """Return the rows, and those of a following query."""
        return self._begin().rows_before(query, following, item, budget=budget, **values)

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

    def look_ahead(self, rehearse: Rehearsal, /) -> None:
        """Let reads of the coming work be fetched together."""
        self._rehearse = rehearse

    def _read(self, read: Read) -> list[Row]:
        return self._read_all([read])[0]

    def _read_all(self, reads: Sequence[Read]) -> list[list[Row]]:
        rows = {read: self._fetched.get(read) for read in reads}
        missing = [read for read, fetched in rows.items() if fetched is None]
        if missing:
            rows |= self._read_missing(missing)
        return [rows[read] or [] for read in reads]

    def _read_missing(self, reads: Sequence[Read]) -> dict[Read, list[Row]]:
        if any(self._fetched.is_affected(read) for read in reads):
            self._begin()
        if self._unrehearsed:
            self._unrehearsed -= 1
            return self._fetch(reads)
        if self._begun:
            self._fetched.settle()
        ahead = self._rehearsed()
        self._note_rehearsal(is_fruitless=not {*ahead}.difference(reads))
        fetched = self._fetch([*dict.fromkeys((*reads, *ahead))])
        for _ in range(_MOST_ROUNDS):
            following = self._rehearsed()
            if not following:
                break
            self._fetch(following)
            self._note_rehearsal(is_fruitless=False)
        return {read: fetched[read] for read in reads}

    def _note_rehearsal(self, *, is_fruitless: bool) -> None:
        """Let twice as many reads as before go without a rehearsal, after several found nothing.

        Else a large transaction that reads back each of its rows would be rehearsed for each.
        """
        self._fruitless = self._fruitless + 1 if is_fruitless else 0
        if self._fruitless >= _PATIENCE:
            self._unrehearsed = 2 ** (self._fruitless - _PATIENCE)

    def _rehearsed(self) -> list[Read]:
        """Return the reads that a rehearsal lacks and that can be fetched now."""
        if self._rehearse is None:
            return []
        scout = Scout(self._statements, self._connection.bind, self._fetched)
        with suppress(Unread, MemorandaError):
            self._rehearse(scout, whole=not self._begun)
        if self._begun:
            return [*scout.missing]
        return [read for read in scout.missing if not self._fetched.is_affected(read)]

    def _fetch(self, reads: Sequence[Read]) -> dict[Read, list[Row]]:
        """Fetch rows in one round trip; raise `Outdated` if another process has written."""
        statements = [(self._statements.own(read.query), read.values) for read in reads]
        if self._begun:
            results: list[list[Row]] | None = self._connection.read_together(statements)
        else:
            results = self._connection.read_if_current(statements)
        if results is None:
            raise Outdated
        fetched = dict(zip(reads, results, strict=True))
        self._fetched.put(fetched)
        return fetched

    # Writing.

    def put(self, query: str, /, *values: object) -> None:
        """Run a statement with values by position."""
        statement = self._statements[query]
        if statement is None:
            self._begin().put(query, *values)
            return
        self._fetched.changes.add(query, values)
        if self._begun:
            self._connection.put(query, *values)
        else:
            self._waiting.append((query, values))

    def put_all(self, query: str, rows: Sequence[Row], /) -> None:
        """Run a statement for each row."""
        statement = self._statements[query]
        if statement is None:
            self._begin().put_all(query, rows)
            return
        for row in rows:
            self._fetched.changes.add(query, row)
        if self._begun:
            self._connection.put_all(query, rows)
        else:
            self._waiting += [(query, row) for row in rows]

    def add(self, query: str, /, *values: object) -> int:
        """Run a statement that returns the id of the row it adds."""
        statement = self._statements[query]
        if statement is not None:
            self._begin()
            self._fetched.changes.add(query, values)
        return self._begin().add(query, *values)

    def run(self, query: str, /, **values: object) -> None:
        """Run a statement with values by name."""
        statement = self._statements[query]
        if statement is None:
            self._begin().run(query, **values)
        else:
            self.put(query, *(values[name] for name in statement.names))

    def copy_table(self, table: str, /) -> None:
        """Refuse: views are rebuilt in place here."""
        self._begin().copy_table(table)

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Undo everything that the block writes, when it ends."""
        rehearse, self._rehearse = (
            self._rehearse,
            None,
        )  # what is undone is nothing to look ahead to
        with self._begin().trial():
            try:
                yield
            finally:
                self._fetched.clear()
                self._rehearse = rehearse

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
        if not self._begun and not self._waiting and self._connection.is_settled:
            if not self._connection.is_current():
                raise Outdated
            return
        if not self._begun and self._waiting:
            groups = group_rows(self._waiting)
            if groups is not None:
                if not self._commit_at_once(groups):
                    raise Outdated
                return
        self._begin().commit()

    def _commit_at_once(self, groups: dict[str, list[Row]]) -> bool:
        """Commit by one statement, with other stores if there are any."""
        if self._sender is not None and self._sender.is_shared:
            return self._connection.commit_together(self._sender.commit, groups)
        statement, values = compose_one(groups, relaxed=self._relaxed)
        swap = {"lock_wait": self._lock_wait_ms, **values}
        return self._connection.commit_at_once(statement, swap)
