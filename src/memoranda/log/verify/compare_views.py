"""Deep verification: compare every view with one rebuilt from the log, without changing the store.

The views are rebuilt in a scratch database, and compared row by row. Everything is read in one
snapshot, which is held until the last row is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest

from memoranda.errors import ChainBroken, Corruption, ViewsDiffer
from memoranda.log.chain import OpenedEvent
from memoranda.log.verify.verifier import (
    ChainWalk,
    EventObserver,
    PageObserver,
    Verification,
    sealed_events,
    verification_of,
)
from memoranda.log.views import Commit, Views
from memoranda.model.clock import Clock
from memoranda.model.limits import short_repr
from memoranda.storage.files import tag_of
from memoranda.storage.port import Engine, Progress, Reader, Row, Writer

_REPORTED_ROWS, _REPORTED_EVENTS = 256, 16
"""Rows, and events, between two progress reports: well below a millisecond of work."""
_MAX_KEY_COLUMNS = 5
"""Leading columns that identify a row in an error message."""
_COMMITS = ("commit_ts", "from_commit")
"""Columns that name the commit a row comes from."""


def verify_deep(
    engine: Engine,
    log_id: str,
    clock: Clock,
    views: Views,
    progress: Progress | None = None,
    on_page: PageObserver | None = None,
    on_event: EventObserver | None = None,
) -> Verification:
    """Verify the log and every view; raise `ViewsDiffer` for the first bad row.

    `views` must be used for nothing else: they cache rows of the database they fill.
    """
    with engine.scratch(tag_of(log_id)) as scratch, engine.snapshot() as reader:
        engine.check_definitions(reader)
        walk = ChainWalk(reader, log_id, on_event=on_event)
        rows = _compare(reader, walk, scratch, views, progress, on_page)
        engine.check_structure(reader)
    return verification_of(walk, log_id, clock, rows)


def compare_views(
    engine: Engine, log_id: str, views: Views, progress: Progress | None = None
) -> int:
    """Compare only the views, also of a store with an older format; return how many rows."""
    with engine.scratch(tag_of(log_id)) as scratch, engine.snapshot() as reader:
        return _compare(reader, ChainWalk(reader, log_id), scratch, views, progress)


def _compare(
    reader: Reader,
    walk: ChainWalk,
    scratch: Engine,
    views: Views,
    progress: Progress | None,
    on_page: PageObserver | None = None,
) -> int:
    """Walk to the end of the log, and return how many rows of the views agree with it."""

    def report() -> None:
        if progress is not None:
            progress(walk.head.commit_ts, walk.through)

    views.read_log_from(reader)
    while page := walk.next_page(reader):
        scratch.write(partial(_apply, page, views, report))
        if on_page is not None:
            on_page(sealed_events(page))
        report()
    walk.finish(reader)
    scratch.write(views.record_versions)
    with scratch.snapshot() as rebuilt:
        comparison = _Comparison(reader, rebuilt, report)
        for view in views.all:
            for query in view.row_queries:
                comparison.compare(view.name, query)
        comparison.compare("log", "meta_rows")
    return comparison.rows


def _apply(
    page: Sequence[OpenedEvent], views: Views, report: Callable[[], None], writer: Writer
) -> None:
    for number, event in enumerate(page, start=1):
        commit = Commit.from_verified(event)
        try:
            views.apply(writer, commit)
        except Corruption as error:
            raise ChainBroken(commit.commit_ts, f"it contradicts the log: {error}") from error
        if not number % _REPORTED_EVENTS:
            report()


class _Comparison:
    """Compares the stored rows with the rebuilt ones, and counts them."""

    def __init__(self, reader: Reader, rebuilt: Reader, report: Callable[[], None]) -> None:
        self._reader = reader
        self._rebuilt = rebuilt
        self._report = report
        self.rows = 0

    def compare(self, view: str, query: str) -> None:
        """Compare the rows of one query, or raise `ViewsDiffer` for the first that differs."""
        table = query.removesuffix("_rows")
        pairs = zip_longest(self._reader.stream(query), self._rebuilt.stream(query))
        try:
            for stored_row, rebuilt_row in pairs:
                if stored_row != rebuilt_row:
                    raise self._difference(
                        view, query, (stored_row, rebuilt_row), next(pairs, (None, None))
                    )
                self.rows += 1
                if not self.rows % _REPORTED_ROWS:
                    self._report()
        except ViewsDiffer:
            raise
        except Corruption as error:
            raise ViewsDiffer(view, table, f"a row cannot be read: {error}") from error

    def _difference(
        self,
        view: str,
        query: str,
        pair: tuple[Row | None, Row | None],
        following: tuple[Row | None, Row | None],
    ) -> ViewsDiffer:
        """Return the error for a pair of rows; the next pair tells missing from extra rows."""
        stored_row, rebuilt_row = pair
        columns = self._rebuilt.columns(query)
        differing: list[str] = []
        misplaced = following == (rebuilt_row, stored_row)
        if rebuilt_row is None or (following[0] == rebuilt_row and not misplaced):
            assert stored_row is not None, "at least one of them is there"
            row, problem = stored_row, "there should be no row with {}"
        elif stored_row is None or (following[1] == stored_row and not misplaced):
            row, problem = rebuilt_row, "the row with {} is missing"
        else:
            row = rebuilt_row
            differing = [
                name
                for name, old, new in zip(columns, stored_row, rebuilt_row, strict=True)
                if old != new
            ]
            problem = "the row with {} is out of order" if misplaced else "the row with {} differs"
        values = dict(zip(columns, row, strict=True))
        key = [
            (name, value) for name, value in values.items() if misplaced or name not in differing
        ]
        identity = dict(key[:_MAX_KEY_COLUMNS])
        text = ", ".join(f"{name}={short_repr(value)}" for name, value in identity.items())
        problem = problem.format(text)
        if differing and not misplaced:
            problem += f" in {', '.join(differing)}"
        commits = (values[name] for name in _COMMITS if isinstance(values.get(name), int))
        return ViewsDiffer(
            view,
            query.removesuffix("_rows"),
            problem,
            row=identity,
            commit_ts=next(commits, None),
        )
