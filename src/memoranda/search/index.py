"""The index's tables: passages put in and taken out, in short writes.

What a passage is found by is taken apart before the write lock is taken; only the number of its
shelf, which every word begins with, is put in under it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from memoranda.search.folding import Breathe, go_on
from memoranda.search.passages import Derived, Indexed, Words
from memoranda.search.shelves import Spot
from memoranda.search.words import indexed_tokens
from memoranda.storage.port import Reader, Row, Writer

_MARK = "\0"
"""Stands for the number of the shelf; no text has it."""
_ROW = 256
"""What adding a passage costs beside its words, in bytes of words."""
_REMOVED_TOKEN = 256
"""What taking a token out costs, so that nothing of it is left: as much as so many bytes put in."""


class Entry(msgspec.Struct, frozen=True):
    """A passage that is ready to be put in: its tokens, each behind a mark."""

    derived: Derived
    columns: tuple[str, ...]
    length: int

    @classmethod
    def of(cls, derived: Derived, words: Words, breathe: Breathe = go_on) -> Entry:
        """Take the words of a passage apart."""
        columns, length = _marked(words, breathe)
        return cls(derived, columns, length)

    def on(self, shelf: int) -> tuple[str, ...]:
        """Return the columns as they stand on a shelf."""
        return _on(shelf, self.columns)


class Step(NamedTuple):
    """One change: a passage that goes, one that comes, or one that is replaced and stays itself."""

    outdated: Indexed | None
    entry: Entry | None

    @property
    def size(self) -> int:
        """About what it costs, as the bytes of words that could be put in instead."""
        size = _ROW
        if self.outdated is not None:
            size += _ROW + _REMOVED_TOKEN * self.outdated.length
        if self.entry is not None:
            size += sum(map(len, self.entry.columns))
        return size


def columns_of(shelf: int, words: Words) -> tuple[tuple[str, ...], int]:
    """Return the columns of a passage on a shelf, and how many tokens they have."""
    columns, length = _marked(words, go_on)
    return _on(shelf, columns), length


def _marked(words: Words, breathe: Breathe) -> tuple[tuple[str, ...], int]:
    parts = [indexed_tokens(part, breathe) for part in (words.own, words.before, words.after)]
    columns = tuple(" ".join([f"{_MARK}{token}" for token in part]) for part in parts)
    return columns, sum(map(len, parts))


def _on(shelf: int, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(column.replace(_MARK, f"{shelf}.") for column in columns)


def stamp(reader: Reader) -> str:
    """Return what changes whenever the index or what is derived for it may not be as it was.

    Filling, erasing and rebuilding give a new one, in the transaction in which they happen.
    """
    row = reader.row("meta_get", name="index")
    return "" if row is None else str(row[0])


def new_stamp(writer: Writer) -> str:
    """Give a new stamp, and return it."""
    writer.run("index_restamp")
    return stamp(writer)


class Index:
    """Changes the index's tables; every shelf's figures are written when all is done."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._shelves: dict[Spot, int] = {}
        self._changes: dict[int, list[int]] = {}

    def change(self, steps: Sequence[Step]) -> None:
        """Take passages out, and put others in; one that only moves takes its vector along."""
        for step in steps:  # all of them first: the index of words is quicker in order
            if step.outdated is not None:
                self._take_out(step.outdated)
        words: list[Row] = []
        for outdated, entry in steps:
            if entry is not None:
                number, columns = self._put(entry)
                words.append((number, *columns))
                if outdated is not None:
                    self._writer.put("vector_move", number, outdated.id)
            elif outdated is not None:
                self._writer.put("vector_remove", outdated.id)
        # behind all the rest: a statement that may have to be undone on its own, as one is that
        # returns something, makes the index of words write out what it has gathered so far
        self._writer.put_all("words_add", words)
        self._settle()

    def erase(self, passages: Sequence[Indexed]) -> None:
        """Take out what was erased, and shelves on which nothing is left."""
        for each in passages:
            self._take_out(each, erased=1)
            self._writer.put("vector_remove", each.id)
        self._settle()
        self._writer.run("shelf_prune")
        new_stamp(self._writer)  # what others have derived from it is not to be put in any more

    def _take_out(self, passage: Indexed, *, erased: int = 0) -> None:
        self._writer.put("words_remove", passage.id)
        self._writer.put("passage_remove", passage.id)
        self._count(passage.shelf, -1, -passage.length, erased)

    def _put(self, entry: Entry) -> tuple[int, tuple[str, ...]]:
        """Add a passage, and return its number and its words, which are not in the index yet."""
        derived = entry.derived
        shelf = self._shelf(derived.spot)
        number = self._writer.add(
            "passage_add",
            shelf,
            derived.source,
            derived.first,
            derived.beyond,
            derived.since,
            derived.until,
            entry.length,
        )
        self._count(shelf, 1, entry.length, 0)
        return number, entry.on(shelf)

    def _shelf(self, spot: Spot) -> int:
        known = self._shelves.get(spot)
        if known is None:
            namespace, owner, kind, past = spot
            values = (namespace, owner, kind, int(past))
            row = self._writer.find("shelf_find", *values)
            known = self._shelves[spot] = row[0] if row else self._writer.add("shelf_add", *values)
        return known

    def _count(self, shelf: int, size: int, length: int, removals: int) -> None:
        counted = self._changes.setdefault(shelf, [0, 0, 0])
        counted[0] += size
        counted[1] += length
        counted[2] += removals

    def _settle(self) -> None:
        for shelf, (size, length, removals) in self._changes.items():
            self._writer.put("shelf_change", size, length, removals, shelf)
        self._changes.clear()
