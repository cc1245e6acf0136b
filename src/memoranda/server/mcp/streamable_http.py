"""The server over streamable HTTP: requests of an ASGI application, in both eras of the protocol.

Revision 2026-07-28 has no sessions: a request is answered by itself. Older revisions begin with a
handshake and have a session, in which a tool can ask the user; it belongs to the token that began
it. Either way the connection is that of each single request: a token that was revoked ends at the
next one.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.mcp.connection import Connection, Context
from memoranda.server.mcp.http_connection import connection_of
from memoranda.server.mcp.server import memory_server

MAX_SESSIONS: Final = 1000
"""Sessions of older revisions at a time."""
SESSION_SECONDS: Final = 30 * 60
"""After so long without a request, a session ends; its client begins another one."""
_CONNECTION: Final = "memoranda.connection"
"""Where the scope of a request has its connection."""


def connection_in(context: Context) -> Connection:
    """Return the connection that the request of a context came with."""
    assert context.request is not None, "every message comes by a request"
    connection: Connection = context.request.scope[_CONNECTION]
    return connection


class StreamableHttp:
    """Answers requests of MCP, between `start` and `stop`, in one event loop."""

    def __init__(self, dispatcher: Dispatcher, body_bytes: int) -> None:
        self._dispatcher = dispatcher
        self._sessions = StreamableHTTPSessionManager(
            memory_server(connection_in),
            max_request_body_size=body_bytes,
            max_sessions=MAX_SESSIONS,
            session_idle_timeout=SESSION_SECONDS,
        )
        self._stopping = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to answer. Sessions live in a task of their own, which `stop` ends."""
        started = asyncio.Event()

        async def run() -> None:
            async with self._sessions.run():
                started.set()
                await self._stopping.wait()

        self._running = asyncio.create_task(run())
        await started.wait()

    async def stop(self) -> None:
        """End all sessions."""
        self._stopping.set()
        if self._running is not None:
            await self._running

    async def serve(self, scope: Any, receive: Any, send: Any, caller: Caller, store: str) -> None:
        """Answer one request of a caller; the query of its address has the rest of its scope."""
        connection = connection_of(self._dispatcher, caller, store, scope["query_string"])
        scope = {**scope, _CONNECTION: connection}
        if connection.owner is not None:
            token = AccessToken(token="", client_id=connection.owner, scopes=[])
            scope["user"] = AuthenticatedUser(token)
        await self._sessions.handle_request(scope, receive, send)
