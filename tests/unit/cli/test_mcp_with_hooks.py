"""An installed assistant: what it stores by a tool, a hook tells it in its next session."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from memoranda.cli.assistants.clients import CLIENTS, folders
from memoranda.cli.assistants.configuration import Configuration
from tests.patience import HANG_SECONDS
from tests.unit.cli.runner import Cli


@pytest.mark.slow
def test_tools_and_hooks_share_the_memory_of_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "webshop"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    monkeypatch.chdir(project)
    cli = Cli(tmp_path)
    cli.env["MEMORANDA_AGENT"] = None
    cli("mcp", "install", "--client", "claude-code", "--hooks")
    places = folders("linux", {"HOME": str(tmp_path)}, project)
    configuration = Configuration(CLIENTS["claude-code"], "user", places)
    entry = configuration.server()
    assert entry is not None
    env = {name: value for name, value in os.environ.items() if not name.startswith("MEMORANDA_")}
    env |= {"MEMORANDA_HOOK_SECONDS": str(HANG_SECONDS)}

    async def store_a_memory() -> None:
        parameters = StdioServerParameters(
            command=entry["command"], args=entry["args"], env=env, cwd=project
        )
        async with asyncio.timeout(HANG_SECONDS), Client(stdio_client(parameters)) as client:
            result = await client.call_tool("memory_store", {"content": "We deploy on Fridays"})
            assert not result.is_error

    asyncio.run(store_a_memory())
    event = {"session_id": "s", "cwd": str(project / "src"), "hook_event_name": "SessionStart"}
    process = subprocess.run(
        configuration.hook_commands()[0],
        shell=True,
        input=json.dumps(event).encode(),
        capture_output=True,
        env=env,
        timeout=HANG_SECONDS,
        check=True,
    )
    assert b"- [observation] We deploy on Fridays (memory:" in process.stdout
    assert process.stderr == b""
