"""Requests that no good client sends get a status in words, and leave nothing behind."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.server.statehouse import messages, service, values
from memoranda.server.statehouse import statehouse_pb2 as pb
from memoranda.server.statehouse.transactions import ServerTransactions
from tests.unit.server.statehouse.serving import Client, Refusal, serve, struct_of


def value_of(*, depth: int = 1, **fields: Any) -> bytes:
    """Return the bytes of a Struct, however deep."""
    value: dict[str, Any] = fields
    for _ in range(depth - 1):
        value = {"a": value}
    return messages.encode_struct(value)


def write_of(txn_id: str, value: bytes) -> bytes:
    """Return the bytes of a write of agent `a`; the value is field 5."""
    request: bytes = pb.WriteRequest(txn_id=txn_id, agent_id="a", key="k").SerializeToString()
    head = bytearray()
    size = len(value)
    while size > 0x7F:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    return request + b"\x2a" + bytes([*head, size]) + value


HOSTILE_VALUES = {
    "nan": (value_of(n=math.nan), "value.n: nan is not finite"),
    "infinity": (value_of(n=-math.inf), "value.n: -inf is not finite"),
    "zero character": (value_of(t="a\0b"), "U\\+0000"),
    "zero character in a name": (value_of(**{"a\0b": 1}), "U\\+0000"),
    "deep": (value_of(depth=34, n=1), "is no WriteRequest: .* nested too deeply"),
    "very deep": (value_of(depth=300, n=1), "is no WriteRequest: .* nested too deeply"),
    "deep lists": (
        value_of(n=[[[]]] * 2) + struct_of({"a": 1}).SerializeToString(),
        None,
    ),
    "large": (value_of(t="x" * (1024 * 1024)), "and the limit is 1048576"),
    "surrogate": (b"\n\x0a\n\x01a\x12\x05\x1a\x03\xed\xa0\x80", "text that is no UTF-8"),
    "no kind": (b"\n\x05\n\x01a\x12\x00", "a part of no kind"),
    "cut off": (value_of(t="x" * 50)[:-3], "is no WriteRequest"),
    "empty name": (value_of(**{"": 1}), None),
    "nothing": (b"", None),
}
"""The bytes of a Struct, and what the refusal says; None: it is taken."""


@pytest.mark.parametrize("name", HOSTILE_VALUES)
def test_a_value_is_taken_whole_or_refused_in_words(tmp_path: Path, name: str) -> None:
    value, words = HOSTILE_VALUES[name]

    async def work(client: Client) -> None:
        txn_id = await client.begin()
        if words is None:
            await client.send("Write", write_of(txn_id, value))
            await client.call("Commit", txn_id=txn_id)
            state = await client.call("GetState", agent_id="a", key="k")
            assert state.value == Struct.FromString(value)
            return
        with pytest.raises(Refusal, match=words) as refusal:
            await client.send("Write", write_of(txn_id, value))
        assert (refusal.value.status, refusal.value.code) == ("INVALID_ARGUMENT", "INVALID_REQUEST")
        assert (await client.call("Commit", txn_id=txn_id)).commit_ts == 0

    serve(work, tmp_path / "s.db")


BAD_REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "no value": ("Write", {"agent_id": "a", "key": "k"}),
    "no key": ("Write", {"agent_id": "a", "key": "", "value": {}}),
    "no agent": ("Delete", {"agent_id": "", "key": "k"}),
    "long key": ("Write", {"agent_id": "a", "key": "k" * 1025, "value": {}}),
    "zero in a key": ("Delete", {"agent_id": "a", "key": "a\0b"}),
    "long agent": ("Delete", {"agent_id": "a" * 257, "key": "k"}),
    "namespace with an empty part": (
        "Write",
        {"namespace": "a//b", "agent_id": "a", "key": "k", "value": {}},
    ),
    "namespace of the engine": (
        "Write",
        {"namespace": "_audit", "agent_id": "a", "key": "k", "value": {}},
    ),
}


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_a_bad_write_names_the_field_and_stages_nothing(tmp_path: Path, name: str) -> None:
    method, fields = BAD_REQUESTS[name]

    async def work(client: Client) -> None:
        txn_id = await client.begin()
        with pytest.raises(Refusal) as refusal:
            await client.call(method, txn_id=txn_id, **fields)
        field = refusal.value.error.details["field"]
        assert refusal.value.status == "INVALID_ARGUMENT"
        assert refusal.value.words.startswith(f"{field}: ")
        assert (await client.call("Commit", txn_id=txn_id)).commit_ts == 0

    serve(work, tmp_path / "s.db")


def test_bad_reads_name_the_field(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        for name, fields in (
            ("GetState", {"agent_id": "a"}),
            ("GetState", {"key": "k"}),
            ("ListKeys", {}),
            ("ScanPrefix", {"agent_id": "a", "prefix": "\0"}),
            ("ScanPrefix", {"agent_id": "a", "namespace": "..", "prefix": ""}),
        ):
            with pytest.raises(Refusal) as refusal:
                await client.call(name, **fields)
            assert refusal.value.status == "INVALID_ARGUMENT"
        with pytest.raises(Refusal) as refusal:
            await client.replay(agent_id="")
        assert refusal.value.status == "INVALID_ARGUMENT"

    serve(work, tmp_path / "s.db")


@pytest.mark.slow
def test_no_bytes_are_answered_with_anything_but_a_status(tmp_path: Path) -> None:
    """Fuzz every method; statuses that say "our fault" are failures."""
    names = [method.name for method in pb.DESCRIPTOR.services_by_name["StatehouseService"].methods]
    requests: list[Message] = [
        pb.WriteRequest(txn_id="t", agent_id="a", key="k", value=struct_of({"x": [1]})),
        pb.ReplayRequest(agent_id="a", start_ts=1),
    ]
    seeds = [request.SerializeToString() for request in requests]
    examples: list[bytes] = []

    @settings(max_examples=60, derandomize=True, database=None)
    @given(
        st.binary(max_size=60)
        | st.tuples(st.sampled_from(seeds), st.integers(0, 40), st.binary(max_size=4)).map(
            lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + 1 :]
        )
    )
    def collect(data: bytes) -> None:
        examples.append(data)

    collect()

    async def work(client: Client) -> None:
        statuses = set()
        for data in examples:
            for name in names:
                try:
                    await client.send(name, data)
                except Refusal as refusal:
                    statuses.add(refusal.status)
        assert statuses <= {"INVALID_ARGUMENT", "NOT_FOUND", "DEADLINE_EXCEEDED"}
        assert "INVALID_ARGUMENT" in statuses
        assert await client.write("k", {"n": 1}) == 1

    serve(work, tmp_path / "s.db")


def test_large_values_are_converted_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come back as they were sent, through the same functions in a thread."""
    monkeypatch.setattr(service, "_MAX_INLINE_BYTES", 100)
    monkeypatch.setattr(service, "_MAX_INLINE_PARTS", 10)
    value = {"items": [{"n": number, "text": "é" * 10} for number in range(2_000)]}

    async def work(client: Client) -> None:
        await client.write("k", value)
        state = await client.call("GetState", agent_id="a", key="k")
        (event,) = await client.replay()
        assert state.value == event.operations[0].value == struct_of(value)

    serve(work, tmp_path / "s.db")


def test_a_transaction_that_ends_while_a_large_value_is_read_takes_it_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transactions = ServerTransactions()
    monkeypatch.setattr(service, "_MAX_INLINE_BYTES", 0)
    read = values.read_document

    def read_late(struct: Struct) -> Any:
        (txn_id,) = transactions._open
        transactions.abort(txn_id, transactions._open[txn_id].owner)
        return read(struct)

    async def work(client: Client) -> None:
        txn_id = await client.begin()
        monkeypatch.setattr(service, "read_document", read_late)
        with pytest.raises(Refusal, match=r"FAILED_PRECONDITION: .* is aborted"):
            await client.call("Write", txn_id=txn_id, agent_id="a", key="k", value={"n": 1})
        assert (transactions.count, transactions.size) == (0, 0)

    serve(work, tmp_path / "s.db", transactions=transactions)
