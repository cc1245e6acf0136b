"""Checks whether a client can use our server, by starting it as the client does."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from typing import IO, Any

import msgspec

from memoranda.cli.assistants.clients import CLIENTS, Client
from memoranda.cli.assistants.configuration import Configuration

SECONDS = 30.0
"""Seconds in which the server must start and answer."""
ERAS = {"2026-07-28": "without a handshake", "legacy": "with a handshake"}
"""Mode of the official client -> how it connects."""
_TOOL = "memory_inbox"
_REPORT_CHARACTERS = 600
"""The last characters of a program's error output that a finding quotes."""


class Finding(msgspec.Struct, frozen=True):
    """The outcome of one check."""

    client: str
    is_ok: bool
    text: str
    remedy: str | None = None


def installed_clients(scope: str, folders: Mapping[str, str]) -> list[str]:
    """Return the clients that have our server in their configuration."""
    return [
        name
        for name, client in CLIENTS.items()
        if scope in client.files and Configuration(client, scope, folders).server() is not None
    ]


def diagnose(client: Client, scope: str, folders: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the findings about the configuration, the program, the server and the hooks."""
    configuration = Configuration(client, scope, folders)
    again = f"Run `memoranda mcp install --client {client.name}" + (
        "`" if scope == "user" else f" --scope {scope}`"
    )
    entry = configuration.server()
    if entry is None:
        text = f"{configuration.server_path} does not have the server"
        yield Finding(client.name, is_ok=False, text=text, remedy=f"{again}.")
        return
    yield Finding(client.name, is_ok=True, text=f"{configuration.server_path} has the server")
    command = entry.get("command")
    if not isinstance(command, str) or shutil.which(command) is None:
        text = f"there is no program {command!r}"
        yield Finding(client.name, is_ok=False, text=text, remedy=f"{again} to name this one.")
        return
    for era, manner in ERAS.items():
        yield asyncio.run(_connect(client, entry, era, manner, folders["project"]))
    for line in configuration.hook_commands():
        yield run_hook(client, line, folders["project"], f"{again[:-1]} --hooks` to renew it.")


async def _connect(
    client: Client, entry: Mapping[str, Any], era: str, manner: str, project: str
) -> Finding:
    """Start the server, list its tools and call one."""
    from mcp import Client as McpClient
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.shared.exceptions import MCPError

    arguments = [str(item).replace("${workspaceFolder}", project) for item in entry.get("args", ())]
    environment = {name: str(value) for name, value in (entry.get("env") or {}).items()}
    parameters = StdioServerParameters(
        command=entry["command"],
        args=arguments,
        env={**os.environ, **environment} if client.inherits else environment,
        cwd=project,
    )
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as reports:
        try:
            async with (
                asyncio.timeout(SECONDS),
                McpClient(stdio_client(parameters, reports), mode=era) as assistant,
            ):
                tools = (await assistant.list_tools()).tools
                answer = await assistant.call_tool(_TOOL, {})
                version = assistant.protocol_version
        except (MCPError, OSError, ValueError, ExceptionGroup) as error:
            text = f"the server cannot be used {manner}: {_reason(error)}"
            return Finding(client.name, is_ok=False, text=text, remedy=_remedy(reports, parameters))
    if answer.is_error:
        text = f"{_TOOL} failed: {answer.content}"
        return Finding(client.name, is_ok=False, text=text, remedy="Run `memoranda doctor`.")
    text = f"connected {manner} ({version}), {len(tools)} tools, {_TOOL} answers"
    return Finding(client.name, is_ok=True, text=text)


def _reason(error: BaseException) -> str:
    """Return the text of an error; of several errors in a group, the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"it did not answer within {SECONDS:.0f} seconds"
    return str(error) or type(error).__name__


def _remedy(reports: IO[str], parameters: Any) -> str:
    """Return the last error output of the server, or a way to see it."""
    reports.seek(0)
    text = reports.read().strip()
    if text:
        return text[-_REPORT_CHARACTERS:]
    words = shlex.join([parameters.command, *parameters.args])
    return f"Run it yourself to see why: {words}"


def run_hook(client: Client, line: str, project: str, remedy: str) -> Finding:
    """Run a hook about no session, which stores nothing."""
    try:
        process = subprocess.run(
            line,
            shell=True,  # as clients do
            input=b"{}",
            capture_output=True,
            timeout=SECONDS,
            cwd=project,
            check=False,
        )
    except subprocess.TimeoutExpired:
        text = f"the hook did not end within {SECONDS:.0f} seconds: {line}"
        return Finding(client.name, is_ok=False, text=text, remedy=remedy)
    if process.returncode == 0 and not process.stderr:
        return Finding(client.name, is_ok=True, text=f"hook works: {line}")
    reports = process.stderr.decode(errors="replace").strip()[-_REPORT_CHARACTERS:]
    text = f"hook fails: {line}"
    return Finding(client.name, is_ok=False, text=text, remedy=reports or remedy)
