"""Paths: whether a store can be where somebody says it is."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from memoranda import errors
from memoranda.storage.port import Footprint
from memoranda.storage.sqlite import mounts
from memoranda.storage.sqlite.connection import translate
from memoranda.storage.sqlite.vacancy import check_may_begin


def check_mount(path: Path) -> None:
    """Refuse a network file system."""
    if kind := mounts.network_file_system(path):
        raise errors.InvalidInput(
            "url",
            f"{path} is on a network file system ({kind}), where locks may not hold and the store "
            "could be damaged: put it on a local disk, or give allow_network_file_system=True",
        )


def check_path(path: Path, *, create: bool) -> None:
    """Refuse what is no place for a file, or has none where one is to be."""
    try:
        there, is_folder, has_folder = path.exists(), path.is_dir(), path.parent.is_dir()
    except OSError as error:  # a folder on the way may not be entered, or a name is too long
        raise errors.Unavailable(f"{path} cannot be reached: {error.strerror}") from error
    if is_folder:
        raise errors.InvalidInput("url", f"{path} is a folder: name a file in it")
    check_may_begin("url", path)
    if not there and not create:
        raise errors.NotFound(f"there is no store at {path}: a first write creates one")
    if not has_folder:
        raise errors.NotFound(f"there is no folder {path.parent}: make it first")
    if not there and not os.access(path.parent, os.W_OK):
        raise errors.StoreReadOnly


def not_opened(path: Path | None, error: apsw.Error, *, read_only: bool) -> errors.MemorandaError:
    """Return our error for what SQLite says of a file that it cannot open."""
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
    ours = translate(error)
    if isinstance(ours, errors.StoreReadOnly):
        return errors.StoreReadOnly(f"{ours}; to read it as it is, open it with read_only=True")
    return ours


def footprint_of(path: Path) -> Footprint:
    """Return the sizes of a store's file and of its write-ahead log."""
    wal = path.with_name(f"{path.name}-wal")
    return Footprint(path.stat().st_size, wal.stat().st_size if wal.exists() else 0)
