"""Messages over HTTP: their addresses, media types and frames.

A method is a `POST` of its request to an address of its own, below the store. A single answer is
the body of the response. An answer of several messages is a body of *frames*, each of which has a
kind (one byte), a length (four bytes, big-endian) and so many bytes. The last frame says that the
answer is complete, or why it is not; a body without one was cut off.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from urllib.parse import quote

from memoranda.errors import InvalidInput
from memoranda.wire.methods import WRITE_STREAM

PREFIX = "/v1/stores"
ONLY_STORE = "-"
"""In a path, the only store of the server, or of the token. No store has this name."""
RPC = "rpc"
"""The part of a path below which the methods are."""
MESSAGE_MEDIA = "application/protobuf"
FRAMES_MEDIA = "application/vnd.memoranda.frames"
WRITES = WRITE_STREAM.rpartition("/")[2]
"""The method that takes one batch of writes, and answers with frames of outcomes."""
PROBLEM_MEDIA = "application/problem+json"
"""The type of an answer that is an error, of RFC 9457."""
SHUTTING_DOWN = "urn:memoranda:problem:shutting-down"
"""The type of the problem that a server ends: a client of ours tries again by itself."""
HEARTBEAT_SECONDS = 15.0
"""Silence after which a server sends an empty frame, so that whoever is between keeps waiting."""

MESSAGE, END, ERROR, HEARTBEAT = 0, 1, 2, 3
"""The kinds of frames: a message; the end; an error (the message `Error`), which is an end too; and
nothing, so that the connection is not silent."""
MAX_FRAME_BYTES = 256 * 1024 * 1024
"""Bytes of a frame that a client takes: some times those of the largest transaction."""
_HEADER = struct.Struct(">BI")


def method_path(store: str, method: str) -> str:
    """Return the path of a method of a store; an empty name is the only store."""
    return f"{PREFIX}/{quote(store, safe='') or ONLY_STORE}/{RPC}/{method}"


def frame(kind: int, data: bytes = b"") -> bytes:
    """Return a frame as bytes."""
    return _HEADER.pack(kind, len(data)) + data


class FrameReader:
    """Takes the bytes of a body as they come, and gives its frames."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield the frames that are complete with these bytes: the kind and the content.

        Raise `InvalidInput` for a frame that is too large.
        """
        self._data += data
        start = 0
        while len(self._data) - start >= _HEADER.size:
            kind, length = _HEADER.unpack_from(self._data, start)
            if length > MAX_FRAME_BYTES:
                raise InvalidInput(
                    "answer", f"has a frame of {length} bytes, and {MAX_FRAME_BYTES} are allowed"
                )
            end = start + _HEADER.size + length
            if end > len(self._data):
                break
            yield kind, bytes(self._data[start + _HEADER.size : end])
            start = end
        del self._data[:start]
