"""Partitions of the index: a search reads only those that its viewer may see.

A partition holds the documents of one namespace and one kind, either shared or private to one
agent, and either current or past. Every token in the index begins with its partition's id.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from memoranda.storage.port import Reader, Row

MEMORY = "memory"
FACT = "fact"
PASSAGE = "passage"
KINDS = (MEMORY, FACT, PASSAGE)
EVERYBODY = ""
"""The owner of documents that everybody in the namespace may see."""

PartitionKey = tuple[str, str, str, bool]
"""Identifies a partition: namespace, owner, kind, and whether its documents are past."""


class Partition(msgspec.Struct, frozen=True):
    """A partition as it was read."""

    id: int | None
    """None: no document was ever added to it. An id is never reused."""
    namespace: str
    owner: str
    kind: str
    past: bool
    size: int = 0
    """Number of documents."""
    length: int = 0
    """Number of tokens of all documents."""
    removals: int = 0
    """Incremented when a document is erased, which invalidates caches of the partition."""

    @property
    def partition_key(self) -> PartitionKey:
        """Its identity."""
        return (self.namespace, self.owner, self.kind, self.past)


class Visibility(msgspec.Struct, frozen=True):
    """The partitions that a search may read."""

    namespaces: frozenset[str] | None
    """None: all but those of the engine itself, such as inboxes."""
    viewer: str
    kinds: frozenset[str]
    past: bool
    """Whether partitions of past documents are included."""

    def includes(self, key: PartitionKey) -> bool:
        """Say whether a partition may be read."""
        namespace, owner, kind, past = key
        if kind not in self.kinds or (past and not self.past):
            return False
        if owner not in (EVERYBODY, self.viewer):
            return False
        if self.namespaces is None:
            return not any(part.startswith("_") for part in namespace.split("/"))
        return namespace in self.namespaces


def visibility_of(
    *, namespaces: Sequence[str] | None, viewer: str, kinds: Collection[str], past: bool
) -> Visibility:
    """Return the visibility of a search."""
    names = None if namespaces is None else frozenset(namespaces)
    return Visibility(names, viewer, frozenset(kinds), past)


def visible_partitions(reader: Reader, visibility: Visibility) -> Sequence[Partition]:
    """Return the non-empty partitions that a search may read."""
    return reader.cached(_read_visible, visibility)


def _read_visible(reader: Reader, visibility: Visibility) -> tuple[Partition, ...]:
    if visibility.namespaces is None:
        rows = reader.rows("partitions_visible", viewer=visibility.viewer)
    else:
        namespaces = sorted(visibility.namespaces)
        rows = reader.rows(
            "partitions_of_namespaces", namespaces=namespaces, viewer=visibility.viewer
        )
    partitions = map(partition_of, rows)
    return tuple(item for item in partitions if visibility.includes(item.partition_key))


def totals(reader: Reader) -> tuple[int, int]:
    """Return the number of documents in all partitions, and of their tokens."""
    return reader.cached(_read_totals)


def fulltext_totals(reader: Reader) -> tuple[int, int]:
    """Return the number of documents in the full-text index, and of their tokens."""
    return totals(reader) if reader.coverage is None else reader.cached(_read_fulltext_totals)


def _read_fulltext_totals(reader: Reader) -> tuple[int, int]:
    size, length = reader.row("fulltext_totals") or (0, 0)
    return size, length


def _read_totals(reader: Reader) -> tuple[int, int]:
    size, length = reader.row("partition_totals") or (0, 0)
    return size, length


def namespaces_below(reader: Reader, namespace: str) -> Sequence[str]:
    """Return a namespace and its descendants, as far as they were ever written to."""
    return reader.cached(_read_namespaces_below, namespace)


def _read_namespaces_below(reader: Reader, namespace: str) -> tuple[str, ...]:
    rows = reader.rows(
        "namespaces_below", namespace=namespace, start=f"{namespace}/", end=f"{namespace}0"
    )
    return tuple(name for (name,) in rows)


def partition_of(row: Row) -> Partition:
    """Return the partition that a row begins with."""
    partition_id, namespace, owner, kind, past, *counts = row[:8]
    return Partition(partition_id, namespace, owner, kind, bool(past), *counts)
