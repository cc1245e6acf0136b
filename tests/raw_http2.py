"""HTTP/2 by hand, for clients that do what no library does: send slowly, half, or nonsense."""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, Self

from tests.patience import HANG_SECONDS

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
CONTINUATION = 9
END_STREAM, ACK, END_HEADERS = 0x1, 0x1, 0x4
_WINDOW, _FRAME, _INITIAL_WINDOW = 65_535, 16_000, 4


class Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    payload: bytes


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return the bytes of a frame."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def headers(**fields: str) -> bytes:
    """Return headers in HPACK, each as a literal that no table has."""
    return b"".join(
        b"\x00" + _text(name.replace("_", "-").replace("--", ":")) + _text(value)
        for name, value in fields.items()
    )


def _text(value: str) -> bytes:
    data = value.encode("latin-1")
    assert len(data) < 127, "a short length is one byte"
    return bytes([len(data)]) + data


def grpc_headers(path: str, **more: str) -> bytes:
    """Return the headers of a call."""
    fields = {"--method": "POST", "--scheme": "http", "--path": path, "--authority": "test"}
    return headers(**fields, te="trailers", content_type="application/grpc", **more)


def message(data: bytes, *, compressed: bool = False) -> bytes:
    """Return a message of gRPC with its prefix."""
    return bytes([compressed]) + struct.pack(">I", len(data)) + data


class RawConnection:
    """A connection whose bytes are sent as a test says."""

    def __init__(self, address: str, *, greets: bool = True) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=HANG_SECONDS)
        self._buffer = b""
        self._arrived: deque[Frame] = deque()
        """Frames that came while data was sent."""
        self._windows = {0: _WINDOW}
        """How many bytes the server takes of the connection (0), and of each stream."""
        self._new_window = _WINDOW
        if greets:
            self.send(PREFACE + frame(SETTINGS, 0, 0))

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def call(self, path: str, *parts: bytes, stream: int = 1, **more: str) -> None:
        """Send a call with its data; the last part ends the stream."""
        self.send(frame(HEADERS, END_HEADERS, stream, grpc_headers(path, **more)))
        for number, part in enumerate(parts, start=1):
            self.send_data(part, stream=stream, is_last=number == len(parts))

    def send_data(self, data: bytes, *, stream: int = 1, is_last: bool = False) -> None:
        """Send data as fast as the server takes it."""
        self._windows.setdefault(stream, self._new_window)
        while data or is_last:
            room = min(self._windows[0], self._windows[stream], _FRAME)
            if data and room <= 0:
                part = self._next_frame()
                assert part is not None, "the server has closed the connection"
                self._arrived.append(part)
                if part.kind in (RST_STREAM, GOAWAY):
                    return
                continue
            sent, data = data[:room], data[room:]
            self._windows[0] -= len(sent)
            self._windows[stream] -= len(sent)
            self.send(frame(DATA, END_STREAM if is_last and not data else 0, stream, sent))
            is_last = is_last and bool(data)

    def frames(self) -> Iterator[Frame]:
        """Yield the frames that come, until the connection ends."""
        while self._arrived:
            yield self._arrived.popleft()
        while (part := self._next_frame()) is not None:
            yield part

    def _next_frame(self) -> Frame | None:
        """Return the next frame, after answering it where that is needed; None at the end."""
        head = self._take(9)
        payload = None if head is None else self._take(int.from_bytes(head[:3]))
        if head is None or payload is None:
            return None
        part = Frame(head[3], head[4], int.from_bytes(head[5:]) & 0x7FFFFFFF, payload)
        if part.kind == SETTINGS and not part.flags & ACK:
            for first in range(0, len(payload), 6):
                name, value = struct.unpack(">HI", payload[first : first + 6])
                if name == _INITIAL_WINDOW:
                    grown = value - self._new_window
                    self._new_window = value
                    for stream in self._windows.keys() - {0}:
                        self._windows[stream] += grown
            self._answer(frame(SETTINGS, ACK, 0))
        elif part.kind == PING and not part.flags & ACK:
            self._answer(frame(PING, ACK, 0, payload))
        elif part.kind == WINDOW_UPDATE:
            self._windows.setdefault(part.stream, self._new_window)
            self._windows[part.stream] += int.from_bytes(payload)
        return part

    def _answer(self, data: bytes) -> None:
        with suppress(ConnectionError):  # the server may have closed it since
            self.send(data)

    def end_of(self, stream: int = 1) -> bytes:
        """Return the last headers of a stream, or the payload of what has ended it."""
        for part in self.frames():
            if (part.kind == GOAWAY and any(part.payload[4:8])) or (
                part.stream == stream
                and (part.kind == RST_STREAM or (part.kind == HEADERS and part.flags & END_STREAM))
            ):
                return part.payload
        return b""

    def read_to_end(self) -> bytes:
        """Return everything until the server closes the connection."""
        data = self._buffer
        with suppress(ConnectionError):
            while part := self.socket.recv(65536):
                data += part
        return data

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _take(self, size: int) -> bytes | None:
        while len(self._buffer) < size:
            try:
                part = self.socket.recv(65536)
            except ConnectionError:
                return None
            if not part:
                return None
            self._buffer += part
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data
