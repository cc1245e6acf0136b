"""Reading events from the log in pages, and splitting them into operations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from memoranda.errors import Corruption
from memoranda.model import codec
from memoranda.model.event import Envelope, Head, SealedEvent
from memoranda.model.operations import AnyOperation, effective_operation
from memoranda.storage.port import Reader, Row

PAGE_ROWS = 256
"""Rows per page: enough to spread the cost of a query, few enough for a short snapshot."""
PAGE_BYTES = 1024 * 1024
"""Bytes of operations after which a page ends, whatever it has, so that memory stays bounded."""

Item = TypeVar("Item")
From = TypeVar("From")
To = TypeVar("To")


class Pages(Protocol[Item]):
    """A long result in pages; between two pages it holds no cursor, snapshot or lock."""

    def next_page(self) -> list[Item]:
        """Return the next items; an empty list at the end."""
        ...


Position: TypeAlias = list[Any]
"""Where pages go on, as plain JSON: the moment that they are as of, and the last key read. It may
have numbers of rows, which tell how many there are: show it to no caller."""


class ResumablePages(ABC, Generic[Item]):
    """Pages that another object of the same call can continue, in another process or much later.

    Between two pages all of their state is their position. Set it before the first page.
    """

    rows = PAGE_ROWS
    """Rows that are read for a page, at most."""

    def limit(self, rows: int) -> None:
        """Read smaller pages. What is read together, such as the facts of a subject, stays so."""
        self.rows = min(self.rows, rows)

    @property
    @abstractmethod
    def position(self) -> Position:
        """Where the next page begins."""

    @position.setter
    @abstractmethod
    def position(self, position: Position) -> None: ...

    @abstractmethod
    def next_page(self) -> list[Item]:
        """Return the next items; an empty list at the end."""


class MappedPages(ResumablePages[To], Generic[From, To]):
    """The pages of another result, with a function applied to each item."""

    def __init__(self, source: ResumablePages[From], change: Callable[[From], To]) -> None:
        self._source = source
        self._change = change

    def limit(self, rows: int) -> None:
        """Read smaller pages."""
        self._source.limit(rows)

    @property
    def position(self) -> Position:
        """Where the next page begins."""
        return self._source.position

    @position.setter
    def position(self, position: Position) -> None:
        self._source.position = position

    def next_page(self) -> list[To]:
        """Return the next items."""
        return [self._change(item) for item in self._source.next_page()]


def chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield a long list in parts that fit into one query."""
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


def rows(reader: Reader, *, after: int, through: int, limit: int = PAGE_ROWS) -> list[Row]:
    """Return the columns of the next events, at least one if there is one."""
    return reader.rows("event_page", after=after, through=through, limit=limit, budget=PAGE_BYTES)


def page(reader: Reader, *, after: int, through: int, limit: int = PAGE_ROWS) -> list[SealedEvent]:
    """Return the next stored events, at least one if there is one."""
    return [SealedEvent(*row) for row in rows(reader, after=after, through=through, limit=limit)]


def events(reader: Reader, *, after: int, through: int) -> Iterator[SealedEvent]:
    """Yield stored events in order, read in pages."""
    while page_events := page(reader, after=after, through=through):
        yield from page_events
        after = page_events[-1].commit_ts


def events_of(reader: Reader, commits: Iterable[int]) -> Iterator[SealedEvent]:
    """Yield the stored events of these commits, in ascending order, read in pages."""
    for chunk in chunks([*commits]):
        remaining = chunk
        while remaining:
            rows = _rows_of(reader, remaining)
            for commit_ts, row in zip_longest(remaining[: len(rows) or 1], rows):
                if row is None or row[0] != commit_ts:
                    raise Corruption(f"commit {commit_ts} is in the index and not in the log")
                yield SealedEvent(*row)
            remaining = remaining[len(rows) :]


def _rows_of(reader: Reader, commits: Sequence[int]) -> list[Row]:
    """Return the first of these events, at least one if there is one."""
    if len(commits) > 1:
        return reader.rows("event_list", commits=commits, budget=PAGE_BYTES)
    row = reader.row("event_get", commit_ts=commits[0])
    return [] if row is None else [row]


# Single operations: events are split without decoding them, and only requested ones are decoded.
#
# A reader of a few keys of a large transaction decodes only those. A reader that pages through all
# its keys splits it once.

_MAX_UNCACHED_OPERATIONS = 16
"""Operations up to which an event is not cached: splitting it again costs next to nothing."""
_MAX_CACHED_BYTES = 32 * 1024 * 1024
"""Bytes of cached events. The last two always stay, as a difference reads two commits at once."""


class EventParts(msgspec.Struct, frozen=True, gc=False):
    """An event whose operations are split and not decoded."""

    commit_ts: int
    committed_at: int
    envelope: Envelope
    operations: list[msgspec.Raw]
    size: int

    def stored(self, position: int) -> AnyOperation:
        """Return the operation at a position as the log has it, redacted or not."""
        return codec.decode_operation(self.operations[position])

    def effective(self, position: int) -> AnyOperation:
        """Return the effective operation at a position: the residue, if it was erased."""
        return effective_operation(self.stored(position))


class SplitEventCache:
    """Splits events, and caches large ones as long as nothing is erased.

    Within one snapshot the cache is valid. A reader of several snapshots calls `refresh` in each.
    """

    def __init__(self) -> None:
        self._events: dict[int, EventParts] = {}
        self._size = 0
        self._head = 0

    def refresh(self, reader: Reader) -> None:
        """Empty the cache if anything was erased since it was filled."""
        if self._events and reader.row("erased_since", after=self._head) is not None:
            self._events.clear()
            self._size = 0
        if not self._events:
            self._head = head_commit(reader)

    def of(self, reader: Reader, commit_ts: int) -> EventParts:
        """Return the event of a commit."""
        event = self._events.get(commit_ts)
        if event is None:
            event = _read(reader, commit_ts)
            if len(event.operations) > _MAX_UNCACHED_OPERATIONS:
                self._cache(event)
        return event

    def _cache(self, event: EventParts) -> None:
        self._events[event.commit_ts] = event
        self._size += event.size
        while self._size > _MAX_CACHED_BYTES and len(self._events) > 2:
            oldest = next(iter(self._events))
            self._size -= self._events.pop(oldest).size


def _read(reader: Reader, commit_ts: int) -> EventParts:
    row = reader.row("event_get", commit_ts=commit_ts)
    if row is None:
        raise Corruption(f"commit {commit_ts} is in the index and not in the log")
    _, committed_at, _, _, envelope, operations = row
    return EventParts(
        commit_ts,
        committed_at,
        codec.decode_envelope(envelope),
        codec.parts(operations),
        len(operations),
    )
