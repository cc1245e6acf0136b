"""Looking at a store's file for what SQLite knows of it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

from memoranda.errors import Corruption, StoreBusy
from memoranda.model.finding import Finding, fine, problem, warning
from memoranda.storage import queries
from memoranda.storage.sqlite.connection import translated
from memoranda.storage.sqlite.exclusive import check_unused
from memoranda.storage.sqlite.journal import _WAL_PAGES_BOUND
from memoranda.storage.sqlite.mounts import file_system, network_file_system
from memoranda.storage.sqlite.opening import guarded

_SOUND_SINCE = (3, 51, 3)
"""Older versions can damage a write-ahead log that several processes reset at once."""
_SHARED = frozenset({"9p", "prl_fs", "vboxsf", "virtiofs"})
"""File systems through which a virtual machine sees its host's files."""
_WAL_BYTES_BOUND = _WAL_PAGES_BOUND * 4096
_BETWEEN_INTERRUPTS = 20_000
_MOST_COMPLAINTS = 3


def check_version() -> Finding:
    """Say which SQLite this is."""
    version = apsw.sqlite_lib_version()
    if tuple(map(int, version.split("."))) >= _SOUND_SINCE:
        return fine("sqlite", f"SQLite {version}")
    wanted = ".".join(map(str, _SOUND_SINCE))
    return warning(
        "sqlite",
        f"SQLite {version} can damage a store that several processes write to",
        f"upgrade: pip install 'apsw>={wanted}'",
    )


def check_place(path: Path) -> Finding:
    """Say what the file system under the store is, and whether it can be relied on."""
    kind = file_system(path)
    if network_file_system(path):
        return warning(
            "place",
            f"on a network file system ({kind}), where locks may not hold: it is refused unless "
            "it is allowed when the store is opened",
            "put the store on a local disk",
        )
    if kind in _SHARED or (kind or "").startswith("fuse"):
        return warning(
            "place",
            f"on a file system ({kind}) that may be another machine's, where locks may not hold",
            "put the store on a local disk, unless you know that it is one",
        )
    return fine("place", f"on a file system of this machine ({kind or 'unknown'})")


def check_format(path: Path) -> Finding:
    """Say which format the file has; that it can be read is known by now."""
    with translated(), closing(guarded(str(path))) as database:
        return fine("store", f"a Memoranda store of format {database.pragma('user_version')}")


def check_journal(path: Path) -> Finding:
    """Look at the write-ahead log, before anything opens the store and tidies it."""
    journal = path.with_name(f"{path.name}-wal")
    size = journal.stat().st_size if journal.exists() else 0
    if size > _WAL_BYTES_BOUND:
        return warning(
            "journal",
            f"the write-ahead log has {size} bytes, and is to stay below {_WAL_BYTES_BOUND}",
            "end what reads for very long: a query, a backup; then it starts over by itself",
        )
    if size and _is_unused(path):
        return warning(
            "journal",
            f"a write-ahead log of {size} bytes was left by a process that did not close the store",
            "nothing is lost, and opening the store tidies up: find out why the process ended",
        )
    return fine("journal", f"the write-ahead log has {size} bytes")


def check_pages(path: Path) -> Finding:
    """Let SQLite check the structure of every page."""
    query = queries.load(__package__)["quick_check"]
    with translated(), closing(guarded(str(path))) as database:
        database.set_progress_handler(lambda: False, _BETWEEN_INTERRUPTS)  # to notice Ctrl-C
        told = "\n".join(str(row[0]) for row in database.execute(query))
    if told == "ok":
        return fine("pages", "every page is sound")
    complaints = [line for line in told.splitlines() if not line.startswith("***")]
    return problem(
        "pages",
        f"SQLite finds damage: {'; '.join(complaints[:_MOST_COMPLAINTS])}",
        "restore a backup",
        Corruption.__name__,
    )


def _is_unused(path: Path) -> bool:
    try:
        check_unused(path)
    except StoreBusy:
        return False
    return True
