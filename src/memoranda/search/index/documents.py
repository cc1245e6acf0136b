"""Passages: what can be found, each on one shelf, and the text it is found by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from memoranda.search.shelves import Shelf, Spot
from memoranda.storage.port import Reader, Row

if TYPE_CHECKING:
    from memoranda.search.cutting import Unit
    from memoranda.search.transcripts import Cuttings

Key = tuple[str, str, int, int]
"""What makes a passage that passage: kind, source, where it begins, and since when it is known."""


class Words(msgspec.Struct, frozen=True):
    """The text of a passage as it was written, and what stands around it in a transcript."""

    own: str
    before: str = ""
    after: str = ""


class Passage(msgspec.Struct, frozen=True):
    """Something that can be found, from one commit until another."""

    id: int | None
    """None: it is not in the index yet. A number is never used again, nor on another shelf."""
    shelf: Shelf
    source: str
    """The id of a memory, an assertion or a transcript."""
    first: int
    """Where it begins in its transcript, in bytes; 0 if it is not of one."""
    beyond: int
    since: int
    until: int

    @property
    def kind(self) -> str:
        """What it is a passage of: a memory, a fact or a transcript."""
        return self.shelf.kind

    @property
    def key(self) -> Key:
        """What makes it this passage, whether it is in the index or not."""
        return (self.shelf.kind, self.source, self.first, self.since)

    def known_at(self, commit: int) -> bool:
        """Say whether it was so at a commit."""
        return self.since <= commit < self.until


class Derived(msgspec.Struct, frozen=True):
    """A passage as it follows from what the views say; its text is read when it is asked for."""

    spot: Spot
    source: str
    first: int
    beyond: int
    since: int
    until: int
    words: Callable[[Cuttings], Words]
    """Reads its text; so that is done in whatever snapshot the reader has by then."""
    unit: Unit | None = None
    """The unit of a transcript it is, if it is one."""

    @property
    def key(self) -> Key:
        """What makes it this passage."""
        return (self.spot[2], self.source, self.first, self.since)


class Indexed(msgspec.Struct, frozen=True):
    """A passage as the index has it."""

    id: int
    shelf: int
    spot: Spot
    source: str
    first: int
    beyond: int
    since: int
    until: int
    length: int

    @property
    def key(self) -> Key:
        """What makes it this passage."""
        return (self.spot[2], self.source, self.first, self.since)

    def is_as(self, derived: Derived) -> bool:
        """Say whether the index has it as it is."""
        return (self.spot, self.beyond, self.until) == (
            derived.spot,
            derived.beyond,
            derived.until,
        )


def indexed(reader: Reader, sources: Iterable[str]) -> list[Indexed]:
    """Return what the index has of these sources."""
    listed = msgspec.json.encode(list(sources)).decode()
    return [_indexed(row) for row in reader.rows("passages_of_sources", sources=listed)]


def _indexed(row: Row) -> Indexed:
    number, shelf, namespace, owner, kind, past, *rest = row
    return Indexed(number, shelf, (namespace, owner, kind, bool(past)), *rest)
