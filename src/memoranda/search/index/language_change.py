"""Restem an index after a change of its language, in short transactions.

Documents are read and tokenized without a lock. A document keeps its id and so its vector. The
progress is written with the tokens, so a process that dies in between loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from memoranda.search.index.documents import DocumentInfo, load_texts
from memoranda.search.index.partitions import partition_of
from memoranda.search.index.tables import (
    IndexWriter,
    RestemmedDocument,
    Stale,
    columns_of,
    read_stamp,
    renew_stamp,
)
from memoranda.search.text import language as index_language
from memoranda.search.text.language import IndexLanguage
from memoranda.search.text.tokenizer import YieldCpu
from memoranda.search.text.transcript_chunks import ChunkCache
from memoranda.search.vectors.store import document_of
from memoranda.storage.port import Engine, Reader, Writer

_BATCH_DOCUMENTS = 64
"""Documents that are read in one short snapshot."""
_WRITE_COST = 128 * 1024
"""Cost of one transaction, in bytes of tokens: about ten milliseconds, a dozen short texts.

It is not adapted to the measured time: where a sync alone takes longer than the target, that would
end at one document a sync.
"""

Item = tuple[int, RestemmedDocument | None]
"""A document's id, and its new tokens if they differ."""


class Batch(NamedTuple):
    """Some documents in the order of their ids."""

    stamp: str
    language: IndexLanguage
    items: list[Item]

    def slices(self) -> Iterator[list[Item]]:
        """Yield the items in slices, one for each transaction."""
        items: list[Item] = []
        cost = 0
        for document_id, restemmed in self.items:
            items.append((document_id, restemmed))
            cost += restemmed.cost if restemmed is not None else 0
            if cost >= _WRITE_COST:
                yield items
                items, cost = [], 0
        if items:
            yield items


def prepare(engine: Engine, cache: ChunkCache, yield_cpu: YieldCpu) -> Batch | None:
    """Tokenize the next documents in their languages; None: all are restemmed."""
    with engine.background_reading, engine.snapshot() as reader:
        language = index_language.read(reader)
        if not language.is_restemming:
            return None
        rows = reader.rows(
            "documents_between",
            after=language.restemmed_through,
            end=language.last_old_document,
            limit=_BATCH_DOCUMENTS,
        )
        lengths = {row[8]: row[-1] for row in rows}
        documents = [document_of(partition_of(row), row[8:-1]) for row in rows]
        texts = load_texts(reader, documents, cache)
        stored_columns = _stored_columns(reader, [*lengths])
        stamp = read_stamp(reader)
    items: list[Item] = []
    for document in documents:
        document_id, partition = _ids(document)
        restemmed = None
        text = texts.get(document.key)  # None: it is outdated, and removed when its commit is
        if text is not None:
            stemmer = language.of(document.partition.namespace)
            columns, length = columns_of(partition, text, stemmer, yield_cpu)
            if columns != stored_columns.get(document_id):
                restemmed = RestemmedDocument(
                    document_id, partition, columns, lengths[document_id], length
                )
        items.append((document_id, restemmed))
        yield_cpu()
    return Batch(stamp, language, items)


def _ids(document: DocumentInfo) -> tuple[int, int]:
    assert document.id is not None, "the document is indexed"
    assert document.partition.id is not None, "the partition of an indexed document has an id"
    return document.id, document.partition.id


def _stored_columns(reader: Reader, ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    return {row[0]: tuple(row[1:]) for row in reader.rows("fulltext_by_id", ids=list(ids))}


def write_slice(writer: Writer, batch: Batch, items: Sequence[Item]) -> Batch:
    """Write a slice of a batch; return the batch with the new stamp and progress.

    Raises `Stale` if the index or its language changed since the batch was prepared.
    """
    if read_stamp(writer) != batch.stamp or index_language.read(writer) != batch.language:
        raise Stale
    documents = [restemmed for _, restemmed in items if restemmed is not None]
    IndexWriter(writer).replace_tokens(documents)
    language = msgspec.structs.replace(batch.language, restemmed_through=items[-1][0])
    index_language.write(writer, language)
    return batch._replace(stamp=renew_stamp(writer), language=language)


def finish(writer: Writer, batch: Batch) -> None:
    """Note that all documents are restemmed, unless the language was changed again."""
    if index_language.read(writer) == batch.language:
        index_language.write(writer, batch.language.restemmed())
