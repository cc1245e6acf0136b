"""Streamed answers: lines of JSON, and server-sent events.

The first piece comes when the call is checked, so that an error of it still is a response of its
own. If it fails later, the last piece is the error, as a problem.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from itertools import islice
from typing import Any

import msgspec

from memoranda.calls.as_json import to_json
from memoranda.calls.call import Call
from memoranda.calls.subscriptions import Subscribe
from memoranda.errors import MemorandaError
from memoranda.log.read.replay import decode_stored
from memoranda.model.event import ReplayEvent, StoredEvent
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.event_streams import EventPage
from memoranda.server.http.answers import answer_json
from memoranda.server.http.messages import Headers
from memoranda.server.http.problems import problem_members
from memoranda.server.long_calls import Step, ask_long
from memoranda.wire.over_http import HEARTBEAT_SECONDS

NDJSON = b"application/x-ndjson"
EVENT_STREAM = b"text/event-stream"
_ITEMS_AT_ONCE = 32
"""Items that are encoded before other tasks get their turn: less than a millisecond of work."""
_encode = msgspec.json.Encoder().encode

Chunks = AsyncGenerator[bytes, None]


class Stream(msgspec.Struct, kw_only=True):
    """A response whose body comes in chunks."""

    chunks: Chunks
    content_type: bytes
    is_compressible: bool = True
    ends_open: bool = False
    """Whether it is endless, so that it is complete wherever it stops."""
    ends_itself: bool = False
    """Whether it ends soon by itself, so that a server that shuts down waits for it."""
    headers: Headers = []
    has_begun: bool = False
    """Whether its headers were sent."""

    def error_chunk(self, error: MemorandaError, request_id: bytes) -> bytes:
        """Return the last chunk of a stream that fails: the error."""
        problem = _encode(problem_members(error, request_id=request_id))
        if self.content_type == EVENT_STREAM:
            return b"event: problem\ndata: " + problem + b"\n\n"
        return problem + b"\n"


async def json_lines(
    dispatcher: Dispatcher, caller: Caller, store: str, call: Call[Any], size: int
) -> Chunks:
    """Yield the items of a long answer, one JSON value a line."""
    async with dispatcher.pages(caller, store, call, size=size) as stream:
        yield b""
        async for items in stream:
            for part in _parts(items):
                data = b"".join(_encode(answer_json(call, item)) + b"\n" for item in part)
                yield data
                await stream.throttle(len(data))


async def progress_lines(
    dispatcher: Dispatcher, caller: Caller, store: str, call: Call[Any], size: int
) -> Chunks:
    """Yield the progress of a long call and then its answer, one JSON object a line."""
    async with aclosing(ask_long(dispatcher, caller, store, call, size=size)) as steps:
        has_begun = False
        async for step in steps:
            if not has_begun:
                yield b""
                has_begun = True
            if isinstance(step, Step):
                yield _encode({"progress": step}) + b"\n"
            else:
                data = _encode({"answer": answer_json(call, step.value)}) + b"\n"
                dispatcher.count_answer(caller, len(data))
                yield data


async def server_sent_events(
    dispatcher: Dispatcher, caller: Caller, store: str, call: Subscribe, size: int
) -> Chunks:
    """Yield the events of a subscription; the id of each is the token to resume behind it.

    The first chunk has an id without an event: a browser that loses the connection before the first
    event resumes there.
    """
    async with dispatcher.events(caller, store, call, size=size) as stream:
        page = asyncio.ensure_future(anext(stream))
        try:
            while True:
                await asyncio.wait((page,), timeout=HEARTBEAT_SECONDS)
                if not page.done():
                    yield b":\n\n"
                    continue
                for data in _event_chunks(page.result()):
                    yield data
                    await stream.throttle(len(data))
                page = asyncio.ensure_future(anext(stream))
        except StopAsyncIteration:
            pass
        finally:
            page.cancel()
            await asyncio.wait((page,))


def _event_chunks(page: EventPage) -> Iterable[bytes]:
    if not page.events:
        yield b"id: %d\n\n" % page.bound
    for part in _parts(page.events):
        yield b"".join(_event_chunk(_decoded(event, page.log_id)) for event in part)


def _decoded(event: StoredEvent | ReplayEvent, log_id: str) -> ReplayEvent:
    return decode_stored(event, log_id) if isinstance(event, StoredEvent) else event


def _event_chunk(event: ReplayEvent) -> bytes:
    return b"id: " + event.token.encode() + b"\ndata: " + _encode(to_json(event)) + b"\n\n"


def _parts(items: Sequence[Any]) -> Iterable[Sequence[Any]]:
    iterator = iter(items)
    while part := list(islice(iterator, _ITEMS_AT_ONCE)):
        yield part
