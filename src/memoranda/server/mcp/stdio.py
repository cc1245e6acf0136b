"""The server on the standard streams of a process, which an assistant starts."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

from mcp.server.stdio import stdio_server

from memoranda.calls.defaults import Defaults
from memoranda.calls.directory import DescribeStore
from memoranda.sdk.aio.store.store import AsyncStore
from memoranda.server.mcp.carriers import StoreCarrier
from memoranda.server.mcp.catalog import ToolSet
from memoranda.server.mcp.connection import Connection
from memoranda.server.mcp.server import memory_server
from memoranda.server.mcp.session import DEFAULT_AGENT

Opened = Callable[[], Awaitable[AsyncStore]]
_SIGNAL_EXIT = 128
"""What a shell adds to the number of a signal."""


async def serve_stdio(
    open_store: Opened,
    *,
    agent_id: str | None,
    namespace: str,
    tool_set: ToolSet,
    is_read_only: bool,
) -> None:
    """Serve one assistant until it closes its end, or a signal ends the process."""
    async with await open_store() as store:
        _leave_on_signals(store)
        agent = agent_id or await _agent_of_token(store) or DEFAULT_AGENT
        connection = Connection(
            carrier=StoreCarrier.of(store, Defaults(agent, namespace)),
            agent_id=agent,
            namespace=namespace,
            tool_set=tool_set,
            is_read_only=is_read_only,
        )
        server = memory_server(lambda _: connection)
        async with stdio_server() as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())


async def _agent_of_token(store: AsyncStore) -> str | None:
    """Return the agent in whose name the token of a remote store acts."""
    calls = StoreCarrier.of(store, Defaults())
    return (await calls.ask(DescribeStore())).actor


def _leave_on_signals(store: AsyncStore) -> None:
    """At a signal, close the store and end the process.

    A thread waits for input then, and nothing can wake it: leaving in order would wait for it.
    """
    loop = asyncio.get_running_loop()
    leaving: list[asyncio.Task[None]] = []

    async def leave(number: int) -> None:
        await store.close()
        os._exit(_SIGNAL_EXIT + number)

    def begin(number: int) -> None:
        leaving.append(loop.create_task(leave(number)))

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, begin, number)
