"""Requests: what is not sent, what is not understood, and what travels beside the arguments."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

import msgspec
import pytest
from google.protobuf.message import DecodeError

from memoranda import ALL_NAMESPACES, InvalidInput
from memoranda.calls.copies import MakeBackup
from memoranda.calls.key_writes import Delete, Write
from memoranda.calls.keys import GetState, ListKeys
from memoranda.calls.links import Dependents
from memoranda.calls.log import Replay
from memoranda.calls.memory_writes import Remember, UpdateMemory
from memoranda.calls.transactions import Commit
from memoranda.calls.why import Why
from memoranda.model.refs import KeyRef, MemoryRef
from memoranda.wire import codec
from memoranda.wire.methods import METHOD_OF
from tests.unit.wire.test_round_trips import sent, through_bytes

WRITE = Write("a", "n", "k", {"x": 1}, because=(MemoryRef("m"),), txn_id="t")


def test_a_call_that_cannot_leave_the_process_says_why() -> None:
    with pytest.raises(InvalidInput, match=r"^call: make_backup cannot be sent .*: .+"):
        codec.request_of(MakeBackup("path"))


def test_what_travels_beside_the_arguments() -> None:
    request = codec.request_of(WRITE, store="acme", acting_agent="b", is_named=False)
    arrived = through_bytes(request)
    assert (arrived.store, arrived.acting_agent, codec.is_named(arrived)) == ("acme", "b", False)
    assert codec.call_of(arrived) == WRITE
    assert codec.is_named(through_bytes(codec.request_of(WRITE)))
    replay = Replay("a", "n")
    assert codec.request_of(replay, stored=True).stored
    assert codec.call_of(codec.request_of(replay, stored=True)) == replay


def test_it_travels_also_beside_arguments_that_do_not_fit() -> None:
    request = codec.request_of(GetState("a", "n", "k", 2**63), store="acme", acting_agent="b")
    assert (request.store, request.acting_agent) == ("acme", "b")
    with pytest.raises(InvalidInput, match=r"^acting_agent: .* cannot be sent"):
        codec.request_of(GetState("a", "n", "k"), acting_agent="\ud800")


@pytest.mark.parametrize("tag", [UUID(int=1), date(2026, 2, 7), frozenset({"x"}), KeyRef("k")])
def test_what_would_arrive_as_something_else_is_not_sent(tag: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^tags: .* cannot be sent"):
        codec.request_of(Remember("a", "n", "content", tags=("x", tag)))


def test_a_list_inside_itself_is_not_sent() -> None:
    tags: list[Any] = []
    tags.append(tags)
    with pytest.raises(InvalidInput, match=r"^tags: .* cannot be sent"):
        codec.request_of(Remember("a", "n", "content", tags=tags))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [UUID(int=5), Decimal(1), ALL_NAMESPACES, date(2026, 2, 7)])
def test_what_no_handler_takes_is_not_sent_as_text(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^key: .* cannot be sent"):
        codec.request_of(GetState("a", "n", value))


def test_an_argument_that_is_no_data_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"^version: .* cannot be sent"):
        codec.request_of(GetState("a", "n", "k", object()))  # type: ignore[arg-type]
    for nested in (lambda call: call, lambda call: Commit((call,))):
        with pytest.raises(InvalidInput, match=r"^key: .* cannot be sent"):
            codec.request_of(nested(Delete("a", "n", "\ud800")))
    with pytest.raises(InvalidInput, match=r"^value\.x: .* JSON does not have"):
        codec.request_of(Write("a", "n", "k", {"x": object()}))


@pytest.mark.parametrize(
    ("call", "arrives"),
    [
        (GetState("a", "n", 7), GetState("a", "n", 7)),  # type: ignore[arg-type]
        (GetState("a", "n", "k", True), GetState("a", "n", "k", True)),
        (GetState("a", "n", "k", 2**63), GetState("a", "n", "k", 2**63)),
        (GetState("a", "n", b"k"), GetState("a", "n", b"k")),  # type: ignore[arg-type]
        (ListKeys("a", "n", at=date(2026, 2, 7)), ListKeys("a", "n", at="2026-02-07")),
        (ListKeys("a", "n", at=datetime(2026, 2, 7)), ListKeys("a", "n", at="2026-02-07T00:00:00")),  # noqa: DTZ001
        (Remember("a", "n", "c", priority=5.0), Remember("a", "n", "c", priority=5.0)),  # type: ignore[arg-type]
        (Remember("a", "n", "c", confidence=1), Remember("a", "n", "c", confidence=1)),
        (Remember("a", "n", "c", tags=["x"]), Remember("a", "n", "c", tags=["x"])),  # type: ignore[arg-type]
        (Commit((Delete("a", "n", 7),)), Commit((Delete("a", "n", 7),))),  # type: ignore[arg-type]
        (Commit((Commit(()),)), Commit((Commit(()),))),
        (Write("a", "n", "k", [1]), Write("a", "n", "k", [1])),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_what_does_not_fit_arrives_for_the_handler_to_refuse(call: Any, arrives: Any) -> None:
    assert repr(sent(call)) == repr(arrives)


def test_a_type_of_the_callers_own_arrives_as_what_it_is_derived_from() -> None:
    class Text(str):
        __slots__ = ()

    class Number(int):
        __slots__ = ()

    arrived = sent(GetState(Text("a"), "n", Text("k"), Number(3)))
    assert arrived == GetState("a", "n", "k", 3)
    assert isinstance(arrived, GetState)
    assert [type(arrived.agent_id), type(arrived.version)] == [str, int]


def test_none_and_empty_and_left_out_are_three_things() -> None:
    calls = (
        UpdateMemory("m"),
        UpdateMemory("m", title=None, metadata=None, tags=()),
        UpdateMemory("m", title="", metadata={}, citations=()),
        Dependents("m"),
        Dependents("m", depth=None),
        Dependents("m", depth=0),
        Replay("a", None, kinds=None),
        Replay("a", None, kinds=()),
        Replay("", "n", after_commit=""),
        Replay(None, "n", after_commit=0),
    )
    for call in calls:
        assert sent(call) == call


def test_a_single_reference_stays_single() -> None:
    for because in (KeyRef("k"), (KeyRef("k"),), ()):
        call = Write("a", "n", "k", {}, because=because)
        assert sent(call) == call


def test_a_time_of_any_zone_is_the_same_instant() -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    time = datetime(2026, 2, 7, 12, tzinfo=zone)
    arrived = sent(GetState("a", "n", "k", at=time))
    assert arrived == GetState("a", "n", "k", at=time.astimezone(UTC))


# What is not understood.


def refusal(request: Any) -> str:
    with pytest.raises(InvalidInput) as refused:
        codec.call_of(through_bytes(request))
    return str(refused.value)


def test_fields_of_a_newer_version_are_refused_wherever_they_are() -> None:
    unknown = b"\xf8\x7f\x01"  # number 2047
    assert "GetStateRequest has a field that this version does not know" in refusal(
        METHOD_OF[GetState].request.FromString(unknown)
    )
    request = codec.request_of(WRITE)
    request.because[0].MergeFromString(unknown)
    assert "does not know" in refusal(request)


def test_an_alternative_that_is_not_set_is_named() -> None:
    request = codec.request_of(GetState("a", "n", "k"))
    request.at.SetInParent()
    assert refusal(request).startswith("at: a Moment has none of its fields: set one of commit")
    commit = codec.request_of(Commit((WRITE,)))
    commit.calls.add()
    assert refusal(commit).startswith("calls: a StagedCall has none of its fields")


def test_an_argument_that_is_missing_is_named() -> None:
    assert "value" in refusal(METHOD_OF[Write].request(agent_id="a", namespace="n", key="k"))
    assert "ref" in refusal(METHOD_OF[Why].request())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"value": b"{"}, "^value: it is not a JSON object"),
        ({"value": b"[1]"}, "^value: it is not a JSON object"),
        ({"value": b"\xff"}, "^value: it is not a JSON object"),
        ({"value": b'{"a":' * 100_000}, "^value: it is not a JSON object"),
        ({"unfit": b"\xc1"}, "^unfit: it is not understood"),
        ({"unfit": b"\x91" * 100_000}, "^unfit: it is not understood"),
        ({"unfit": msgspec.msgpack.encode({"more": 1})}, "^call: write: .*more"),
        ({"unfit": msgspec.msgpack.encode({"because": [[9, "x"]]})}, "^because: .*not understood"),
    ],
)
def test_what_is_no_argument_is_refused(changes: dict[str, Any], message: str) -> None:
    request = codec.request_of(WRITE)
    for name, value in changes.items():
        setattr(request, name, value)
    with pytest.raises(InvalidInput, match=message):
        codec.call_of(through_bytes(request))


def test_only_some_arguments_can_be_null() -> None:
    request = codec.request_of(UpdateMemory("m"))
    request.nulls.append("memory_id")
    assert refusal(request).startswith("nulls: 'memory_id'")


def test_a_time_outside_the_years_is_refused() -> None:
    request = codec.request_of(GetState("a", "n", "k", at=datetime.now(UTC)))
    request.at.micros = 2**62
    assert refusal(request).startswith("at: ")


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"call": "get_stat"}, "'get_stat' is not a call.*get_state"),
        ({"call": 7}, "7 is not a call"),
        ({}, "None is not a call"),
        ({"call": "get_state", "agent_id": "a"}, "get_state: .*namespace"),
        ({"call": "cursors", "more": 1}, "cursors: .*more"),
    ],
)
def test_what_is_no_call_inside_another_is_refused(part: Any, message: str) -> None:
    request = codec.request_of(Commit(()))
    request.unfit = msgspec.msgpack.encode({"calls": [part]})
    with pytest.raises(InvalidInput, match=message):
        codec.call_of(request)


def test_any_bytes_give_a_call_or_are_refused() -> None:
    chance = Random(7)
    for call in (GetState("a", "n", "k", at=3), WRITE, Commit((WRITE, Delete("a", "n", 7)))):  # type: ignore[arg-type]
        request = codec.request_of(call)
        data = request.SerializeToString()
        for _ in range(1_000):
            changed = bytearray(data)
            changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            try:
                codec.call_of(type(request).FromString(bytes(changed)))
            except (InvalidInput, DecodeError):
                continue
