"""Refreshing: views that another version wrote are rebuilt beside the rows in use.

The new rows are built in a database of their own, in a work folder beside the store, page by page
and without a lock: meanwhile others read the old rows, and commit. Then one transaction empties the
tables, copies the new rows, applies the commits that came since, and records the versions. A reader
sees all old rows or all new ones. A process that is killed leaves the old ones, and a folder that
the next refresh removes.

Scope ids are the only ids that views share. The database beside has the ids of the store, so that
its rows fit. If the log is rewritten meanwhile, by an erasure or a compaction, the new rows may
have what was erased: the refresh begins again and, if that goes on, works in place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path

from memoranda.log import chain, pages
from memoranda.log.rebuild import apply_after, apply_log, apply_rows
from memoranda.log.views import Views
from memoranda.storage.files import (
    SIBLING_PREFIX,
    remove_abandoned,
    tag_of,
    translate_os_errors,
    work_folder,
)
from memoranda.storage.port import Engine, Progress, Reader, Row, Writer

_ATTEMPTS = 2
"""How often rows are built beside the old ones, before they are built in place."""
_FILE = "refreshed-views.db"


class _Overtaken(Exception):
    """Another process has changed the events behind the new rows, or refreshed the views."""


def refresh_views(
    engine: Engine,
    log_id: str,
    views: Views,
    new_views: Callable[[], Views],
    progress: Progress | None = None,
) -> None:
    """Rebuild the views whose rows another version wrote, and those that depend on them.

    `new_views` returns a new set of all views: a set serves one database.
    """
    for _ in range(_ATTEMPTS):
        with engine.snapshot() as reader:
            outdated, head = views.outdated(reader), pages.head_commit(reader)
        if not outdated.all:
            return
        if engine.path is None or not head:
            break
        with suppress(_Overtaken):
            _refresh_beside(engine, engine.path, log_id, outdated, new_views(), progress)
    _refresh_in_place(engine, log_id, views, progress)


def _refresh_in_place(engine: Engine, log_id: str, views: Views, progress: Progress | None) -> None:
    """Rebuild outdated views in one transaction: others can read meanwhile, but not write."""

    def work(writer: Writer) -> None:
        outdated = views.outdated(writer)
        if outdated.all:
            apply_log(writer, log_id, outdated, progress)
            outdated.record_versions(writer)

    try:
        engine.write(work)
    finally:  # also after an error
        views.drop_caches()


def _refresh_beside(
    engine: Engine,
    path: Path,
    log_id: str,
    outdated: Views,
    new_views: Views,
    progress: Progress | None,
) -> None:
    with _folder_beside(path, log_id) as folder:
        with closing(engine.open_at(folder / _FILE)) as beside:
            draft = _Draft(engine, log_id, outdated, beside, new_views.counterparts(outdated))
            draft.build(progress)
        try:
            engine.write_from(folder / _FILE, partial(draft.swap, progress=progress))
        finally:
            outdated.drop_caches()


@contextmanager
def _folder_beside(path: Path, log_id: str) -> Iterator[Path]:
    """Lend a work folder beside the store, without those that killed processes have left."""
    parent, tag = path.resolve().parent, tag_of(log_id)
    remove_abandoned(parent, SIBLING_PREFIX, tag, _FILE)
    with ExitStack() as stack:
        with translate_os_errors(path):
            folder = stack.enter_context(work_folder(parent, SIBLING_PREFIX, tag))
        yield folder


class _Draft:
    """The new rows of outdated views, in a database beside the store."""

    def __init__(
        self, engine: Engine, log_id: str, outdated: Views, beside: Engine, views: Views
    ) -> None:
        self._engine = engine
        self._outdated = outdated
        self._beside = beside
        self._views = views
        self._last = chain.genesis(log_id)
        """The last event whose rows are there."""
        self._last_scope = 0
        """The last scope that was copied from the store."""
        self._begin = self._head()
        """The head at the beginning: what was erased up to it is not in the log any more."""
        self._meta: list[Row] = []
        """Names and values in `meta` that the views have set."""

    def build(self, progress: Progress | None) -> None:
        """Apply the log in rounds, until the number of missing commits no longer falls."""
        missing_commits, head = math.inf, self._begin
        while 0 < head - self._last.commit_ts < missing_commits:
            missing_commits = head - self._last.commit_ts
            while self._add_page(head, progress):
                pass
            head = self._head()
        with self._beside.reading() as reader:
            names = [name for view in self._views.all for name in view.meta_names]
            rows = ((name, reader.row("meta_get", name=name)) for name in names)
            self._meta = [(name, row[0]) for name, row in rows if row is not None]

    def _head(self) -> int:
        with self._engine.reading() as reader:
            return pages.head_commit(reader)

    def _add_page(self, head: int, progress: Progress | None) -> bool:
        """Apply the next page of the log, up to a commit; return whether there was one."""
        with self._engine.snapshot() as reader:
            self._check(reader)
            rows = pages.rows(reader, after=self._last.commit_ts, through=head)
            scopes = reader.rows("scopes_after", after=self._last_scope)
            self._views.read_log_from(reader)
            if rows:
                self._beside.write(partial(self._apply, scopes, rows, head, progress))
        return bool(rows)

    def _apply(
        self,
        scopes: list[Row],
        rows: list[Row],
        head: int,
        progress: Progress | None,
        writer: Writer,
    ) -> None:
        writer.put_all("scope_put", scopes)
        self._last_scope = scopes[-1][0] if scopes else self._last_scope
        self._last = apply_rows(writer, self._last, rows, self._views, progress, head)
        if writer.rows("scopes_after", after=self._last_scope):
            raise _Overtaken  # a scope that the store has no id for

    def _check(self, reader: Reader) -> None:
        """Raise if the rows no longer come from the log, or if others have refreshed the views."""
        rewritten = reader.row("erased_since", after=self._begin) is not None
        if rewritten or not self._outdated.outdated(reader).all:
            raise _Overtaken

    def swap(self, writer: Writer, progress: Progress | None) -> None:
        """Put the new rows in place of the old ones, and apply the commits that came since."""
        self._check(writer)
        self._outdated.drop_caches()
        self._outdated.clear(writer)
        for view in self._outdated.all:
            for table in view.tables:
                writer.copy_table(table)
        for name, value in self._meta:
            writer.run("meta_set", name=name, value=value)
        apply_after(writer, self._last, self._outdated, progress)
        self._outdated.prune(writer)
        self._outdated.record_versions(writer)
