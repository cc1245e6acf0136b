"""The write-ahead log (WAL): checkpoints that bound its size, and purging deleted bytes.

SQLite appends each commit to the WAL. A checkpoint copies it into the main file, and the next
commit then starts the WAL over, if no reader needs its pages any more.
"""

from __future__ import annotations

import apsw

from memoranda.errors import StoreBusy
from memoranda.model.clock import SystemClock
from memoranda.storage.sqlite.connection import Connection, translate

_CHECKPOINT_PAGES = 1_000
"""The length from which each commit is followed by a passive checkpoint: 4 MiB of 4 KiB pages.

A sync takes longer while the file grows than when it is overwritten, so the WAL is kept short.
"""
TRUNCATE_PAGES = 16_000
"""The length from which a checkpoint waits for readers, so that the WAL can start over: 64 MiB."""
_READERS_WAIT_MS = 250
"""How long such a checkpoint, or a purge, waits for readers, in milliseconds.

Commits wait meanwhile, and a backup may read for minutes.
"""
_RETRY_SECONDS = 0.005


def use_write_ahead_log(database: apsw.Connection, lock_wait_ms: int) -> None:
    """Switch a file to WAL mode.

    Other processes may create the same store. SQLite's busy timeout does not apply to this switch,
    since two connections that wait for each other would deadlock. So it is retried until this or
    another process has done it.
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
        clock.sleep(_RETRY_SECONDS)


class Journal:
    """Keeps the WAL short. Only the thread that has the write lock uses it."""

    def __init__(self) -> None:
        self._pages = self._pages_tried = 0

    def note(self, _: apsw.Connection, __: str, pages: int) -> int:
        """Note the length of the WAL in pages; SQLite calls this after each commit."""
        self._pages = pages
        return apsw.SQLITE_OK

    def tend(self, database: apsw.Connection, lock_wait_ms: int) -> None:
        """Checkpoint the WAL if it is long, after a commit and under the write lock.

        A passive checkpoint copies as many pages as readers allow and waits for nobody. Above
        `TRUNCATE_PAGES` a truncating checkpoint waits shortly for readers; if they stay, the next
        one comes when the WAL has grown by another `_CHECKPOINT_PAGES`. A checkpoint that fails
        loses nothing: the commits are in the WAL.
        """
        if self._pages < _CHECKPOINT_PAGES:
            self._pages_tried = 0
            return
        is_long = self._pages >= max(TRUNCATE_PAGES, self._pages_tried + _CHECKPOINT_PAGES)
        self._pages_tried = self._pages if is_long else self._pages_tried
        mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if is_long else apsw.SQLITE_CHECKPOINT_PASSIVE
        try:
            database.set_busy_timeout(_READERS_WAIT_MS)
            database.wal_checkpoint(mode=mode)
        except apsw.Error:
            return
        finally:
            database.set_busy_timeout(lock_wait_ms)


# Purging: removing deleted data from the bytes of the files.
#
# `secure_delete` zeroes a cell when it is deleted, but not the copies that a page split leaves in
# the free space of the old page: about one deleted cell in a thousand, as measured. So VACUUM
# writes the file again from its rows, and a checkpoint empties the WAL into it. The full-text index
# is rebuilt first: its inner pages keep prefixes of deleted tokens as separators.

_STEPS_BETWEEN_INTERRUPTS = 20_000
"""SQLite's virtual machine steps between two checks for Ctrl-C: about a millisecond."""


def purge(writer: Connection, lock_wait_ms: int) -> bool:
    """Rewrite the file without deleted data; return False if a reader was in the way.

    A reader's snapshot holds the old pages in the WAL. So the WAL is emptied first, which fails
    while anybody reads, before anything is written. An interrupt leaves the file as it was.
    """
    database = writer.database
    try:
        database.set_busy_timeout(_READERS_WAIT_MS)
        _rewrite(writer)
    except (apsw.BusyError, StoreBusy):
        return False
    except apsw.Error as error:
        raise translate(error) from error
    finally:
        database.set_busy_timeout(lock_wait_ms)
    return True


def _rewrite(writer: Connection) -> None:
    database = writer.database
    try:
        database.set_progress_handler(_check_interrupts, _STEPS_BETWEEN_INTERRUPTS)
        _empty_journal(database)
        writer.run("fulltext_rebuild")
        writer.run("vacuum")
        _empty_journal(database)
    finally:
        database.set_progress_handler(None)


def _check_interrupts() -> bool:
    """Do nothing: the interpreter raises KeyboardInterrupt when it enters Python code."""
    return False


def _empty_journal(database: apsw.Connection) -> None:
    database.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
