"""Copies of a store in another file: backups and forks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import msgspec

from memoranda.errors import InvalidInput
from memoranda.log import chain, horizons, pages
from memoranda.log.forking import Fork, fork
from memoranda.log.moments import Moment
from memoranda.model.limits import shown
from memoranda.sdk.arrival import check_arrived
from memoranda.sdk.core import Core
from memoranda.sdk.registry import all_views
from memoranda.sdk.urls import Url, file_of
from memoranda.storage.newfiles import appearing
from memoranda.storage.port import Progress
from memoranda.storage.workfolders import tag_of


class Backup(msgspec.Struct, frozen=True):
    """What a backup holds: the commits up to the moment it was begun, in so many bytes."""

    commits: int
    bytes: int


def back_up(core: Core, path: Url, progress: Progress | None) -> Backup:
    """Copy the store as of now to a new file, which appears once it is whole and synced."""
    target = file_of("path", path)
    with _new_copy(core, target) as draft:
        core.engine.copy_to(draft, progress)
        with closing(core.engine.another(draft)) as copy, copy.reading() as reader:
            head = pages.head(reader, chain.genesis(core.log_id))
    size = target.stat().st_size
    check_arrived(core.engine.another(target), target, core.log_id, head.commit_ts, head.hash.hex())
    return Backup(head.commit_ts, size)


def fork_at(core: Core, path: Url, at: Moment, progress: Progress | None) -> Fork:
    """Make a new log in a new file from the events up to a moment."""
    target = file_of("path", path)
    core.engine.check_vacant("path", target)
    through = core.commit_at("at", at)
    if not through:
        raise InvalidInput("at", f"{shown(at)} is before the first commit: a fork has one at least")
    with core.engine.reading() as reader:
        horizons.check_vouched(reader, through)
    with _new_copy(core, target) as draft, closing(core.engine.another(draft)) as engine:
        made = fork(
            core.engine,
            core.log_id,
            engine,
            through=through,
            views=all_views(),
            ids=core.ids,
            progress=progress,
        )
        with engine.reading() as reader:
            head = pages.head(reader, chain.genesis(made.log_id))
    check_arrived(core.engine.another(target), target, made.log_id, made.commits, head.hash.hex())
    return made


@contextmanager
def _new_copy(core: Core, target: Path) -> Iterator[Path]:
    """Lend a path to make a copy at, which is put at its target when the block ends well."""
    core.engine.check_vacant("path", target)
    put = partial(core.engine.place, "path")
    with appearing("path", target, put=put, tag=tag_of(core.log_id)) as draft:
        yield draft
