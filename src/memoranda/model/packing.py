"""Packing: content made small for storage, and made whole again without trusting what is stored."""

from __future__ import annotations

from hashlib import sha256

from backports import zstd

from memoranda.errors import Corruption

_LEVEL = 3


def digest_of(content: bytes) -> bytes:
    """Return the hash that stands for content in the log."""
    return sha256(content).digest()


def pack(content: bytes) -> bytes:
    """Return the bytes to store."""
    return zstd.compress(content, level=_LEVEL)


def unpacked_size(packed: bytes) -> int:
    """Return how large content is that was packed here; stored bytes may lie about it."""
    return zstd.get_frame_info(packed).decompressed_size or 0


def unpack(stored: bytes, *, size: int, digest: bytes) -> bytes:
    """Return the content, which the log says has this size and hash.

    Stored bytes may lie about themselves: one byte over the size is asked for, never more.
    """
    decompressor = zstd.ZstdDecompressor()
    try:
        content = decompressor.decompress(stored, max_length=size + 1)
    except zstd.ZstdError as error:
        raise Corruption(f"stored content cannot be unpacked: {error}") from error
    if len(content) > size or not decompressor.eof or decompressor.unused_data:
        raise Corruption(f"stored content does not unpack to the {size} bytes the log says it has")
    if len(content) != size or digest_of(content) != digest:
        raise Corruption("stored content does not have the hash the log says it has")
    return content
