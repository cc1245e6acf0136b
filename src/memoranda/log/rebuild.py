"""Rebuilding: every view emptied and derived again from the log, in one storage transaction."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from memoranda.errors import Corruption
from memoranda.log import chain, pages
from memoranda.log.views import Commit, View, Views
from memoranda.model.event import Head
from memoranda.storage.port import Engine, Progress, Reader, Row, Writer


class Rebuild(msgspec.Struct, frozen=True):
    """The result of a rebuild: events applied, and views whose rows were wrong."""

    events: int
    rows: int
    differing: tuple[str, ...]

    @property
    def identical(self) -> bool:
        """Whether the rebuilt rows equal the previous ones."""
        return not self.differing


def rebuild(engine: Engine, log_id: str, views: Views, progress: Progress | None = None) -> Rebuild:
    """Empty every view, rebuild it from the log, and compare, in one storage transaction.

    The log is verified on the way: views of an altered log would only hide the change.
    """

    def work(writer: Writer) -> Rebuild:
        try:
            return _rebuild(writer, log_id, views, progress)
        finally:  # also after an error
            views.drop_caches()

    return engine.write(work)


def _rebuild(writer: Writer, log_id: str, views: Views, progress: Progress | None) -> Rebuild:
    before = {view.name: _digest_if_readable(writer, view) for view in views.all}
    events = apply_log(writer, log_id, views, progress)
    after = {view.name: _digest(writer, view) for view in views.all}
    views.record_versions(writer)
    return Rebuild(
        events=events,
        rows=sum(count for count, _ in after.values()),
        differing=tuple(name for name in before if before[name] != after[name]),
    )


def apply_log(writer: Writer, log_id: str, views: Views, progress: Progress | None) -> int:
    """Empty every view, apply the whole log, and return the number of events."""
    views.drop_caches()
    views.clear(writer)
    last = apply_after(writer, chain.genesis(log_id), views, progress)
    views.prune(writer)
    return last.commit_ts


def apply_after(writer: Writer, last: Head, views: Views, progress: Progress | None) -> Head:
    """Apply the events after one, verified, and return the last of them."""
    head = pages.head_commit(writer)
    while rows := pages.rows(writer, after=last.commit_ts, through=head):
        last = apply_rows(writer, last, rows, views, progress, head)
    return last


def apply_rows(
    writer: Writer,
    last: Head,
    rows: Sequence[Row],
    views: Views,
    progress: Progress | None,
    total: int,
) -> Head:
    """Apply the events of some rows, verified, and return the last of them."""
    for event in chain.verify_rows(last, rows):
        commit = Commit.from_verified(event)
        views.apply(writer, commit)
        if progress is not None:
            progress(commit.commit_ts, total)
    return chain.head_after(rows[-1])


def _digest_if_readable(reader: Reader, view: View) -> tuple[int, bytes] | None:
    """Return a view's digest; None, which differs from every digest, if rows are unreadable."""
    try:
        return _digest(reader, view)
    except Corruption:
        return None


def _digest(reader: Reader, view: View) -> tuple[int, bytes]:
    """Return a view's row count and a hash over its rows, read as a stream."""
    count, digest = 0, sha256()
    for query in view.row_queries:
        for row in reader.stream(query):
            count += 1
            digest.update(repr(row).encode())
    return count, digest.digest()
