"""The official client lists and calls every tool, over both transports and in both eras."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memoranda.server.mcp.catalog import TOOLS
from tests.mcp_client import ERAS, Assistant, Era
from tests.mcp_every_tool import call_every_tool
from tests.mcp_transports import over_http, over_stdio
from tests.patience import HANG_SECONDS
from tests.quick import only
from tests.server_process import ServerProcess

NAMES = [tool.name for tool in TOOLS]


async def _list_and_call(assistant: Assistant) -> None:
    assert [tool.name for tool in (await assistant.client.list_tools()).tools] == NAMES
    assert await call_every_tool(assistant) == set(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("era", only(ERAS[:1], ERAS))
def test_a_process_on_stdio_has_every_tool(era: Era, tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            asyncio.timeout(HANG_SECONDS),
            over_stdio(tmp_path / "store.db", "--tools", "full", era=era) as assistant,
        ):
            await _list_and_call(assistant)

    asyncio.run(main())


@pytest.mark.slow
def test_a_server_process_over_http_has_every_tool(tmp_path: Path) -> None:
    async def main(url: str, era: Era) -> None:
        async with (
            asyncio.timeout(HANG_SECONDS),
            over_http(f"{url}/mcp?tools=full&namespace={era}", era=era) as assistant,
        ):
            await _list_and_call(assistant)

    options = ("--db", str(tmp_path / "store.db"), "--http", "127.0.0.1:0")
    with ServerProcess(*options) as server:
        for era in ERAS:
            asyncio.run(main(server.announced["http"], era))
