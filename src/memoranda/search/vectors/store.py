"""Stored vectors: their model, and how far they are complete.

Vectors are derived data beside the log: no hash covers them. Each document has at most one, as
float16, of length 1 or 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from memoranda.errors import InvalidInput
from memoranda.search.index.documents import DocumentInfo
from memoranda.search.index.partitions import Partition, partition_of
from memoranda.search.vectors.embedder import MAX_DIMENSION, Embedder
from memoranda.storage.port import Reader, Row, Writer

_META_NAME = "vectors"


class VectorState(msgspec.Struct, frozen=True, array_like=True):
    """The state of a store's vectors, as one row of `meta`."""

    model: str
    dimension: Annotated[int, msgspec.Meta(ge=1, le=MAX_DIMENSION)]
    generation: Annotated[int, msgspec.Meta(ge=0)] = 1
    """Incremented when all vectors are dropped, which invalidates every cache of them."""
    complete_through: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Every document up to this id has a vector."""
    fills: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Incremented when vectors are added, so that caches read the new ones."""

    def matches(self, embedder: Embedder, dimension: int = 0) -> bool:
        """Say whether an embedder's vectors can be compared with the stored ones."""
        numbers = dimension or embedder.dimension
        return self.model == embedder.name and numbers in (0, self.dimension)


def read(reader: Reader) -> VectorState | None:
    """Return the state; None: no model was used yet, or the row cannot be decoded."""
    row = reader.row("meta_get", name=_META_NAME)
    if row is None:
        return None
    try:
        return msgspec.json.decode(row[0], type=VectorState)
    except msgspec.DecodeError:  # the vectors are of an unknown model, and are made again
        return None


def are_orphaned(reader: Reader, state: VectorState | None) -> bool:
    """Say whether there are vectors of an unknown model."""
    return state is None and reader.row("vector_any") is not None


def check(state: VectorState | None, embedder: Embedder, dimension: int = 0) -> None:
    """Refuse to mix the vectors of two models."""
    if state is not None and not state.matches(embedder, dimension):
        raise InvalidInput("embedder", mismatch_message(state, embedder, dimension))


def mismatch_message(state: VectorState, embedder: Embedder, dimension: int = 0) -> str:
    """Describe that the stored vectors are of another model, and the remedy."""
    numbers = dimension or embedder.dimension
    size = f" ({numbers} dimensions)" if numbers else ""
    return (
        f"the store's vectors are of model {state.model!r} ({state.dimension} dimensions) and not "
        f"of {embedder.name!r}{size}: use that model as the embedder (--embedder, "
        "MEMORANDA_EMBEDDER), or replace its vectors with `memoranda reindex` or store.reindex()"
    )


def missing(reader: Reader, *, after: int, limit: int) -> list[DocumentInfo]:
    """Return the first documents after an id that have no vector."""
    rows = reader.rows("vectors_missing", after=after, limit=limit)
    partitions = {row[0]: partition_of(row) for row in rows}
    return [document_of(partitions[row[0]], row[8:]) for row in rows]


def is_complete(reader: Reader, state: VectorState | None) -> bool:
    """Say whether every document has a vector."""
    if are_orphaned(reader, state):
        return False
    after = 0 if state is None else state.complete_through
    return reader.row("vectors_first_missing", after=after) is None


def count_vectors(reader: Reader, state: VectorState | None) -> tuple[int, int]:
    """Return the number of documents with a vector, and without one."""
    after = 0 if state is None else state.complete_through
    without, documents = reader.row("vectors_counted", after=after) or (0, 0)
    return documents - without, without


def add(writer: Writer, state: VectorState, vectors: Iterable[tuple[int, bytes]]) -> None:
    """Store vectors of documents that still exist, and update the state."""
    for document_id, content in vectors:
        writer.put("vector_add", content, document_id)
    first_missing = writer.row("vectors_first_missing", after=state.complete_through)
    last = writer.row("document_last")
    end = state.complete_through if last is None or last[0] is None else last[0]
    complete_through = end if first_missing is None else first_missing[0] - 1
    _write(writer, state, max(state.complete_through, complete_through))


def begin_anew(writer: Writer, embedder: Embedder, dimension: int) -> VectorState:
    """Drop all vectors, and begin with those of a model; return the new state."""
    before = writer.row("vectors_generation", name=_META_NAME)
    writer.run("vector_clear")
    state = VectorState(embedder.name, dimension, 1 if before is None else before[0] + 1)
    _write(writer, state, complete_through=0)
    return state


def _write(writer: Writer, state: VectorState, complete_through: int) -> None:
    after = msgspec.structs.replace(state, complete_through=complete_through, fills=state.fills + 1)
    writer.run("meta_set", name=_META_NAME, value=msgspec.json.encode(after).decode())


def document_of(partition: Partition, row: Row) -> DocumentInfo:
    """Return the document of a row that begins with its id."""
    document_id, source, start, end, from_commit, to_commit = row
    return DocumentInfo(document_id, partition, source, start, end, from_commit, to_commit)
