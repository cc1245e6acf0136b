"""Embedding: what it costs to keep the vectors, beside making them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import memoranda
from memoranda.sdk.open import open_engine
from memoranda.search.index.background_indexer import reindex
from memoranda.search.index.indexer import Indexer
from memoranda.search.vectors.vector_index import VectorIndex
from memoranda.search.vectors.wordllama_model import LocalModel

if TYPE_CHECKING:
    from memoranda.search.vectors.embedder import Matrix

MEMORIES = 10_000
BATCH_SIZE = 500
_SUBJECTS = ("Caroline", "my brother", "the new manager", "our neighbour", "the band", "Melanie")
_VERBS = ("started painting", "moved away from", "keeps talking about", "finally fixed", "misses")
_OBJECTS = ("the old lighthouse", "a trip to Lisbon", "her grandmother's recipes", "the garden")
_ENDS = ("last weekend", "because of the rain", "and it changed everything", "for the first time")


class Noting:
    """The local model, noting what it is given."""

    def __init__(self, model: LocalModel) -> None:
        self._model = model
        self.name = model.name
        self.dimension = model.dimension
        self.batches: list[list[str]] = []

    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> Matrix:
        """Embed."""
        self.batches.append(list(texts))
        return self._model.embed(texts, query=query)


def ingest(folder: Path) -> tuple[float, float]:
    """Return how many passages a second get a vector that is kept, and how many wordllama makes.

    The rates are those in the middle of three, in turns, so that a busy moment falls on both.
    """
    model, own = LocalModel(), bare_model()
    model.embed(["warm"])
    own(["warm"])
    turns = [_turn(folder / f"{turn}.db", model, own) for turn in range(3)]
    ours, limit = zip(*turns, strict=True)
    return sorted(ours)[1], sorted(limit)[1]


def bare_model() -> Callable[[list[str]], object]:
    """Return what embeds texts as wordllama does on its own."""
    import wordllama

    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return partial(model.embed, norm=True)


def _turn(path: Path, model: LocalModel, own: Callable[[list[str]], object]) -> tuple[float, float]:
    fill(path)
    noting = Noting(model)
    with closing(open_engine(path)) as engine:
        vectors = VectorIndex(engine, noting, eager=False)
        start = time.perf_counter()
        count = reindex(Indexer(engine), vectors, of_text=True, of_vectors=True)
        ours = count.vectors / (time.perf_counter() - start)
    start = time.perf_counter()
    for batch in noting.batches:
        own(batch)
    return ours, count.vectors / (time.perf_counter() - start)


def fill(path: Path) -> None:
    """Make a store with memories that are indexed and have no vector."""
    with memoranda.open(path, durability="relaxed", embedder=None) as store:
        agent = store.bind(agent_id="a")
        texts = enumerate(sentences(MEMORIES))
        for _ in range(MEMORIES // BATCH_SIZE):
            with agent.begin_transaction() as transaction:
                for _ in range(BATCH_SIZE):
                    number, text = next(texts)
                    transaction.remember(text, title=f"turn {number}")
        store.reindex()


def sentences(count: int) -> Iterator[str]:
    """Yield texts as people say them, no two alike."""
    for number in range(count):
        parts = (_SUBJECTS, _VERBS, _OBJECTS, _ENDS)
        text, rest = [], number
        for part in parts:
            rest, place = divmod(rest, len(part))
            text.append(part[place])
        yield f"{' '.join(text)}; that was time number {number}, {rest} of them before."
