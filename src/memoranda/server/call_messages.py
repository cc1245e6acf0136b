"""Calls in the messages of `memoranda.v1`, each served in the shape of its answer.

gRPC and HTTP carry the same messages. They read the bytes of a request and send the bytes of an
answer; this module does the work between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError

from memoranda.calls.call import Call
from memoranda.calls.log import Replay
from memoranda.calls.subscriptions import Subscribe
from memoranda.errors import InvalidInput
from memoranda.model.event import StoredEvent
from memoranda.model.limits import short_repr
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.event_streams import EventPage
from memoranda.server.long_calls import Step, ask_long
from memoranda.wire import codec
from memoranda.wire.classes import Message
from memoranda.wire.events import event_page
from memoranda.wire.methods import Method

LARGE_BYTES = 256 * 1024
"""Requests from this size on are decoded in a thread, and so are pages of events encoded: they
would keep the event loop waiting."""
PAGE_BYTES = 1024 * 1024
"""Bytes of a page from which on it is sent in two."""

Messages: TypeAlias = AsyncGenerator[bytes, None]
"""The messages of an answer, as bytes; each is encoded after the previous one was sent."""


class Envelope:
    """A request as it arrived: its bytes, its caller, and its metadata."""

    __slots__ = ("caller", "data", "seconds", "store")

    def __init__(
        self,
        caller: Caller,
        data: bytes,
        *,
        store: str | None = None,
        seconds: float | None = None,
    ) -> None:
        self.caller = caller
        self.data = data
        self.store = store
        """The store that its address names; None: the message names it."""
        self.seconds = seconds
        """Seconds until its client stops waiting; None: not known."""

    def store_named(self, in_message: str) -> str:
        """Return the named store; raise `InvalidInput` if two are named."""
        if self.store is None:
            return in_message
        if in_message not in ("", self.store):
            raise InvalidInput(
                "store",
                f"the message names {short_repr(in_message)}, and its address "
                f"{short_repr(self.store)}: leave it out of the message",
            )
        return self.store


class IncomingCall:
    """A call as it arrived, and its metadata."""

    __slots__ = ("call", "caller", "message", "seconds", "size", "store")

    def __init__(self, envelope: Envelope, message: Message, call: Call[Any]) -> None:
        self.caller = envelope.caller.acting(message.acting_agent)
        self.message = message
        self.call = call
        self.store = envelope.store_named(message.store)
        self.size = len(envelope.data)
        self.seconds = envelope.seconds


class CallMessages:
    """Serves calls, each by the method of its kind."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._streams = {
            "long": self._long_answer,
            "pages": self._pages,
            "events": self._events,
        }

    async def answer(self, method: Method, envelope: Envelope) -> bytes:
        """Return the one answer of a call."""
        incoming = await _incoming(method, envelope)
        encode = partial(_encoded_answer, incoming.call)
        if method.is_write:
            encoded = encode(await self._write(incoming))
        else:
            encoded = await self._dispatcher.ask_encoded(
                incoming.caller, incoming.store, incoming.call, encode, size=incoming.size
            )
        self._dispatcher.count_answer(incoming.caller, len(encoded))
        return encoded

    def stream(self, method: Method, envelope: Envelope) -> Messages:
        """Return the messages of an answer that has several; close them at the end."""
        return self._streams[method.shape](method, envelope)

    async def _write(self, incoming: IncomingCall) -> Any:
        call: Any = incoming.call
        return await self._dispatcher.write(
            incoming.caller,
            incoming.store,
            call,
            is_named=codec.is_named(incoming.message),
            seconds=incoming.seconds,
            size=incoming.size,
        )

    async def _long_answer(self, method: Method, envelope: Envelope) -> Messages:
        """Yield the progress of a call that takes long, and then its answer."""
        incoming = await _incoming(method, envelope)
        reports = ask_long(
            self._dispatcher, incoming.caller, incoming.store, incoming.call, size=incoming.size
        )
        async with aclosing(reports) as steps:
            async for step in steps:
                if isinstance(step, Step):
                    message = codec.progress_of(method.kind, step.done, step.total)
                    yield message.SerializeToString()
                    continue
                encoded = _encoded_answer(incoming.call, step.value)
                self._dispatcher.count_answer(incoming.caller, len(encoded))
                yield encoded

    async def _pages(self, method: Method, envelope: Envelope) -> Messages:
        """Yield a long answer; the first message has no items: the call is checked."""
        incoming = await _incoming(method, envelope)
        pages = self._dispatcher.pages(
            incoming.caller, incoming.store, incoming.call, size=incoming.size
        )
        async with pages as stream:
            yield codec.page_of(incoming.call, []).SerializeToString()
            async for items in stream:
                for data in _page_messages(incoming.call, items):
                    yield data
                    await stream.throttle(len(data))

    async def _events(self, method: Method, envelope: Envelope) -> Messages:
        """Yield the pages of a replay or a subscription, at the pace of the client."""
        incoming = await _incoming(method, envelope)
        call, stored = incoming.call, bool(incoming.message.stored)
        assert isinstance(call, (Replay, Subscribe)), f"{method.name} has events"
        events = self._dispatcher.events(incoming.caller, incoming.store, call, size=incoming.size)
        async with events as stream:
            async for page in stream:
                data = await _page_message(page, stored=stored)
                yield data
                await stream.throttle(len(data))


def _encoded_answer(call: Call[Any], answer: Any) -> bytes:
    data: bytes = codec.response_of(call, answer).SerializeToString()
    return data


async def _page_message(page: EventPage, *, stored: bool) -> bytes:
    """Return a page of events as a message; one that takes long is made in a thread."""
    sizes = [len(event.operations) for event in page.events if isinstance(event, StoredEvent)]
    is_sent_as_stored = stored and len(sizes) == len(page.events)
    if is_sent_as_stored and sum(sizes) < LARGE_BYTES:
        return _encoded_page(page, stored=stored)
    return await asyncio.to_thread(_encoded_page, page, stored=stored)


def _encoded_page(page: EventPage, *, stored: bool) -> bytes:
    data: bytes = event_page(
        page.events,
        log_id=page.log_id,
        bound=page.bound,
        caught_up=page.caught_up,
        stored=stored,
    ).SerializeToString()
    return data


async def _incoming(method: Method, envelope: Envelope) -> IncomingCall:
    """Return the call in the bytes of a request; raise `InvalidInput` if it has none."""
    if len(envelope.data) < LARGE_BYTES:
        return _decoded(method, envelope)
    return await asyncio.to_thread(_decoded, method, envelope)


def _decoded(method: Method, envelope: Envelope) -> IncomingCall:
    message = parsed(method.request, envelope.data)
    return IncomingCall(envelope, message, codec.call_of(message))


def parsed(kind: Any, data: bytes) -> Message:
    """Return a message of a class from its bytes; raise `InvalidInput` for invalid ones."""
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise InvalidInput(
            "request", f"the {len(data)} bytes are no {kind.DESCRIPTOR.name}: {error}"
        ) from error


def _page_messages(call: Call[Any], items: Sequence[Any]) -> Iterator[bytes]:
    """Yield the messages of a page: two, if one would be too large."""
    message = codec.page_of(call, items)
    if len(items) > 1 and message.ByteSize() > PAGE_BYTES:
        middle = len(items) // 2
        yield from _page_messages(call, items[:middle])
        yield from _page_messages(call, items[middle:])
    else:
        yield message.SerializeToString()
