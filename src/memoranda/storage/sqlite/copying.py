"""Copying a database as of one moment, while others go on writing to it."""

from __future__ import annotations

from pathlib import Path

import apsw

from memoranda.storage.newfiles import make_private
from memoranda.storage.port import Progress
from memoranda.storage.sqlite.connection import Connection, translated
from memoranda.storage.sqlite.opening import guarded

_STEP_PAGES = 1024


def copy_snapshot(reader: Connection, path: Path, progress: Progress | None = None) -> None:
    """Write what a reader sees now to a new file. Syncing that is the caller's.

    The reader's transaction holds its snapshot: without one, the copy would have to begin anew
    whenever somebody else commits.
    """
    reader.run("begin_reading")
    try:
        reader.row("any_table")  # only now there is a snapshot
        with translated():
            _copy(reader.database, path, progress)
    finally:
        reader.run("rollback")


def _copy(source: apsw.Connection, path: Path, progress: Progress | None) -> None:
    make_private(path)
    target = guarded(str(path))
    try:
        target.pragma("synchronous", "OFF")
        with target.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(_STEP_PAGES)
                if progress is not None:
                    progress(backup.page_count - backup.remaining, backup.page_count)
        target.pragma("journal_mode", "WAL")  # of a database in memory it is not yet
    finally:
        target.close()


def duplicate(source: apsw.Connection) -> apsw.Connection:
    """Return a database in memory with the same content."""
    target = guarded(":memory:")
    with target.backup("main", source, "main") as backup:
        backup.step()
    return target
