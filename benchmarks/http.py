"""Requests over HTTP: the server's CPU, and how long a client of ours waits beside one of gRPC.

The server is another process, `memoranda serve`, whose own CPU time is read; clients write bytes by
hand on connections that stay open, so that the machine's other core is theirs. The clients of ours
call in turns, so that a busy moment of the machine falls on both.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import memoranda
from benchmarks.processes import cpu_seconds
from benchmarks.report import Figure
from tests.server_process import ServerProcess

CONNECTIONS = 32
WARM_UP, REQUESTS = 2_000, 12_000
CALLS = 1_500
WRITE_MICROSECONDS, READ_MICROSECONDS = 110.0, 100.0
"""What a request may cost on a quiet core."""
_VALUE = {
    "action": "search",
    "query": "which documents describe the architecture of the store",
    "sources": ["doc1.pdf", "doc2.pdf"],
    "score": 0.95,
}


def figures(folder: Path) -> list[Figure]:
    """Measure a server of a folder of stores."""
    with served(folder) as (pid, port, headers):
        write = asyncio.run(cost(pid, port, lambda number: _write(number, headers)))
        read = asyncio.run(cost(pid, port, lambda number: _read(number, headers)))
    return [*_costs(write, read), *client_figures(folder / "clients.db")]


def _costs(write: float, read: float) -> list[Figure]:
    return [
        Figure(
            f"HTTP {name}, server CPU",
            measured,
            limit,
            "µs",
            "what it may cost on a quiet core",
            1.0,
            1.0,
            True,
        )
        for name, measured, limit in (
            ("durable write, 32 clients", write, WRITE_MICROSECONDS),
            ("get_state, 32 clients", read, READ_MICROSECONDS),
        )
    ]


def client_figures(path: Path) -> list[Figure]:
    """Measure the median time of a call and of a commit over `http://`, beside `grpc://`."""
    with (
        ServerProcess("--db", str(path), "--http", "127.0.0.1:0", "--no-tokens") as server,
        memoranda.open(f"{server.announced['http']}/") as over_http,
        memoranda.open(f"{server.announced['url']}/") as over_grpc,
    ):
        stores = [store.bind(agent_id="a") for store in (over_http, over_grpc)]
        for store in stores:
            store.write(key="k", value=_VALUE)
        reads = _medians([partial(store.get_state, key="k") for store in stores])
        writes = _medians([partial(store.write, key="k", value=_VALUE) for store in stores])
    return [
        Figure(f"{work} over http://", *times, "µs", "grpc://", 3.0, 2.0, True)
        for work, times in (("get_state", reads), ("one commit", writes))
    ]


def _medians(calls: Sequence[Callable[[], object]]) -> tuple[float, float]:
    """Return the median microseconds of two calls that take turns."""
    times: tuple[list[float], ...] = tuple([] for _ in calls)
    for _ in range(CALLS):
        for call, column in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            column.append((time.perf_counter() - start) * 1e6)
    first, second = (median(column) for column in times)
    return first, second


def _write(number: int, headers: str) -> bytes:
    body = json.dumps({"value": {"n": number, **_VALUE}}).encode()
    path = f"/v1/stores/acme/agents/a{number % 64}/keys/step:{number % 100}"
    return (
        f"PUT {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{headers}"
        f"content-length: {len(body)}\r\n\r\n".encode()
        + body
    )


def _read(number: int, headers: str) -> bytes:
    path = f"/v1/stores/acme/agents/a{number % 64}/keys/step:{number % 100}"
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{headers}\r\n".encode()


async def cost(pid: int, port: int, request: object) -> float:
    """Return the CPU microseconds of the server for a request."""
    await _send(port, request, WARM_UP)
    before = cpu_seconds(pid)
    await _send(port, request, REQUESTS)
    return (cpu_seconds(pid) - before) / REQUESTS * 1e6


async def _send(port: int, request: object, count: int) -> None:
    assert callable(request), "it makes requests"
    numbers = iter(range(count))

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            writer.write(request(number))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 404")), head
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
        writer.close()

    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, int, str]]:
    """Serve a store `acme` to a token; give the process, the port, and the header of the token."""
    command = [sys.executable, "-m", "memoranda"]
    stores = ["--stores", str(folder)]
    subprocess.run([*command, "stores", "create", "acme", *stores], check=True, capture_output=True)
    made = subprocess.run(
        [
            *command,
            "token",
            "create",
            "--json",
            "--store",
            "*",
            "--limit",
            "requests-per-second=1000000000",
            *stores,
        ],
        check=True,
        capture_output=True,
    )
    options = ["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--embedder", "none", "--json"]
    with subprocess.Popen(
        [*command, "serve", *options, *stores], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = json.loads(process.stdout.readline())["http"]
            secret = json.loads(made.stdout)["secret"]
            port = int(address.rpartition(":")[2])
            yield process.pid, port, f"authorization: Bearer {secret}\r\n"
        finally:
            process.kill()


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as scratch:
        start = time.perf_counter()
        for figure in figures(Path(scratch)):
            print(figure)
        print(f"{time.perf_counter() - start:.1f} s")
