"""The write-ahead log (WAL): checkpoints that bound its size, and purging deleted bytes.

SQLite appends each commit to the WAL. A checkpoint copies it into the main file, and the next
commit then starts the WAL over, if no reader needs its pages any more.
"""

from __future__ import annotations

from collections.abc import Callable

import apsw

from memoranda.errors import StoreBusy
from memoranda.model.clock import SystemClock
from memoranda.storage.port import Progress
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
"""Pause before the journal mode is set again, while another process holds the file."""


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
# is rebuilt first: an erasure only marks tokens as deleted, and its inner pages keep prefixes of
# deleted tokens as separators.
#
# Neither can be done in slices: each is one statement, and SQLite as it is built here has no table
# of raw pages to overwrite their free space with. So these are two steps, each under the write
# lock, between which others write.

PURGE_STEPS = 3
"""Rebuild the full-text index, write the file again, and empty the WAL into it."""
PAUSE_BETWEEN_STEPS = 0.02
"""How long the write lock is free between the steps, in seconds: a waiting writer takes it then."""
BACKGROUND_WAIT_SECONDS = 2.0
"""How long a purge waits for the store's own background work to close its snapshot, in seconds.

It makes no pauses meanwhile, so it takes some ten milliseconds. No commit waits.
"""
_STEPS_BETWEEN_CALLS = 20_000
"""SQLite's virtual machine steps between two calls of the meter: about a millisecond."""


class PurgeMeter:
    """Reports how far a purge is, in pages, and lets Ctrl-C interrupt it.

    Each step counts as all pages of the file. How far one is, is known by the pages it has read.
    """

    def __init__(self, database: apsw.Connection, progress: Progress | None) -> None:
        self._database = database
        self._progress = progress
        self._pages: int = database.pragma("page_count")
        self._step = self._pages_done = 0
        self.is_running = False
        """Whether a step runs."""
        self.has_failed = False
        """Whether the progress function has raised an error, which is the caller's own."""

    def begin(self, step: int) -> None:
        """Begin a step, counted from 0."""
        self._step = step
        self._database.status(apsw.SQLITE_DBSTATUS_CACHE_MISS, True)
        self._report(step * self._pages)

    def tick(self) -> bool:
        """Report the progress; SQLite calls this. Entering Python code raises KeyboardInterrupt."""
        if self._progress is not None and self.is_running:
            pages_read, _ = self._database.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)
            self._report(self._step * self._pages + min(pages_read, self._pages))
        return False

    def _report(self, pages: int) -> None:
        if self._progress is None:
            return
        self._pages_done = max(self._pages_done, pages)
        self.has_failed = True
        self._progress(self._pages_done, PURGE_STEPS * self._pages)
        self.has_failed = False


CheckVersions = Callable[[], None]
"""Raises if a newer version has been at the file; called if another connection has written."""
PurgeStep = Callable[[Connection, PurgeMeter, CheckVersions], None]
"""One step of a purge, which holds the write lock."""


def rebuild_words(writer: Connection, meter: PurgeMeter, check: CheckVersions) -> None:
    """Write the full-text index again from its rows.

    A reader's snapshot holds the old pages in the WAL. So the WAL is emptied first, which fails
    while anybody reads, before anything is written.
    """
    meter.begin(0)
    _empty_journal(writer.database)
    _begin(writer, check)
    writer.run("fulltext_rebuild")
    writer.run("commit")


def rewrite_file(writer: Connection, meter: PurgeMeter, check: CheckVersions) -> None:
    """Write the file again from its rows, and empty the WAL into it."""
    meter.begin(1)
    _empty_journal(writer.database)
    _begin(writer, check)
    writer.run("rollback")  # no transaction can have this statement, which changes no row
    writer.run("vacuum")
    meter.begin(2)
    _empty_journal(writer.database)
    meter.begin(PURGE_STEPS)


def run_step(
    writer: Connection,
    step: PurgeStep,
    meter: PurgeMeter,
    check: CheckVersions,
    lock_wait_ms: int,
) -> bool:
    """Run a step; return False if a reader or another process was in the way.

    An interrupt leaves the file as it was before the step.
    """
    database = writer.database
    try:
        database.set_busy_timeout(_READERS_WAIT_MS)
        meter.is_running = True
        database.set_progress_handler(meter.tick, _STEPS_BETWEEN_CALLS)
        step(writer, meter, check)
    except (apsw.BusyError, StoreBusy):
        if meter.has_failed:
            raise
        return False
    except apsw.Error as error:
        raise translate(error) from error
    finally:
        meter.is_running = False  # an interrupt can come before or after each of these calls
        try:
            database.set_progress_handler(None)
            if database.in_transaction:
                writer.run("rollback")
        finally:
            database.set_busy_timeout(lock_wait_ms)
    return True


def _begin(writer: Connection, check: CheckVersions) -> None:
    if writer.begin():
        check()


def _empty_journal(database: apsw.Connection) -> None:
    database.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
