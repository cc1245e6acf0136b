"""The files of stores: creating, renaming and removing them, and a summary of each.

Renaming and removing need a store that no program has open, not even an idle one: it would continue
to write to the renamed or removed file. Otherwise they raise `StoreBusy`.
"""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from memoranda.errors import Corruption, InvalidInput, MemorandaError, NotFound
from memoranda.log import chain, pages
from memoranda.model.clock import to_datetime
from memoranda.sdk.open import open as open_store
from memoranda.sdk.open import open_engine_to_read
from memoranda.storage.files import atomic_file, path_exists, sync, translate_os_errors
from memoranda.storage.owner_lock import read_owner
from memoranda.storage.port import Reader
from memoranda.storage.sqlite.backup import fold_in_journal, hold_exclusively, place_file
from memoranda.storage.sqlite.placement import (
    SIDECAR_SUFFIXES,
    check_vacant,
    footprint_of,
    journals,
)


class StoreSummary(msgspec.Struct, frozen=True):
    """The summary of a store that is not opened."""

    name: str
    bytes: int | None
    """The size of its file and of its write-ahead log; None: it is in a database."""
    commits: int | None = None
    """None: it cannot be read; `problem` says why."""
    last_committed_at: datetime | None = None
    owner: str | None = None
    """The server that has it open."""
    problem: str | None = None
    server: str | None = None
    """The server that it is on, if a database spreads its stores over several."""


class RemovedStore(msgspec.Struct, frozen=True):
    """The files that were removed with a store."""

    name: str
    files: tuple[str, ...]
    bytes: int | None
    """None: it was in a database."""


def create(path: Path) -> None:
    """Create an empty store; its file appears when it is complete."""
    check_vacant("name", path)
    with atomic_file("name", path, put=partial(place_file, "name")) as draft:
        open_store(draft, embedder=None).close()


def summarize(name: str, path: Path) -> StoreSummary:
    """Return the size of a store, its commits and its owner."""
    with translate_os_errors(path):
        size = footprint_of(path)
    owner = read_owner(path)
    summary = StoreSummary(
        name, size.data + size.journal, owner=None if owner is None else str(owner)
    )
    try:
        with closing(open_engine_to_read(path)) as engine, engine.reading() as reader:
            return add_head(summary, reader)
    except MemorandaError as error:
        return msgspec.structs.replace(summary, problem=str(error))


def add_head(summary: StoreSummary, reader: Reader) -> StoreSummary:
    """Return the summary of a store with its commits."""
    head = pages.head(reader, chain.genesis(""))
    last = to_datetime(head.committed_at) if head.commit_ts else None
    return msgspec.structs.replace(summary, commits=head.commit_ts, last_committed_at=last)


def rename(path: Path, new: Path) -> None:
    """Give a store's file another name in its folder; its log stays the same one."""
    _check_there(path)
    check_vacant("new", new)
    fold_in_journal(path)
    for journal in journals(path):
        raise Corruption(
            f"{journal} cannot be read into {path.name}, and would not be moved with it: "
            "`memoranda doctor` says what is damaged"
        )
    with hold_exclusively(path), translate_os_errors(new):
        path.rename(new)
        sync(new.parent)


def remove(name: str, path: Path) -> RemovedStore:
    """Remove a store's file, a damaged one too, with its journals."""
    _check_there(path)
    fold_in_journal(path)
    sidecars = [path.with_name(path.name + suffix) for suffix in SIDECAR_SUFFIXES]
    with hold_exclusively(path), translate_os_errors(path):
        files = [path, *(sidecar for sidecar in sidecars if sidecar.exists())]
        size = sum(file.stat().st_size for file in files)
        # The store first: a journal that is left alone keeps others from making a new store there.
        for file in files:
            file.unlink()
        sync(path.parent)
    return RemovedStore(name, tuple(file.name for file in files), size)


def _check_there(path: Path) -> None:
    if path.is_symlink():
        raise InvalidInput(
            "name", f"{path} is a link to a store: rename or remove {path.resolve()} itself"
        )
    if not path_exists(path):
        raise NotFound(f"there is no store at {path}: check its name")
