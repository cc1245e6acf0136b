"""The local model: wordllama, whose weights come with its package. It uses no network.

Its tokens' vectors are averaged here and not by its own `embed`, which pads every text of a batch
to the longest: that takes twice the time, and gigabytes for long texts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoranda.search.embedding import needed
from memoranda.storage.locks import new_lock

if TYPE_CHECKING:
    from memoranda.search.embedding import Matrix

NAME = "wordllama-l2-supercat-256"
_BATCH = 256
_BATCH_CHARACTERS = 1_000_000
_AT_ONCE = 4_096
"""How many tokens are added up at a time."""


class LocalModel:
    """wordllama's model of 256 numbers; loaded when something is first embedded."""

    name = NAME
    dimension = 256
    floor = 0.18
    """Texts that have nothing to do with one another are at 0 on average, and hardly above this."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._tokenizer: Any = None
        self._weights: Any = None

    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> Matrix:
        """Return the mean of the vectors of each text's tokens."""
        del query  # the model does not tell questions from answers
        np = needed("numpy", "embeddings")
        self._load()
        found: Matrix = np.zeros((len(texts), self.dimension), np.float32)
        for first, batch in _batches(texts):
            self._pool(np, batch, found[first : first + len(batch)])
        return found

    def _pool(self, np: Any, texts: list[str], into: Matrix) -> None:
        """Add up the vectors of each text's tokens; its direction is all that counts."""
        weights, ones = self._weights, np.ones(_AT_ONCE, np.float32)
        last = len(weights) - 1
        encoded = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        for row, text in zip(into, encoded, strict=True):
            tokens = np.minimum(np.array(text.ids, np.int32), last)
            for first in range(0, len(tokens), _AT_ONCE):
                some = tokens[first : first + _AT_ONCE]
                row += ones[: len(some)] @ weights.take(some, axis=0)

    def _load(self) -> None:
        with self._lock:
            if self._weights is not None:
                return
            with _quiet_root():
                package = needed("wordllama", "embeddings")
            folder = Path(package.__file__).parent
            model = package.WordLlama.load(cache_dir=folder, disable_download=True)
            model.tokenizer.no_padding()
            self._tokenizer, self._weights = model.tokenizer, model.embedding


def _batches(texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the texts in parts that take a bounded amount of memory, with where each begins."""
    first, batch, size = 0, list[str](), 0
    for text in texts:
        if batch and (len(batch) >= _BATCH or size + len(text) > _BATCH_CHARACTERS):
            yield first, batch
            first, batch, size = first + len(batch), [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield first, batch


@contextmanager
def _quiet_root() -> Iterator[None]:
    """Leave the program's logging as it is: importing wordllama sets it up for itself."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
