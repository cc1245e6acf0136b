"""Embedders for tests: tiny, deterministic, and able to fail when told to."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from zlib import crc32

_WORD = re.compile(r"\w+")


class Hashing:
    """Counts words in so many buckets: texts with the same words point the same way."""

    def __init__(self, name: str = "hashing", dimension: int = 32) -> None:
        self.name = name
        self.dimension = dimension
        self.texts: list[str] = []
        """Whatever it was given, in the order of the calls."""
        self.before: Callable[[Sequence[str]], None] | None = None
        """What happens first, if anything: it may wait or raise."""
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> list[list[float]]:
        if self.before is not None:
            self.before(texts)
        with self._lock:
            self.texts.extend(texts)
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> list[float]:
        """Return the vector of a text, of any length."""
        result = [0.0] * self.dimension
        for word in _WORD.findall(text.casefold()):
            number = crc32(word.encode())
            result[number % self.dimension] += 1.0 if number & 0x8000_0000 else -1.0
        return result
