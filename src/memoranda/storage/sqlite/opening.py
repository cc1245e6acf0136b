"""Opening connections: to one file, which stays the same one, and whose own SQL is never run.

Nothing in a file may decide what is done with it: its triggers and views are turned off, and
functions in its definitions are taken for harmful. TEMP views, which only we make, still work.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import apsw

from memoranda.storage.newfiles import make_private
from memoranda.storage.sqlite.connection import Connection, closing_on_error
from memoranda.storage.sqlite.watching import Snapshot, Watch

LOCK_WAIT_MS = 10_000
_GUARDS = {
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW: 0,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
}
_READ = apsw.SQLITE_OPEN_READONLY
_READ_WRITE = apsw.SQLITE_OPEN_READWRITE
_CREATE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


def guarded(name: str, flags: int = _CREATE, vfs: str | None = None) -> apsw.Connection:
    """Open a database that is somebody else's until it is known to be a store."""
    database = apsw.Connection(name, flags=flags, vfs=vfs)
    with closing_on_error(database):
        for option, setting in _GUARDS.items():
            database.config(option, setting)
    return database


class Opener:
    """What every connection of an engine has in common: one file, and how it is opened."""

    def __init__(
        self,
        path: Path | None,
        *,
        queries: Mapping[str, str],
        synchronous: str,
        vfs: str | None,
        read_only: bool,
    ) -> None:
        self._path = path
        self._queries = queries
        self._synchronous = synchronous
        self._vfs = vfs
        self._read_only = read_only
        self._watch = None if path is None else Watch(path)
        self._still: Snapshot | None = None

    def connect(self, generation: int, *, create: bool = False) -> Connection:
        """Open a connection; the first one says which file it is, and every other has to fit."""
        if create and self._path is not None and self._vfs is None:
            make_private(self._path)
        database = guarded(*self._named(create=create), self._vfs)
        with closing_on_error(database):
            if self._watch is not None:  # before a journal is read that may be another file's
                self._watch.check()
            database.set_busy_timeout(LOCK_WAIT_MS)
            if not self._read_only:
                database.pragma("synchronous", self._synchronous)
                database.pragma("secure_delete", True)
            # else a statement is planned anew whenever a bound of a range has another value
            database.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        return Connection(database, self._queries, generation)

    def _named(self, *, create: bool) -> tuple[str, int]:
        """Return how SQLite is told of the file, and what it may do with it.

        Where nothing can be written, SQLite cannot make the files it needs beside a write-ahead
        log. Without one it does not need them, if it is told that the file does not change.
        """
        if self._path is None:
            return ":memory:", _CREATE
        if not self._read_only:
            return str(self._path), _CREATE if create else _READ_WRITE
        self._still = Snapshot.of(self._path)
        if self._still is None:
            return str(self._path), _READ
        return f"file:{quote(str(self._path))}?immutable=1", _READ | apsw.SQLITE_OPEN_URI

    def is_outdated(self) -> bool:
        """Say whether the file was changed though it was taken for one that does not change."""
        still, path = self._still, self._path
        return still is not None and path is not None and Snapshot.of(path) != still

    def note_journal(self) -> None:
        """Remember which write-ahead log is the file's: it stays the same while it is open."""
        if self._watch is not None:
            self._watch.note_journal()

    def forget_journal(self) -> None:
        """Expect another write-ahead log: the last connection to the one there was is closed."""
        if self._watch is not None:
            self._watch.forget_journal()

    def check_unmoved(self) -> None:
        """Raise if what is written would not be found under the store's name."""
        if self._watch is not None:
            self._watch.check()
