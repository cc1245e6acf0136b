"""The methods of `memoranda.v1` over gRPC, one for each call of the registry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import TypeAlias

from memoranda.server.call_messages import CallMessages, Envelope
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.grpc.gate import Context, Endpoint
from memoranda.wire.methods import METHODS, Method

Read: TypeAlias = Callable[[], Awaitable[bytes]]
"""Reads the message of a request."""


def call_endpoints(dispatcher: Dispatcher) -> dict[str, Endpoint]:
    """Return an endpoint for every call, by its path."""
    calls = CallMessages(dispatcher)
    return {method.path: _endpoint(calls, method) for method in METHODS.values()}


def _endpoint(calls: CallMessages, method: Method) -> Endpoint:
    streams = method.shape != "unary"
    serve = partial(_send_all if streams else _answer, calls, method)
    return Endpoint(method.path, serve, streams=streams)


async def _answer(
    calls: CallMessages, method: Method, caller: Caller, data: bytes, context: Context
) -> bytes:
    """Return the one answer of a call."""
    return await calls.answer(method, Envelope(caller, data, seconds=context.time_remaining()))


async def _send_all(
    calls: CallMessages, method: Method, caller: Caller, context: Context, read: Read
) -> None:
    """Send the messages of an answer."""
    async with aclosing(calls.stream(method, Envelope(caller, await read()))) as messages:
        async for data in messages:
            await context.write(data)
