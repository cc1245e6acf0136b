"""Clients that read slowly, or are gone: a server waits for them, and keeps nothing for them."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path

import grpc
import pytest

from memoranda.calls.key_writes import Write
from memoranda.calls.keys import GetState
from memoranda.calls.log import Replay
from memoranda.calls.subscriptions import Subscribe
from memoranda.server.statehouse import statehouse_pb2 as pb
from memoranda.server.statehouse.service import SERVICE
from memoranda.wire.codec import request_of
from memoranda.wire.methods import METHOD_OF, WRITE_STREAM
from tests.bulk import write_events
from tests.grpc_client import GrpcClient
from tests.patience import HANG_SECONDS
from tests.server_process import ServerProcess

ROOT = Path(__file__).parents[2]
EVENTS = 100_000
PAUSES = 20
"""How often a slow client stops reading on its way through the log."""
WRITES = 20
"""Commits that others make in each pause."""
MIB = 1024 * 1024
GROWTH_BYTES = 50 * MIB
STREAMS = 1_000
"""Streams that are abandoned at a time."""
STAYING_BYTES = STREAMS * 8 * 1024
"""By which memory may differ by chance. Two rounds of streams that stay would take more."""


def memory(server: ServerProcess, name: str) -> int:
    """Return the resident memory of a server in bytes: now (VmRSS), or at most so far (VmHWM)."""
    lines = Path(f"/proc/{server.pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def handles(server: ServerProcess) -> int:
    return len(list(Path(f"/proc/{server.pid}/fd").iterdir()))


def replayed(client: GrpcClient) -> Iterator[int]:
    """Yield how many events each message of a replay has."""
    for page in client.stream(Replay("a", None), stored=True, timeout=None):
        yield len(page.events)


def subscribed(client: GrpcClient) -> Iterator[int]:
    for page in client.stream(Subscribe("a", None, after_commit=0), stored=True, timeout=None):
        yield len(page.events)


def replayed_by_statehouse(client: GrpcClient) -> Iterator[int]:
    request = pb.ReplayRequest(agent_id="a").SerializeToString()
    for _ in client.send(f"/{SERVICE}/Replay", request, timeout=None):
        yield 1


def read_slowly(stream: Iterator[int], events: int, rest: Callable[[], None]) -> None:
    """Read so many events, and rest again and again on the way."""
    count = 0
    for pause in range(1, PAUSES + 1):
        while count < events * pause // PAUSES:
            count += next(stream)
        rest()


def check_growth(path: Path, read: Callable[[GrpcClient], Iterator[int]], events: int) -> int:
    """Read a log slowly while others write, and return by how many bytes the server has grown."""
    with (
        ServerProcess("--db", str(path)) as server,
        GrpcClient(server.address) as reader,
        GrpcClient(server.address) as writer,
    ):
        number = 0

        def write_some() -> None:
            """Commit, while the reader does not read: whoever waits for it waits for ever."""
            nonlocal number
            for _ in range(WRITES):
                writer.ask(Write("b", "default", "k", {"n": number}))
                number += 1

        write_some()
        read_slowly(read(reader), 2_000, write_some)
        memory_before = memory(server, "VmHWM")
        read_slowly(read(reader), events, write_some)
        assert writer.ask(GetState("b", "default", "k")).value == {"n": number - 1}
        return memory(server, "VmHWM") - memory_before


@pytest.mark.slow
@pytest.mark.parametrize("read", [replayed, subscribed, replayed_by_statehouse])
def test_a_slow_reader_costs_little_memory_and_stalls_no_writer(
    tmp_path: Path, read: Callable[[GrpcClient], Iterator[int]]
) -> None:
    write_events(tmp_path / "store.db", EVENTS)
    assert check_growth(tmp_path / "store.db", read, EVENTS) < GROWTH_BYTES


# Streams that nobody reads any more. Their client is a process (`python -m … ADDRESS N`): it opens
# streams, prints a line, and closes its connection once it reads one.


async def open_streams(address: str, number: int) -> None:
    """Open streams of all kinds, and leave them unread."""
    async with grpc.aio.insecure_channel(address) as channel:
        calls = [channel.stream_stream(path)() for path, _ in islice(cycle(STREAM_KINDS), number)]
        for call, (_, message) in zip(calls, cycle(STREAM_KINDS), strict=False):
            if message:
                await call.write(message)
                assert await call.read() is not grpc.aio.EOF
        sys.stdout.write("open\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)


_FEED = request_of(Subscribe("a", None), stored=True).SerializeToString()
STREAM_KINDS = (
    (METHOD_OF[Replay].path, request_of(Replay("a", None), stored=True).SerializeToString()),
    (f"/{SERVICE}/Replay", pb.ReplayRequest(agent_id="a").SerializeToString()),
    *[(METHOD_OF[Subscribe].path, _FEED)] * 4,
    *[(WRITE_STREAM, b"")] * 4,
)
"""Methods, and the messages that they get; a stream of writes may have none for a long time."""


def abandon_streams(address: str, number: int, *, killed: bool) -> None:
    """Let a client open streams and leave them: by closing its connection, or by being killed."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.acceptance.test_slow_clients", address, str(number)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        if killed:
            process.kill()
        else:
            process.stdin.close()
        process.wait(HANG_SECONDS)


@pytest.mark.slow
def test_abandoned_streams_leave_nothing_behind(tmp_path: Path) -> None:
    write_events(tmp_path / "store.db", 5_000)
    with ServerProcess("--db", str(tmp_path / "store.db")) as server:
        sizes, counts = [], []
        for number in range(4):
            abandon_streams(server.address, STREAMS, killed=number % 2 == 1)
            with GrpcClient(server.address) as client:
                client.ask(Write("b", "default", "k", {}))
            counts.append(handles(server))
            sizes.append(memory(server, "VmRSS"))
        server.signal(signal.SIGTERM)  # it waits for no call: all have ended
        assert server.wait() == (0, "")
    assert max(counts[2:]) <= max(counts[:2]) + 8, counts
    assert sizes[-1] - sizes[1] < STAYING_BYTES, sizes


if __name__ == "__main__":
    asyncio.run(open_streams(sys.argv[1], int(sys.argv[2])))
