"""The SQLite engine: one writer connection, a pool of readers, their file, and its durability.

SQLite writes a commit to the write-ahead log. With `synchronous=FULL` it calls fsync on that log
before COMMIT returns (`_commit`), so an acknowledged commit survives power loss. With
`synchronous=NORMAL` it calls fsync only at checkpoints: a commit survives the death of the process,
but power loss may take the newest commits, never a part of one. The pragma is set on every
connection by `Opener.connect` (connection.py); `sync` makes earlier relaxed commits durable, and
`_settle` does so after a COMMIT whose outcome is unknown. Whole files are synced by
`storage/files.py`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw

from memoranda import errors
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.histogram import Histogram
from memoranda.model.limits import plain_text, short_repr
from memoranda.storage.files import keep_private
from memoranda.storage.owner_lock import Owner, read_owner
from memoranda.storage.port import (
    Check,
    Engine,
    OutcomeUnknown,
    Parameters,
    Progress,
    Reader,
    SqlView,
    StorageSize,
)
from memoranda.storage.scratch import scratch_database
from memoranda.storage.sqlite import schema
from memoranda.storage.sqlite.backup import copy_snapshot, duplicate, place_file
from memoranda.storage.sqlite.connection import (
    LOCK_WAIT_MS,
    Connection,
    Lease,
    Opener,
    closing_on_error,
    translate,
    translate_errors,
)
from memoranda.storage.sqlite.health import check_format, check_pages
from memoranda.storage.sqlite.identity import file_identity
from memoranda.storage.sqlite.placement import (
    check_mount,
    check_path,
    check_vacant,
    footprint_of,
    open_error,
)
from memoranda.storage.sqlite.row_policies import Queries
from memoranda.storage.sqlite.schema import check_definitions
from memoranda.storage.sqlite.user_sql import SqlResult, documented_views
from memoranda.storage.sqlite.wal import (
    BACKGROUND_WAIT_SECONDS,
    PAUSE_BETWEEN_STEPS,
    Journal,
    PurgeMeter,
    PurgeStep,
    rebuild_words,
    rewrite_file,
    run_step,
    use_write_ahead_log,
)
from memoranda.storage.thread_locks import check_process, hold, new_lock, reentrant_write_error

_SYNCHRONOUS = {"full": "FULL", "relaxed": "NORMAL"}
"""The value of SQLite's `synchronous` pragma for each durability."""


def synchronous_value(durability: str) -> str:
    """Return the value of the `synchronous` pragma, or raise `InvalidInput`."""
    durability = plain_text("durability", durability)
    if durability not in _SYNCHRONOUS:
        raise errors.InvalidInput(
            "durability", f"{short_repr(durability)} is not 'full' or 'relaxed'"
        )
    return _SYNCHRONOUS[durability]


# Operations on the store's file as a whole: its identity, its size and copies of it.


class StoreFile(ABC):
    """A store's file; it has no path if the store is in memory."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """Lend a reader for the length of a block."""

    @property
    def path(self) -> Path | None:
        """The store's file; None if it is in memory."""
        return self._path

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self._path or ":memory:")

    def identity(self, reader: Reader) -> str:  # noqa: ARG002 - the file system tells
        """Return the identity of the file's inode, which a copy does not share."""
        if self._path is None:
            return "memory"
        return file_identity(self._path)

    def copy_to(self, path: Path, progress: Progress | None = None) -> None:
        """Copy the snapshot of one reader to a new file, unsynced."""
        with self.reading() as reader:
            copy_snapshot(reader, path, progress)
        keep_private(path, self._path)

    def check_vacant(self, field: str, path: Path) -> None:
        """Refuse a path that is taken, or beside which a journal was left."""
        check_vacant(field, path)

    def place(self, field: str, draft: Path, path: Path) -> None:
        """Give a copy its name, unless a journal that is not its own is beside that name."""
        place_file(field, draft, path)

    def owner(self) -> Owner | None:
        """Return the process that has the owner's lock of the file."""
        return None if self._path is None else read_owner(self._path)

    def footprint(self) -> StorageSize:
        """Return the sizes of the file and of its write-ahead log."""
        if self._path is None:
            with self.reading() as reader:
                size = reader.database.pragma("page_count") * reader.database.pragma("page_size")
            return StorageSize(data=size, journal=0)
        return footprint_of(self._path)


# The SQLite engine: one writer connection, a pool of reader connections, and their file.
#
# Locks. `_write_lock` is held by the thread that writes, from before BEGIN until after COMMIT; the
# writer connection is used under it only. The file's own lock, which BEGIN IMMEDIATE takes, keeps
# other processes out. Readers take no lock: a reader connection belongs to the thread that has
# leased it, and WAL mode lets it read while the writer writes. In memory there is one connection
# for both, so a read takes `_write_lock` as well.
#
# Forks. SQLite connections and POSIX locks do not survive `fork`. Every read and every write
# compares `os.getpid()` with the process that opened the engine, and raises `StoreClosed`.
#
# Outcome of a commit. If COMMIT fails, SQLite may have written the commit or not. `_in_doubt` is
# set before COMMIT and cleared after it, so that an interrupt leaves it set, too. The next write
# then replaces every connection and commits a small durable write first (`_settle`).

Result = TypeVar("Result")


class SqliteEngine(StoreFile):
    """A store in one file, or in memory for as long as the engine lives."""

    is_frozen = False

    def __init__(
        self,
        path: Path | None,
        *,
        queries: Mapping[str, str],
        durability: str = "full",
        create: bool = True,
        vfs: str | None = None,
        allow_network_file_system: bool = False,
        migrate: bool = True,
        read_only: bool = False,
        lock_wait_ms: int | None = None,
    ) -> None:
        synchronous = synchronous_value(durability)
        create = create or path is None
        super().__init__(path)
        self._queries = queries = Queries(queries)
        self._synchronous = synchronous
        self._opener = Opener(
            path,
            queries=queries,
            synchronous=self._synchronous,
            vfs=vfs,
            read_only=read_only,
            lock_wait_ms=lock_wait_ms,
        )
        self.read_only = read_only
        self._write_lock = new_lock()
        self.background_reading = new_lock()
        self.purge_waits = False
        self.commit_seconds = Histogram()
        self.clock: Clock = SystemClock()
        self._idle: deque[Connection] = deque()
        self._is_closed = False
        self._generation = 0
        self._journal = Journal()
        self._in_doubt = False
        self._writing = False
        """Whether a transaction is open: the lock is reentrant, so a signal handler that writes in
        the same thread would get it, and is refused by this flag instead."""
        self._guard: Callable[[Connection], object] | None = None
        """Raises if another version of the library has changed the store; None: not open yet."""
        self._owner = os.getpid()
        if path is not None:
            check_path(path, create=create)
            if not allow_network_file_system:
                check_mount(path)
        try:
            self._writer = self._connect_writer(create=create)
            with closing_on_error(self._writer.database):
                self._prepare(create=create, migrate=migrate)
                self._opener.note_journal()
        except apsw.Error as error:
            raise open_error(path, error, read_only=read_only) from error
        self._memory_connection = hold(self._write_lock, self._writer)
        """Lends the only connection of a store in memory, under the write lock."""

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._is_closed

    def reading(self) -> AbstractContextManager[Connection]:
        """Lend a reader; in memory, the only connection, under the write lock."""
        if self._path is not None:
            return Lease(self)
        self._check_open()
        return self._memory_connection

    def snapshot(self) -> AbstractContextManager[Connection]:
        """Lend a reader inside a read transaction; in memory, the write lock makes one needless."""
        return self.reading() if self._path is None else Lease(self, snapshot=True)

    def lend(self) -> Connection:
        """Return an idle reader from the pool, or open one."""
        if self._is_closed or self._owner != os.getpid():  # inline: a call would cost every read
            self._check_open()
        if self._opener.is_outdated():
            self._generation += 1
            self._close_readers()
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect_reader()

    def take_back(self, reader: Connection, *, unsure: bool) -> None:
        """Return a reader to the pool, unless the connections were replaced since it was lent.

        `unsure`: it may be inside a transaction, which is rolled back. A reader that still runs a
        statement is closed instead: the statement holds its snapshot, so that the next user would
        not see newer commits.
        """
        if unsure:
            database = reader.database
            if database.in_transaction:
                database.execute(self._queries["rollback"])
            if database.txn_state() != apsw.SQLITE_TXN_NONE:
                database.close(force=True)
                return
        self._idle.append(reader)
        if self._is_closed or reader.generation != self._generation:
            self._close_readers()

    def trim_readers(self, keep: int) -> None:
        """Close idle readers beyond so many, those that were used least recently.

        SQLite keeps the handles of the main file while another connection has locks on it, and uses
        them for the next connections.
        """
        with suppress(IndexError):  # another thread has taken the last one
            while len(self._idle) > keep:
                self._idle.popleft().database.close()

    def guard_writes(self, check: Callable[[Connection], object]) -> None:
        """Check the format, and call `check`, in each transaction after others have written."""
        self._guard = check

    def sync(self) -> None:
        """Commit a small write with `synchronous=FULL`: every earlier commit is durable with it."""
        with self._write_lock, translate_errors():
            self._make_ready()
            try:
                self._writer.database.pragma("synchronous", "FULL")
                self.write(lambda writer: writer.run("settle"))
            finally:
                self._writer.database.pragma("synchronous", self._synchronous)

    def write(
        self,
        work: Callable[[Connection], Result],
        *,
        wait: float | None = None,
        repeatable: bool = False,  # noqa: ARG002 - the lock of a file is cheap
    ) -> Result:
        """Take the write lock of this process, then that of the file, and run one transaction."""
        with self._write_lock if wait is None else hold(self._write_lock, True, wait):
            self._make_ready()
            result = self._transact(work) if wait is None else self._transact_soon(work, wait)
            self._journal.tend(self._writer.database, LOCK_WAIT_MS)
        return result

    def write_from(self, source: Path, work: Callable[[Connection], Result]) -> Result:
        """Run one transaction while another database is attached to the writer as `source`."""
        with self._write_lock:
            self._make_ready()
            writer = self._writer
            writer.run("attach", path=str(source))
            try:
                return self.write(work)
            finally:
                writer.run("detach")

    def _transact(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` between BEGIN IMMEDIATE and COMMIT; the caller has the write lock.

        An interrupt such as Ctrl-C raises after any call that Python code makes. So BEGIN stands
        inside the `try`, and the `finally` makes one call only, in C, and makes it last: whenever
        the interrupt comes, the file's lock is released here and not with the traceback. A context
        manager in Python could not promise that, so there is none.
        """
        database = self._writer.database
        try:
            self._writing = True
            if self._writer.begin():
                self._check_versions()
            result = work(self._writer)
            self._commit()
        except errors.StoreReadOnly:
            self._in_doubt = True  # a connection stays read-only when the file is no longer
            raise
        finally:
            self._writing = False
            try:
                if database.in_transaction:
                    database.execute(self._queries["rollback"])
            except apsw.Error as error:
                raise translate(error) from error
        return result

    def _check_versions(self) -> None:
        """Refuse to write where a newer version has been; called if somebody else has written."""
        if self._guard is not None:
            schema.check_unchanged(self._writer.database, self._path)
            self._guard(self._writer)

    def _transact_soon(self, work: Callable[[Connection], Result], seconds: float) -> Result:
        """Run a transaction that waits at most `seconds` for the file's lock."""
        database = self._writer.database
        try:
            database.set_busy_timeout(int(seconds * 1000))
            return self._transact(work)
        finally:
            database.set_busy_timeout(LOCK_WAIT_MS)

    def _make_ready(self) -> None:
        """Check that the engine can write, and repair what an earlier write may have left."""
        if self._is_closed or self._owner != os.getpid():  # inline: a call would cost every commit
            self._check_open()
        if self._writing:
            raise reentrant_write_error()
        if self.read_only:
            raise errors.StoreReadOnly(
                "the store was opened for reading only: open it without read_only to write to it"
            )
        self._roll_back()  # a transaction that an interrupt may have left open
        self._opener.check_unmoved()
        if self._in_doubt:
            self._settle()

    def _roll_back(self) -> None:
        if self._writer.database.in_transaction:
            self._writer.run("rollback")

    def _commit(self) -> None:
        self._in_doubt = self._path is not None
        try:
            began_at = self.clock.monotonic()
            self._writer.commit()
            self.commit_seconds.add(self.clock.monotonic() - began_at)
            # Checked again after the commit: a file that was replaced in between holds the commit
            # under no name, so that it must not be acknowledged.
            self._opener.check_unmoved()
        except errors.StoreFull:  # SQLite could not write the commit frame: it did not happen
            raise
        except errors.MemorandaError as error:
            raise OutcomeUnknown from error
        self._in_doubt = False

    def _settle(self) -> None:
        """Find out whether a commit of unknown outcome happened, on new connections.

        SQLite recovers the write-ahead log when the new writer opens it, and from then on the
        commit is visible or not. Frames of a failed commit that are still in the log could surface
        after a crash, though readers did not see them; a small durable commit overwrites them.
        """
        self._reopen()
        try:
            self._writer.begin()
            self._writer.run("settle")
            # Before the commit, which ends the doubt: after an interrupt in between, the next write
            # settles again, and the log's identity is never left unknown.
            self._opener.note_journal()
            self._commit()
        finally:
            self._roll_back()

    def _reopen(self) -> None:
        """Replace the writer and every reader; lent readers are closed when they come back."""
        self._opener.forget_journal()
        try:
            writer = self._connect_writer()
        except apsw.Error as error:
            raise translate(error) from error
        self._generation += 1
        previous, self._writer = self._writer, writer
        self._close_readers()
        previous.database.close(force=True)

    def _connect_writer(self, *, create: bool = False) -> Connection:
        writer = self._connect(create=create)
        writer.database.set_wal_hook(self._journal.note)
        return writer

    def open_at(self, path: Path) -> SqliteEngine:
        """Make or open a database in another file, which no other process uses yet.

        So it may be on a network file system, where locks between machines do not hold.
        """
        engine = SqliteEngine(
            path, queries=self._queries, durability="relaxed", allow_network_file_system=True
        )
        keep_private(path, self._path)
        return engine

    def open_connection(self) -> Connection:
        """Open a connection whose transactions the caller begins, commits and rolls back."""
        with translate_errors():
            return self._connect()

    def scratch(self, tag: str) -> AbstractContextManager[Engine]:
        """Provide an empty database in the folder for temporary files."""
        return scratch_database(self.open_at, tag)

    def check_definitions(self, reader: Reader) -> None:
        """Compare the stored definitions with those of the format."""
        schema.check_current_definitions(reader)

    def check_structure(self, reader: Reader) -> None:
        """Let SQLite check the pages, indexes and columns of each table."""
        schema.check_structure(reader)

    def diagnose(self, *, quick: bool) -> list[tuple[str, Check]]:
        """Return the checks of the file's format and of its pages."""
        if self._path is None:
            return []
        checks: list[tuple[str, Check]] = [("store", partial(check_format, self._path))]
        return checks if quick else [*checks, ("pages", partial(check_pages, self._path))]

    def documented_views(self) -> list[SqlView]:
        """Return the views that a user's SQL can read; the store itself is not read."""
        return documented_views()

    def query(self, statement: str, parameters: Parameters = ()) -> SqlResult:
        """Run a user's SQL on a connection of its own; a store in memory is copied for it."""
        with self.reading() as reader, translate_errors():
            database = (
                duplicate(reader.database) if self._path is None else self._connect().database
            )
            return SqlResult(database, statement, parameters)

    def purge(self, progress: Progress | None = None) -> bool:
        """Remove deleted data from the file's bytes; in memory there is nothing to remove."""
        with self._write_lock:
            self._make_ready()
            meter = PurgeMeter(self._writer.database, progress)
        if self._path is None:
            return True
        has_begun = False
        try:
            self.purge_waits = True
            with hold(self.background_reading, True, BACKGROUND_WAIT_SECONDS) as has_begun:
                self.purge_waits = False
                return self._purge(meter)
        except errors.StoreBusy:
            if has_begun:  # a progress function has raised it
                raise
            return False
        finally:
            self.purge_waits = False

    def _purge(self, meter: PurgeMeter) -> bool:
        if not self._purge_step(rebuild_words, meter):
            return False
        self.clock.sleep(PAUSE_BETWEEN_STEPS)
        return self._purge_step(rewrite_file, meter)

    def _purge_step(self, step: PurgeStep, meter: PurgeMeter) -> bool:
        with self._write_lock:
            self._make_ready()
            try:
                self._writing = True  # a progress function that writes is refused
                return run_step(self._writer, step, meter, self._check_versions, LOCK_WAIT_MS)
            finally:
                self._writing = False

    def announce(self) -> None:
        """Do nothing: other processes poll."""

    def listen(self, wake: Callable[[], None]) -> bool:  # noqa: ARG002 - nothing arrives
        """Return False: whoever waits polls."""
        return False

    def close(self) -> None:
        """Close every connection; the last connection of all processes removes the WAL file."""
        if self._owner != os.getpid():
            return
        with self._write_lock:
            self._is_closed = True
            self._close_readers()
            self._writer.database.close()

    def _close_readers(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().database.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise errors.StoreClosed
        check_process(self._owner)

    def _connect(self, *, create: bool = False) -> Connection:
        return self._opener.connect(self._generation, create=create)

    def _connect_reader(self) -> Connection:
        try:
            reader = self._connect()
            reader.database.pragma("query_only", True)
        except (apsw.Error, errors.Unavailable) as error:
            if self._is_closed:  # by another thread, meanwhile: the file may be moved or removed
                raise errors.StoreClosed from error
            if isinstance(error, apsw.Error):
                raise translate(error) from error
            raise
        return reader

    def _prepare(self, *, create: bool, migrate: bool) -> None:
        """Create the tables of a new store, or migrate an older format."""
        database = self._writer.database
        if create and schema.is_new(self._writer):
            if self._path is None:
                schema.create_in_memory(database)
            else:
                use_write_ahead_log(database, LOCK_WAIT_MS)
                self.write(schema.create_if_new)
        outdated = schema.is_outdated(database, self._path)
        check_definitions(self._writer, self._path)
        if not migrate:
            return
        if self.read_only:
            schema.check_current(self._path, outdated=outdated)
            return
        if self._path is not None and database.pragma("journal_mode") != "wal":
            with suppress(apsw.BusyError, apsw.ReadOnlyError):
                # A process that was killed while it replaced the file has left another mode.
                database.pragma("journal_mode", "WAL")
        if outdated:
            self.write(lambda writer: schema.migrate(writer.database))
