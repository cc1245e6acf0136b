"""Start-up: the user CPU time of importing the package, of the command line's help, and of MCP.

A figure is a ratio to the start of a bare interpreter; that of MCP is what its server takes beyond
the import of the SDK, beside half a second. Bytecode is cached in a folder of its own and read from
there, as it is where a wheel is installed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.report import Figure

STARTS = 15
"""Starts whose median is taken: one alone varies by a third on a shared machine."""
BARE = ("-c", "pass")
COMMANDS = (
    ("import memoranda", ("-c", "import memoranda"), 6.0, 3.0),
    ("memoranda --help", ("-m", "memoranda", "--help"), 8.0, 4.0),
)
"""What is started, with which arguments, and the ratios that it must and should keep to."""
MCP_IMPORT = ("-c", "import mcp.server.lowlevel.server, mcp.server.stdio")
MCP_MILLISECONDS = 500
"""What a server of MCP may take until it has answered, beyond the import of the SDK."""


def figures(folder: Path) -> list[Figure]:
    """Return the start-up times, measured in turns with the bare interpreter."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    measured: list[Figure] = []
    for work, arguments, must, target in COMMANDS:
        _cpu_seconds(arguments, environment)  # fills the cache
        ours, bare = list[float](), list[float]()
        for _ in range(STARTS):
            ours.append(_cpu_seconds(arguments, environment))
            bare.append(_cpu_seconds(BARE, environment))
        milliseconds = (median(ours) * 1e3, median(bare) * 1e3)
        against = "a bare interpreter, CPU time"
        measured.append(Figure(work, *milliseconds, "ms", against, must, target, True))
    return measured


def mcp_figure(folder: Path) -> Figure:
    """Return the time until a server of MCP on an existing store has listed its tools."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    requests = folder / "requests.json"
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    requests.write_text(json.dumps(message) + "\n", "utf-8")
    store = ("--db", str(folder / "mcp.db"), "--embedder", "none")
    command = ("-m", "memoranda", "mcp", *store)
    ours, sdk = list[float](), list[float]()
    _cpu_seconds(command, environment, requests)  # creates the store, and fills the cache
    for _ in range(STARTS):
        ours.append(_cpu_seconds(command, environment, requests))
        sdk.append(_cpu_seconds(MCP_IMPORT, environment))
    beyond = (median(ours) - median(sdk)) * 1e3
    against = "half a second of CPU beyond the SDK's import"
    return Figure("memoranda mcp", beyond, MCP_MILLISECONDS, "ms", against, 1.0, 0.8, True)


def _cpu_seconds(
    arguments: Sequence[str], environment: dict[str, str], standard_input: Path | None = None
) -> float:
    """Return the user CPU time of one start of the interpreter."""
    source = os.devnull if standard_input is None else str(standard_input)
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, source, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    process = os.posix_spawn(
        sys.executable, [sys.executable, *arguments], environment, file_actions=streams
    )
    _, status, usage = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"python {' '.join(arguments)} failed")
    return usage.ru_utime
