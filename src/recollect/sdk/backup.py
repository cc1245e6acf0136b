"""Copies of a store in another file: backups and forks."""

from __future__ import annotations

from contextlib import closing

import msgspec

from recollect.errors import InvalidInput
from recollect.log import horizons, pages
from recollect.log.forking import Fork, fork
from recollect.log.moments import Moment
from recollect.model.limits import shown
from recollect.sdk.core import Core
from recollect.sdk.registry import all_views
from recollect.sdk.urls import Url, file_of
from recollect.storage.newfiles import appearing, check_free
from recollect.storage.port import Progress


class Backup(msgspec.Struct, frozen=True):
    """What a backup holds: the commits up to the moment it was begun, in so many bytes."""

    commits: int
    bytes: int


def back_up(core: Core, path: Url, progress: Progress | None) -> Backup:
    """Copy the store as of now to a new file, which appears once it is whole and synced."""
    target = file_of("path", path)
    check_free("path", target)
    with appearing("path", target) as draft:
        core.engine.copy_to(draft, progress)
        with closing(core.engine.another(draft)) as copy, copy.reading() as reader:
            commits = pages.head_commit(reader)
    return Backup(commits, target.stat().st_size)


def fork_at(core: Core, path: Url, at: Moment, progress: Progress | None) -> Fork:
    """Make a new log in a new file from the events up to a moment."""
    target = file_of("path", path)
    check_free("path", target)
    through = core.commit_at("at", at)
    if not through:
        raise InvalidInput("at", f"{shown(at)} is before the first commit: a fork has one at least")
    with core.engine.reading() as reader:
        horizons.check_vouched(reader, through)
    with appearing("path", target) as draft, closing(core.engine.another(draft)) as engine:
        return fork(
            core.engine,
            core.log_id,
            engine,
            through=through,
            views=all_views(),
            ids=core.ids,
            progress=progress,
        )
