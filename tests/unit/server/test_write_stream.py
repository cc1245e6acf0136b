"""The stream of writes: many commits a message, in order for each key, with bounded memory."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from memoranda.calls.erasure_writes import Forget
from memoranda.calls.extraction import GetHead
from memoranda.calls.key_writes import Write
from memoranda.calls.keys import GetState
from memoranda.calls.log import Replay
from memoranda.calls.maintenance import Verify
from memoranda.calls.memory_writes import Remember, Touch
from memoranda.calls.transactions import Commit
from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    NotFound,
    PermissionDenied,
    TooManyRequests,
    Unauthenticated,
    VersionMismatch,
)
from memoranda.server import write_messages, write_queue
from memoranda.server.control_store import ControlStore, control_path
from memoranda.server.token_limits import TokenLimits
from memoranda.wire import codec
from memoranda.wire.batches import outcomes_in, write_batch
from memoranda.wire.methods import WRITE_BATCH, WRITE_OUTCOMES, WRITE_STREAM
from tests.grpc_client import GrpcClient, error_of
from tests.patience import HANG_SECONDS, wait_until
from tests.server_process import ServerThread


class Stream:
    """A stream of writes that a test feeds."""

    def __init__(self, client: GrpcClient, store: str = "acme") -> None:
        self._store = store
        self._messages: queue.Queue[bytes | None] = queue.Queue()
        self.call = client.send_all(
            WRITE_STREAM, iter(self._messages.get, None), timeout=HANG_SECONDS
        )
        self._numbers = 0

    def send(self, *calls: Any, **fields: Any) -> list[int]:
        """Send calls as one batch, and return their numbers."""
        first = self._numbers
        self._numbers += len(calls)
        numbers = [*range(first, self._numbers)]
        requests = [codec.request_of(call, **fields) for call in calls]
        batch = write_batch(zip(numbers, requests, strict=True), store=self._store)
        self.send_bytes(batch.SerializeToString())
        return numbers

    def send_bytes(self, data: bytes) -> None:
        self._messages.put(data)

    def end(self) -> None:
        self._messages.put(None)

    def outcomes(self, count: int) -> dict[int, Any]:
        """Return so many outcomes by their numbers."""
        outcomes: dict[int, Any] = {}
        while len(outcomes) < count:
            outcomes |= outcomes_in(WRITE_OUTCOMES.FromString(next(self.call)))
        assert len(outcomes) == count
        return outcomes

    def error(self) -> MemorandaError | None:
        """Return the error that the stream ends with."""
        with pytest.raises(grpc.RpcError) as raised:
            next(self.call)
        return error_of(raised.value)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerThread]:
    with ServerThread(folder=tmp_path, create=["acme", "globex"]) as server:
        yield server


@pytest.fixture
def client(server: ServerThread) -> Iterator[GrpcClient]:
    with GrpcClient(server.address, store="acme") as client:
        yield client


@pytest.fixture
def stream(client: GrpcClient) -> Iterator[Stream]:
    stream = Stream(client)
    yield stream
    stream.end()
    stream.call.cancel()


def write(number: int, key: str = "k", **options: Any) -> Write:
    return Write("a", "default", key, {"n": number}, **options)


def test_one_message_has_many_commits(stream: Stream, client: GrpcClient) -> None:
    numbers = stream.send(*(write(n, f"k{n}", txn_id=f"t{n}") for n in range(100)))
    outcomes = stream.outcomes(100)
    assert sorted(outcomes) == numbers
    assert sorted(receipt.commit_ts for receipt in outcomes.values()) == [*range(1, 101)]
    assert client.ask(GetState("a", "default", "k7")).value == {"n": 7}
    stream.end()
    assert [*stream.call] == []
    assert stream.call.code() is grpc.StatusCode.OK


def test_writes_to_one_key_are_decided_in_their_order(stream: Stream, client: GrpcClient) -> None:
    """Also where some of them have to be staged in threads, since they give out ids."""
    calls = [
        Remember("a", "default", f"memory {n}", txn_id=f"m{n}")
        if n % 2
        else write(n, txn_id=f"t{n}")
        for n in range(60)
    ]
    for first in range(0, 60, 5):
        stream.send(*calls[first : first + 5])
    outcomes = stream.outcomes(60)
    assert not [outcome for outcome in outcomes.values() if isinstance(outcome, MemorandaError)]
    events = client.items(Replay("a", "default"), stored=True)
    names = [event.txn_id for event in events]
    assert names == [call.txn_id for call in calls]


@pytest.mark.slow
def test_a_refused_write_ends_nothing(stream: Stream) -> None:
    refused, fine = stream.send(write(1, expect_version=7), write(2))
    outcomes = stream.outcomes(2)
    assert isinstance(outcomes[refused], VersionMismatch)
    assert outcomes[fine].version == 1
    (invalid,) = stream.send(write(1, key=""))
    assert isinstance(stream.outcomes(1)[invalid], InvalidInput)


def test_transactions_and_erasures_are_writes_too(stream: Stream, client: GrpcClient) -> None:
    (number,) = stream.send(Commit((write(1, "x"), write(2, "y")), txn_id="t"))
    assert stream.outcomes(1)[number].changed
    memory = client.ask(Remember("a", "default", "my address"))
    forget, other = stream.send(Forget(memory_id=memory.id, reason="asked to"), write(3))
    outcomes = stream.outcomes(2)
    assert outcomes[forget].operations == 1
    assert outcomes[other].version == 1


def test_a_write_that_is_sent_again_has_one_effect(client: GrpcClient, stream: Stream) -> None:
    first, again = stream.send(write(1, txn_id="t"), write(1, txn_id="t"))
    outcomes = stream.outcomes(2)
    assert outcomes[first].commit_ts == outcomes[again].commit_ts
    assert client.ask(Verify()).commits == 1


def test_each_write_acts_for_the_agent_it_names(stream: Stream, client: GrpcClient) -> None:
    stream.send(write(1), acting_agent="bob")
    stream.send(write(2))
    stream.outcomes(2)
    actors = [event.actor for event in client.items(Replay("a", None), stored=True)]
    assert actors == ["bob", "local"]


@pytest.mark.parametrize("agent", ["x" * 5000, "a\0b"])
def test_what_is_no_agent_cannot_act(stream: Stream, agent: str, client: GrpcClient) -> None:
    stream.send(write(1), acting_agent=agent)
    refusal = stream.outcomes(1)[0]
    assert isinstance(refusal, InvalidInput)
    with pytest.raises(InvalidInput) as raised:
        client.ask(write(1), acting_agent=agent)
    assert str(refusal) == str(raised.value)


def test_a_store_that_is_not_there_refuses_the_writes(client: GrpcClient) -> None:
    stream = Stream(client, "nowhere")
    (number,) = stream.send(write(1))
    assert isinstance(stream.outcomes(1)[number], NotFound)
    stream.end()
    assert [*stream.call] == []


def test_a_batch_may_have_writes_that_are_not_understood(stream: Stream) -> None:
    batch = WRITE_BATCH(store="acme")
    batch.writes.add(id=1).write.CopyFrom(codec.request_of(write(1)))
    batch.writes.add(id=2)
    stream.send_bytes(batch.SerializeToString())
    outcomes = stream.outcomes(2)
    assert outcomes[1].version == 1
    assert isinstance(outcomes[2], InvalidInput)


def test_bytes_that_are_no_batch_end_the_stream_after_what_was_taken(stream: Stream) -> None:
    (number,) = stream.send(write(1))
    stream.send_bytes(b"\xff" * 10)
    assert stream.outcomes(1)[number].version == 1
    assert isinstance(stream.error(), InvalidInput)
    assert stream.call.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_shutdown_answers_what_was_taken_and_says_so(
    server: ServerThread, stream: Stream, tmp_path: Path
) -> None:
    stream.send(*(write(n, f"k{n}") for n in range(50)))
    outcomes = stream.outcomes(50)
    server.stop(HANG_SECONDS)
    assert len(outcomes) == 50
    assert stream.error() is None, "a client tries again by itself, as after a lost connection"
    assert stream.call.code() is grpc.StatusCode.UNAVAILABLE
    assert "shutting down" in stream.call.details()


def test_a_client_that_reads_no_outcomes_is_not_read_from(
    client: GrpcClient, server: ServerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_queue, "MAX_WRITES", 10)
    sizes: list[int] = []
    take = write_queue.WriteQueue.take

    async def slow_take(self: Any) -> Any:
        sizes.append(self._writes)
        return await take(self)

    monkeypatch.setattr(write_queue.WriteQueue, "take", slow_take)
    monkeypatch.setattr(write_queue, "OUTCOME_BYTES", 1)
    stream = Stream(client)
    for first in range(0, 200, 4):
        stream.send(*(write(n, f"k{n}") for n in range(first, first + 4)))
    assert len(stream.outcomes(200)) == 200
    assert max(sizes) < 10 + 4
    stream.end()
    assert [*stream.call] == []


def test_answers_that_a_client_does_not_read_are_not_collected(
    client: GrpcClient, server: ServerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = client.ask(Remember("a", "default", "x" * 10_000))
    monkeypatch.setattr(write_queue, "MAX_BYTES", 100_000)
    sizes: list[int] = []
    reads = threading.Event()
    take, add = write_queue.WriteQueue.take, write_queue.WriteQueue._add_outcome

    async def held_take(self: Any) -> Any:
        await asyncio.to_thread(reads.wait, HANG_SECONDS)
        return await take(self)

    def noted_add(self: Any, *outcome: Any) -> None:
        add(self, *outcome)
        sizes.append(self._outcome_bytes)

    monkeypatch.setattr(write_queue.WriteQueue, "take", held_take)
    monkeypatch.setattr(write_queue.WriteQueue, "_add_outcome", noted_add)
    stream = Stream(client)
    for _ in range(50):
        stream.send(*[Touch(memory.id, "a")] * 4)
    wait_until(lambda: len(sizes) > 0 and sizes[-1] > 100_000)
    wait_until(lambda: client.ask(GetHead()).commit_ts == 201)
    assert len(sizes) < 200, "what is committed is answered later"
    reads.set()
    assert len(stream.outcomes(200)) == 200
    assert max(sizes) < 100_000 + 16 * 11_000, "one read beyond the limit"
    stream.end()
    assert [*stream.call] == []


def test_a_batch_has_so_many_writes(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_messages, "MAX_WRITES", 3)
    assert len(stream.outcomes(len(stream.send(*(write(n) for n in range(3)))))) == 3
    stream.send(*(write(n) for n in range(4)))
    assert "has 4 writes, and the limit is 3" in str(stream.error())


def test_the_bytes_of_outcomes_count_for_their_token(tmp_path: Path) -> None:
    with ControlStore(control_path(folder=tmp_path)) as control:
        limits = TokenLimits(bytes_per_second=20_000)
        secret, _ = control.tokens.create(store="acme", limits=limits)
    with (
        ServerThread(folder=tmp_path, create=["acme"], tokens=True) as server,
        GrpcClient(server.address, store="acme", token=secret) as client,
    ):
        memory = client.ask(Remember("a", "default", "x" * 15_000))
        stream = Stream(client)
        stream.outcomes(len(stream.send(*[Touch(memory.id, "a")] * 20)))
        with pytest.raises(TooManyRequests) as raised:
            client.ask(GetState("a", "default", "k"))
        assert raised.value.retry_after > 5, "20 answers of 15 kB are of 15 seconds"
        stream.call.cancel()


def test_tokens_are_asked_for_each_batch(tmp_path: Path) -> None:
    with ControlStore(control_path(folder=tmp_path)) as control:
        secret, token = control.tokens.create(store="acme", agent="ann", covers=["a"])
        reader, _ = control.tokens.create(store="acme", agent="ann", covers=["a"], verbs=["read"])
        with ServerThread(folder=tmp_path, create=["acme", "globex"]) as server:
            with GrpcClient(server.address, token=reader) as client:
                stream = Stream(client)
                stream.send(write(1))
                assert isinstance(stream.outcomes(1)[0], PermissionDenied)
                stream.end()
                hidden = Stream(client, "globex")
                hidden.send(write(1))
                assert isinstance(hidden.outcomes(1)[0], NotFound)
                hidden.end()
            with GrpcClient(server.address, token=secret) as client:
                stream = Stream(client)
                stream.send(write(1))
                assert stream.outcomes(1)[0].version == 1
                control.tokens.revoke(token.id)
                server.run(refreshed(server))
                stream.send(write(2))
                assert isinstance(stream.error(), Unauthenticated)


def test_a_token_of_a_renamed_store_ends_its_streams(tmp_path: Path) -> None:
    with ControlStore(control_path(folder=tmp_path)) as control:
        secret, _ = control.tokens.create(store="acme", agent="a")
        with (
            ServerThread(folder=tmp_path, create=["acme"]) as server,
            GrpcClient(server.address, token=secret) as client,
        ):
            stream = Stream(client)
            stream.send(write(1))
            assert stream.outcomes(1)[0].version == 1
            control.tokens.rename_store("acme", "globex")  # and another store may be acme now
            server.run(refreshed(server))
            stream.send(write(2))
            assert isinstance(stream.error(), Unauthenticated)


def test_the_first_token_ends_streams_without_one(tmp_path: Path) -> None:
    with (
        ControlStore(control_path(folder=tmp_path)) as control,
        ServerThread(folder=tmp_path, create=["acme"]) as server,
        GrpcClient(server.address) as client,
    ):
        stream = Stream(client)
        stream.send(write(1))
        assert stream.outcomes(1)[0].version == 1
        control.tokens.create(store="acme", agent="a")
        server.run(refreshed(server))
        stream.send(write(2))
        assert isinstance(stream.error(), Unauthenticated)


async def refreshed(server: ServerThread) -> None:
    """Let the server see what another process has changed, as it does by itself soon."""
    control = server.server.dispatcher._control
    assert control is not None
    control.tokens.refresh()


def test_writes_of_a_client_that_is_gone_are_withdrawn_or_done(
    client: GrpcClient, server: ServerThread
) -> None:
    for _ in range(5):
        stream = Stream(client)
        stream.send(*(write(n, f"k{n}", txn_id=f"t{n}") for n in range(200)))
        stream.call.cancel()
        stream.end()
    stream = Stream(client)
    stream.send(*(write(n, f"k{n}", txn_id=f"t{n}") for n in range(200)))
    outcomes = stream.outcomes(200)
    assert not [outcome for outcome in outcomes.values() if isinstance(outcome, MemorandaError)]
    assert client.ask(Verify()).commits == 200
    stream.end()
