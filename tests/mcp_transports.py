"""Ways to a server of MCP that is a process of its own: its standard streams, and HTTP."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.mcp_client import Assistant, Era, connected
from tests.patience import HANG_SECONDS


@asynccontextmanager
async def over_stdio(
    db: Path | str, *options: str, era: Era = "2026-07-28", says: bool | None = True
) -> AsyncIterator[Assistant]:
    """Start `memoranda mcp` on a store, and connect an assistant to it."""
    arguments = ["-m", "memoranda", "mcp", "--db", str(db), "--embedder", "none", *options]
    parameters = StdioServerParameters(command=sys.executable, args=arguments)
    async with connected(stdio_client(parameters), era, says=says) as assistant:
        yield assistant


@asynccontextmanager
async def over_http(
    url: str,
    secret: str | None = None,
    *,
    era: Era = "2026-07-28",
    says: bool | None = True,
) -> AsyncIterator[Assistant]:
    """Connect an assistant to an address of an HTTP server, with a token if there is one."""
    headers = {} if secret is None else {"authorization": f"Bearer {secret}"}
    async with httpx2.AsyncClient(headers=headers, timeout=HANG_SECONDS) as client:
        transport = streamable_http_client(url, http_client=client)
        async with connected(transport, era, says=says) as assistant:
            yield assistant
