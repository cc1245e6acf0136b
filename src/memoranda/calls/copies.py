"""Calls that copy a store to a file of the caller's: backups, forks and exported logs.

They run in the process that has the store open, because a path means nothing on another machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec

from memoranda.audit.log_file.exporter import ErasedDuringExport, ExportedLog, export
from memoranda.calls.call import AnyMoment, Call, Handlers
from memoranda.calls.core import Core, all_views
from memoranda.calls.grant import Grant
from memoranda.errors import Corruption, InvalidInput
from memoranda.log import chain, pages
from memoranda.log.compaction import horizon
from memoranda.log.fork import Fork, fork
from memoranda.log.lineage import stored_log_id
from memoranda.model.limits import short_repr
from memoranda.search.text import language as index_language
from memoranda.storage.files import OWNER_ONLY, atomic_file, check_free, tag_of, translate_os_errors
from memoranda.storage.port import Engine, Progress
from memoranda.storage.store_url import file_of

# The check of a copy at its final path.


def check_arrived(engine: Engine, path: Path, log_id: str, commits: int, head_hash: str) -> None:
    """Check that a copy at its final path holds the log that was copied, and close its engine.

    The copy was verified before it was moved there. But a database replays any write-ahead log
    that it finds beside its file, also one of another store.
    """
    with closing(engine), engine.reading() as reader:
        row = reader.row("event_hash", commit_ts=commits)
        same = stored_log_id(reader) == log_id and (
            not commits or row == (bytes.fromhex(head_hash),)
        )
    if not same or (commits and row is None):
        raise Corruption(
            f"{path} does not hold what was copied to it: a file beside it was taken "
            "for a part of it; remove it and the files beside it, and copy again"
        )


# Copies of a store in another file: backups and forks.

_LOCAL = "it writes a file of the process that has the store open"


class Backup(msgspec.Struct, frozen=True):
    """The size of a backup; it has the commits up to the moment it was begun."""

    commits: int
    bytes: int


class MakeBackup(Call[Backup], frozen=True):
    """Copy the store as of now to a new file."""

    verb = "admin"
    reach = "store"
    lane = "long"
    local_only = _LOCAL

    path: Any


class MakeFork(Call[Fork], frozen=True):
    """Create a new store, in a new file, from the log up to a moment."""

    verb = "admin"
    reach = "store"
    lane = "long"
    local_only = _LOCAL

    path: Any
    at: AnyMoment


class ExportLog(Call[ExportedLog], frozen=True):
    """Export the present log to a new file, or to an open file."""

    verb = "admin"
    reach = "store"
    lane = "long"
    local_only = _LOCAL

    path: Any


def make_backup(core: Core, _: Grant, call: MakeBackup, progress: Progress | None = None) -> Backup:
    """Copy the store; the file appears when it is complete and synced."""
    target = file_of("path", call.path)
    with _new_copy(core, target) as draft:
        core.engine.copy_to(draft, progress)
        with closing(core.engine.open_at(draft)) as copy, copy.reading() as reader:
            head = pages.head(reader, chain.genesis(core.log_id))
    size = target.stat().st_size
    check_arrived(core.engine.open_at(target), target, core.log_id, head.commit_ts, head.hash.hex())
    return Backup(head.commit_ts, size)


def make_fork(core: Core, _: Grant, call: MakeFork, progress: Progress | None = None) -> Fork:
    """Copy the events up to a moment into a new log, in a new file."""
    target = file_of("path", call.path)
    core.engine.check_vacant("path", target)
    through = core.commit_at("at", call.at)
    if not through:
        raise InvalidInput(
            "at", f"{short_repr(call.at)} is before the first commit: a fork has one at least"
        )
    with core.engine.reading() as reader:
        horizon.check_attested(reader, through)
        language = index_language.read(reader)
    with _new_copy(core, target) as draft, closing(core.engine.open_at(draft)) as engine:
        new_fork = fork(
            core.engine,
            core.log_id,
            engine,
            through=through,
            views=all_views(),
            ids=core.ids,
            progress=progress,
        )
        engine.write(partial(index_language.copy, language=language))
        with engine.reading() as reader:
            head = pages.head(reader, chain.genesis(new_fork.log_id))
    check_arrived(
        core.engine.open_at(target), target, new_fork.log_id, new_fork.commits, head.hash.hex()
    )
    return new_fork


@contextmanager
def _new_copy(core: Core, target: Path) -> Iterator[Path]:
    """Yield a temporary path for a copy, and move the copy to its target if the block succeeds."""
    core.engine.check_vacant("path", target)
    put = partial(core.engine.place, "path")
    with atomic_file("path", target, put=put, tag=tag_of(core.log_id)) as draft:
        yield draft


# Exporting a store's log to a file of its own.


class Sink(Protocol):
    """A file-like object that takes bytes."""

    def write(self, data: bytes, /) -> object:
        """Write one line."""
        ...


_TRIES = 5
"""Attempts at an export; one that meets an erasure starts again."""
_BUFFER = 1024 * 1024
"""Bytes buffered between writes to the file."""


def export_log(
    core: Core, _: Grant, call: ExportLog, progress: Progress | None = None
) -> ExportedLog:
    """Write the log to a new file, or to an open file that takes bytes."""
    path = call.path
    if not isinstance(path, (str, os.PathLike)):
        if not hasattr(path, "write"):
            raise InvalidInput("path", f"{short_repr(path)} is neither a path nor an open file")
        return export(core.engine, core.log_id, path.write, progress)
    target = file_of("path", path)
    check_free("path", target)
    with atomic_file("path", target, tag=tag_of(core.log_id)) as draft, translate_os_errors(target):
        for _attempt in range(_TRIES - 1):
            try:
                return _export_to(core, draft, progress)
            except ErasedDuringExport:
                draft.unlink()
        return _export_to(core, draft, progress)


def _export_to(core: Core, draft: Path, progress: Progress | None) -> ExportedLog:
    """Export to a file with mode 0600, since it has all content of the store."""
    draft.touch(OWNER_ONLY, exist_ok=False)
    with draft.open("wb", buffering=_BUFFER) as file:
        return export(core.engine, core.log_id, file.write, progress)


HANDLERS: Handlers = {MakeBackup: make_backup, MakeFork: make_fork, ExportLog: export_log}
