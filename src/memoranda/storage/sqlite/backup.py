"""Giving a store's file its name, also in another one's place; nobody may open it meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import apsw

from memoranda.errors import Corruption, InvalidInput, StoreBusy, Unavailable
from memoranda.storage.newfiles import put_at_free_name
from memoranda.storage.sqlite.connection import translated
from memoranda.storage.sqlite.opening import guarded
from memoranda.storage.sqlite.vacancy import (
    BESIDE,
    check_no_orphans,
    journals,
    remove_orphans,
)

_LOCKS = (apsw.SQLITE_LOCK_SHARED, apsw.SQLITE_LOCK_RESERVED, apsw.SQLITE_LOCK_EXCLUSIVE)
_FLAGS = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a file so that nobody can open it as a database; raise if somebody has.

    The locks are SQLite's, and an open store always holds one of them. They say nothing of the
    content, so a damaged file can be held too. They are not taken through a descriptor of our own:
    closing that would drop the locks of a connection this process may have.
    """
    with translated():
        file = apsw.VFSFile("", str(path.resolve()), [_FLAGS, 0])
    try:
        with translated():
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
    """Raise if anybody has the file open as a database."""
    with held(path):
        return


def place_file(field: str, draft: Path, path: Path) -> None:
    """Give a finished store a name that is free, and beside which no journal was left.

    The file is held until that is sure, so that nobody opens it beside a journal of another one.
    """
    check_no_orphans(field, path)
    with held(draft):
        put_at_free_name(field, draft, path)
        with ExitStack() as on_failure:
            on_failure.callback(path.unlink)
            _check_alone(field, path)
            on_failure.pop_all()


def _check_alone(field: str, path: Path) -> None:
    """Refuse a journal beside a file that nobody can have opened yet."""
    for journal in journals(path):
        raise InvalidInput(
            field, f"{journal} appeared while {path} was being made: remove it, and try again"
        )


def replace_file(draft: Path, path: Path) -> None:
    """Put a finished store in the place of another one, of a damaged one, or where none is."""
    if not path.exists():
        remove_orphans(path)  # before the file is there: who is killed in between leaves nothing
        place_file("url", draft, path)
        return
    _fold_in_journal(path)
    with ExitStack() as on_failure:
        on_failure.callback(_unfold_journal, path)
        with held(path):
            for suffix in BESIDE:
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            shutil.copymode(path, draft)
            draft.replace(path)
        on_failure.pop_all()


def _fold_in_journal(path: Path) -> None:
    """Make a store one file, so that no journal of the old one meets the new one.

    It is not in WAL mode then, and that is on purpose: whoever has just opened it and waits for the
    lock would otherwise begin a new journal under this name, for a file that is gone.
    """
    try:
        with translated():
            _set_journal_mode(path, "DELETE")
    except StoreBusy as error:
        raise _in_use(path) from error
    except (Corruption, Unavailable):
        return  # it is damaged, and its journal of no use either


def _unfold_journal(path: Path) -> None:
    with suppress(apsw.Error):
        _set_journal_mode(path, "WAL")


def _set_journal_mode(path: Path, mode: str) -> None:
    with closing(guarded(str(path), apsw.SQLITE_OPEN_READWRITE)) as database:
        database.pragma("journal_mode", mode)


def _in_use(path: Path) -> StoreBusy:
    return StoreBusy(f"{path} is in use: close every program that has it open, and try again")
