"""Calls and answers arrive as they were sent, whatever is in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from random import Random
from typing import Any

import msgspec
import pytest

from memoranda import InvalidInput
from memoranda.calls.call import Call, call_name
from memoranda.calls.call_encoding import encode_canonically
from memoranda.graph.entities import Literal
from memoranda.graph.records import Fact
from memoranda.why.reason import Reason
from memoranda.wire import codec
from memoranda.wire.methods import METHODS
from memoranda.wire.requests import REMOTE_CALLS, plain
from tests.property.test_hostile_calls import HOSTILE
from tests.unit.wire.samples import Sampler

ROUNDS = 8
KINDS = [*REMOTE_CALLS.values()]


def through_bytes(message: Any) -> Any:
    return type(message).FromString(message.SerializeToString())


def sent(call: Call[Any]) -> Call[Any]:
    return codec.call_of(through_bytes(codec.request_of(call, store="acme", acting_agent="a")))


def returned(call: Call[Any], answer: Any) -> Any:
    if type(call).shape != "value":
        return codec.items_of(type(call), through_bytes(codec.page_of(call, answer)))
    return codec.answer_of(type(call), through_bytes(codec.response_of(call, answer)))


def parts(value: Any) -> Iterator[tuple[type, Any]]:
    """Yield a value and all in it with their types, which equality does not compare."""
    yield type(value), value
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from parts(getattr(value, name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from parts(item)
    elif isinstance(value, Mapping):
        for key in value:
            yield from parts(value[key])


def assert_same(arrived: Any, original: Any) -> None:
    assert arrived == original
    assert [kind for kind, _ in parts(arrived)] == [kind for kind, _ in parts(original)]


@pytest.mark.parametrize("kind", KINDS, ids=call_name)
def test_a_call_arrives_as_it_was_sent(kind: Any) -> None:
    sampler, count = Sampler(call_name(kind)), 0
    for _ in range(ROUNDS):
        try:
            original = plain(sampler.call(kind))
            request = codec.request_of(original)
        except InvalidInput:  # a call checks the references in it
            continue
        assert not request.HasField("unfit")
        arrived = codec.call_of(through_bytes(request))
        assert_same(arrived, original)
        assert encode_canonically(arrived) == encode_canonically(original)  # which may be signed
        count += 1
    assert count


@pytest.mark.parametrize("kind", KINDS, ids=call_name)
def test_an_answer_arrives_as_it_was_sent(kind: Any) -> None:
    sampler = Sampler(call_name(kind))
    for _ in range(ROUNDS):
        call, answer = sampler.answer(kind)
        assert_same(returned(call, answer), answer)


def plainest(value: Any) -> Any:
    """Return what is the same to a handler: a tuple as a list, a time as text."""
    if isinstance(value, msgspec.Struct):
        fields = {name: plainest(getattr(value, name)) for name in value.__struct_fields__}
        return {"": type(value).__name__, **fields}
    if isinstance(value, (list, tuple)):
        return [*map(plainest, value)]
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, float):
        return repr(value)
    return value.isoformat() if isinstance(value, date) else value


def canonical(call: Call[Any]) -> bytes | None:
    """Return what is signed of a call; None: it has something that cannot be."""
    try:
        return encode_canonically(call)
    except InvalidInput:
        return None


@pytest.mark.parametrize("kind", KINDS, ids=call_name)
def test_what_does_not_fit_arrives_too_or_is_refused_by_name(kind: Any) -> None:
    chance, sampler = Random(call_name(kind)), Sampler(call_name(kind))
    names = kind.__struct_fields__
    for _ in range(2 * ROUNDS):
        call = sampler.call(kind)
        changes = {
            name: chance.choice(HOSTILE) for name in chance.sample(names, min(len(names), 2))
        }
        call = msgspec.structs.replace(call, **changes)
        try:
            original = plain(call)
            arrived = codec.call_of(through_bytes(codec.request_of(original)))
        except InvalidInput:
            continue
        assert plainest(arrived) == plainest(original)
        assert canonical(arrived) == canonical(original)


def test_an_empty_list_is_its_receivers_own() -> None:
    call = Sampler("facts").call(REMOTE_CALLS["facts"])
    first = returned(call, [])
    first.append("mine")
    assert returned(call, []) == []


def test_every_kind_has_a_method() -> None:
    assert {method.kind for method in METHODS.values()} == set(KINDS)


def reason_of(summary: str, *because: Reason) -> Reason:
    return Reason(kind="key", ref=None, summary=summary, because=because)


class TestTrees:
    def test_a_tree_may_be_deeper_than_anything_nests(self) -> None:
        reason = reason_of("last")
        for number in range(5_000):
            reason = reason_of(str(number), reason, reason_of("leaf"))
        call, kind = Sampler("why").call(REMOTE_CALLS["why"]), REMOTE_CALLS["why"]
        arrived: Reason = codec.answer_of(kind, through_bytes(codec.response_of(call, reason)))
        assert [part.summary for part in arrived.walk()] == [part.summary for part in reason.walk()]

    @pytest.mark.parametrize("children", [[0], [2], [7]])
    def test_positions_are_those_of_later_records(self, children: list[int]) -> None:
        kind = REMOTE_CALLS["why"]
        response = codec.response_of(kind, reason_of("x"))
        response.answer.nodes[0].because.extend(children)
        with pytest.raises(InvalidInput, match=r"^answer: .*not after it"):
            codec.answer_of(kind, response)

    def test_a_tree_has_a_root(self) -> None:
        kind = REMOTE_CALLS["why"]
        response = codec.response_of(kind, reason_of("x"))
        response.answer.nodes.pop()
        with pytest.raises(InvalidInput, match=r"^answer: .*no records"):
            codec.answer_of(kind, response)


@pytest.mark.parametrize(
    "value",
    [10**30, -(2**5000), 2**63, -(2**63), 2**63 - 1, date(2026, 2, 7), datetime.now(UTC),
     1.5, True, "é", ""],
)  # fmt: skip
def test_a_literal_keeps_its_value_and_its_type(value: Any) -> None:
    original = Literal(value)
    fact = msgspec.structs.replace(Sampler("fact").value(Fact), object=original)
    (arrived,) = returned(Sampler("facts").call(REMOTE_CALLS["facts"]), [fact])
    assert_same(arrived, fact)
