"""The SQLite engine: one connection that writes, a pool of those that read, and their file."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import apsw

from memoranda import errors
from memoranda.model.limits import plain_text, shown
from memoranda.storage.locks import busy_with_itself, check_process, held, new_lock
from memoranda.storage.newfiles import keep_private
from memoranda.storage.port import OutcomeUnknown, Parameters
from memoranda.storage.sqlite import formats
from memoranda.storage.sqlite.connection import (
    Connection,
    closing_on_error,
    translate,
    translated,
)
from memoranda.storage.sqlite.copying import duplicate
from memoranda.storage.sqlite.definitions import check_definitions
from memoranda.storage.sqlite.journal import Journal, use_write_ahead_log
from memoranda.storage.sqlite.leases import Lease
from memoranda.storage.sqlite.opening import LOCK_WAIT_MS, Opener
from memoranda.storage.sqlite.paths import check_mount, check_path, not_opened
from memoranda.storage.sqlite.purging import purge
from memoranda.storage.sqlite.sql import SqlAnswer
from memoranda.storage.sqlite.whole import WholeFile

Result = TypeVar("Result")
_SYNCHRONOUS = {"full": "FULL", "relaxed": "NORMAL"}


class SqliteEngine(WholeFile):
    """A store in one file, or in memory for as long as the engine lives."""

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
    ) -> None:
        durability = plain_text("durability", durability)
        if durability not in _SYNCHRONOUS:
            raise errors.InvalidInput(
                "durability", f"{shown(durability)} is not 'full' or 'relaxed'"
            )
        create = create or path is None
        super().__init__(path)
        self._queries = queries
        self._synchronous = _SYNCHRONOUS[durability]
        self._opener = Opener(
            path, queries=queries, synchronous=self._synchronous, vfs=vfs, read_only=read_only
        )
        self.read_only = read_only
        self._write_lock = new_lock()
        self._idle: deque[Connection] = deque()
        self._closed = False
        self._generation = 0
        self._journal = Journal()
        self._in_doubt = False
        self._writing = False
        """Whether the thread that has the write lock is inside a transaction."""
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
            raise not_opened(path, error, read_only=read_only) from error
        self._only = held(self._write_lock, self._writer)
        """The one connection there is in memory: nobody writes while it is lent."""

    def reading(self) -> AbstractContextManager[Connection]:
        """Lend a reader; in memory there is only one connection, so it is locked meanwhile."""
        if self._path is not None:
            return Lease(self)
        self._check_open()
        return self._only

    def snapshot(self) -> AbstractContextManager[Connection]:
        """Lend a reader inside a transaction; in memory nobody writes while it is lent anyway."""
        return self.reading() if self._path is None else Lease(self, snapshot=True)

    def lend(self) -> Connection:
        """Hand out a reader that nobody uses."""
        if self._closed or self._owner != os.getpid():  # asked here too, at each read
            self._check_open()
        if self._opener.is_outdated():
            self._generation += 1
            self._close_readers()
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect_reader()

    def take_back(self, reader: Connection, *, unsure: bool) -> None:
        """Keep a reader for the next one who asks, unless it is out of date.

        One that may be inside a transaction is not kept there, and one that still runs a statement
        is closed: whoever had it next would see nothing newer than that statement does.
        """
        if unsure:
            database = reader.database
            if database.in_transaction:
                database.execute(self._queries["rollback"])
            if database.txn_state() != apsw.SQLITE_TXN_NONE:
                database.close(force=True)
                return
        self._idle.append(reader)
        if self._closed or reader.generation != self._generation:
            self._close_readers()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Take the write lock of this process, then that of the file.

        Where other threads write too, `write` is the way: an interrupt can leave a block that is
        Python code before it was begun, and the lock is taken until its traceback is gone.
        """
        with self._write_lock:
            self._make_ready()
            try:
                self._writing = True
                self._writer.begin()
                yield self._writer
                self._commit()
            except errors.StoreReadOnly:
                self._in_doubt = True  # it stays read-only on this connection, whatever changes
                raise
            finally:
                self._writing = False
                self._roll_back()
            self._journal.tend(self._writer.database, LOCK_WAIT_MS)

    def sync(self) -> None:
        """Write something durably, whatever the durability is: what stands before it is too."""
        with self._write_lock, translated():
            self._make_ready()
            try:
                self._writer.database.pragma("synchronous", "FULL")
                self.write(lambda writer: writer.run("settle"))
            finally:
                self._writer.database.pragma("synchronous", self._synchronous)

    def write(self, work: Callable[[Connection], Result], *, wait: float | None = None) -> Result:
        """Do as `writing` does, whatever interrupts it; each commit costs much less, too."""
        with self._write_lock if wait is None else held(self._write_lock, True, wait):
            self._make_ready()
            result = self._write(work) if wait is None else self._write_soon(work, wait)
            self._journal.tend(self._writer.database, LOCK_WAIT_MS)
        return result

    def _write(self, work: Callable[[Connection], Result]) -> Result:
        database = self._writer.database
        try:
            self._writing = True
            self._writer.begin()
            result = work(self._writer)
            self._commit()
        except errors.StoreReadOnly:
            self._in_doubt = True
            raise
        finally:  # C calls alone: an interrupt in between would leave the file's lock taken
            self._writing = False
            try:
                if database.in_transaction:
                    database.execute(self._queries["rollback"])
            except apsw.Error as error:
                raise translate(error) from error
        return result

    def _write_soon(self, work: Callable[[Connection], Result], seconds: float) -> Result:
        """Write, and let the file's lock be waited for no longer than that."""
        database = self._writer.database
        try:
            database.set_busy_timeout(int(seconds * 1000))
            return self._write(work)
        finally:
            database.set_busy_timeout(LOCK_WAIT_MS)

    def _make_ready(self) -> None:
        """Let nothing be in the way of a transaction, if it can be helped."""
        if self._closed or self._owner != os.getpid():  # asked here too, at each commit
            self._check_open()
        if self._writing:
            raise busy_with_itself()
        if self.read_only:
            raise errors.StoreReadOnly(
                "the store was opened for reading only: open it without read_only to write to it"
            )
        self._roll_back()  # what an interrupt at a bad moment may have left
        self._opener.check_unmoved()
        if self._in_doubt:
            self._settle()

    def _roll_back(self) -> None:
        if self._writer.database.in_transaction:
            self._writer.run("rollback")

    def _commit(self) -> None:
        self._in_doubt = self._path is not None  # until it is known how this ends
        try:
            self._writer.commit()
            self._opener.check_unmoved()  # or it went where nobody will look for it
        except errors.StoreFull:  # the last page, which makes it a commit, was not written
            raise
        except errors.MemorandaError as error:
            raise OutcomeUnknown from error
        self._in_doubt = False

    def _settle(self) -> None:
        """After a commit that may or may not have happened, make sure which, on new connections.

        What it left in the write-ahead log could otherwise surface after a crash, although the
        store had said it was not there: a small durable write of our own takes its place.
        """
        self._reopen()
        try:
            self._writer.begin()
            self._writer.run("settle")
            self._commit()
        finally:
            self._roll_back()
        self._opener.note_journal()

    def _reopen(self) -> None:
        """Replace the writer and every reader; those that are lent out are dropped on return."""
        self._opener.forget_journal()
        try:
            fresh = self._connect_writer()
        except apsw.Error as error:
            raise translate(error) from error
        self._generation += 1
        last, self._writer = self._writer, fresh
        self._close_readers()
        last.database.close(force=True)

    def _connect_writer(self, *, create: bool = False) -> Connection:
        writer = self._connect(create=create)
        writer.database.set_wal_hook(self._journal.note)
        return writer

    def another(self, path: Path) -> SqliteEngine:
        """Open a file that nobody else has yet; so it may be on a network file system."""
        engine = SqliteEngine(
            path, queries=self._queries, durability="relaxed", allow_network_file_system=True
        )
        keep_private(path, self._path)
        return engine

    def query(self, statement: str, parameters: Parameters = ()) -> SqlAnswer:
        """Answer a user's SQL on a connection of its own; what is in memory is copied for that."""
        with self.reading() as reader, translated():
            apart = duplicate(reader.database) if self._path is None else self._connect().database
            return SqlAnswer(apart, statement, parameters)

    def purge(self) -> bool:
        """Let what was deleted leave the file's bytes; in memory it has."""
        with self._write_lock:
            self._make_ready()
            return self._path is None or purge(self._writer, LOCK_WAIT_MS)

    def close(self) -> None:
        """Close every connection; the last one of all processes tidies the write-ahead log."""
        if self._owner != os.getpid():
            return
        with self._write_lock:
            self._closed = True
            self._close_readers()
            self._writer.database.close()

    def _close_readers(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().database.close()

    def _check_open(self) -> None:
        if self._closed:
            raise errors.StoreClosed
        check_process(self._owner)

    def _connect(self, *, create: bool = False) -> Connection:
        return self._opener.connect(self._generation, create=create)

    def _connect_reader(self) -> Connection:
        try:
            reader = self._connect()
            reader.database.pragma("query_only", True)
        except apsw.Error as error:
            raise translate(error) from error
        return reader

    def _prepare(self, *, create: bool, migrate: bool) -> None:
        """Make the tables of a new store, or bring those that are there up to date."""
        database = self._writer.database
        if create and formats.is_new(self._writer):
            use_write_ahead_log(database, LOCK_WAIT_MS)
            with self.writing():  # another process may be doing the same: look again, locked
                if formats.is_new(self._writer):
                    formats.create(database)
        outdated = formats.is_outdated(database, self._path)
        check_definitions(self._writer, self._path)
        if not migrate:
            return
        if self.read_only:
            formats.check_current(self._path, outdated=outdated)
            return
        if self._path is not None and database.pragma("journal_mode") != "wal":
            with suppress(apsw.BusyError, apsw.ReadOnlyError):
                database.pragma("journal_mode", "WAL")  # who was to replace the file was killed
        if outdated:
            with self.writing():
                formats.migrate(database)
