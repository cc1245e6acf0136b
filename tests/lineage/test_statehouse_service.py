"""Statehouse's service over gRPC, as its clients use it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    NotFound,
    PermissionDenied,
    StoreBusy,
    TransactionClosed,
    TransactionExpired,
    Unavailable,
)
from memoranda.server.statehouse import messages, statuses
from memoranda.server.statehouse import statehouse_pb2 as pb
from tests.unit.server.statehouse.serving import Client, Refusal, serve


def test_every_call_of_the_service_is_answered(tmp_path: Path) -> None:
    """All RPCs: each with an answer of its own type."""

    async def work(client: Client) -> None:
        scope = {"agent_id": "a", "namespace": "default"}
        first, second = await client.begin(timeout_ms=30_000), await client.begin()
        answers = [
            await client.call("Write", txn_id=first, **scope, key="k", value={"n": 1}),
            await client.call("Delete", txn_id=first, **scope, key="other"),
            await client.call("Commit", txn_id=first),
            await client.call("Abort", txn_id=second),
            await client.call("GetState", **scope, key="k"),
            await client.call("GetStateAtVersion", **scope, key="k", version=1),
            await client.call("ListKeys", **scope),
            await client.call("ScanPrefix", **scope, prefix=""),
            await client.call("Health"),
            await client.call("Version"),
            *await client.replay(**scope),
        ]
        kinds = {type(answer).__name__ for answer in answers}
        methods = pb.DESCRIPTOR.services_by_name["StatehouseService"].methods
        assert kinds | {"BeginTransactionResponse"} == {
            method.output_type.name for method in methods
        }

    serve(work, tmp_path / "s.db")


def test_health_and_version(tmp_path: Path) -> None:
    """Health, Version: `ok`, and a version."""

    async def work(client: Client) -> None:
        assert (await client.call("Health")).status == "ok"
        assert (await client.call("Version")).version == memoranda.__version__

    serve(work, tmp_path / "s.db")


def test_streaming_sends_one_event_a_message(tmp_path: Path) -> None:
    """Streaming: a transaction is one message, however many operations it has."""

    async def work(client: Client) -> None:
        for number in range(3):
            txn_id = await client.begin()
            for key in "xyz"[: number + 1]:
                await client.call("Write", txn_id=txn_id, agent_id="a", key=key, value={})
            await client.call("Commit", txn_id=txn_id)
        assert [len(event.operations) for event in await client.replay()] == [1, 2, 3]

    serve(work, tmp_path / "s.db")


def test_backpressure_makes_the_server_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Backpressure: what is not read is not sent, and in the end nothing is lost."""
    path, events, sent = tmp_path / "s.db", 300, 0
    with memoranda.open(path, durability="relaxed", embedder=None) as store:
        for number in range(events):
            store.write(agent_id="a", key="k", value={"text": "x" * 50_000, "n": number})
    encode = messages.encode_events

    def count(part: Sequence[Any]) -> list[bytes]:
        nonlocal sent
        sent += len(part)
        return encode(part)

    monkeypatch.setattr(messages, "encode_events", count)

    async def work(client: Client) -> None:
        replay = client.stream(agent_id="a")
        numbers = [(await anext(replay)).commit_ts]
        for _ in range(100):  # the server has time for more, and does not use it
            await client.call("Health")
        assert sent < events
        numbers += [event.commit_ts async for event in replay]
        assert numbers == list(range(1, events + 1))
        assert sent == events

    serve(work, path)


def test_bounds_of_a_replay_are_both_inclusive(tmp_path: Path) -> None:
    """Replay: `start_ts` and `end_ts` are commit numbers."""

    async def work(client: Client) -> None:
        for number in range(4):
            await client.write("k", {"n": number})
        events = await client.replay(start_ts=2, end_ts=3)
        assert [event.commit_ts for event in events] == [2, 3]

    serve(work, tmp_path / "s.db")


def test_numbers_are_doubles_on_the_wire(tmp_path: Path) -> None:
    """Write: integers come back as whole numbers, and are integers for other readers."""

    async def work(client: Client) -> None:
        await client.write("k", {"n": 3, "x": 2.5})
        state = await client.call("GetState", agent_id="a", key="k")
        assert (state.value["n"], state.value["x"]) == (3.0, 2.5)

    serve(work, tmp_path / "s.db")
    with memoranda.open(tmp_path / "s.db") as store:
        state = store.get_state(agent_id="a", key="k")
        assert state is not None
        assert [type(item) for item in state.value.values()].count(int) == 1


def test_what_is_not_there_does_not_exist(tmp_path: Path) -> None:
    """GetState: a deleted key and one that was never written have `exists=false`."""

    async def work(client: Client) -> None:
        await client.write("k", {"n": 1})
        txn_id = await client.begin()
        await client.call("Delete", txn_id=txn_id, agent_id="a", key="k")
        await client.call("Commit", txn_id=txn_id)
        for key in ("k", "never"):
            state = await client.call("GetState", agent_id="a", key=key)
            assert not state.exists
            assert not state.HasField("value")
        assert await client.keys() == []

    serve(work, tmp_path / "s.db")


def test_a_transaction_that_was_never_begun_is_not_found(tmp_path: Path) -> None:
    """TXN_NOT_FOUND: an unknown transaction fails any call on it."""

    async def work(client: Client) -> None:
        for name in ("Commit", "Abort"):
            with pytest.raises(Refusal, match="NOT_FOUND") as refusal:
                await client.call(name, txn_id="never begun")
            assert refusal.value.code == "TXN_NOT_FOUND"

    serve(work, tmp_path / "s.db")


def test_errors_have_their_codes() -> None:
    """ErrorCode: what Statehouse has a name for comes with it."""
    codes = {
        InvalidInput("key", "is empty"): "INVALID_REQUEST",
        NotFound("gone", field="txn_id"): "TXN_NOT_FOUND",
        TransactionExpired(): "TXN_EXPIRED",
        TransactionClosed(): "TXN_ALREADY_COMMITTED",
        StoreBusy(): "STORAGE_ERROR",
        Unavailable(): "STORAGE_ERROR",
        MemorandaError(): "INTERNAL_ERROR",
        PermissionDenied(): "UNKNOWN",
    }
    for error, code in codes.items():
        _, text, ((_, data), *_) = statuses.status_of(error)
        described = pb.StatehouseError.FromString(data)
        assert (pb.ErrorCode.Name(described.code), described.message) == (code, text)
