"""Where a store may be placed: paths, network mounts, and orphaned journals.

SQLite replays a write-ahead log into whatever file it stands beside, and removes one that stands
beside an empty file. Both are wrong for a log whose store is gone: it may hold the only copy of
that store's last commits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import apsw

from memoranda import errors
from memoranda.errors import InvalidInput
from memoranda.storage.files import check_free
from memoranda.storage.port import StorageSize
from memoranda.storage.sqlite.connection import translate

# Mounts: SQLite cannot rely on the locks of a network file system.

_MOUNTS = Path("/proc/self/mounts")
_NETWORK = frozenset(
    {
        *("afs", "ceph", "cifs", "davfs", "gfs", "gfs2", "glusterfs", "lustre", "ncpfs"),
        *("nfs", "nfs4", "ocfs2", "smb3", "smbfs"),
        *("fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    }
)


def network_file_system(path: Path, mounts: Path = _MOUNTS) -> str | None:
    """Return the type of the network file system that holds `path`; None if it is not on one."""
    kind = file_system(path, mounts)
    return kind if kind in _NETWORK else None


def file_system(path: Path, mounts: Path = _MOUNTS) -> str | None:
    """Return the type of the file system that holds `path`; None if it is unknown."""
    if not mounts.exists():
        return None
    target = path.resolve()
    kind, deepest = None, -1
    for line in mounts.read_text("utf-8", errors="surrogateescape").splitlines():
        _, folder, mount_kind, *_ = line.split(" ")
        mounted = Path(folder.encode("latin-1", "replace").decode("unicode_escape"))
        if target.is_relative_to(mounted) and len(mounted.parts) > deepest:
            kind, deepest = mount_kind, len(mounted.parts)
    return kind


# Vacancy: whether a new store can be made at a path, and the journals that may be left beside it.

_WAL = "-wal"
JOURNAL_SUFFIXES = (_WAL, "-journal")
"""The suffixes of files that SQLite replays into the file beside them."""
SIDECAR_SUFFIXES = (*JOURNAL_SUFFIXES, "-shm")


def orphans(path: Path) -> list[Path]:
    """Return the non-empty journals beside a path where no store is.

    The journals are listed before the main file is checked. A process that creates a store creates
    the main file first, so a journal that was listed without a main file is not of a new store.
    """
    candidates = journals(path)
    if not _is_empty(path):
        return []
    if path.exists():  # a store in creation has a rollback journal and an empty file
        return [journal for journal in candidates if journal.name.endswith(_WAL)]
    return candidates


def journals(path: Path) -> list[Path]:
    """Return the non-empty journals beside a path."""
    candidates = (path.with_name(path.name + suffix) for suffix in JOURNAL_SUFFIXES)
    return [journal for journal in candidates if not _is_empty(journal)]


def check_vacant(field: str, path: Path) -> None:
    """Refuse a path that is taken, or beside which a journal was left."""
    check_free(field, path)
    check_no_orphans(field, path)


def check_may_begin(field: str, path: Path) -> None:
    """Refuse to create a store beside an orphaned write-ahead log.

    A rollback journal is allowed: it holds no commits, and SQLite removes it beside a new file. A
    power loss while a store is created can leave one.
    """
    _refuse(field, path, [journal for journal in orphans(path) if journal.name.endswith(_WAL)])


def check_no_orphans(field: str, path: Path) -> None:
    """Refuse a path beside which any journal was left: SQLite would replay it into a copy."""
    _refuse(field, path, orphans(path))


def _refuse(field: str, path: Path, journals: Iterable[Path]) -> None:
    for journal in journals:
        raise InvalidInput(
            field,
            f"there is no store at {path}, but {journal.name} was left beside it and may hold the "
            f"last commits of one: put that store back there, or remove {journal.name}",
        )


def remove_orphans(path: Path) -> None:
    """Remove the journals of a store that is gone.

    The write-ahead log is removed last: as long as it is there, no process can create a store.
    """
    orphaned = orphans(path)
    if orphaned:
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    for journal in reversed(orphaned):
        journal.unlink(missing_ok=True)


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except (FileNotFoundError, NotADirectoryError):
        return True


# Paths: whether a store can be opened or created at a path.


def check_mount(path: Path) -> None:
    """Refuse a network file system."""
    if kind := network_file_system(path):
        raise errors.InvalidInput(
            "url",
            f"{path} is on a network file system ({kind}), where locks may not hold and the store "
            "could be damaged: put it on a local disk, or give allow_network_file_system=True",
        )


def check_path(path: Path, *, create: bool) -> None:
    """Refuse a folder, a path in a missing folder, and a missing file unless `create` is set."""
    try:
        exists, is_folder, has_folder = path.exists(), path.is_dir(), path.parent.is_dir()
    except OSError as error:  # a folder that may not be entered, or a name that is too long
        raise errors.Unavailable(f"{path} cannot be reached: {error.strerror}") from error
    if is_folder:
        raise errors.InvalidInput("url", f"{path} is a folder: name a file in it")
    check_may_begin("url", path)
    if not exists and not create:
        raise errors.NotFound(f"there is no store at {path}: a first write creates one")
    if not has_folder:
        raise errors.NotFound(f"there is no folder {path.parent}: make it first")
    if not exists and not os.access(path.parent, os.W_OK):
        raise errors.StoreReadOnly


def open_error(path: Path | None, error: apsw.Error, *, read_only: bool) -> errors.MemorandaError:
    """Return our error for a file that SQLite cannot open."""
    if isinstance(error, apsw.NotADBError):
        return errors.InvalidInput(
            "url",
            f"{path} is not a Memoranda store, or its first page is damaged: "
            "give another path, or restore a backup",
        )
    if read_only and isinstance(error, (apsw.ReadOnlyError, apsw.CantOpenError)):
        return errors.StoreReadOnly(
            f"{path} cannot be read where nothing can be written: if it has a write-ahead log "
            "(-wal), copy both to another folder and open them there; else check the permissions"
        )
    translated_error = translate(error)
    if isinstance(translated_error, errors.StoreReadOnly):
        return errors.StoreReadOnly(
            f"{translated_error}; to read it as it is, open it with read_only=True"
        )
    return translated_error


def footprint_of(path: Path) -> StorageSize:
    """Return the sizes of a store's file and of its write-ahead log."""
    wal = path.with_name(f"{path.name}-wal")
    return StorageSize(path.stat().st_size, wal.stat().st_size if wal.exists() else 0)
