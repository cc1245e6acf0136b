"""The bytes that are written directly are those of the generated messages."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.errors import InvalidInput
from memoranda.model import document
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import Limits
from memoranda.model.operations import Delete, Write
from memoranda.server.statehouse import messages
from memoranda.server.statehouse import statehouse_pb2 as pb
from memoranda.server.statehouse.values import read_document
from memoranda.state.reads import StateRecord
from tests.unit.server.statehouse.serving import struct_of

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=200)
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
DOCUMENTS = st.dictionaries(TEXTS, VALUES, max_size=6)
LIMITS = Limits()


def record(key: str, value: dict[str, Any], version: int, commit_ts: int) -> StateRecord:
    return StateRecord(
        key=key,
        namespace="default",
        agent_id="a",
        value=value,
        version=version,
        commit_ts=commit_ts,
        committed_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.slow
@settings(max_examples=40)
@given(DOCUMENTS)
def test_a_struct_is_what_clients_make_of_the_object(value: dict[str, Any]) -> None:
    assert Struct.FromString(messages.encode_struct(value)) == struct_of(value)


@settings(max_examples=40)
@given(DOCUMENTS)
def test_a_document_comes_back_as_it_was_sent(value: dict[str, Any]) -> None:
    read = read_document(struct_of(value))
    assert read == value
    assert document.encode("value", read, LIMITS)
    assert read_document(Struct.FromString(messages.encode_struct(read))) == value


@pytest.mark.parametrize("size", [0, 1, 127, 128, 4095, 4096, 70_000])
def test_texts_and_lists_of_every_size(size: int) -> None:
    value = {"t" * size: "é" * size, "list": [size] * size, "deep": [[{"x": "y" * size}]]}
    assert Struct.FromString(messages.encode_struct(value)) == struct_of(value)


def test_whole_numbers_are_integers_as_far_as_doubles_are_exact() -> None:
    value = {"a": 3.0, "b": 0.5, "c": 2.0**53, "d": 2.0**53 + 2, "e": -(2.0**53), "f": 1e300}
    read = read_document(struct_of(value))
    assert {name: type(item) for name, item in read.items()} == {
        "a": int,
        "b": float,
        "c": int,
        "d": float,
        "e": int,
        "f": float,
    }
    assert read == value


def test_large_integers_of_other_writers_are_the_nearest_doubles() -> None:
    value = {"n": 2**63 - 1, "m": -(2**63)}
    struct = Struct.FromString(messages.encode_struct(value))
    assert MessageToDict(struct) == {"n": 2.0**63, "m": -(2.0**63)}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_have_are_left_for_the_check(number: float) -> None:
    read = read_document(struct_of({"deep": [{"n": number}]}))
    with pytest.raises(InvalidInput, match=r"value\.deep\[0\]\.n: .* is not finite"):
        document.encode("value", read, LIMITS)


@settings(max_examples=40)
@given(st.lists(st.tuples(TEXTS, DOCUMENTS | st.none(), st.integers(1, 2**40)), max_size=4))
def test_an_event_is_a_replay_event(parts: list[tuple[str, Any, int]]) -> None:
    operations = tuple(
        Delete("default", "a", key, version)
        if value is None
        else Write("default", "a", key, version, document.encode("value", value, LIMITS))
        for key, value, version in parts
    )
    event = ReplayEvent(2**40 + len(parts), 0, "txn-é", "local", operations, b"", "log")

    expected = pb.ReplayEvent(txn_id="txn-é", commit_ts=2**40 + len(parts))
    for key, value, version in parts:
        operation = expected.operations.add(key=key, version=version)
        if value is not None:
            operation.value.CopyFrom(struct_of(value))
    assert [pb.ReplayEvent.FromString(data) for data in messages.encode_events([event])] == [
        expected
    ]


@settings(max_examples=40)
@given(DOCUMENTS, st.integers(1, 2**62), st.integers(1, 2**62))
def test_a_state_is_the_answer_of_both_reads(
    value: dict[str, Any], version: int, commit_ts: int
) -> None:
    data = messages.encode_state(record("k", value, version, commit_ts))
    fields = {
        "value": struct_of(value),
        "version": version,
        "commit_ts": commit_ts,
        "exists": True,
    }
    assert pb.GetStateResponse.FromString(data) == pb.GetStateResponse(**fields)
    assert pb.GetStateAtVersionResponse.FromString(data) == pb.GetStateAtVersionResponse(**fields)


def test_no_state_is_an_answer_that_says_so() -> None:
    answer = pb.GetStateResponse.FromString(messages.encode_state(None))
    assert not answer.exists
    assert not answer.HasField("value")


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.tuples(TEXTS, DOCUMENTS), max_size=5))
def test_parts_of_a_listing_can_be_joined(items: list[tuple[str, Any]]) -> None:
    records = [record(key, value, 1 + n, 300 + n) for n, (key, value) in enumerate(items)]
    data = messages.encode_entries(records[:2]) + messages.encode_entries(records[2:])
    expected = pb.ScanPrefixResponse()
    for item in records:
        entry = expected.entries.add(key=item.key, version=item.version, commit_ts=item.commit_ts)
        entry.value.CopyFrom(struct_of(item.value))
    assert pb.ScanPrefixResponse.FromString(data) == expected

    keys = [key for key, _ in items]
    data = messages.encode_keys(keys[:2]) + messages.encode_keys(keys[2:])
    assert pb.ListKeysResponse.FromString(data).keys == keys


def nested(kind: str, depth: int) -> dict[str, Any]:
    """Return an object with so many objects or lists inside each other."""
    value: Any = 1
    for _ in range(depth - 1):
        value = {"a": value} if kind == "objects" else [value]
    return {"a": value}


@pytest.mark.parametrize(("kind", "deepest"), [("objects", 33), ("lists", 49)])
def test_what_can_be_written_can_be_replayed(kind: str, deepest: int) -> None:
    value = nested(kind, deepest)
    struct = Struct.FromString(messages.encode_struct(value))
    assert read_document(struct) == value
    encoded = document.encode("value", value, LIMITS)
    operations = (Write("default", "a", "k", 1, encoded),)
    event = ReplayEvent(1, 0, "txn", "local", operations, b"", "log")
    (data,) = messages.encode_events([event])
    pb.ReplayEvent.FromString(data)

    with pytest.raises(InvalidInput, match="nested too deeply"):
        read_document(_wrapped(struct, kind))


def _wrapped(struct: Struct, kind: str) -> Struct:
    """Return a Struct one level deeper, built without a parser, whose limit is lower."""
    outer = Struct()
    if kind == "objects":
        outer.fields["a"].struct_value.CopyFrom(struct)
    else:
        outer.fields["a"].list_value.values.add().CopyFrom(struct.fields["a"])
    return outer


def test_a_part_of_no_kind_is_refused() -> None:
    struct = Struct()
    struct.fields["a"].list_value.values.add()
    with pytest.raises(InvalidInput, match="a part of no kind"):
        read_document(struct)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 30), max_size=20))
def test_events_are_parted_by_the_size_of_their_values(sizes: list[int]) -> None:
    events = [
        ReplayEvent(n, 0, "t", "local", (Write("default", "a", "k", 1, b"x" * size),), b"", "log")
        for n, size in enumerate(sizes)
    ]
    parts = list(messages.parts_of(events, 20))
    assert [event for part in parts for event in part] == events
    for part in parts:
        assert len(part) == 1 or sum(map(messages.size_of, part)) <= 20
    for part, following in pairwise(parts):
        assert sum(map(messages.size_of, [*part, following[0]])) > 20


@pytest.mark.parametrize(
    ("value", "parts"), [({}, 0), ({"a": 1}, 1), ({"a": [1, {"b": [], "c": [2]}], "d": "x"}, 7)]
)
def test_parts_are_counted_at_all_depths(value: dict[str, Any], parts: int) -> None:
    assert messages.has_few_parts(value, parts)
    assert not messages.has_few_parts({"more": value}, parts)
