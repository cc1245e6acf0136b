"""Stores for these tests: on a VFS of theirs, with failpoints, in memory-backed folders."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from memoranda import Store
from memoranda.calls.core import Core
from memoranda.calls.defaults import Defaults
from memoranda.log.commit.failpoints import Failpoint, no_failpoint
from memoranda.model.clock import Clock, SystemClock
from memoranda.model.ids import IdSource, SystemIds
from memoranda.model.limits import Limits
from memoranda.sdk.local.calls import LocalCalls
from memoranda.sdk.open import assemble, load_queries
from memoranda.storage.sqlite.engine import SqliteEngine
from tests.crash.faulty_vfs import FaultyVFS

ENGINE = "memoranda.storage.sqlite.engine"
JOURNAL = "memoranda.storage.sqlite.wal"
"""The modules whose constants are made small here and there."""
_MEMORY = Path("/dev/shm")


def open_core(
    path: Path,
    *,
    vfs: FaultyVFS | None = None,
    durability: str = "full",
    failpoint: Failpoint = no_failpoint,
    clock: Clock | None = None,
    ids: IdSource | None = None,
) -> Core:
    """Put together what `memoranda.open` does, with parts it does not let one choose."""
    engine = SqliteEngine(
        path,
        queries=load_queries(),
        durability=durability,
        vfs=None if vfs is None else vfs.name,
    )
    return assemble(engine, clock or SystemClock(), ids or SystemIds(), Limits(), failpoint)


def open_on(path: Path, vfs: FaultyVFS, *, durability: str = "full") -> Store:
    """Open a store on a VFS."""
    return Store(LocalCalls(open_core(path, vfs=vfs, durability=durability)), Defaults())


@contextmanager
def wal_of(pages: int, bound: int | None = None) -> Iterator[None]:
    """Let the write-ahead log be copied at so many pages, and be started over at twice as many."""
    with (
        mock.patch(f"{JOURNAL}._CHECKPOINT_PAGES", pages),
        mock.patch(f"{JOURNAL}.TRUNCATE_PAGES", bound or 2 * pages),
    ):
        yield


@contextmanager
def scratch() -> Iterator[Path]:
    """Lend a folder in memory, where syncing costs nothing; on disk where there is none."""
    usable = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)
    folder = Path(tempfile.mkdtemp(prefix="memoranda-", dir=_MEMORY if usable else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
