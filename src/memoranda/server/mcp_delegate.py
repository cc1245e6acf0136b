"""MCP at a path of the HTTP server.

The SDK takes a second to import and some megabytes: it is imported by the first request.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from memoranda.server.dispatcher import Dispatcher
from memoranda.server.http.delegates import DelegatedRequest, body_again
from memoranda.server.http.limits import HttpLimits
from memoranda.server.http.messages import Send
from memoranda.server.http.problems import HttpProblem

if TYPE_CHECKING:
    from memoranda.server.mcp.streamable_http import StreamableHttp

MCP: Final = "mcp"
"""The name of the path."""
MAX_BODY_BYTES: Final = 32 * 1024 * 1024
"""Bytes of a request: a transcript may have 16 MiB, and JSON escapes some of it. The SDK decodes
it in the event loop."""


class McpDelegate:
    """Serves the tools of MCP. All methods are called in one event loop."""

    def __init__(self, dispatcher: Dispatcher, limits: HttpLimits) -> None:
        self._dispatcher = dispatcher
        self.body_bytes = min(limits.body_bytes, MAX_BODY_BYTES)
        self._starting = asyncio.Lock()
        self._transport: StreamableHttp | None = None

    async def serve(self, delegated: DelegatedRequest, send: Send) -> None:
        """Answer a request."""
        transport = self._transport or await self._start()
        request = delegated.request
        receive = body_again(request, delegated.body)
        await transport.serve(request.scope, receive, send, delegated.caller, delegated.store)

    async def _start(self) -> StreamableHttp:
        async with self._starting:
            if self._transport is None:
                if find_spec("mcp") is None:
                    raise HttpProblem(
                        HTTPStatus.NOT_IMPLEMENTED,
                        "MCP needs the package mcp: pip install 'memoranda[mcp]', and start the "
                        "server again",
                    )
                transport = (await asyncio.to_thread(_import_transport))(
                    self._dispatcher, self.body_bytes
                )
                await transport.start()
                self._transport = transport
            return self._transport

    async def stop(self) -> None:
        """End all sessions."""
        if self._transport is not None:
            await self._transport.stop()


def _import_transport() -> type[StreamableHttp]:
    from memoranda.server.mcp.streamable_http import StreamableHttp

    return StreamableHttp
