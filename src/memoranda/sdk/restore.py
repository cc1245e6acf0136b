"""Stores made from copies: restoring a backup, importing an exported log."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from memoranda.audit.log_file.importer import import_into
from memoranda.calls.copies import check_arrived
from memoranda.calls.core import all_views
from memoranda.errors import Corruption, InvalidInput, NotFound, StoreReadOnly
from memoranda.log.lineage import stored_log_id
from memoranda.log.verify.verifier import Verification, verify
from memoranda.model.clock import SystemClock
from memoranda.model.limits import check_callable, short_repr
from memoranda.sdk.open import open_engine
from memoranda.storage.files import atomic_file, keep_private, make_private, path_exists
from memoranda.storage.port import Engine, Progress
from memoranda.storage.sqlite.backup import check_unused, place_file, replace_file
from memoranda.storage.sqlite.placement import check_vacant, orphans
from memoranda.storage.store_url import Url, file_of


def restore(
    backup: Url, url: Url, *, overwrite: bool = False, progress: Progress | None = None
) -> Verification:
    """Verify the chain of a backup, and copy it to the path of a store.

    Only `overwrite=True` replaces a store, and only while no process has it open. It also discards
    a write-ahead log whose store is gone, which may hold the last commits of that store. If the
    call fails, the old store is unchanged. The next write begins a new epoch.
    """
    check_callable("progress", progress)
    source, target = file_of("backup", backup), file_of("url", url).resolve()
    if not path_exists(source):
        raise NotFound(f"there is no backup at {source}: check the path")
    if path_exists(target):
        _check_replaceable(source, target, overwrite=overwrite)
    elif not overwrite:
        _check_nothing_left(target)
    put = replace_file if overwrite else partial(place_file, "url")
    with atomic_file("url", target, put=put) as draft:
        _fetch(source, draft, progress)
        with closing(_open(draft)) as copy:
            verification = _verify(copy, progress)
    check_arrived(
        _open(target), target, verification.log_id, verification.commits, verification.head_hash
    )
    return verification


def _check_nothing_left(target: Path) -> None:
    """Refuse a path with a write-ahead log without its store: it may hold commits of its own."""
    for journal in orphans(target):
        raise InvalidInput(
            "overwrite",
            f"is needed to discard {journal}, which may hold the last commits of the store that "
            f"was at {target}; to keep them, put that store back there",
        )


def _check_replaceable(source: Path, target: Path, *, overwrite: bool) -> None:
    if source.samefile(target):
        raise InvalidInput("backup", f"{source} is the store itself: name a backup of it")
    if not overwrite:
        raise InvalidInput("overwrite", f"is needed to replace {target}, which is there already")
    check_unused(target)


def _fetch(source: Path, draft: Path, progress: Progress | None) -> None:
    """Copy the backup through SQLite, or the file itself where its folder is not writable."""
    try:
        with closing(_open(source, migrate=False)) as engine:
            engine.copy_to(draft, progress)
    except InvalidInput as error:
        raise InvalidInput("backup", error.problem) from error
    except StoreReadOnly:
        if source.with_name(f"{source.name}-wal").exists():  # it holds commits that the file lacks
            raise
        make_private(draft)
        shutil.copyfile(source, draft)


def _open(path: Path, *, migrate: bool = True) -> Engine:
    """Open a copy that no process writes to, so it may be on a network file system."""
    return open_engine(path, create=False, allow_network_file_system=True, migrate=migrate)


def _check_copy(engine: Engine, target: Path, verification: Verification) -> None:
    """Close the engine of a copy, once it is sure to hold the log that was verified."""
    log_id, commits = verification.log_id, verification.commits
    check_arrived(engine, target, log_id, commits, verification.head_hash)


def _verify(engine: Engine, progress: Progress | None) -> Verification:
    with engine.reading() as reader:
        log_id = stored_log_id(reader)
    if log_id is None:
        raise Corruption("the backup does not say which log it is of: restore another one")
    return verify(engine, log_id, SystemClock(), progress)


# Importing an exported log into a new store.

_BUFFER = 1024 * 1024
"""Bytes that are buffered between two reads of the file."""


def import_log(
    path: Url | IO[bytes], url: Url, *, progress: Progress | None = None
) -> Verification:
    """Create a store from an exported log: the path of a file, or a file open for reading bytes.

    The store has the same id, chain and contents. Each line is checked while it is read; if the
    call fails, there is no store. The first write begins a new epoch. `progress(done, total)` has
    two steps for each commit: it is read, and its views are built.
    """
    check_callable("progress", progress)
    target = file_of("url", url)
    check_vacant("url", target)
    put = partial(place_file, "url")
    with _open_file(path) as file, atomic_file("url", target, put=put) as draft:
        engine = open_engine(draft, durability="relaxed", allow_network_file_system=True)
        with closing(engine):
            verification = import_into(engine, file, all_views(), SystemClock(), progress)
        if isinstance(path, (str, os.PathLike)):
            keep_private(draft, file_of("path", path))
    copy = open_engine(target, create=False, allow_network_file_system=True)
    _check_copy(copy, target, verification)
    return verification


@contextmanager
def _open_file(path: Url | IO[bytes]) -> Iterator[IO[bytes]]:
    if not isinstance(path, (str, os.PathLike)):
        if not hasattr(path, "readline"):
            raise InvalidInput("path", f"{short_repr(path)} is neither a path nor an open file")
        yield path
        return
    source = file_of("path", path)
    try:
        file = source.open("rb", buffering=_BUFFER)
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {source}: check the path") from error
    except OSError as error:
        raise InvalidInput("path", f"{source} cannot be read: {error.strerror}") from error
    with file:
        yield file
