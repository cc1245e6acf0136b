"""What the store keeps of vectors: the model they are of, and how far they go.

Vectors are derived data beside the log. They are kept as float16, of length 1 or 0, one a passage.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from memoranda.errors import InvalidInput
from memoranda.search.embedding import MOST_DIMENSION, Embedder
from memoranda.search.passages import Passage
from memoranda.search.shelves import Shelf
from memoranda.storage.port import Reader, Row, Writer

_ROW = "vectors"


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """Which vectors a store has."""

    model: str
    dimension: Annotated[int, msgspec.Meta(ge=1, le=MOST_DIMENSION)]
    generation: Annotated[int, msgspec.Meta(ge=0)] = 1
    """Raised when all of them are dropped."""
    upto: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Every passage up to this number has a vector."""
    fills: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Raised when some are added."""

    def are_of(self, embedder: Embedder, dimension: int = 0) -> bool:
        """Say whether an embedder's vectors, of so many numbers, can be compared with these."""
        known = dimension or embedder.dimension
        return self.model == embedder.name and known in (0, self.dimension)


def read(reader: Reader) -> Kept | None:
    """Return which vectors a store has; None: no model was ever used, or nobody knows which."""
    row = reader.row("meta_get", name=_ROW)
    if row is None:
        return None
    try:
        return msgspec.json.decode(row[0], type=Kept)
    except msgspec.DecodeError:  # what there is belongs to nobody, and is made anew
        return None


def are_nobodys(reader: Reader, kept: Kept | None) -> bool:
    """Say whether there are vectors of which nobody knows what they are of."""
    return kept is None and reader.row("vector_any") is not None


def check(kept: Kept | None, embedder: Embedder, dimension: int = 0) -> None:
    """Refuse to mix the vectors of two models."""
    if kept is not None and not kept.are_of(embedder, dimension):
        raise InvalidInput("embedder", other_model(kept, embedder, dimension))


def other_model(kept: Kept, embedder: Embedder, dimension: int = 0) -> str:
    """Say that vectors are of another model, and what to do."""
    numbers = dimension or embedder.dimension
    told = f" ({numbers} numbers)" if numbers else ""
    return (
        f"the store's vectors are of model {kept.model!r} ({kept.dimension} numbers) and not of "
        f"{embedder.name!r}{told}: name that one as the embedder (--embedder, MEMORANDA_EMBEDDER), "
        "or let `memoranda reindex`, or store.reindex(), drop its vectors and make them anew"
    )


def missing(reader: Reader, *, after: int, most: int) -> list[Passage]:
    """Return the first passages behind a number that have no vector."""
    rows = reader.rows("vectors_missing", after=after, most=most)
    shelves = {row[0]: _shelf_of(row) for row in rows}
    return [passage_of(shelves[row[0]], row[8:]) for row in rows]


def _shelf_of(row: Row) -> Shelf:
    number, namespace, owner, kind, past, *figures = row[:8]
    return Shelf(number, namespace, owner, kind, bool(past), *figures)


def is_complete(reader: Reader, kept: Kept | None) -> bool:
    """Say whether every passage has a vector."""
    if are_nobodys(reader, kept):
        return False
    after = 0 if kept is None else kept.upto
    return reader.row("vectors_first_missing", after=after) is None


def counted(reader: Reader, kept: Kept | None) -> tuple[int, int]:
    """Return how many passages have a vector, and how many have none."""
    after = 0 if kept is None else kept.upto
    without, passages = reader.row("vectors_counted", after=after) or (0, 0)
    return passages - without, without


def add(writer: Writer, kept: Kept, vectors: Iterable[tuple[int, bytes]]) -> None:
    """Keep vectors of passages that are still there, and note how far they go."""
    for number, content in vectors:
        writer.put("vector_add", content, number)
    row = writer.row("vectors_first_missing", after=kept.upto)
    last = writer.row("passage_last")
    upto = kept.upto if last is None or last[0] is None else last[0]
    _write(writer, kept, upto=max(kept.upto, upto if row is None else row[0] - 1))


def begin_anew(writer: Writer, embedder: Embedder, dimension: int) -> Kept:
    """Begin with a model's vectors, and drop those of another; return what is noted of that."""
    before = writer.row("vectors_generation", name=_ROW)
    writer.run("vector_clear")
    kept = Kept(embedder.name, dimension, 1 if before is None else before[0] + 1)
    _write(writer, kept, upto=0)
    return kept


def _write(writer: Writer, kept: Kept, upto: int) -> None:
    after = msgspec.structs.replace(kept, upto=upto, fills=kept.fills + 1)
    writer.run("meta_set", name=_ROW, value=msgspec.json.encode(after).decode())


def passage_of(shelf: Shelf, row: Row) -> Passage:
    """Return the passage of a row that begins with its number."""
    number, source, first, beyond, since, until = row
    return Passage(number, shelf, source, first, beyond, since, until)
