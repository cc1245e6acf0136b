"""Compression of bodies: zstd and gzip, chosen by the client."""

from __future__ import annotations

import zlib
from typing import Protocol

from backports import zstd

from memoranda.errors import InvalidInput

ZSTD, GZIP, IDENTITY = b"zstd", b"gzip", b"identity"
ENCODINGS = (ZSTD, GZIP)
"""Those that bodies may have, the preferred one first."""
MIN_BYTES = 1024
"""Smaller bodies are not compressed: a packet has room for them."""
_ZSTD_LEVEL, _GZIP_LEVEL = 3, 4
"""Low levels, which are fast: a client waits while its answer is compressed."""
_GZIP_WINDOW = 31
"""The window of zlib for the format of gzip."""
_CHUNK_BYTES = 256 * 1024
"""Bytes that are unpacked between two checks of the size."""
_MAX_WINDOW_LOG = 23
"""Windows of zstd up to 8 MiB, as RFC 8878 asks for: a larger one would take as much memory."""


class Compressor(Protocol):
    """Compresses a stream, chunk by chunk."""

    def chunk(self, data: bytes) -> bytes:
        """Return data, compressed so that a client can unpack all of it."""
        ...

    def end(self) -> bytes:
        """Return the end of the stream."""
        ...


class _Zstd:
    def __init__(self) -> None:
        self._stream = zstd.ZstdCompressor(level=_ZSTD_LEVEL)

    def chunk(self, data: bytes) -> bytes:
        return self._stream.compress(data, zstd.ZstdCompressor.FLUSH_BLOCK)

    def end(self) -> bytes:
        return self._stream.flush()


class _Gzip:
    def __init__(self) -> None:
        self._stream = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)

    def chunk(self, data: bytes) -> bytes:
        return self._stream.compress(data) + self._stream.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._stream.flush()


def compressor(encoding: bytes) -> Compressor:
    """Return a compressor of a stream."""
    return _Zstd() if encoding == ZSTD else _Gzip()


def compress(encoding: bytes, data: bytes) -> bytes:
    """Return data, compressed as a whole."""
    if encoding == ZSTD:
        return zstd.compress(data, level=_ZSTD_LEVEL)
    return zlib.compress(data, _GZIP_LEVEL, _GZIP_WINDOW)


def choose(accepted: bytes | None) -> bytes | None:
    """Return the encoding for a client that accepts some; None: the body stays as it is."""
    if accepted is None:
        return None
    weights = _weights(accepted)
    default_weight = weights.get(b"*", 0.0)
    best, best_weight = None, weights.get(IDENTITY, 0.0)
    for encoding in ENCODINGS:
        weight = weights.get(encoding, default_weight)
        if weight > best_weight or (weight == best_weight and weight > 0 and best is None):
            best, best_weight = encoding, weight
    return best


def _weights(accepted: bytes) -> dict[bytes, float]:
    weights: dict[bytes, float] = {}
    for part in accepted.lower().split(b","):
        name, _, parameter = part.partition(b";")
        weights[name.strip()] = quality(parameter)
    return weights


def quality(parameter: bytes) -> float:
    """Return the weight in a part of an `Accept` header: `q=0.5`; 1 if there is none."""
    key, _, value = parameter.strip().partition(b"=")
    if key.strip() != b"q":
        return 1.0
    try:
        return min(max(float(value), 0.0), 1.0)
    except ValueError:
        return 0.0


class TooLarge(Exception):
    """A body unpacks to more than is accepted."""


def decompress(encoding: bytes, data: bytes, limit: int) -> bytes:
    """Unpack data; raise `TooLarge`, or `InvalidInput` for invalid data."""
    try:
        return _unzstd(data, limit) if encoding == ZSTD else _gunzip(data, limit)
    except (zlib.error, zstd.ZstdError, EOFError) as error:
        raise InvalidInput("body", f"it is not {encoding.decode()}: {error}") from error


def _gunzip(data: bytes, limit: int) -> bytes:
    stream = zlib.decompressobj(_GZIP_WINDOW)
    parts: list[bytes] = []
    size = 0
    while not stream.eof:
        part = stream.decompress(data, _CHUNK_BYTES)
        data = stream.unconsumed_tail
        size += len(part)
        if size > limit:
            raise TooLarge
        if not part and not data:
            raise EOFError("it ends too early")
        parts.append(part)
    if stream.unused_data or data:
        raise EOFError("something comes behind its end")
    return b"".join(parts)


def _unzstd(data: bytes, limit: int) -> bytes:
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _MAX_WINDOW_LOG}
    stream = zstd.ZstdDecompressor(options=options)
    parts: list[bytes] = []
    size = 0
    while not stream.eof:
        part = stream.decompress(data, _CHUNK_BYTES)
        data = b""
        size += len(part)
        if size > limit:
            raise TooLarge
        if not part and stream.needs_input:
            raise EOFError("it ends too early")
        parts.append(part)
    if stream.unused_data:
        raise EOFError("something comes behind its end")
    return b"".join(parts)
