"""The methods of `memoranda.v1` over HTTP, for clients that speak protocol buffers.

They are the same messages as over gRPC. They pass the guard, the authentication, the bounds on
bodies and the limits of tokens, like every request. Streams are frames (`wire/over_http.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from memoranda.errors import MemorandaError
from memoranda.server.call_messages import CallMessages, Envelope, Messages
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.http import accept
from memoranda.server.http.bodies import Bodies
from memoranda.server.http.calls import PRIVATE
from memoranda.server.http.messages import Request, Response
from memoranda.server.http.streams import Chunks, Stream
from memoranda.server.traffic import Traffic
from memoranda.server.write_messages import answer_batch
from memoranda.wire.errors import encode_error
from memoranda.wire.methods import METHODS, Method
from memoranda.wire.over_http import (
    END,
    ERROR,
    FRAMES_MEDIA,
    HEARTBEAT,
    HEARTBEAT_SECONDS,
    MESSAGE,
    MESSAGE_MEDIA,
    WRITES,
    frame,
)

PROTOBUF, FRAMES = MESSAGE_MEDIA.encode(), FRAMES_MEDIA.encode()
_UNBUFFERED = (b"x-accel-buffering", b"no")
"""Tells proxies to pass a stream on as it comes."""

Serve = Callable[[Request, Caller, str], Awaitable[Response | Stream]]
"""Answers a request of a method, for a caller and a store."""


class MessageEndpoints:
    """Serves requests whose bodies are messages."""

    def __init__(self, dispatcher: Dispatcher, bodies: Bodies) -> None:
        self._dispatcher = dispatcher
        self._bodies = bodies
        self._calls = CallMessages(dispatcher)

    def find(self, name: str) -> Serve | None:
        """Return the endpoint of a method; None if there is no such method."""
        if name == WRITES:
            return self._write
        method = METHODS.get(name)
        if method is None:
            return None
        return partial(self._answer if method.shape == "unary" else self._stream, method)

    async def _answer(
        self, method: Method, request: Request, caller: Caller, store: str
    ) -> Response:
        """Return the one answer of a call."""
        envelope = await self._envelope(request, caller, store, PROTOBUF)
        body = await self._calls.answer(method, envelope)
        return Response(body=body, content_type=PROTOBUF, headers=[PRIVATE])

    async def _stream(self, method: Method, request: Request, caller: Caller, store: str) -> Stream:
        """Return an answer of several messages."""
        envelope = await self._envelope(request, caller, store, FRAMES)
        return self._framed(self._calls.stream(method, envelope))

    async def _write(self, request: Request, caller: Caller, store: str) -> Stream:
        """Return the outcomes of a batch of writes."""
        envelope = await self._envelope(request, caller, store, FRAMES)
        return self._framed(answer_batch(self._dispatcher, envelope), ends_itself=True)

    async def _envelope(
        self, request: Request, caller: Caller, store: str, media: bytes
    ) -> Envelope:
        accept.choose(request.headers.get(b"accept"), (media,))
        data = await self._bodies.read(request, PROTOBUF)
        return Envelope(caller, data, store=store)

    def _framed(self, messages: Messages, *, ends_itself: bool = False) -> Stream:
        return Stream(
            chunks=frames(messages, self._dispatcher.traffic),
            content_type=FRAMES,
            is_compressible=False,
            ends_itself=ends_itself,
            headers=[PRIVATE, _UNBUFFERED],
        )


async def frames(messages: Messages, traffic: Traffic) -> Chunks:
    """Yield messages as frames. The first chunk is empty: the first message is there.

    An error before that is a response of its own, and a later one is a frame. Where the first
    message takes long, the stream begins without it, so that a connection is never silent.
    """
    following = asyncio.ensure_future(_next(messages))
    try:
        await asyncio.wait((following,), timeout=HEARTBEAT_SECONDS)
        if following.done():
            following.result()
        yield b""
        try:
            while True:
                await asyncio.wait((following,), timeout=HEARTBEAT_SECONDS)
                if not following.done():
                    yield frame(HEARTBEAT)
                    continue
                data = following.result()
                if data is None:
                    break
                yield frame(MESSAGE, data)
                following = asyncio.ensure_future(_next(messages))
            yield frame(END)
        except MemorandaError as error:
            traffic.count_error(error)
            yield frame(ERROR, encode_error(error))
    finally:
        following.cancel()
        await asyncio.wait((following,))
        await messages.aclose()


async def _next(messages: Messages) -> bytes | None:
    return await anext(messages, None)
