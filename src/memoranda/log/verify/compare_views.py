"""Comparison: whether every view is what the log says, found out without changing the store.

The views are built again from the log in a database of their own, in the folder for temporary
files, and compared row by row. All of it is read as of one moment: the snapshot is held until the
last row is compared, as a backup's is until it is copied.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import zip_longest
from pathlib import Path

from memoranda.errors import ChainBroken, Corruption, StoreFull, ViewsDiffer
from memoranda.log.chain import Opened
from memoranda.log.verification import Follow, Verification, sealed, told
from memoranda.log.views import Commit, Views
from memoranda.log.walk import Attend, Walk
from memoranda.model.clock import Clock
from memoranda.model.limits import shown
from memoranda.storage.newfiles import told_as_ours
from memoranda.storage.port import Engine, Progress, Reader, Row, Writer
from memoranda.storage.workfolders import APART, tag_of, work_folder

_OFTEN = 4096
"""After how many rows somebody may want to know that work goes on."""
_MOST_NAMED = 5
"""How many columns of a row say which one it is; they come first."""
_COMMITS = ("commit_ts", "from_commit")
"""The columns that say which commit a row comes from."""


def verify_deep(
    engine: Engine,
    log_id: str,
    clock: Clock,
    views: Views,
    progress: Progress | None = None,
    follow: Follow | None = None,
    attend: Attend | None = None,
) -> Verification:
    """Check the log as `verify` does, and every view; raise `ViewsDiffer` for the first bad row.

    `views` are ones that nobody else uses: they remember rows of the database they fill.
    """
    with _apart(engine, log_id) as apart, engine.snapshot() as reader:
        _check_schema(reader, apart)
        walk = Walk(reader, log_id, attend=attend)
        rows = _compare(reader, walk, apart, views, progress, follow)
        _check_structure(reader)
    return told(walk, log_id, clock, rows)


def compare_views(
    engine: Engine, log_id: str, views: Views, progress: Progress | None = None
) -> int:
    """Compare the views alone, of a store that may have an older format; return how many rows."""
    with _apart(engine, log_id) as apart, engine.snapshot() as reader:
        return _compare(reader, Walk(reader, log_id), apart, views, progress)


@contextmanager
def _apart(engine: Engine, log_id: str) -> Iterator[Engine]:
    """Lend an empty database, which is gone when the block ends, unless the process is killed."""
    place = Path(tempfile.gettempdir())
    with ExitStack() as stack:
        with told_as_ours(place / "views.db"):
            folder = stack.enter_context(work_folder(place, APART, tag_of(log_id)))
        apart = stack.enter_context(closing(engine.another(folder / "views.db")))
        try:
            yield apart
        except StoreFull as error:
            raise StoreFull(
                f"there is no room in {place} to build the views again: free some, or name another "
                "folder in TMPDIR"
            ) from error


def _compare(
    reader: Reader,
    walk: Walk,
    apart: Engine,
    views: Views,
    progress: Progress | None,
    follow: Follow | None = None,
) -> int:
    """Walk to the end, and return how many rows of the views are what the log says."""

    def report() -> None:
        if progress is not None:
            progress(walk.head.commit_ts, walk.through)

    while page := walk.next_page(reader):
        with apart.writing() as writer:
            _apply(writer, page, views)
        if follow is not None:
            follow(sealed(page))
        report()
    walk.finish(reader)
    with apart.writing() as writer:
        views.stamp(writer)
    with apart.snapshot() as rebuilt:
        comparison = _Comparison(reader, rebuilt, report)
        for view in views.all:
            for query in view.rows:
                comparison.compare(view.name, query)
        comparison.compare("log", "meta_rows")
    return comparison.rows


def _apply(writer: Writer, page: Sequence[Opened], views: Views) -> None:
    for opened in page:
        commit = Commit.opened(opened)
        try:
            views.apply(writer, commit)
        except Corruption as error:
            raise ChainBroken(commit.commit_ts, f"it contradicts the log: {error}") from error


class _Comparison:
    """Two databases, of which one is right, and how many of their rows were found to be equal."""

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
            for found, wanted in pairs:
                if found != wanted:
                    raise self._difference(view, query, (found, wanted), next(pairs, (None, None)))
                self.rows += 1
                if not self.rows % _OFTEN:
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
        """Return what is wrong, as far as the two next rows tell."""
        found, wanted = pair
        columns = self._rebuilt.columns(query)
        others: list[str] = []
        misplaced = following == (wanted, found)
        if wanted is None or (following[0] == wanted and not misplaced):
            assert found is not None, "at least one of them is there"
            row, problem = found, "there should be no row with {}"
        elif found is None or (following[1] == found and not misplaced):
            row, problem = wanted, "the row with {} is missing"
        else:
            row = wanted
            others = [
                name for name, one, two in zip(columns, found, wanted, strict=True) if one != two
            ]
            problem = "the row with {} is out of order" if misplaced else "the row with {} differs"
        named = dict(zip(columns, row, strict=True))
        key = [(name, value) for name, value in named.items() if misplaced or name not in others]
        identity = dict(key[:_MOST_NAMED])
        text = ", ".join(f"{name}={shown(value)}" for name, value in identity.items())
        problem = problem.format(text)
        if others and not misplaced:
            problem += f" in {', '.join(others)}"
        commits = (named[name] for name in _COMMITS if isinstance(named.get(name), int))
        return ViewsDiffer(
            view,
            query.removesuffix("_rows"),
            problem,
            row=identity,
            commit_ts=next(commits, None),
        )


def _check_schema(reader: Reader, apart: Engine) -> None:
    """Refuse tables, indexes and triggers that are not what this version makes."""
    with apart.reading() as other:
        wanted = {row[:2]: row for row in other.rows("schema_rows")}
    found = {row[:2]: row for row in reader.rows("schema_rows")}
    for kind, name in sorted(found.keys() | wanted.keys()):
        if found.get((kind, name)) != wanted.get((kind, name)):
            raise Corruption(
                f"the {kind} {name!r} is not what Memoranda makes: it was added, dropped or "
                "changed; restore a backup, or fork the log into a new store"
            )


def _check_structure(reader: Reader) -> None:
    """Let the database check the pages, indexes and columns of each table."""
    reader.row("words_look")
    for kind, name, *_ in reader.rows("schema_rows"):
        if kind != "table":
            continue
        complaints = [str(row[0]) for row in reader.rows("structure_check", name=name)]
        if complaints != ["ok"]:
            raise Corruption(f"table {name!r} is damaged: {complaints[0]}; restore a backup")
