"""Checking the index: whether it has what the views give, word by word, and nothing else.

It is part of a deep look at a store. What waits to be indexed is not expected in it, and vectors
are only looked at for what they belong to: nothing but the model could tell what they should be.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from memoranda.errors import Corruption, ViewsDiffer
from memoranda.search.deriving import derive
from memoranda.search.index import columns_of
from memoranda.search.passages import Derived, Indexed, indexed
from memoranda.search.sources import Sources
from memoranda.search.transcripts import Cuttings, RememberedCuttings
from memoranda.storage.port import Engine, Progress, Reader

_PAGE = 256


def check_index(engine: Engine, progress: Progress | None = None) -> None:
    """Raise `ViewsDiffer` for the first passage that is not what it should be."""
    with engine.snapshot() as reader:
        if reader.row("table_there", name="to_index") is None:
            return
        try:
            _Check(reader).run(progress)
        except ViewsDiffer:
            raise
        except Corruption as error:
            raise _differs("words", f"a row cannot be read: {error}") from error


class _Check:
    """One look at the whole index."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._remembered = RememberedCuttings()
        self._seen: set[int] = set()
        self._waiting = self._listed()

    def run(self, progress: Progress | None) -> None:
        """Compare the passages of all sources that the log speaks of, then count."""
        row = self._reader.row("event_head")
        whole = row[0] if row else 0
        for page in self._pages():
            commits = [commit_ts for commit_ts, waits in page if not waits]
            self._compare(Sources.of_commits(self._reader, commits))
            if progress is not None:
                progress(page[-1][0], whole)
        self._compare(self._waiting, expected=False)
        self._count()

    def _pages(self) -> Iterator[list[tuple[int, int]]]:
        after = 0
        while rows := self._reader.rows("index_commits", after=after, most=_PAGE):
            yield [(commit_ts, waits) for commit_ts, waits in rows]
            after = rows[-1][0]

    def _listed(self) -> Sources:
        """Return what is spoken of on the list: it may be in the index or not."""
        rows = self._reader.rows("to_index_page", most=-1)
        return Sources.of_commits(self._reader, [commit_ts for commit_ts, _ in rows])

    def _compare(self, sources: Sources, *, expected: bool = True) -> None:
        if expected:
            sources = sources.without(self._waiting)
        cuttings = Cuttings(self._reader, self._remembered)
        wanted = {each.key: each for each in derive(cuttings, sources)}
        listed = msgspec.json.encode(sources.all).decode()
        words = {row[0]: row[1:] for row in self._reader.rows("words_of_sources", sources=listed)}
        for found in indexed(self._reader, sources.all):
            self._seen.add(found.id)
            derived = wanted.pop(found.key, None)
            if expected:
                self._check(found, derived, words.get(found.id), cuttings)
        for each in wanted.values() if expected else ():
            raise _differs("passage", f"the one of {each.source} since {each.since} is missing")

    def _check(
        self,
        found: Indexed,
        derived: Derived | None,
        words: tuple[str, ...] | None,
        cuttings: Cuttings,
    ) -> None:
        if derived is None or not found.is_as(derived):
            raise _differs("passage", f"passage {found.id} is not what {found.source} says")
        columns, length = columns_of(found.shelf, derived.words(cuttings))
        if words != columns or found.length != length:
            raise _differs("words", f"passage {found.id} has other words than {found.source}")

    def _count(self) -> None:
        if any(self._reader.row("index_strays") or ()):
            raise _differs("passage", "there are words, vectors or commits of nothing there is")
        if self._reader.row("index_counts") != (len(self._seen), len(self._seen)):
            raise _differs("passage", "there are passages of sources that the log does not have")
        for number, size, length, counted, summed in self._reader.rows("shelf_rows"):
            if (size, length) != (counted, summed):
                raise _differs("shelf", f"shelf {number} has other figures than its passages")


def _differs(table: str, problem: str) -> ViewsDiffer:
    return ViewsDiffer("search", table, problem)
