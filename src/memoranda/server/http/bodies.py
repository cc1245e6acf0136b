"""Bodies of requests: read up to their limit, unpacked, and decoded.

The protocol limits the time in which a body must arrive (`protocol.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from memoranda.errors import InvalidInput, StoreBusy
from memoranda.server.http import compression
from memoranda.server.http.arguments import decode_json
from memoranda.server.http.compression import ENCODINGS, IDENTITY, TooLarge
from memoranda.server.http.limits import HttpLimits
from memoranda.server.http.messages import JSON, Disconnected, Request
from memoranda.server.http.problems import HttpProblem

LARGE_BYTES = 256 * 1024
"""Bodies from this size on are unpacked and decoded in a thread: they would keep the event loop
waiting."""


class Bodies:
    """Reads the bodies of requests, and bounds their size in memory."""

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._size = 0
        """Bytes of the bodies that are being read, or wait until they are unpacked and decoded."""

    async def read_json(self, request: Request, limit: int | None = None) -> tuple[Any, int]:
        """Return the JSON value of a body and the body's size; None if there is no body.

        `limit` are the bytes that it may have, if these are fewer than in other bodies.
        """
        data = await self.read(request, JSON, limit)
        if not data:
            return None, 0
        if len(data) < LARGE_BYTES:
            value = decode_json("body", data)
        else:
            with self._held(len(data)):
                value = await asyncio.to_thread(decode_json, "body", data)
        if value is None:  # that stands for no body at all
            raise InvalidInput("body", "it is null: leave it out, or give a JSON object")
        return value, len(data)

    async def read(self, request: Request, content_type: bytes, limit: int | None = None) -> bytes:
        """Return the bytes of a body, unpacked; it must say that it has the type."""
        headers, limit = request.headers, limit or self._limits.body_bytes
        if _is_declared_too_large(headers.get(b"content-length"), limit):
            raise _too_large(limit)
        data = await self._receive(request, limit)
        if not data:
            return data
        _check_type(headers.get(b"content-type"), content_type)
        encoding = headers.get(b"content-encoding", IDENTITY).strip().lower()
        if encoding == IDENTITY:
            return data
        if encoding not in ENCODINGS:
            raise HttpProblem(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "the body has an encoding that is not understood: use gzip or zstd, or none",
                [(b"accept-encoding", b", ".join(ENCODINGS))],
            )
        return await self._unpack(encoding, data, limit)

    async def _receive(self, request: Request, limit: int) -> bytes:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        first: bytes = message.get("body", b"")
        if not message.get("more_body", False):
            if len(first) > limit:
                raise _too_large(limit)
            return first
        return await self._receive_rest(request, first, limit)

    async def _receive_rest(self, request: Request, first: bytes, limit: int) -> bytes:
        parts, size = [first], len(first)
        self._size += size
        try:
            has_more = True
            while has_more:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
                part: bytes = message.get("body", b"")
                has_more = message.get("more_body", False)
                parts.append(part)
                size += len(part)
                self._size += len(part)
                if size > limit:
                    raise _too_large(limit)
                self._check_all()
        finally:
            self._size -= size
        return b"".join(parts)

    def _check_all(self) -> None:
        if self._size > self._limits.bodies_bytes:
            raise StoreBusy("the server reads as many bodies as it has memory for: try again later")

    @contextmanager
    def _held(self, size: int) -> Iterator[None]:
        """Count a body for the length of a block, in which it waits for a thread."""
        self._size += size
        try:
            self._check_all()
            yield
        finally:
            self._size -= size

    async def _unpack(self, encoding: bytes, data: bytes, limit: int) -> bytes:
        """Unpack a body: a small one in the event loop, a large one in a thread."""
        try:
            if len(data) < LARGE_BYTES // 8:
                return compression.decompress(encoding, data, min(limit, LARGE_BYTES))
        except TooLarge:
            if limit <= LARGE_BYTES:
                raise _too_large(limit) from None
        try:
            with self._held(len(data)):
                return await asyncio.to_thread(compression.decompress, encoding, data, limit)
        except TooLarge:
            raise _too_large(limit) from None


def _is_declared_too_large(length: bytes | None, limit: int) -> bool:
    return length is not None and length.isdigit() and int(length) > limit


def _too_large(limit: int) -> HttpProblem:
    return HttpProblem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"the body has more than {limit} bytes: send less at a time",
        [(b"connection", b"close")],
    )


def _check_type(content_type: bytes | None, expected: bytes) -> None:
    kind, _, parameters = (content_type or b"").lower().partition(b";")
    charset = parameters.strip().replace(b'"', b"")
    if kind.strip() != expected or charset not in (b"", b"charset=utf-8"):
        raise HttpProblem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"the body must be {expected.decode()}: send the header Content-Type",
            [(b"accept", expected)],
        )
