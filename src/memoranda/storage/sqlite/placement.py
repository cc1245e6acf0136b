"""Vacancy: whether a store can begin at a path, also with regard to what another left beside it.

SQLite replays a write-ahead log into whatever file it stands beside, and removes one that stands
beside an empty file. Either would be wrong where it was left by a store that is not there any more:
it may hold that store's last commits, and nobody else has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from memoranda.errors import InvalidInput
from memoranda.storage.newfiles import check_free

_WAL = "-wal"
JOURNALS = (_WAL, "-journal")
"""The endings of files that SQLite replays into the file they stand beside."""
BESIDE = (*JOURNALS, "-shm")


def orphans(path: Path) -> list[Path]:
    """Return the journals with content beside a path where no store is.

    They are looked for before the main file: whoever makes a store makes that first, and a journal
    of its own can then not be taken for somebody else's.
    """
    found = journals(path)
    if not _is_empty(path):
        return []
    if path.exists():  # a store that is being made has a rollback journal and no page yet
        return [each for each in found if each.name.endswith(_WAL)]
    return found


def journals(path: Path) -> list[Path]:
    """Return the journals with content beside a path."""
    beside = (path.with_name(path.name + ending) for ending in JOURNALS)
    return [each for each in beside if not _is_empty(each)]


def check_vacant(field: str, path: Path) -> None:
    """Refuse a path where a file is, or a journal of one that is gone."""
    check_free(field, path)
    check_no_orphans(field, path)


def check_may_begin(field: str, path: Path) -> None:
    """Refuse to make a store where a write-ahead log was left.

    A rollback journal is in nobody's way: it holds no commits, and SQLite removes one that stands
    beside a new file. A loss of power while a store is made can leave it without its file.
    """
    _refuse(field, path, [each for each in orphans(path) if each.name.endswith(_WAL)])


def check_no_orphans(field: str, path: Path) -> None:
    """Refuse a path beside which any journal was left: it would be replayed into a copy."""
    _refuse(field, path, orphans(path))


def _refuse(field: str, path: Path, journals: Iterable[Path]) -> None:
    for journal in journals:
        raise InvalidInput(
            field,
            f"there is no store at {path}, but {journal.name} was left beside it and may hold the "
            f"last commits of one: put that store back there, or remove {journal.name}",
        )


def remove_orphans(path: Path) -> None:
    """Remove the journals of a store that is gone; while they are there, nobody can make one."""
    left = orphans(path)
    if left:
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    for journal in reversed(left):
        journal.unlink(missing_ok=True)


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except (FileNotFoundError, NotADirectoryError):
        return True
