"""Filling vectors: embedding passages that have none yet, in short writes behind the commits.

Passages are embedded while no lock is held, and what became of them meanwhile is looked at when
their vectors are written: only those that are still there get one. Several processes may do so at
once, and who dies in between loses nothing.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from memoranda.search import kept as vectors_kept
from memoranda.search.embedding import Embedder, embed, needed
from memoranda.search.passages import Words
from memoranda.search.texts import text_of
from memoranda.search.transcripts import RememberedCuttings
from memoranda.storage.port import Engine, Progress, Writer

if TYPE_CHECKING:
    from memoranda.search.embedding import Matrix

AT_ONCE = 512
"""How many passages are embedded between two writes."""
_MOST_BYTES = 512 * 1024
"""How many bytes of vectors are written at once: those of a model with long ones take several."""
CONTEXT = 0.8
"""What the words around a passage count, beside its own."""
_LEAST_LENGTH = 1e-6
_log = logging.getLogger("memoranda.search")


def fill_some(
    engine: Engine,
    embedder: Embedder,
    *,
    most: int = AT_ONCE,
    wait: float | None = None,
    remembered: RememberedCuttings | None = None,
) -> int:
    """Give the first passages without a vector one each; return how many: 0 if all have one.

    `wait` bounds how long others who write are waited for.
    """
    _drop_nobodys(engine)
    with engine.snapshot() as reader:
        kept = vectors_kept.read(reader)
        vectors_kept.check(kept, embedder)
        passages = vectors_kept.missing(reader, after=kept.upto if kept else 0, most=most)
        texts = text_of(reader, passages, remembered) if passages else {}
    if not passages:
        return 0
    vectors = embedded(embedder, [texts.get(passage.key, Words("")) for passage in passages])
    numbers = [passage.id or 0 for passage in passages]
    contents = [row.tobytes() for row in vectors.astype("<f2")]
    rows = list(zip(numbers, contents, strict=True))
    at_once = max(_MOST_BYTES // len(contents[0]), 1)
    for first in range(0, len(rows), at_once):
        some = rows[first : first + at_once]
        keep = partial(_keep, embedder=embedder, dimension=vectors.shape[1], rows=some)
        engine.write(keep, wait=wait)
    return len(rows)


def _keep(
    writer: Writer, *, embedder: Embedder, dimension: int, rows: Sequence[tuple[int, bytes]]
) -> None:
    kept = vectors_kept.read(writer)  # another process may have begun with another model
    vectors_kept.check(kept, embedder, dimension)
    vectors_kept.add(writer, kept or vectors_kept.begin_anew(writer, embedder, dimension), rows)


def _drop_nobodys(engine: Engine) -> None:
    """Drop vectors of which it is not known what they are of, so that they are made anew."""
    with engine.reading() as reader:
        nobodys = vectors_kept.are_nobodys(reader, vectors_kept.read(reader))
    if nobodys:
        _log.warning("which model the vectors are of cannot be read: they are made anew")
        engine.write(lambda writer: writer.run("vector_clear"))


def fill(
    engine: Engine,
    embedder: Embedder,
    *,
    progress: Progress | None = None,
    remembered: RememberedCuttings | None = None,
) -> int:
    """Give every passage a vector, and return how many got one."""
    with engine.reading() as reader:
        _, whole = vectors_kept.counted(reader, vectors_kept.read(reader))
    done = 0
    while some := fill_some(engine, embedder, remembered=remembered):
        done += some
        if progress is not None:
            progress(min(done, whole), whole)
    return done


def begin_anew(engine: Engine, embedder: Embedder) -> str | None:
    """Drop the vectors of another model, if there are any, and return its name."""
    with engine.reading() as reader:
        kept = vectors_kept.read(reader)
    if kept is None or (embedder.dimension and kept.are_of(embedder)):
        return None
    dimension = embed(embedder, ["dimension"]).shape[1]  # it works, before anything is dropped
    if kept.are_of(embedder, dimension):
        return None
    engine.write(partial(vectors_kept.begin_anew, embedder=embedder, dimension=dimension))
    return kept.model


def embedded(embedder: Embedder, words: Sequence[Words]) -> Matrix:
    """Return the vector of each passage: of its own words, and less so of those around it."""
    np = needed("numpy", "vectors")
    pairs = [(each.own, context_of(each)) for each in words]
    texts = {text: None for pair in pairs for text in pair if text} or {"": None}
    found = embed(embedder, [*texts])
    places = {text: place for place, text in enumerate(texts)}
    rows = np.vstack((found, np.zeros((1, found.shape[1]), np.float32)))  # the last: no words
    own = rows[[places.get(text, -1) for text, _ in pairs]]
    around = rows[[places.get(text, -1) for _, text in pairs]]
    whole: Matrix = own + np.float32(CONTEXT) * around
    lengths = np.linalg.norm(whole, axis=1, keepdims=True)
    np.divide(whole, lengths, out=whole, where=lengths > _LEAST_LENGTH)
    return whole


def context_of(words: Words) -> str:
    """Return what stands around a passage."""
    return "\n".join(filter(None, (words.before, words.after)))


def digest_of(words: Words) -> bytes:
    """Return what tells texts apart without keeping them."""
    parts = (words.own, words.before, words.after)
    return hashlib.sha256("\0".join(parts).encode()).digest()
