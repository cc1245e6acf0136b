"""The stream of writes of a client: who wakes its sender."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import memoranda
from memoranda.sdk.remote.calls import RemoteCalls
from memoranda.sdk.remote.grpc import write_stream
from memoranda.sdk.remote.grpc.write_stream import WriteStream
from tests.patience import HANG_SECONDS, wait_until
from tests.server_process import ServerThread


def is_waiting(stream: WriteStream) -> bool:
    """Say whether the sender waits for more writes than there are."""
    return stream._current is not None and stream._current.waits_for_peers


def test_the_last_write_that_a_sender_expects_wakes_it(
    server: ServerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pause is longer than the test may take, so that only a wake-up ends it."""
    with (
        memoranda.open(server.url("grpc")) as store,
        ThreadPoolExecutor(2) as threads,
    ):
        agent = store.bind(agent_id="a")
        agent.write(key="k", value={"n": 0})
        assert isinstance(agent._calls, RemoteCalls)
        stream = agent._calls._store.writes
        assert isinstance(stream, WriteStream)
        monkeypatch.setattr(write_stream, "PEER_WAIT_SECONDS", 2 * HANG_SECONDS)
        stream._queue._last_settled = 2
        first = threads.submit(agent.write, key="k", value={"n": 1})
        wait_until(lambda: stream._queue.unsent_count == 1 and is_waiting(stream))
        second = threads.submit(agent.write, key="k", value={"n": 2})
        commits = {write.result(HANG_SECONDS).commit_ts for write in (first, second)}
    assert commits == {2, 3}
