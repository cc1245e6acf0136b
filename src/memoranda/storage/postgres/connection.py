"""PostgreSQL connections: opening them, and running named queries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, cast

import psycopg
from psycopg import pq
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper

from memoranda import errors
from memoranda.model.bounded_cache import BoundedCache
from memoranda.model.coverage import Coverage
from memoranda.model.ids import SystemIds
from memoranda.storage.port import Rehearsal, Result, Row
from memoranda.storage.postgres.arrays import register_arrays
from memoranda.storage.postgres.commit_statement import LogCommit
from memoranda.storage.postgres.database_url import split_pooler
from memoranda.storage.postgres.error_translation import translate_errors
from memoranda.storage.postgres.head import LockedHead, draw_number
from memoranda.storage.postgres.side_index import SideIndex, SideSession
from memoranda.storage.postgres.statements import Statement, Statements


class _FlagDumper(Dumper):
    """Stores a flag as the integer that it is in SQLite."""

    format = pq.Format.TEXT
    oid = Int8Dumper.oid

    def dump(self, flag: bool) -> Buffer:  # noqa: FBT001
        return b"1" if flag else b"0"


def connect(conninfo: str, **parameters: str) -> psycopg.Connection[Row]:
    """Open a connection whose transactions are begun and ended by statements of ours.

    Parameters override those of the URL. Nothing is prepared behind a pooler, which may run the
    next transaction on another connection.

    Integers are always sent as such of 64 bits, so that one plan serves all of them.
    """
    url, is_pooled = split_pooler(conninfo)
    try:
        with translate_errors():
            database = psycopg.connect(
                url,
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
                prepare_threshold=None if is_pooled else _PREPARE_THRESHOLD,
                **parameters,  # type: ignore[arg-type]
            )
    except psycopg.ProgrammingError as error:  # it may repeat the URL, and with it the password
        reason = str(error).partition('"postgresql:')[0].strip()
        raise errors.InvalidInput("url", f"PostgreSQL's library refuses it: {reason}") from None
    database.prepared_max = _PREPARED_STATEMENTS
    database.server_cursor_factory = psycopg.RawServerCursor
    database.adapters.register_dumper(int, Int8Dumper)
    database.adapters.register_dumper(int, Int8BinaryDumper)
    database.adapters.register_dumper(bool, _FlagDumper)
    register_arrays(database)
    return cast("psycopg.Connection[Row]", database)


_PREPARE_THRESHOLD = 2
"""Times that a statement runs before it is prepared: to prepare one takes a round trip."""
_PREPARED_STATEMENTS = 600
"""Statements that a connection keeps prepared: there are about 450 queries."""
_CACHED_READS = 64
"""Results that a connection caches: those of a dozen different scopes."""
_STREAMED_ROWS = 256
"""Rows that a stream fetches at once, at most."""
_STREAMED_BYTES = 1024 * 1024
"""Bytes of values that a stream fetches at once, if they are as long as the last ones."""
_FIRST_ROWS = 8
"""Rows that a stream fetches first, and by which factor it fetches more each time."""


def _stream(cursor: psycopg.ServerCursor[Row]) -> Iterator[Row]:
    """Yield the rows; the size of the last ones says how many are fetched at once."""
    count = _FIRST_ROWS
    while rows := cursor.fetchmany(count):
        yield from rows
        size = sum(len(value) for row in rows for value in row if isinstance(value, (bytes, str)))
        fitting = _STREAMED_BYTES * len(rows) // max(size, 1)
        count = max(1, min(fitting, count * _FIRST_ROWS, _STREAMED_ROWS))


class Connection:
    """A reader and, on the writer's connection, a writer: named queries of one store.

    Queries of the index run in the side file, in a transaction that begins and ends with this one.
    """

    def __init__(
        self,
        database: psycopg.Connection[Row],
        reconnect: Callable[[], psycopg.Connection[Row]],
        statements: Statements,
        store_id: int,
        side: SideIndex | None,
        *,
        writes: bool = False,
    ) -> None:
        self.database = database
        self._reconnect = reconnect
        self._statements = statements
        self._store_id = store_id
        self._side_index = side
        self._side: SideSession | None = None
        self._writes = writes
        self._ids = SystemIds()
        """Of stamps: drawn here, most come from its reserve."""
        self._own_stamp: int | None = None
        """The store's stamp after this connection's last commit, or of another's that it saw."""
        self._is_settled = False
        """Whether that is a commit of its own: then it is as durable as a commit here can be."""
        self._next_stamp: int | None = None
        """The store's stamp after the commit that is being sent, drawn by chance."""
        self._foreign_writes = False
        self._pipeline: AbstractContextManager[object] | None = None
        self._in_snapshot = False
        self._cache: BoundedCache[Hashable, Any] = BoundedCache(_CACHED_READS)
        self._cache_stamp: tuple[int, int] | None = None
        """The stamps of the store and of the side file that the cache was filled in."""
        self._snapshot_stamp: tuple[int, int] | None = None

    @property
    def coverage(self) -> Coverage | None:
        """It sees every row; `storage/coverage.py` has readers that do not."""
        return None

    # Reading.

    def row(self, query: str, /, **values: object) -> Row | None:
        """Return the first row, if there is one; values are bound by name."""
        statement = self._statements[query]
        if statement is None:
            return self.side.row(query, **values)
        with translate_errors():
            return self._read(statement, statement.bind_names(values, self._store_id)).fetchone()

    def find(self, query: str, /, *values: object) -> Row | None:
        """Return the first row, if there is one; values are bound by position, as in `put`."""
        statement = self._statements[query]
        if statement is None:
            return self.side.find(query, *values)
        with translate_errors():
            return self._read(statement, statement.bind(values, self._store_id)).fetchone()

    def rows(self, query: str, /, *, budget: int | None = None, **values: object) -> list[Row]:
        """Return the rows; with a budget of bytes, PostgreSQL ends the page that exhausts it."""
        statement = self._statements[query]
        if statement is None:
            return self.side.rows(query, budget=budget, **values)
        if budget is not None:
            statement = self._statements.own(f"{query}_within")
            values["budget"] = budget
        with translate_errors():
            return self._read(statement, statement.bind_names(values, self._store_id)).fetchall()

    def rows_each(self, query: str, items: Sequence[Row], /) -> list[list[Row]]:
        """Return the rows for each item, which has values by position; they are sent together."""
        statement = self._statements[query]
        if statement is None:
            return self.side.rows_each(query, items)
        bound = [self.bind(statement, item) for item in items]
        with translate_errors():
            if not (self._in_snapshot or self._writes):  # each can go on after a lost connection
                return [self._read(statement, values).fetchall() for values in bound]
            with self.database.pipeline():
                cursors = [self._run(statement, values) for values in bound]
                return [cursor.fetchall() for cursor in cursors]

    def rows_before(
        self, query: str, following: str, item: Row, /, *, budget: int, **values: object
    ) -> tuple[list[Row], list[Row]]:
        """Return the rows, and those of a following query; both are sent together."""
        first, second = self._statements.own(f"{query}_within"), self._statements.own(following)
        reads = (
            (first, self.bind(first, [{**values, "budget": budget}[name] for name in first.names])),
            (second, self.bind(second, item)),
        )
        with translate_errors():
            if not self.database.closed:
                with suppress(psycopg.OperationalError), self.database.pipeline():
                    cursors = [self._run(*read) for read in reads]
                    rows, others = (cursor.fetchall() for cursor in cursors)
                    return rows, others
            rows, others = (self._read(*read).fetchall() for read in reads)
            return rows, others

    def stream(self, query: str, /, **values: object) -> Iterator[Row]:
        """Yield the rows one by one, from a cursor of the server."""
        statement = self._statements[query]
        if statement is None:
            yield from self.side.stream(query, **values)
            return
        bound = statement.bind_names(values, self._store_id)
        with translate_errors(), self._without_pipeline(), self._open_cursor(query) as cursor:
            cursor.execute(statement.text, bound)
            yield from _stream(cursor)

    def table_rows(self, table: str, columns: str) -> Iterator[Row]:
        """Yield every row of a table, from a cursor of the server; only inside a transaction."""
        statement = self._statements.own("table_rows")
        text = statement.text.replace("COLUMN_NAMES", columns).replace("TABLE_NAME", table)
        with translate_errors(), self._without_pipeline(), self._open_cursor(table) as cursor:
            cursor.execute(text, [self._store_id])
            yield from _stream(cursor)

    def _open_cursor(self, name: str) -> psycopg.ServerCursor[Row]:
        return self.database.cursor(f"stream_{name}", binary=True)

    def columns(self, query: str, /) -> tuple[str, ...]:
        """Return the names of a query's columns."""
        statement = self._statements[query]
        if statement is None:
            return self.side.columns(query)
        nulls = [None] * len(statement.names)
        with translate_errors():
            cursor = self._run(statement, statement.bind(nulls, self._store_id))
            cursor.fetchone()
        return tuple(column.name for column in cursor.description or ())

    def has(self, table: str, column: str | None = None, /) -> bool:
        """Say whether the database has a table, or a column of it."""
        if column is None:
            return self.find("table_there", table) is not None
        return self.find("column_there", table, column) is not None

    def cached(self, read: Callable[..., Result], /, *arguments: Hashable) -> Result:
        """Return `read(self, *arguments)`, cached while nobody commits to the store.

        Only snapshots are cached: without one, and inside a write, each call reads.
        """
        if not self._in_snapshot:
            return read(self, *arguments)
        if self._snapshot_stamp is None:
            row = self.find("store_stamp")
            # The side file commits first, so that it can be ahead of the snapshot.
            self._snapshot_stamp = (row[0] if row else 0, self.side.stamp)
        if self._snapshot_stamp != self._cache_stamp:
            self._cache.clear()
            self._cache_stamp = self._snapshot_stamp
        key = (read, *arguments)
        value = self._cache.get(key, self)  # itself: no result, not even None, is the connection
        if value is self:
            value = self._cache[key] = read(self, *arguments)
        result: Result = value
        return result

    # Writing.

    def put(self, query: str, /, *values: object) -> None:
        """Run a statement with values by position."""
        statement = self._statements[query]
        if statement is None:
            self.side.put(query, *values)
        else:
            with translate_errors():
                self._run(statement, statement.bind(values, self._store_id))

    def put_all(self, query: str, rows: Sequence[Row], /) -> None:
        """Run a statement for each row; they are sent together."""
        statement = self._statements[query]
        if statement is None:
            self.side.put_all(query, rows)
            return
        bound = [statement.bind(row, self._store_id) for row in rows]
        with translate_errors():
            self.database.cursor().executemany(statement.text, bound)

    def add(self, query: str, /, *values: object) -> int:
        """Run a statement that returns the id of the row it adds."""
        statement = self._statements[query]
        if statement is None:
            return self.side.add(query, *values)
        with translate_errors():
            row = self._run(statement, statement.bind(values, self._store_id)).fetchone()
        assert row is not None, f"{query} returns an id"
        return int(row[0])

    def run(self, query: str, /, **values: object) -> None:
        """Run a statement with values by name."""
        statement = self._statements[query]
        if statement is None:
            self.side.run(query, **values)
        else:
            with translate_errors():
                self._run(statement, statement.bind_names(values, self._store_id))

    def copy_table(self, table: str, /) -> None:
        """Refuse: views are rebuilt in place here."""
        raise NotImplementedError(f"{table} is rebuilt in place")

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Undo everything that the block writes, when it ends."""
        self.execute("trial_begin")
        if self._side is not None:
            self._side.put("trial_begin")
        side = self._side
        try:
            yield
        finally:
            self.execute("trial_undo")
            self.execute("trial_end")
            if side is not None:
                side.put("trial_undo")
                side.put("trial_end")
            elif self._side is not None:  # it began inside the block
                self._side.end()
                self._side = None

    def server_time(self) -> int:
        """Return the time of the server, in microseconds since 1970."""
        row = self.find("server_time")
        assert row is not None, "a server has a clock"
        return int(row[0])

    def has_foreign_writes(self) -> bool:
        """Say whether another connection has committed since the last call."""
        foreign_writes, self._foreign_writes = self._foreign_writes, False
        return foreign_writes

    def look_ahead(self, rehearse: Rehearsal, /) -> None:
        """Do nothing: a writer that fetches reads together is in `optimistic.py`."""

    # Transactions.

    def begin_snapshot(self) -> None:
        """Begin a read transaction; the first read takes the snapshot."""
        with translate_errors():
            self._read(self._statements.own("begin_reading"), ())
        self._in_snapshot = True
        self._snapshot_stamp = None

    def begin(
        self, lock_wait_ms: int, *, relaxed: bool, check: Callable[[Connection, LockedHead], object]
    ) -> None:
        """Lock the store for writing; if another connection has written, `check` may refuse."""
        with translate_errors():
            self._begin_pipeline()
            self.execute("begin")
            if relaxed:
                self.execute("relax")
            self.find_later("lock_wait", lock_wait_ms)
            lock, store = self.find_later("store_lock"), self.find_later("store_token")
            row, token = lock.fetchone(), store.fetchone()
        if row is None or token is None:
            raise errors.NotFound("the store was removed from its database")
        head = LockedHead(*row, *token)
        if head.stamp != self._own_stamp:
            check(self, head)  # before the stamp is known, so that a refused writer asks again
            self._foreign_writes = True
            self._own_stamp, self._is_settled = head.stamp, False

    def _begin_pipeline(self) -> None:
        """From here on, send statements without waiting for their results until one is read.

        An error of a statement is raised by a later one, by a read or by the commit.
        """
        self._pipeline = self.database.pipeline()
        self._pipeline.__enter__()

    def _end_pipeline(self) -> None:
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            pipeline.__exit__(None, None, None)

    @contextmanager
    def _without_pipeline(self) -> Iterator[None]:
        """Wait for each statement in the block: a cursor of the server needs that."""
        if self._pipeline is None:
            yield
            return
        self._end_pipeline()
        try:
            yield
        finally:
            self._begin_pipeline()

    @property
    def in_snapshot(self) -> bool:
        """Whether all reads are of one snapshot."""
        return self._in_snapshot

    def index_stamp(self) -> int:
        """Return the stamp of the index."""
        row = self.row("meta_get", name="index")
        return 0 if row is None else int(row[0])

    def queue_all(self) -> None:
        """Queue every commit for indexing, under a new stamp; no vector is left."""
        self.run("index_queue_fill")
        self.run("vectors_restart")
        self.run("index_stamp_renew")

    def find_later(self, query: str, *values: object) -> psycopg.Cursor[Row]:
        """Send a statement; its result can be read once the pipeline is synchronised."""
        statement = self._statements.own(query)
        return self.database.execute(statement.text, statement.bind(values, self._store_id))

    def commit(self) -> None:
        """Commit the side file, then the transaction; the stamp tells others of it."""
        if self._side is not None:
            self._side.commit(self.index_stamp())
            self._side = None
        with translate_errors():
            self.find_later("store_stamp_renew", self._draw_stamp())
            self.execute("commit")
            self._end_pipeline()
        self._note_commit()

    def _note_commit(self) -> None:
        self._own_stamp, self._is_settled = self._next_stamp, True

    def _draw_stamp(self) -> int:
        self._next_stamp = draw_number(self._ids)
        return self._next_stamp

    # Transactions that begin with the stamp of the last commit, without asking for it.

    @property
    def stamps(self) -> tuple[int | None, int | None]:
        """The stamp of the last commit, and that of the commit which was sent last."""
        return self._own_stamp, self._next_stamp

    def note_foreign_writes(self) -> None:
        """Let everybody drop what is cached."""
        self._foreign_writes = True

    @property
    def is_settled(self) -> bool:
        """Whether what it has seen last will be there after a failover, too.

        A commit that waits for the disk or a standby can be seen by nobody. But if its connection
        is ended, or the server restarts, others see it at once, and no standby may have it. Whoever
        commits after that has waited for both.
        """
        return self._is_settled

    def is_current(self) -> bool:
        """Say whether the last commit is this connection's."""
        row = self.find("store_stamp")
        return row is not None and row[0] == self._own_stamp

    def bind(self, statement: Statement, values: Sequence[object]) -> Row:
        """Return the values of a statement as the server gets them."""
        return tuple(statement.bind(values, self._store_id))

    def read_if_current(self, reads: Sequence[tuple[Statement, Row]]) -> list[list[Row]] | None:
        """Return the rows of each read; None if another connection has committed meanwhile.

        They are sent together, and the results are taken once all of them are there.
        """
        with translate_errors(), self.database.pipeline():
            cursors = [self._run(statement, values) for statement, values in reads]
            stamp = self.find_later("store_stamp")
        if stamp.fetchone() != (self._own_stamp,):
            return None
        return [cursor.fetchall() for cursor in cursors]

    def read_together(self, reads: Sequence[tuple[Statement, Row]]) -> list[list[Row]]:
        """Return the rows of each read, inside a transaction; they are sent together."""
        with translate_errors():
            cursors = [self._run(statement, values) for statement, values in reads]
            return [cursor.fetchall() for cursor in cursors]

    def begin_if_current(self, lock_wait_ms: int, *, relaxed: bool) -> None:
        """As `begin`, without waiting: if another connection has written, a later call raises.

        `is_outdated` recognizes the error.
        """
        with translate_errors():
            self._begin_pipeline()
            self.execute("begin")
            if relaxed:
                self.execute("relax")
            self.find_later("lock_wait", lock_wait_ms)
            self.find_later("store_lock_if", self._own_stamp)

    def commit_at_once(self, statement: Statement, values: Mapping[str, object]) -> bool:
        """Run the one statement of a batch; return False if another connection has written."""
        named = {**values, "stamp": self._own_stamp, "next_stamp": self._draw_stamp()}
        bound = [named[name] for name in statement.names]
        with translate_errors():
            row = self._run(statement, [*bound, self._store_id]).fetchone()
        if row is None:
            return False
        self._note_commit()
        return True

    def commit_together(
        self, send: Callable[[LogCommit], bool], groups: dict[str, list[Row]]
    ) -> bool:
        """Commit a batch with those of other stores; return False if nothing was written."""
        stamp, next_stamp = self._own_stamp, self._draw_stamp()
        assert stamp is not None, "it is known from the last commit"
        if not send(LogCommit(self._store_id, stamp, next_stamp, groups)):
            return False
        self._note_commit()
        return True

    def end(self) -> None:
        """End the transaction, if there is one, without its writes; or raise if that fails."""
        self._in_snapshot = False
        if self._side is not None:
            self._side.end()
            self._side = None
        with suppress(psycopg.Error):  # what it reports is rolled back
            self._end_pipeline()
        status = self.database.pgconn.transaction_status
        if status == pq.TransactionStatus.INERROR:
            # PostgreSQL has skipped what was sent behind the error, and psycopg may take a
            # statement of that for prepared. A new connection has none.
            self.database.close()
        elif status != pq.TransactionStatus.IDLE:
            self.execute("rollback")

    @property
    def is_usable(self) -> bool:
        """Whether the connection is there, and outside a transaction."""
        return self.database.pgconn.transaction_status == pq.TransactionStatus.IDLE

    def close(self) -> None:
        """Close the connection."""
        if self._side is not None:
            self._side.end()
            self._side = None
        self.database.close()

    def execute(self, query: str) -> None:
        """Run a statement without parameters."""
        with translate_errors():
            self.database.execute(self._statements.own(query).text)

    def _read(self, statement: Statement, values: Sequence[object]) -> psycopg.Cursor[Row]:
        """Run a query; outside a transaction, again if it was undone or the connection was lost."""
        if self._in_snapshot or self._writes:
            return self._run(statement, values)
        try:
            return self._run(statement, values)
        except psycopg.errors.SerializationFailure:
            return self._run(statement, values)
        except psycopg.OperationalError:
            if not self.database.closed:
                raise
            self.database = self._reconnect()
            return self._run(statement, values)

    def _run(self, statement: Statement, values: Sequence[object]) -> psycopg.Cursor[Row]:
        return self.database.cursor(binary=True).execute(statement.text, values)

    @property
    def side(self) -> SideSession:
        """The transaction of the side file that goes with this one."""
        if self._side is None:
            assert self._side_index is not None, "the index is open"
            self._side = self._side_index.begin(self, writes=self._writes)
        return self._side
