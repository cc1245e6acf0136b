"""Answers from the bytes of their bodies: single messages, or frames of several. No I/O."""

from __future__ import annotations

from collections import deque
from typing import Any

from google.protobuf.message import DecodeError

from memoranda.errors import InvalidInput
from memoranda.sdk.remote.errors import ConnectionLost
from memoranda.wire.errors import decode_error
from memoranda.wire.over_http import (
    END,
    ERROR,
    HEARTBEAT,
    MAX_FRAME_BYTES,
    MESSAGE,
    FrameReader,
)


class Incomplete:
    """More bytes are needed for the next message."""


INCOMPLETE = Incomplete()


class FramedAnswer:
    """The messages of an answer, from the bytes of its body as they come."""

    def __init__(self, kind: Any, place: str) -> None:
        self._kind = kind
        """The class of its messages."""
        self._place = place
        self._reader = FrameReader()
        self._frames: deque[tuple[int, bytes]] = deque()

    def feed(self, data: bytes | None) -> None:
        """Take more bytes of the body; None at its end, which has to come after the last frame."""
        if data is None:
            raise ConnectionLost(f"{self._place} has broken off an answer")
        self._frames.extend(self._reader.feed(data))

    def take(self) -> Any:
        """Return the next message; None at the end, `INCOMPLETE` if bytes are missing."""
        while self._frames:
            kind, data = self._frames.popleft()
            if kind == MESSAGE:
                return decoded(self._kind, data)
            if kind == END:
                return None
            if kind == ERROR:
                raise decode_error(data)
            if kind != HEARTBEAT:
                raise InvalidInput("answer", f"has a frame of the unknown kind {kind}")
        return INCOMPLETE


class WholeAnswer:
    """The bytes of a single answer, which are bounded."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        """Take more bytes."""
        self._data += data
        if len(self._data) > MAX_FRAME_BYTES:
            raise InvalidInput("answer", f"has more than {MAX_FRAME_BYTES} bytes")

    def message(self, kind: Any) -> Any:
        """Return the message."""
        return decoded(kind, bytes(self._data))


def decoded(kind: Any, data: bytes) -> Any:
    """Return a message of a class; raise `InvalidInput` if the bytes are none."""
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise InvalidInput(
            "answer", f"the {len(data)} bytes are no {kind.DESCRIPTOR.name}: {error}"
        ) from error
