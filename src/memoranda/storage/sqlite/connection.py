"""SQLite connections: opening them, running named queries, translating errors, leasing readers."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import apsw
import msgspec

from memoranda import errors
from memoranda.model.bounded_cache import BoundedCache
from memoranda.model.coverage import Coverage
from memoranda.storage.files import make_private
from memoranda.storage.port import Rehearsal, Result, Row
from memoranda.storage.sqlite.identity import FileState, FileWatch

if TYPE_CHECKING:
    from memoranda.storage.sqlite.engine import SqliteEngine

_ERRORS: Mapping[type[apsw.Error], type[errors.MemorandaError]] = {
    apsw.BusyError: errors.StoreBusy,
    apsw.LockedError: errors.StoreBusy,
    apsw.FullError: errors.StoreFull,
    apsw.ReadOnlyError: errors.StoreReadOnly,
    apsw.PermissionsError: errors.StoreReadOnly,
    apsw.CorruptError: errors.Corruption,
    apsw.NotADBError: errors.Corruption,
    apsw.ConstraintError: errors.Corruption,
    apsw.IOError: errors.Unavailable,
    apsw.CantOpenError: errors.Unavailable,
    apsw.ConnectionClosedError: errors.StoreClosed,
}


_FOREIGN = (apsw.Error, UnicodeDecodeError)


def translate(error: apsw.Error | UnicodeDecodeError) -> errors.MemorandaError:
    """Return our error for SQLite's; raise the original if it has no entry, as that is our bug."""
    if isinstance(error, UnicodeDecodeError):
        return errors.Corruption(f"stored text is not UTF-8 ({error.reason}): restore a backup")
    for foreign, error_class in _ERRORS.items():
        if isinstance(error, foreign):
            return error_class(f"{error_class.__doc__} (SQLite: {error})")
    raise error


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate the errors that SQLite raises in the block."""
    try:
        yield
    except _FOREIGN as error:
        raise translate(error) from error


@contextmanager
def closing_on_error(database: apsw.Connection) -> Iterator[None]:
    """Close a connection if the block that prepares it fails."""
    usable = False
    try:
        yield
        usable = True
    finally:
        if not usable:
            database.close()


@cache
def with_lists(query: str) -> str:
    """Return a query of the port for SQLite: the rows of a list are those of a JSON array."""
    return query.replace("EACH(:", "json_each(:")


def _encode_list(_: apsw.Cursor, __: int, value: object) -> str:
    """Return a list parameter as a JSON array, which the SQL reads with `json_each`.

    SQLite calls this only for a type that it cannot bind, so other parameters pay nothing for it.
    """
    if isinstance(value, (list, tuple)):
        return msgspec.json.encode(value).decode()
    raise TypeError(f"cannot bind a parameter of type {type(value).__name__}")


_CACHED_READS = 64
"""Results that a connection caches: those of a dozen different scopes."""


class Connection:
    """A reader and, on the writer's connection, a writer: named queries on one SQLite handle."""

    def __init__(
        self, database: apsw.Connection, queries: Mapping[str, str], generation: int
    ) -> None:
        self.database = database
        database.convert_binding = _encode_list
        self._cursor = database.cursor()
        """Shared by statements that are done at once: making a cursor for each costs more."""
        self.generation = generation
        self._queries = queries
        self._own_data_version: int | None = None
        """SQLite's `data_version` after this connection's last commit."""
        self._foreign_writes = False
        self._cache: BoundedCache[Hashable, Any] = BoundedCache(_CACHED_READS)
        self._cache_version: int | None = None
        """SQLite's `data_version` of the snapshot that the cache was filled in."""

    @property
    def coverage(self) -> Coverage | None:
        """It sees every row; `storage/coverage.py` has readers that do not."""
        return None

    def row(self, query: str, /, **values: object) -> Row | None:
        """Return the first row, if there is one; values are bound by name."""
        try:
            row: Row | None = self.database.execute(self._queries[query], values).fetchone()
        except _FOREIGN as error:
            raise translate(error) from error
        return row

    def find(self, query: str, /, *values: object) -> Row | None:
        """Return the first row, if there is one; values are bound by position, as in `put`."""
        try:
            row: Row | None = self.database.execute(self._queries[query], values).fetchone()
        except _FOREIGN as error:
            raise translate(error) from error
        return row

    def rows(self, query: str, /, *, budget: int | None = None, **values: object) -> list[Row]:
        """Return the rows; with a budget of bytes, stop after the row that exhausts it."""
        try:
            cursor = self._execute(query, values)
            if budget is None:
                return cursor.fetchall()
            page = []
            for row in cursor:
                page.append(row)
                content = row[-1]
                budget -= len(content) if type(content) is bytes else len(str(content))
                if budget <= 0:
                    cursor.close()
                    break
        except _FOREIGN as error:
            raise translate(error) from error
        return page

    def rows_each(self, query: str, items: Sequence[Row], /) -> list[list[Row]]:
        """Return the rows for each item, which has values by position."""
        text = self._queries[query]
        try:
            return [self.database.execute(text, item).fetchall() for item in items]
        except _FOREIGN as error:
            raise translate(error) from error

    def rows_before(
        self, query: str, following: str, item: Row, /, *, budget: int, **values: object
    ) -> tuple[list[Row], list[Row]]:
        """Return the rows, and those of a following query."""
        rows = self.rows(query, budget=budget, **values)
        return rows, self.rows_each(following, [item])[0]

    def stream(self, query: str, /, **values: object) -> Iterator[Row]:
        """Yield the rows one by one."""
        try:
            yield from self._execute(query, values)
        except _FOREIGN as error:
            raise translate(error) from error

    def columns(self, query: str, /) -> tuple[str, ...]:
        """Return the names of a query's columns."""
        from apsw.ext import query_info  # slow to load, and only a verification asks

        with translate_errors():
            description = query_info(self.database, self._queries[query]).description
        return tuple(name for name, _ in description)

    def has(self, table: str, column: str | None = None, /) -> bool:
        """Say whether the file has a table, or a column of it."""
        if column is None:
            return self.find("table_there", table) is not None
        return self.find("column_there", table, column) is not None

    def cached(self, read: Callable[..., Result], /, *arguments: Hashable) -> Result:
        """Return `read(self, *arguments)`, cached while the database stays as it is.

        SQLite changes `data_version` when it finds at the start of a snapshot that anybody has
        committed; by the same sign it drops its own pages. So only a snapshot that has begun is
        cached: before its first read, without a transaction and inside a write, each call reads.
        """
        database = self.database
        try:
            in_snapshot = database.txn_state("main") == apsw.SQLITE_TXN_READ
            version = database.data_version()
        except _FOREIGN as error:
            raise translate(error) from error
        if not in_snapshot:
            return read(self, *arguments)
        if version != self._cache_version:
            self._cache.clear()
            self._cache_version = version
        key = (read, *arguments)
        value = self._cache.get(key, self)  # itself: no result, not even None, is the connection
        if value is self:
            value = self._cache[key] = read(self, *arguments)
        result: Result = value
        return result

    def put(self, query: str, /, *values: object) -> None:
        """Run a statement; binding by position is faster than by name."""
        try:
            self._cursor.execute(self._queries[query], values)
        except _FOREIGN as error:
            raise translate(error) from error

    def put_all(self, query: str, rows: Sequence[Row], /) -> None:
        """Run a statement for each row; it is prepared once."""
        try:
            self._cursor.executemany(self._queries[query], rows)
        except _FOREIGN as error:
            raise translate(error) from error

    def add(self, query: str, /, *values: object) -> int:
        """Run a statement that returns the id of the row it adds."""
        try:
            return int(self._cursor.execute(self._queries[query], values).get)
        except _FOREIGN as error:
            raise translate(error) from error

    def run(self, query: str, /, **values: object) -> None:
        """Run a statement; values are bound by name."""
        try:
            self.database.execute(self._queries[query], values)
        except _FOREIGN as error:
            raise translate(error) from error

    def copy_table(self, table: str, /) -> None:
        """Add every row of a table of the attached database, which defines it alike.

        Into an empty table, SQLite copies the rows and the entries of each index in their order.
        """
        try:
            self.database.execute(self._queries["table_copy"].replace("TABLE_NAME", table))
        except _FOREIGN as error:
            raise translate(error) from error

    def table_rows(self, table: str, columns: str) -> Iterator[Row]:
        """Yield every row of a table."""
        text = self._queries["table_rows"]
        text = text.replace("COLUMN_NAMES", columns).replace("TABLE_NAME", table)
        try:
            yield from self.database.execute(text)
        except _FOREIGN as error:
            raise translate(error) from error

    def put_rows(self, table: str, columns: str, rows: Sequence[Row]) -> None:
        """Add rows to a table; one with the same key is replaced."""
        text = self._queries["table_put"].replace("PLACEHOLDERS", ", ".join("?" * len(rows[0])))
        text = text.replace("COLUMN_NAMES", columns).replace("TABLE_NAME", table)
        try:
            self._cursor.executemany(text, rows)
        except _FOREIGN as error:
            raise translate(error) from error

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Undo everything that the block writes, when it ends."""
        self.put("trial_begin")
        try:
            yield
        finally:
            self.put("trial_undo")
            self.put("trial_end")

    def begin(self) -> bool:
        """Take the file's write lock, and return whether another connection has written.

        SQLite changes `data_version` of a connection when another connection commits, and not when
        this one does. It is compared under the write lock, so no commit can come after the check.
        """
        self.put("begin")
        if self.database.data_version() == self._own_data_version:
            return False
        self._foreign_writes = True
        return True

    def commit(self) -> None:
        """Commit the transaction. A rollback leaves the data version unchanged."""
        self.put("commit")
        self._own_data_version = self.database.data_version()

    def has_foreign_writes(self) -> bool:
        """Say whether another connection has committed since the last call."""
        foreign_writes, self._foreign_writes = self._foreign_writes, False
        return foreign_writes

    def look_ahead(self, rehearse: Rehearsal, /) -> None:
        """Do nothing: a read costs no round trip here."""

    def _execute(self, query: str, values: dict[str, object]) -> apsw.Cursor:
        return self.database.execute(self._queries[query], values)


# Leases: a reader connection for the length of a block.


class Lease:
    """A reader connection for the length of a block; with `snapshot`, inside a transaction.

    An interrupt can come before the reader is given back. It is then closed when the interrupt's
    traceback is released, and the pool opens another one.
    """

    __slots__ = ("_engine", "_reader", "_snapshot")

    def __init__(self, engine: SqliteEngine, *, snapshot: bool = False) -> None:
        self._engine = engine
        self._snapshot = snapshot

    def __enter__(self) -> Connection:
        reader = self._engine.lend()
        if self._snapshot:
            reader.run("begin_reading")
        self._reader = reader
        return reader

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._engine.take_back(self._reader, unsure=self._snapshot or kind is not None)


# Opening connections.
#
# A store's file may come from anybody, so SQL that is stored in it must never run: its triggers and
# views are turned off, and its definitions may not call functions that have side effects. TEMP
# views still work; only we create them.

LOCK_WAIT_MS = 10_000
"""How long a connection waits for another process's lock, in milliseconds.

Longer than a large batch and its sync take on a slow disk. After it, the caller gets `StoreBusy`.
"""
_GUARDS = {
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW: 0,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
}
_READ = apsw.SQLITE_OPEN_READONLY
_READ_WRITE = apsw.SQLITE_OPEN_READWRITE
_CREATE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


def open_untrusted(name: str, flags: int = _CREATE, vfs: str | None = None) -> apsw.Connection:
    """Open a database with the settings that keep SQL stored in it from running."""
    database = apsw.Connection(name, flags=flags, vfs=vfs)
    with closing_on_error(database):
        for option, setting in _GUARDS.items():
            database.config(option, setting)
    return database


def open_for_inspection(path: Path) -> apsw.Connection:
    """Open a store's file to examine it, also in a folder that cannot be written to."""
    return (
        open_untrusted(str(path))
        if FileState.of(path) is None
        else open_untrusted(*_immutable(path))
    )


def _immutable(path: Path) -> tuple[str, int]:
    """Return the URI and the flags that open a file as immutable."""
    return f"file:{quote(str(path))}?immutable=1", _READ | apsw.SQLITE_OPEN_URI


class Opener:
    """Opens the connections of one engine, all to the same file and with the same settings."""

    def __init__(
        self,
        path: Path | None,
        *,
        queries: Mapping[str, str],
        synchronous: str,
        vfs: str | None,
        read_only: bool,
        lock_wait_ms: int | None = None,
    ) -> None:
        self._path = path
        self._queries = queries
        self._synchronous = synchronous
        self._vfs = vfs
        self._read_only = read_only
        self._lock_wait_ms = LOCK_WAIT_MS if lock_wait_ms is None else lock_wait_ms
        self._watch = None if path is None else FileWatch(path)
        self._immutable_state: FileState | None = None

    def connect(self, generation: int, *, create: bool = False) -> Connection:
        """Open a connection, and check that the path still names the file of the first one.

        The check comes before the first statement. SQLite reads the write-ahead log with that, and
        a log that stands beside a replaced file would be replayed into the wrong database.
        """
        if create and self._path is not None and self._vfs is None:
            make_private(self._path)
        database = open_untrusted(*self._named(create=create), self._vfs)
        with closing_on_error(database):
            if self._watch is not None:
                self._watch.check()
            database.set_busy_timeout(self._lock_wait_ms)
            if not self._read_only:
                database.pragma("synchronous", self._synchronous)  # see engine.py
                database.pragma("secure_delete", True)
            # Without this, SQLite plans a statement again for each new value of a range's bound.
            database.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        return Connection(database, self._queries, generation)

    def _named(self, *, create: bool) -> tuple[str, int]:
        """Return the file's name or URI for SQLite, and the flags to open it with.

        SQLite cannot create its `-shm` file in a folder that cannot be written to. If the store has
        no write-ahead log either, the file is opened as immutable, which needs no `-shm`.
        """
        if self._path is None:
            return ":memory:", _CREATE
        if not self._read_only:
            return str(self._path), _CREATE if create else _READ_WRITE
        self._immutable_state = FileState.of(self._path)
        return (str(self._path), _READ) if self._immutable_state is None else _immutable(self._path)

    def is_outdated(self) -> bool:
        """Say whether a file that was opened as immutable has changed."""
        noted, path = self._immutable_state, self._path
        return noted is not None and path is not None and FileState.of(path) != noted

    def note_journal(self) -> None:
        """Note the identity of the write-ahead log: it stays the same while the file is open."""
        if self._watch is not None:
            self._watch.note_journal()

    def forget_journal(self) -> None:
        """Expect a new write-ahead log: SQLite removes it with the last connection."""
        if self._watch is not None:
            self._watch.forget_journal()

    def check_unmoved(self) -> None:
        """Raise if the file or its write-ahead log was moved, removed or replaced."""
        if self._watch is not None:
            self._watch.check()


def _keep_apsw_in_child() -> None:
    """Keep the apsw module alive in a forked child until the process is gone.

    When its module is freed, apsw closes every open connection. In a forked child that would wait
    forever for a mutex of SQLite that another thread of the parent held at the fork.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(apsw))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_apsw_in_child)
