"""Write the tables of the index: add and remove documents, in short transactions.

Documents are tokenized before the write lock is taken. Under the lock only the id of the partition,
which every token begins with, is put into the tokens.

The stamp is a counter in `meta` that changes with every transaction that fills, erases or rebuilds
the index. A plan is derived without a lock and remembers the stamp of its snapshot; under the write
lock the stamps are compared, and a plan with another one is stale. So a document that was erased
after its plan was made is never written back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from memoranda.search.index.documents import DerivedDocument, DocumentText, IndexedDocument
from memoranda.search.index.partitions import PartitionKey
from memoranda.search.text.stemmer import ENGLISH
from memoranda.search.text.tokenizer import YieldCpu, indexed_tokens, keep_cpu
from memoranda.storage.port import Reader, Row, Writer

_PLACEHOLDER = "\0"
"""Stands for the partition's id in prepared tokens; no token contains it."""
_ROW_COST = 256
"""Cost of adding a document's row, in bytes of tokens that could be written instead."""
_REMOVED_TOKEN_COST = 256
"""Cost of removing a token without a trace, in bytes of tokens that could be written instead."""


class Stale(Exception):
    """The index or its sources changed since the plan was made; make it again."""


class IndexEntry(msgspec.Struct, frozen=True):
    """A tokenized document that is ready to be written."""

    derived: DerivedDocument
    columns: tuple[str, ...]
    length: int

    @classmethod
    def of(
        cls,
        derived: DerivedDocument,
        text: DocumentText,
        yield_cpu: YieldCpu = keep_cpu,
        language: str = ENGLISH,
    ) -> IndexEntry:
        """Tokenize a document."""
        columns, length = _tokenize(text, yield_cpu, language)
        return cls(derived, columns, length)

    def in_partition(self, partition: int) -> tuple[str, ...]:
        """Return the columns with the partition's id in each token."""
        return _in_partition(partition, self.columns)


class IndexChange(NamedTuple):
    """A document to remove, one to add, or a replacement, which keeps its vector."""

    outdated: IndexedDocument | None
    entry: IndexEntry | None

    @property
    def cost(self) -> int:
        """Estimated cost, in bytes of tokens."""
        cost = _ROW_COST
        if self.outdated is not None:
            cost += _ROW_COST + _REMOVED_TOKEN_COST * self.outdated.length
        if self.entry is not None:
            cost += sum(map(len, self.entry.columns))
        return cost


class RestemmedDocument(NamedTuple):
    """The tokens of a document by another stemmer; its id and partition stay."""

    id: int
    partition: int
    columns: tuple[str, ...]
    old_length: int
    length: int

    @property
    def cost(self) -> int:
        """Estimated cost, in bytes of tokens."""
        return _ROW_COST + _REMOVED_TOKEN_COST * self.old_length + sum(map(len, self.columns))


def columns_of(
    partition: int, text: DocumentText, language: str, yield_cpu: YieldCpu = keep_cpu
) -> tuple[tuple[str, ...], int]:
    """Return the columns of a document in a partition, and the number of its tokens."""
    columns, length = _tokenize(text, yield_cpu, language)
    return _in_partition(partition, columns), length


def _tokenize(
    text: DocumentText, yield_cpu: YieldCpu, language: str
) -> tuple[tuple[str, ...], int]:
    texts = (text.own, text.before, text.after)
    token_lists = [indexed_tokens(part, yield_cpu, language) for part in texts]
    columns = tuple(
        " ".join([f"{_PLACEHOLDER}{token}" for token in tokens]) for tokens in token_lists
    )
    return columns, sum(map(len, token_lists))


def _in_partition(partition: int, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(column.replace(_PLACEHOLDER, f"{partition}.") for column in columns)


def read_stamp(reader: Reader) -> str:
    """Return the stamp of the index: equal stamps mean that nothing was changed in between."""
    row = reader.row("meta_get", name="index")
    return "" if row is None else str(row[0])


def renew_stamp(writer: Writer) -> str:
    """Change the stamp, and return the new one; every plan made before becomes stale."""
    writer.run("index_stamp_renew")
    return read_stamp(writer)


class IndexWriter:
    """Changes the tables of the index; the totals of partitions are written at the end."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._partitions: dict[PartitionKey, int] = {}
        self._deltas: dict[int, list[int]] = {}
        """Changes of size, length and removals, by partition."""

    def apply(self, changes: Sequence[IndexChange]) -> None:
        """Remove and add documents; a replaced document passes its vector on."""
        for change in changes:  # all removals first: FTS5 is faster with rows in order
            if change.outdated is not None:
                self._remove(change.outdated)
        rows: list[Row] = []
        for outdated, entry in changes:
            if entry is not None:
                document_id, columns = self._add(entry)
                rows.append((document_id, *columns))
                if outdated is not None:
                    self._writer.put("vector_move", document_id, outdated.id)
            elif outdated is not None:
                self._writer.put("vector_remove", outdated.id)
        # Last: FTS5 flushes what it has gathered before every statement that may be rolled back on
        # its own, such as one that returns rows.
        self._writer.put_all("fulltext_add", rows)
        self._write_totals()

    def replace_tokens(self, documents: Sequence[RestemmedDocument]) -> None:
        """Replace the tokens of documents."""
        for document in documents:
            self._writer.put("fulltext_remove", document.id)
            self._writer.put("document_set_length", document.length, document.id)
            self._count(document.partition, 0, document.length - document.old_length, 0)
        rows = [(document.id, *document.columns) for document in documents]
        self._writer.put_all("fulltext_add", rows)
        self._write_totals()

    def erase(self, documents: Sequence[IndexedDocument]) -> None:
        """Remove erased documents, and partitions that are empty after that.

        Overwriting each token in its page would hold the write lock for long. So tokens are marked
        as deleted, which hides them, and the purge writes the full-text index again.
        """
        if documents:
            self._writer.put("fulltext_mark_deleted")
        for document in documents:
            self._remove(document, erasures=1)
            self._writer.put("vector_remove", document.id)
        if documents:
            self._writer.put("fulltext_flush")
            self._writer.put("fulltext_overwrite_deleted")
        self._write_totals()
        self._writer.run("partition_prune")
        renew_stamp(self._writer)  # so that no plan writes the erased text back

    def _remove(self, document: IndexedDocument, *, erasures: int = 0) -> None:
        self._writer.put("fulltext_remove", document.id)
        self._writer.put("document_remove", document.id)
        self._count(document.partition, -1, -document.length, erasures)

    def _add(self, entry: IndexEntry) -> tuple[int, tuple[str, ...]]:
        """Add a document's row; return its id and its tokens, which are not written yet."""
        derived = entry.derived
        partition = self._partition(derived.partition_key)
        document_id = self._writer.add(
            "document_add",
            partition,
            derived.source,
            derived.start,
            derived.end,
            derived.from_commit,
            derived.to_commit,
            entry.length,
        )
        self._count(partition, 1, entry.length, 0)
        return document_id, entry.in_partition(partition)

    def _partition(self, key: PartitionKey) -> int:
        partition = self._partitions.get(key)
        if partition is None:
            namespace, owner, kind, past = key
            values = (namespace, owner, kind, int(past))
            row = self._writer.find("partition_find", *values)
            partition = row[0] if row else self._writer.add("partition_add", *values)
            self._partitions[key] = partition
        return partition

    def _count(self, partition: int, size: int, length: int, removals: int) -> None:
        deltas = self._deltas.setdefault(partition, [0, 0, 0])
        deltas[0] += size
        deltas[1] += length
        deltas[2] += removals

    def _write_totals(self) -> None:
        for partition, (size, length, removals) in self._deltas.items():
            self._writer.put("partition_update_totals", size, length, removals, partition)
        self._deltas.clear()
