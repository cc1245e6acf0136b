"""A client that reads slowly makes the server wait, and neither grow nor stall those who write."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
from memoranda.calls.key_writes import Write
from memoranda.calls.log import Replay
from memoranda.calls.subscriptions import Subscribe
from memoranda.wire import codec
from memoranda.wire.methods import METHOD_OF
from tests.grpc_client import GrpcClient
from tests.server_process import ServerProcess

MIB = 1024 * 1024
EVENTS, VALUE = 600, {"text": "x" * 200_000}
"""About 120 MB of events: twice of what the server may grow by."""


@pytest.mark.slow
@pytest.mark.parametrize("stored", [True, False])
def test_a_slow_reader_does_not_grow_the_server(tmp_path: Path, *, stored: bool) -> None:
    path = tmp_path / "acme.db"
    with memoranda.open(path, durability="relaxed", embedder=None) as store:
        for number in range(EVENTS):
            store.write(agent_id="a", key=f"k{number}", value=VALUE)
    with (
        ServerProcess("--db", str(path)) as server,
        GrpcClient(server.address) as reader,
        GrpcClient(server.address) as writer,
    ):
        assert len(first_events(reader, stored=stored)) == 10
        before = memory(server.pid)
        calls = [
            reader.send_all(METHOD_OF[type(call)].path, [request(call, stored=stored)])
            for call in (Replay("a", None), Replay("a", None), Subscribe("a", None, after_commit=0))
        ]
        for call in calls:
            next(call)  # and no more
        commits = [writer.ask(Write("b", "default", "k", {"n": n})).commit_ts for n in range(100)]
        assert commits == [*range(EVENTS + 1, EVENTS + 101)]
        assert memory(server.pid) - before < 50 * MIB
        response = METHOD_OF[Replay].response
        replayed = [event for data in calls[0] for event in response.FromString(data).events]
        assert [event.commit_ts for event in replayed] == [*range(1, EVENTS + 1)]
        assert memory(server.pid) - before < 50 * MIB
        for call in calls:
            call.cancel()


def first_events(client: GrpcClient, *, stored: bool) -> list[int]:
    call = Replay("a", None, through_commit=10)
    return [event.commit_ts for page in client.stream(call, stored=stored) for event in page.events]


def request(call: Replay | Subscribe, *, stored: bool) -> bytes:
    data: bytes = codec.request_of(call, stored=stored).SerializeToString()
    return data


def memory(pid: int) -> int:
    """Return the most memory that a process has had, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024
