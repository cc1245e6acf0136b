"""Health checks of a store's file: SQLite version, file system, format, WAL and pages."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

from memoranda.errors import Corruption, StoreBusy
from memoranda.storage import query_loader
from memoranda.storage.port import Finding, fine, problem, warning
from memoranda.storage.sqlite.backup import check_unused
from memoranda.storage.sqlite.connection import open_for_inspection, translate_errors
from memoranda.storage.sqlite.placement import file_system, network_file_system
from memoranda.storage.sqlite.wal import TRUNCATE_PAGES

_FIRST_SOUND_VERSION = (3, 51, 3)
"""Older versions can damage a write-ahead log that several processes reset at once."""
_HOST_FILE_SYSTEMS = frozenset({"9p", "prl_fs", "vboxsf", "virtiofs"})
"""File systems through which a virtual machine sees its host's files."""
_MAX_WAL_BYTES = TRUNCATE_PAGES * 4096
"""Bytes: beyond it, somebody keeps the write-ahead log from being emptied."""
_STEPS_BETWEEN_INTERRUPTS = 20_000
"""SQLite's virtual machine steps between two checks for Ctrl-C: about a millisecond."""
_MAX_COMPLAINTS = 3
"""Of SQLite's messages about damage, the finding quotes this many."""


def check_version() -> Finding:
    """Check the version of SQLite."""
    version = apsw.sqlite_lib_version()
    if tuple(map(int, version.split("."))) >= _FIRST_SOUND_VERSION:
        return fine("sqlite", f"SQLite {version}")
    required = ".".join(map(str, _FIRST_SOUND_VERSION))
    return warning(
        "sqlite",
        f"SQLite {version} can damage a store that several processes write to",
        f"upgrade: pip install 'apsw>={required}'",
    )


def check_place(path: Path) -> Finding:
    """Check whether the file system under the store has reliable locks."""
    kind = file_system(path)
    if network_file_system(path):
        return warning(
            "place",
            f"on a network file system ({kind}), where locks may not hold: opening the store is "
            "refused unless allow_network_file_system=True",
            "put the store on a local disk",
        )
    if kind in _HOST_FILE_SYSTEMS or (kind or "").startswith("fuse"):
        return warning(
            "place",
            f"on a file system ({kind}) that may be another machine's, where locks may not hold",
            "put the store on a local disk, unless you know that it is one",
        )
    return fine("place", f"on a file system of this machine ({kind or 'unknown'})")


def check_format(path: Path) -> Finding:
    """Report the format of a file that is known to be readable."""
    with translate_errors(), closing(open_for_inspection(path)) as database:
        return fine("store", f"a Memoranda store of format {database.pragma('user_version')}")


def check_journal(path: Path) -> Finding:
    """Check the write-ahead log; call this before anything opens the store and shortens it."""
    journal = path.with_name(f"{path.name}-wal")
    size = journal.stat().st_size if journal.exists() else 0
    if size > _MAX_WAL_BYTES:
        return warning(
            "journal",
            f"the write-ahead log has {size} bytes, and is to stay below {_MAX_WAL_BYTES}",
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
    """Run SQLite's check of the structure of every page."""
    query = query_loader.load(__package__)["quick_check"]
    with translate_errors(), closing(open_for_inspection(path)) as database:
        database.set_progress_handler(lambda: False, _STEPS_BETWEEN_INTERRUPTS)  # checks for Ctrl-C
        report = "\n".join(str(row[0]) for row in database.execute(query))
    if report == "ok":
        return fine("pages", "every page is sound")
    complaints = [line for line in report.splitlines() if not line.startswith("***")]
    return problem(
        "pages",
        f"SQLite finds damage: {'; '.join(complaints[:_MAX_COMPLAINTS])}",
        "restore a backup",
        Corruption.__name__,
    )


def _is_unused(path: Path) -> bool:
    try:
        check_unused(path)
    except StoreBusy:
        return False
    return True
