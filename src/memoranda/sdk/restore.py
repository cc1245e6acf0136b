"""Restoring a backup: the one thing that replaces a store."""

from __future__ import annotations

import shutil
from contextlib import closing
from functools import partial
from pathlib import Path

from memoranda.errors import Corruption, InvalidInput, NotFound, StoreReadOnly
from memoranda.log.epochs import known_log_id
from memoranda.log.verification import Verification, verify
from memoranda.model.clock import SystemClock
from memoranda.model.limits import check_callable
from memoranda.sdk.arrival import check_arrived
from memoranda.sdk.open import check_unused, open_engine, orphans, place_file, replace_file
from memoranda.sdk.urls import Url, file_of
from memoranda.storage.newfiles import appearing, is_there, make_private
from memoranda.storage.port import Engine, Progress


def restore(
    backup: Url, url: Url, *, overwrite: bool = False, progress: Progress | None = None
) -> Verification:
    """Put a copy of a backup where a store is to be, once its chain is verified.

    A store that is there is replaced with `overwrite=True` only, and never while anybody has it
    open; so is a journal that a store left which is gone, as it may hold its last commits. However
    it ends, there is the old store or the whole new one. The next write begins a new epoch.
    """
    check_callable("progress", progress)
    source, target = file_of("backup", backup), file_of("url", url).resolve()
    if not is_there(source):
        raise NotFound(f"there is no backup at {source}: check the path")
    if is_there(target):
        _check_replaceable(source, target, overwrite=overwrite)
    elif not overwrite:
        _check_nothing_left(target)
    put = replace_file if overwrite else partial(place_file, "url")
    with appearing("url", target, put=put) as draft:
        _fetch(source, draft, progress)
        with closing(_open(draft)) as copy:
            found = _verify(copy, progress)
    check_arrived(_open(target), target, found.log_id, found.commits, found.head_hash)
    return found


def _check_nothing_left(target: Path) -> None:
    """Refuse a path beside which a journal was left: it may be all there is of some commits."""
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
    """Copy the backup. SQLite cannot where it may not write, so there the file itself is copied."""
    try:
        with closing(_open(source, migrate=False)) as engine:
            engine.copy_to(draft, progress)
    except InvalidInput as error:
        raise InvalidInput("backup", error.problem) from error
    except StoreReadOnly:
        if source.with_name(f"{source.name}-wal").exists():  # a part of it is there
            raise
        make_private(draft)
        shutil.copyfile(source, draft)


def _open(path: Path, *, migrate: bool = True) -> Engine:
    """Open what nobody writes to, which therefore may be on a network file system."""
    return open_engine(path, create=False, allow_network_file_system=True, migrate=migrate)


def _verify(engine: Engine, progress: Progress | None) -> Verification:
    with engine.reading() as reader:
        log_id = known_log_id(reader)
    if log_id is None:
        raise Corruption("the backup does not say which log it is of: restore another one")
    return verify(engine, log_id, SystemClock(), progress)
