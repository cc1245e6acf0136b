"""Reading the log a page at a time: constant memory, and no lock held between pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from memoranda.errors import Corruption
from memoranda.model.event import Head, SealedEvent
from memoranda.storage.port import Reader, Row

PAGE_ROWS = 256
PAGE_BYTES = 1024 * 1024

Item = TypeVar("Item")
From = TypeVar("From")
To = TypeVar("To")


class Pages(Protocol[Item]):
    """A long answer, given in pages; it remembers where it is and holds nothing in between."""

    def next_page(self) -> list[Item]:
        """Return the next items; none left: an empty list."""
        ...


class Mapped(Generic[From, To]):
    """The pages of another answer, with something done to each item."""

    def __init__(self, source: Pages[From], change: Callable[[From], To]) -> None:
        self._source = source
        self._change = change

    def next_page(self) -> list[To]:
        """Return the next items."""
        return [self._change(item) for item in self._source.next_page()]


def cut(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield a long list in parts that a query can be given."""
    for first in range(0, len(items), PAGE_ROWS):
        yield items[first : first + PAGE_ROWS]


def head(reader: Reader, genesis: Head) -> Head:
    """Return the log's last commit."""
    row = reader.row("event_head")
    return Head(*row) if row else genesis


def head_commit(reader: Reader) -> int:
    """Return the number of the log's last commit."""
    row = reader.row("event_head")
    return int(row[0]) if row else 0


def rows(reader: Reader, *, after: int, through: int, most: int = PAGE_ROWS) -> list[Row]:
    """Return the next stored events' columns, of at least one event if there is one."""
    return reader.rows("event_page", after=after, through=through, most=most, budget=PAGE_BYTES)


def page(reader: Reader, *, after: int, through: int) -> list[SealedEvent]:
    """Return the next stored events, at least one if there is one."""
    return [SealedEvent(*row) for row in rows(reader, after=after, through=through)]


def events(reader: Reader, *, after: int, through: int) -> Iterator[SealedEvent]:
    """Yield stored events in order, read in pages."""
    while found := page(reader, after=after, through=through):
        yield from found
        after = found[-1].commit_ts


def events_of(reader: Reader, commits: Iterable[int]) -> Iterator[SealedEvent]:
    """Yield the stored events of these commits, one at a time."""
    for commit_ts in commits:
        row = reader.row("event_get", commit_ts=commit_ts)
        if row is None:
            raise Corruption(f"commit {commit_ts}, which the index names, is not in the log")
        yield SealedEvent(*row)
