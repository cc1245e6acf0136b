"""Vectors remembered in this process, by shelf, as far as they are still good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING

import msgspec

from memoranda.errors import Corruption
from memoranda.search.embedding import needed
from memoranda.search.kept import Kept
from memoranda.search.shelves import Shelf
from memoranda.storage.port import Reader

if TYPE_CHECKING:
    from memoranda.search.matrices import Floats, ShelfVectors

_PAGE = 20_000
_MANY_GONE = 1_000
"""With more on a shelf that are no more, and more than a quarter of all, it is read again."""


class _Known(msgspec.Struct):
    """What is remembered of a shelf, and as of when."""

    vectors: ShelfVectors
    generation: int
    removals: int
    settled: int = 0
    """Up to this number, nothing can be added any more."""
    fills: int = 0
    last: int = 0

    def is_good(self, shelf: Shelf, kept: Kept) -> bool:
        """Say whether it can be added to; what an older snapshot does not know yet is no harm."""
        many = self.vectors.gone > max(_MANY_GONE, len(self.vectors) // 4)
        return self.generation >= kept.generation and self.removals >= shelf.removals and not many


class Looking:
    """A look at some shelves in one snapshot."""

    def __init__(self, reader: Reader, dimension: int) -> None:
        self._reader = reader
        self._dimension = dimension
        self._shelves: list[tuple[ShelfVectors, int]] = []
        self._of: dict[int, tuple[ShelfVectors, int]] = {}
        """Where a passage that was named came from."""

    def add(self, vectors: ShelfVectors, last: int) -> None:
        """Look at a shelf's vectors too; `last` is the last passage there was on it."""
        self._shelves.append((vectors, last))

    def best(self, sought: Floats, most: int, known: int | None) -> list[tuple[float, int]]:
        """Return the nearest passages with their scores, best first."""
        self._of = {}
        return nlargest(most, self._scored(sought, most, known))

    def _scored(self, sought: Floats, most: int, known: int | None) -> Iterator[tuple[float, int]]:
        from memoranda.search.matrices import CANDIDATES

        for vectors, last in self._shelves:
            wanted = max(most, CANDIDATES) if vectors.approximate else most
            numbers, scores = vectors.best(sought, wanted, known)
            found = list(zip(scores.tolist(), numbers.tolist(), strict=True))
            if vectors.approximate:
                ids = [number for _, number in found]
                found = exactly(self._reader, ids, sought, self._dimension)
            for score, number in found:
                if score > 0:
                    self._of[number] = (vectors, last)
                    yield score, number

    def leave_out(self, numbers: Iterable[int]) -> bool:
        """Name passages no more that are gone; say whether there were any."""
        gone = False
        for number in numbers:
            vectors, last = self._of[number]
            if number <= last:  # else it is only newer than this snapshot
                vectors.leave_out(number)
                gone = True
        return gone


class Remembered:
    """All that is remembered."""

    def __init__(self) -> None:
        self._shelves: dict[int, _Known] = {}
        self._last_erasure = 0

    def drop(self) -> None:
        """Remember nothing."""
        self._shelves.clear()

    def drop_erased(self, reader: Reader) -> bool:
        """Drop what is remembered of shelves on which something was erased, or that are gone.

        Return whether anything was erased anywhere since this was last asked.
        """
        last = (reader.row("erasure_last") or (None,))[0] or 0
        if last <= self._last_erasure:
            return False
        self._last_erasure = last
        listed = msgspec.json.encode([*self._shelves]).decode()
        there: dict[int, int] = dict(reader.rows("shelf_removals", ids=listed))
        for number in [*self._shelves]:
            if there.get(number, -1) != self._shelves[number].removals:
                del self._shelves[number]
        return True

    def looking(self, reader: Reader, shelves: Sequence[Shelf], kept: Kept) -> Looking:
        """Return a look at shelves, with all vectors there are in the reader's snapshot."""
        needed("numpy", "vectors")
        looking = Looking(reader, kept.dimension)
        listed = msgspec.json.encode([shelf.id for shelf in shelves if shelf.id]).decode()
        last: dict[int, int | None] = dict(reader.rows("shelf_lasts", ids=listed))
        for shelf in shelves:
            newest = last.get(shelf.id or 0)
            if shelf.id is not None and newest is not None:
                known = self._known(reader, shelf.id, shelf, kept, newest)
                if known.generation == kept.generation:
                    looking.add(known.vectors, newest)
        return looking

    def _known(self, reader: Reader, number: int, shelf: Shelf, kept: Kept, last: int) -> _Known:
        from memoranda.search.matrices import ShelfVectors

        known = self._shelves.get(number)
        if known is None or not known.is_good(shelf, kept):
            vectors = ShelfVectors(kept.dimension)
            known = _Known(vectors, kept.generation, shelf.removals)
        if kept.fills > known.fills or last > known.last:
            _add(reader, number, known, kept.dimension)
            known.fills, known.last = kept.fills, last
            known.settled = max(known.settled, kept.upto)
        self._shelves[number] = known
        return known


def _add(reader: Reader, shelf: int, known: _Known, dimension: int) -> None:
    """Read the vectors of a shelf that are not remembered yet."""
    have = known.vectors.beyond(known.settled)
    after: int | None = known.settled
    while after is not None:
        rows = reader.rows("vectors_of_shelf", shelf=shelf, after=after, most=_PAGE)
        new = [row for row in rows if row[0] not in have]
        known.vectors.add([row[:3] for row in new], [_checked(row[3], dimension) for row in new])
        after = rows[-1][0] if len(rows) == _PAGE else None


def exactly(
    reader: Reader, numbers: Sequence[int], sought: Floats, dimension: int
) -> list[tuple[float, int]]:
    """Return passages with their scores by the vectors that are kept."""
    import numpy as np

    listed = msgspec.json.encode(sorted(numbers)).decode()  # in order: neighbours share pages
    rows = reader.rows("vectors_by_id", ids=listed)
    stored = b"".join(_checked(content, dimension) for _, content in rows)
    vectors = np.frombuffer(stored, "<f2").astype(np.float32).reshape(-1, dimension)
    scores = vectors @ sought
    return [(score, row[0]) for score, row in zip(scores.tolist(), rows, strict=True)]


def _checked(content: bytes, dimension: int) -> bytes:
    if len(content) != 2 * dimension:
        raise Corruption(
            f"a vector has {len(content)} bytes, not {2 * dimension}: "
            "`memoranda reindex` after a `memoranda rebuild` makes all of them anew"
        )
    return content
