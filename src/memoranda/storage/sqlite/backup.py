"""Online copies of a database, and giving a copy the name of a store."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import apsw

from memoranda.errors import Corruption, InvalidInput, StoreBusy, Unavailable
from memoranda.storage.files import link_at_free_name, make_private
from memoranda.storage.port import Progress
from memoranda.storage.sqlite.connection import Connection, open_untrusted, translate_errors
from memoranda.storage.sqlite.placement import (
    SIDECAR_SUFFIXES,
    check_no_orphans,
    journals,
    remove_orphans,
)

# Copying a snapshot of a database while other connections write to it.

_STEP_PAGES = 1024
"""Pages copied between two calls of the progress callback: 4 MiB."""


def copy_snapshot(reader: Connection, path: Path, progress: Progress | None = None) -> None:
    """Copy a reader's snapshot to a new file; the caller syncs it.

    The reader holds its snapshot in a transaction. Without one, SQLite would restart the copy
    whenever another connection commits.
    """
    reader.run("begin_reading")
    try:
        reader.row("any_table")  # BEGIN alone takes no snapshot, the first read does
        with translate_errors():
            _copy(reader.database, path, progress)
    finally:
        reader.run("rollback")


def _copy(source: apsw.Connection, path: Path, progress: Progress | None) -> None:
    make_private(path)
    target = open_untrusted(str(path))
    try:
        target.pragma("synchronous", "OFF")
        with target.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(_STEP_PAGES)
                if progress is not None:
                    progress(backup.page_count - backup.remaining, backup.page_count)
        target.pragma("journal_mode", "WAL")  # a copy of a database in memory has another mode
    finally:
        target.close()


def duplicate(source: apsw.Connection) -> apsw.Connection:
    """Return a copy of a database, in memory."""
    target = open_untrusted(":memory:")
    with target.backup("main", source, "main") as backup:
        backup.step()
    return target


# Giving a store's file its name, also in place of another file.
#
# The file is locked as SQLite locks it while it gets its name, so that no process opens it before
# the journals beside that name are known to be gone.

_LOCKS = (apsw.SQLITE_LOCK_SHARED, apsw.SQLITE_LOCK_RESERVED, apsw.SQLITE_LOCK_EXCLUSIVE)
_FLAGS = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE


@contextmanager
def hold_exclusively(path: Path) -> Iterator[None]:
    """Hold SQLite's exclusive lock on a file; raise `StoreBusy` if a process has it open.

    An open store always holds a shared lock. The locks do not depend on the content, so that a
    damaged file can be locked as well. They are taken through SQLite's own file layer: closing a
    descriptor of ours would drop the locks of other connections of this process.
    """
    with translate_errors():
        file = apsw.VFSFile("", str(path.resolve()), [_FLAGS, 0])
    try:
        with translate_errors():
            _lock(file, path)
        yield
    finally:
        file.xUnlock(apsw.SQLITE_LOCK_NONE)
        file.xClose()


def _lock(file: apsw.VFSFile, path: Path) -> None:
    try:
        for lock in _LOCKS:
            file.xLock(lock)
    except apsw.BusyError as error:
        raise _in_use(path) from error


def check_unused(path: Path) -> None:
    """Raise `StoreBusy` if a process has the file open as a database."""
    with hold_exclusively(path):
        return


def place_file(field: str, draft: Path, path: Path) -> None:
    """Give a finished store a free name, beside which no journal was left.

    The file stays locked until the journals are checked again under its new name. Otherwise another
    process could open it beside a journal that is not its own.
    """
    check_no_orphans(field, path)
    with hold_exclusively(draft):
        link_at_free_name(field, draft, path)
        with ExitStack() as on_failure:
            on_failure.callback(path.unlink)
            _check_alone(field, path)
            on_failure.pop_all()


def _check_alone(field: str, path: Path) -> None:
    """Refuse a journal beside a file that no process can have opened yet."""
    for journal in journals(path):
        raise InvalidInput(
            field, f"{journal} appeared while {path} was being made: remove it, and try again"
        )


def replace_file(draft: Path, path: Path) -> None:
    """Replace a store, a damaged one too, by a finished one; there need not be one at the path."""
    if not path.exists():
        # Before the file is there: a process that is killed in between leaves no store at all.
        remove_orphans(path)
        place_file("url", draft, path)
        return
    fold_in_journal(path)
    with ExitStack() as on_failure:
        on_failure.callback(_unfold_journal, path)
        with hold_exclusively(path):
            for suffix in SIDECAR_SUFFIXES:
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            shutil.copymode(path, draft)
            draft.replace(path)
        on_failure.pop_all()


def fold_in_journal(path: Path) -> None:
    """Checkpoint the WAL into the store's file and leave WAL mode.

    So no journal of the old file meets the new one. The file leaves WAL mode on purpose: another
    process that has just opened it and waits for the lock would otherwise create a WAL under this
    name, for a file that is gone.
    """
    try:
        with translate_errors():
            _set_journal_mode(path, "DELETE")
    except StoreBusy as error:
        raise _in_use(path) from error
    except (Corruption, Unavailable):
        return  # the store is damaged, and its journal is of no use


def _unfold_journal(path: Path) -> None:
    with suppress(apsw.Error):
        _set_journal_mode(path, "WAL")


def _set_journal_mode(path: Path, mode: str) -> None:
    with closing(open_untrusted(str(path), apsw.SQLITE_OPEN_READWRITE)) as database:
        database.pragma("journal_mode", mode)


def _in_use(path: Path) -> StoreBusy:
    return StoreBusy(f"{path} is in use: close every program that has it open, and try again")
