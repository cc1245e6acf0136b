"""The write-ahead log of a file: how long it gets."""

from __future__ import annotations

import apsw

from memoranda.model.clock import SystemClock

_WAL_PAGES = 1_000
"""How long it gets before it is copied into the file: 4 MiB. Syncing it takes longer while it grows
than when it is written over."""
_WAL_PAGES_BOUND = 16_000
"""How long it may get before readers are waited for, so that it can start over."""
_READERS_WAIT_MS = 250
_LOOK_SECONDS = 0.005


def use_write_ahead_log(database: apsw.Connection, lock_wait_ms: int) -> None:
    """Let a file have a write-ahead log from now on.

    Others may be making the same new store. SQLite waits for none of them here, as two that did
    would wait for each other, so it is tried again until it is done, whoever does it.
    """
    clock = SystemClock()
    deadline = clock.monotonic() + lock_wait_ms / 1000
    while True:
        try:
            database.pragma("journal_mode", "WAL")
        except apsw.BusyError:
            if clock.monotonic() >= deadline:
                raise
        else:
            return
        clock.sleep(_LOOK_SECONDS)


class Journal:
    """Keeps the write-ahead log small. Used by the thread that writes."""

    def __init__(self) -> None:
        self._pages = self._pages_tried = 0

    def note(self, _: apsw.Connection, __: str, pages: int) -> int:
        """Take note of how long it is, after each commit."""
        self._pages = pages
        return apsw.SQLITE_OK

    def tend(self, database: apsw.Connection, lock_wait_ms: int) -> None:
        """Copy it into the file, and start it over if it is long.

        Readers can be in the way of starting over, so past a bound they are waited for; but a
        backup may read for minutes, so not for long, and again once the log has grown some more.
        A failure loses nothing: the log holds all that is committed.
        """
        if self._pages < _WAL_PAGES:
            self._pages_tried = 0
            return
        long = self._pages >= max(_WAL_PAGES_BOUND, self._pages_tried + _WAL_PAGES)
        self._pages_tried = self._pages if long else self._pages_tried
        mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if long else apsw.SQLITE_CHECKPOINT_PASSIVE
        try:
            database.set_busy_timeout(_READERS_WAIT_MS)
            database.wal_checkpoint(mode=mode)
        except apsw.Error:
            return
        finally:
            database.set_busy_timeout(lock_wait_ms)
