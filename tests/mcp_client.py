"""Assistants in tests: the official client of the SDK, on a server in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

import mcp_types as types
from mcp import Client
from mcp.client.session import ClientRequestContext

import memoranda
from memoranda.calls.defaults import Defaults
from memoranda.server.mcp.carriers import StoreCarrier
from memoranda.server.mcp.catalog import ToolSet
from memoranda.server.mcp.connection import Connection
from memoranda.server.mcp.server import memory_server
from tests.patience import HANG_SECONDS

Era = Literal["2026-07-28", "legacy"]
ERAS: tuple[Era, ...] = ("2026-07-28", "legacy")
"""The revision without sessions, and the newest one with a handshake."""


class Assistant:
    """A client that calls tools, and says yes or no where its user is asked."""

    def __init__(self, client: Client, questions: list[str]) -> None:
        self.client = client
        self.questions = questions
        """What the user was asked."""

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that succeeds, and return its structured answer."""
        result = await self.client.call_tool(name, arguments)
        assert not result.is_error, result.content
        answer = result.structured_content
        assert isinstance(answer, dict), answer
        return answer

    async def fail(self, name: str, **arguments: Any) -> str:
        """Call a tool that fails, and return what the model reads."""
        result = await self.client.call_tool(name, arguments)
        assert result.is_error, result.structured_content
        (block,) = result.content
        assert isinstance(block, types.TextContent)
        return block.text


@asynccontextmanager
async def connected(
    server: Any, era: Era = "2026-07-28", *, says: bool | None = True
) -> AsyncIterator[Assistant]:
    """Connect an assistant; its user says yes or no, or cannot be asked at all."""
    questions: list[str] = []

    async def answer(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        questions.append(params.message)
        return types.ElicitResult(action="accept", content={"erase": bool(says)})

    callback = None if says is None else answer
    async with Client(server, mode=era, elicitation_callback=callback) as client:
        yield Assistant(client, questions)


def server_of(
    store: memoranda.AsyncStore,
    *,
    agent_id: str = "assistant",
    namespace: str = "default",
    tool_set: ToolSet = "full",
    is_read_only: bool = False,
) -> Any:
    """Return a server on an open store."""
    connection = Connection(
        carrier=StoreCarrier.of(store, Defaults(agent_id, namespace)),
        agent_id=agent_id,
        namespace=namespace,
        tool_set=tool_set,
        is_read_only=is_read_only,
    )
    return memory_server(lambda _: connection)


def run(work: Callable[[memoranda.AsyncStore], Awaitable[None]], **options: Any) -> None:
    """Run a test in an event loop, with a store in memory."""

    async def main() -> None:
        options.setdefault("embedder", None)
        async with asyncio.timeout(HANG_SECONDS):
            async with await memoranda.open_async(":memory:", **options) as store:
                await work(store)

    asyncio.run(main())
