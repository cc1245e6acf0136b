"""The local model: wordllama, whose weights are in its package. It uses no network.

The vectors of tokens are averaged here. Its own `embed` pads every text of a batch to the longest,
which takes twice the time, and gigabytes for long texts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoranda.search.vectors.embedder import require_package
from memoranda.storage.thread_locks import new_lock

if TYPE_CHECKING:
    from memoranda.search.vectors.embedder import Matrix

NAME = "wordllama-l2-supercat-256"
_BATCH_TEXTS = 256
"""Texts that are tokenized at once: a bound on memory."""
_BATCH_CHARACTERS = 1_000_000
"""Characters of these texts, likewise."""
_SUM_TOKENS = 4_096
"""Tokens whose vectors are added at once: about four megabytes."""


class LocalModel:
    """wordllama's model of 256 dimensions; loaded on first use."""

    name = NAME
    dimension = 256
    floor = 0.18
    """Unrelated texts have a cosine of 0 on average, and rarely more than this."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._tokenizer: Any = None
        self._weights: Any = None

    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> Matrix:
        """Return the mean of the vectors of each text's tokens."""
        del query  # the model does not tell queries from documents
        np = require_package("numpy", "embeddings")
        self._load()
        vectors: Matrix = np.zeros((len(texts), self.dimension), np.float32)
        for start, batch in _batches(texts):
            self._pool(np, batch, vectors[start : start + len(batch)])
        return vectors

    def _pool(self, np: Any, texts: list[str], output: Matrix) -> None:
        """Add the vectors of each text's tokens; the caller normalizes the sums."""
        weights, unit_weights = self._weights, np.ones(_SUM_TOKENS, np.float32)
        last = len(weights) - 1
        encoded = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        for row, text in zip(output, encoded, strict=True):
            tokens = np.minimum(np.array(text.ids, np.int32), last)
            for start in range(0, len(tokens), _SUM_TOKENS):
                part = tokens[start : start + _SUM_TOKENS]
                row += unit_weights[: len(part)] @ weights.take(part, axis=0)

    def _load(self) -> None:
        with self._lock:
            if self._weights is not None:
                return
            with _quiet_root():
                package = require_package("wordllama", "embeddings")
            folder = Path(package.__file__).parent
            model = package.WordLlama.load(cache_dir=folder, disable_download=True)
            model.tokenizer.no_padding()
            self._tokenizer, self._weights = model.tokenizer, model.embedding


def _batches(texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the texts in batches of bounded size, each with its start."""
    start, batch, size = 0, list[str](), 0
    for text in texts:
        if batch and (len(batch) >= _BATCH_TEXTS or size + len(text) > _BATCH_CHARACTERS):
            yield start, batch
            start, batch, size = start + len(batch), [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield start, batch


@contextmanager
def _quiet_root() -> Iterator[None]:
    """Restore the root logger: importing wordllama configures it."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
