"""The SQLite engine: one connection that writes, a pool of those that read, and their file."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import apsw

from recollect import errors
from recollect.model.limits import shown
from recollect.storage.newfiles import keep_private
from recollect.storage.port import OutcomeUnknown, Parameters
from recollect.storage.sqlite import formats
from recollect.storage.sqlite.connection import (
    Connection,
    closing_on_error,
    hurried,
    synced,
    translate,
    translated,
)
from recollect.storage.sqlite.copying import duplicate
from recollect.storage.sqlite.definitions import check_definitions
from recollect.storage.sqlite.leases import Lease, ProcessLock
from recollect.storage.sqlite.opening import LOCK_WAIT_MS, Opener
from recollect.storage.sqlite.paths import check_mount, check_path
from recollect.storage.sqlite.purging import purge
from recollect.storage.sqlite.sql import SqlAnswer
from recollect.storage.sqlite.whole import WholeFile

Result = TypeVar("Result")
_SYNCHRONOUS = {"full": "FULL", "relaxed": "NORMAL"}
_WAL_PAGES = 1_000
"""How long the write-ahead log gets before it is copied into the file: 4 MiB. Syncing it takes
longer while it grows than when it is written over."""
_WAL_PAGES_BOUND = 16_000
"""How long it may get before readers are waited for, so that it can start over."""
_READERS_WAIT_MS = 250


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
    ) -> None:
        if durability not in tuple(_SYNCHRONOUS):
            raise errors.InvalidInput(
                "durability", f"{shown(durability)} is not 'full' or 'relaxed'"
            )
        create = create or path is None
        super().__init__(path)
        self._queries = queries
        self._opener = Opener(path, queries=queries, synchronous=_SYNCHRONOUS[durability], vfs=vfs)
        self._write_lock = ProcessLock()
        self._idle: deque[Connection] = deque()
        self._closed = False
        self._generation = 0
        self._wal_pages = self._wal_pages_tried = 0
        self._in_doubt = False
        self._owner = os.getpid()
        if path is not None:
            check_path(path, create=create)
            if not allow_network_file_system:
                check_mount(path)
        try:
            self._writer = self._connect_writer(create=create)
            with closing_on_error(self._writer.database):
                self._prepare(create=create, migrate=migrate)
        except apsw.NotADBError as error:
            raise errors.InvalidInput(
                "url",
                f"{path} is not a Recollect store, or its first page is damaged: "
                "give another path, or restore a backup",
            ) from error
        except apsw.Error as error:
            raise translate(error) from error

    def reading(self) -> Lease:
        """Lend a reader; in memory there is only one connection, so it is locked meanwhile."""
        return Lease(self)

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Lend a reader inside a transaction; in memory nobody writes while it is lent anyway."""
        with self.reading() as reader:
            if self._path is None:
                yield reader
                return
            try:
                reader.run("begin_reading")
                yield reader
            finally:
                if reader.database.in_transaction:
                    reader.run("rollback")

    def lend(self) -> Connection:
        """Hand out a reader that nobody uses."""
        if self._path is None:
            self._write_lock.acquire()
            try:
                self._check_open()
            except errors.StoreClosed:
                self._write_lock.release()
                raise
            return self._writer
        if self._closed or self._owner != os.getpid():  # asked here too, at each read
            self._check_open()
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect_reader()

    def take_back(self, reader: Connection) -> None:
        """Keep a reader for the next one who asks, unless it is out of date."""
        if self._path is None:
            self._write_lock.release()
            return
        self._idle.append(reader)
        if self._closed or reader.generation != self._generation:
            self._close_readers()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Take the write lock of this process, then that of the file."""
        with self._write_lock:
            self._make_ready()
            try:
                self._writer.begin()
                yield self._writer
                self._commit()
            except errors.StoreReadOnly:
                self._in_doubt = True  # it stays read-only on this connection, whatever changes
                raise
            finally:
                self._roll_back()
            self._tend_wal()

    def sync(self) -> None:
        """Write something durably, whatever the durability is: what stands before it is too."""
        with self._write_lock:
            self._make_ready()
            with synced(self._writer.database), self.writing() as writer:
                writer.run("settle")

    def write(self, work: Callable[[Connection], Result], *, wait: float | None = None) -> Result:
        """Do as `writing` does; a function in the block's place costs each commit much less."""
        with self._write_lock if wait is None else self._soon(wait):
            self._make_ready()
            try:
                self._writer.begin()
                result = work(self._writer)
                self._commit()
            except errors.StoreReadOnly:
                self._in_doubt = True
                raise
            finally:
                self._roll_back()
            self._tend_wal()
        return result

    @contextmanager
    def _soon(self, seconds: float) -> Iterator[None]:
        """Take the write lock of this process, and let that of the file be waited for as long."""
        if not self._write_lock.acquire(timeout=seconds):
            raise errors.StoreBusy
        try:
            self._make_ready()
            with hurried(self._writer.database, int(seconds * 1000), LOCK_WAIT_MS):
                yield
        finally:
            self._write_lock.release()

    def _make_ready(self) -> None:
        """Let nothing be in the way of a transaction, if it can be helped."""
        if self._closed or self._owner != os.getpid():  # asked here too, at each commit
            self._check_open()
        self._roll_back()  # what an interrupt at a bad moment may have left
        if self._in_doubt:
            self._settle()

    def _roll_back(self) -> None:
        if self._writer.database.in_transaction:
            self._writer.run("rollback")

    def _commit(self) -> None:
        self._in_doubt = self._path is not None  # until it is known how this ends
        try:
            self._writer.commit()
        except errors.StoreFull:  # the last page, which makes it a commit, was not written
            raise
        except errors.RecollectError as error:
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

    def _tend_wal(self) -> None:
        """Keep the write-ahead log small: copy it into the file, and start it over if it is long.

        Readers can be in the way of starting over, so past a bound they are waited for; but a
        backup may read for minutes, so not for long, and again once the log has grown some more.
        A failure loses nothing: the log holds all that is committed.
        """
        if self._wal_pages < _WAL_PAGES:
            self._wal_pages_tried = 0
            return
        long = self._wal_pages >= max(_WAL_PAGES_BOUND, self._wal_pages_tried + _WAL_PAGES)
        self._wal_pages_tried = self._wal_pages if long else self._wal_pages_tried
        mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if long else apsw.SQLITE_CHECKPOINT_PASSIVE
        with hurried(self._writer.database, _READERS_WAIT_MS, LOCK_WAIT_MS), suppress(apsw.Error):
            self._writer.database.wal_checkpoint(mode=mode)

    def _reopen(self) -> None:
        """Replace the writer and every reader; those that are lent out are dropped on return."""
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
        writer.database.set_wal_hook(self._note_wal)
        return writer

    def _note_wal(self, _: apsw.Connection, __: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

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
        if self._owner != os.getpid():
            raise errors.StoreClosed(
                "this handle was opened before the process forked, and a database connection does "
                "not survive that: open the store again in the new process"
            )

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
            database.pragma("journal_mode", "WAL")
            with self.writing():  # another process may be doing the same: look again, locked
                if formats.is_new(self._writer):
                    formats.create(database)
        outdated = formats.is_outdated(database, self._path)
        check_definitions(self._writer, self._path)
        if not migrate:
            return
        if self._path is not None and database.pragma("journal_mode") != "wal":
            with suppress(apsw.BusyError, apsw.ReadOnlyError):
                database.pragma("journal_mode", "WAL")  # who was to replace the file was killed
        if outdated:
            with self.writing():
                formats.migrate(database)
