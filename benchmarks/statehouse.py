"""The wire of Statehouse, against a stream of the same messages and an empty call.

The server is another process: `python -m benchmarks.statehouse PATH` serves a store, and beside it
the same messages made beforehand, and a method that does nothing.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import grpc
import uvloop

import memoranda
from benchmarks.report import Figure
from memoranda.server.serving import Server, ServerSettings
from memoranda.server.statehouse import messages
from memoranda.server.statehouse import statehouse_pb2 as pb
from memoranda.server.statehouse.service import SERVICE
from memoranda.server.stores import StoreOptions

EVENTS = 1_000
TURNS = 40
"""Many short turns: a busy moment of the machine falls on both."""
CALLS = 1_000
_BASELINE = "benchmarks.Baseline"
_VALUE = {
    "action": "search",
    "query": "architecture of the store",
    "sources": ["doc1.pdf", "doc2.pdf"],
}
"""A step of an agent that notes its sources."""


def figures(path: Path) -> list[Figure]:
    """Measure a server of a store."""
    fill(path)
    with _server(path) as (channel, baseline):
        ours, beforehand = replay(channel, baseline)
        write, empty = latencies(channel, baseline)
    return [
        Figure(
            "Statehouse replay, one event a message",
            ours,
            beforehand,
            "/s",
            "same messages, made beforehand",
            0.8,
            0.9,
        ),
        *(
            Figure(
                f"Statehouse write and commit, {name}",
                _quantile(write, share) * 1e6,
                _quantile(empty, share) * 1e6,
                "µs",
                "an empty call",
                10.0,
                5.0,
                True,
            )
            for name, share in (("p50", 0.5), ("p99", 0.99))
        ),
    ]


def fill(path: Path) -> None:
    """Write the events of agent `a`."""
    with memoranda.open(path, durability="relaxed", embedder=None) as store:
        agent = store.bind(agent_id="a")
        for number in range(EVENTS):
            agent.write(key=f"step:{number % 100}", value={"n": number, **_VALUE})


def replay(channel: grpc.Channel, baseline: grpc.Channel) -> tuple[float, float]:
    """Return events a second: replayed, and sent as they were made before; measured in turns."""
    request = pb.ReplayRequest(agent_id="a").SerializeToString()
    replayed = channel.unary_stream(f"/{SERVICE}/Replay")
    beforehand = baseline.unary_stream(f"/{_BASELINE}/Replay")
    _rate(replayed, request), _rate(beforehand, b"")
    turns = [(_rate(replayed, request), _rate(beforehand, b"")) for _ in range(TURNS)]
    return median(first for first, _ in turns), median(second for _, second in turns)


def latencies(channel: grpc.Channel, baseline: grpc.Channel) -> tuple[list[float], list[float]]:
    """Return the seconds of each write with its commit, and of each empty call, in turns."""
    begin, write, commit = (
        channel.unary_unary(f"/{SERVICE}/{name}")
        for name in ("BeginTransaction", "Write", "Commit")
    )
    empty = baseline.unary_unary(f"/{_BASELINE}/Empty")
    value = pb.WriteRequest(agent_id="a", key="k")
    value.value.update(_VALUE)
    times: list[tuple[float, float]] = []
    for _ in range(CALLS):
        value.txn_id = pb.BeginTransactionResponse.FromString(begin(b"")).txn_id
        request = value.SerializeToString()
        done = pb.CommitRequest(txn_id=value.txn_id).SerializeToString()
        start = time.perf_counter()
        write(request)
        commit(done)
        middle = time.perf_counter()
        empty(b"")
        times.append((middle - start, time.perf_counter() - middle))
    return [first for first, _ in times], [second for _, second in times]


def _rate(method: Callable[[bytes], Iterator[bytes]], request: bytes) -> float:
    start = time.perf_counter()
    count = sum(1 for _ in method(request))
    assert count >= EVENTS, "it is the whole history"
    return count / (time.perf_counter() - start)


def _quantile(times: list[float], share: float) -> float:
    return sorted(times)[int(len(times) * share)]


@contextmanager
def _server(path: Path) -> Iterator[tuple[grpc.Channel, grpc.Channel]]:
    """Give channels to a server of the store, and to one of the baseline in the same process."""
    command = [sys.executable, "-m", "benchmarks.statehouse", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ours, baseline = process.stdout.readline().split()
            with grpc.insecure_channel(ours) as first, grpc.insecure_channel(baseline) as second:
                yield first, second
        finally:
            process.kill()


async def _serve(path: Path) -> None:
    with memoranda.open(path, create=False, embedder=None) as store:
        made = messages.encode_events(store.replay(agent_id="a"))

    async def send(_: bytes, context: Any) -> None:
        for message in made:
            await context.write(message)

    async def answer(_: bytes, __: Any) -> bytes:
        return b""

    methods = {
        "Replay": grpc.unary_stream_rpc_method_handler(send),
        "Empty": grpc.unary_unary_rpc_method_handler(answer),
    }
    baseline = grpc.aio.server()
    handlers = grpc.method_handlers_generic_handler(_BASELINE, methods)
    baseline.add_generic_rpc_handlers((handlers,))
    port = baseline.add_insecure_port("127.0.0.1:0")
    await baseline.start()
    settings = ServerSettings(file=path, port=0, stores=StoreOptions(embedder=None))
    async with Server(settings) as server:
        print(f"{server.address} 127.0.0.1:{port}", flush=True)
        await baseline.wait_for_termination()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as a server has it
        runner.run(_serve(Path(sys.argv[1])))
