"""Looking for words in the bytes of a store's files, also in what is compressed there."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from backports import zstd

_MAGIC = b"\x28\xb5\x2f\xfd"
_MOST = 32 * 1024 * 1024


def files_of(path: Path) -> list[Path]:
    """Return everything that is kept beside a store's file, and that itself."""
    return sorted(path.parent.glob(f"{path.name}*"))


def leftovers(path: Path, words: Iterable[bytes]) -> set[bytes]:
    """Return those of the words that are still somewhere in the files."""
    raw = [file.read_bytes() for file in files_of(path)]
    texts = [*raw, *(text for data in raw for text in _unpacked(data))]
    return {word for word in words if any(word in text for text in texts)}


def _unpacked(data: bytes) -> Iterable[bytes]:
    """Yield what every frame of zstd unpacks to, as far as it does, wherever it begins."""
    at = data.find(_MAGIC)
    while at >= 0:
        with suppress(zstd.ZstdError):
            yield zstd.ZstdDecompressor().decompress(data[at : at + _MOST], max_length=_MOST)
        at = data.find(_MAGIC, at + 1)
