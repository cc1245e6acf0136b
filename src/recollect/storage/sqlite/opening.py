"""Opening connections: to one file, which stays the same one, and whose own SQL is never run.

Nothing in a file may decide what is done with it: its triggers and views are turned off, and
functions in its definitions are taken for harmful. TEMP views, which only we make, still work.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import apsw

from recollect.storage.sqlite.connection import Connection, closing_on_error

LOCK_WAIT_MS = 10_000
_GUARDS = {
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW: 0,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
}
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
    """What every connection of an engine has in common."""

    def __init__(
        self, path: Path | None, *, queries: Mapping[str, str], synchronous: str, vfs: str | None
    ) -> None:
        self._path = path
        self._queries = queries
        self._synchronous = synchronous
        self._vfs = vfs

    def connect(self, generation: int, *, create: bool = False) -> Connection:
        """Open a connection that can write."""
        flags = _CREATE if create else _READ_WRITE
        name = ":memory:" if self._path is None else str(self._path)
        database = guarded(name, flags, self._vfs)
        with closing_on_error(database):
            database.set_busy_timeout(LOCK_WAIT_MS)
            database.pragma("synchronous", self._synchronous)
            database.pragma("secure_delete", True)
            # else a statement is planned anew whenever a bound of a range has another value
            database.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        return Connection(database, self._queries, generation)
