"""Every call is defined once, says what a surface needs to know, and survives the way as bytes."""

from __future__ import annotations

import inspect
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any, get_args
from uuid import UUID

import msgspec
import pytest

import memoranda
from memoranda import ALL_NAMESPACES, InvalidInput, Literal, PermissionDenied, Store
from memoranda.calls import codec, within
from memoranda.calls.call import Lane, Reach, Shape, Verb, answer_type, call_name
from memoranda.calls.grant import EVERYTHING, NOBODY, Grant
from memoranda.calls.keys import GetState, ListKeys
from memoranda.calls.log import Cursors, DropCursor
from memoranda.calls.maintenance import GetStats
from memoranda.calls.memory_writes import Remember
from memoranda.calls.registry import CALLS, HANDLERS, WRITES, handle
from memoranda.calls.why import Why
from memoranda.model.coverage import Coverage
from memoranda.model.limits import Limits
from memoranda.model.refs import KeyRef
from memoranda.model.scope import Scope
from memoranda.storage.coverage import CoveredEngine
from memoranda.why.reason import Reason


@pytest.mark.parametrize("kind", [*HANDLERS, *WRITES], ids=call_name)
def test_a_call_says_what_it_is(kind: Any) -> None:
    assert kind.verb in get_args(Verb)
    assert kind.reach in get_args(Reach)
    assert kind.shape in get_args(Shape)
    assert kind.lane in get_args(Lane)
    assert inspect.getdoc(kind)
    assert answer_type(kind) is not inspect.Signature.empty


@pytest.mark.parametrize("kind", set(HANDLERS) - set(within.HANDLERS), ids=call_name)
def test_a_handler_takes_its_call(kind: Any) -> None:
    handler = inspect.signature(HANDLERS[kind])
    assert [*handler.parameters.values()][2].annotation == kind.__name__
    assert ("progress" in handler.parameters) == (kind.lane == "long")


def test_names_are_those_of_the_sdk() -> None:
    renamed = {
        "rebuild_views": "rebuild",
        "get_stats": "stats",
        "load_transcript": "get_transcript",
        "begin": "begin_transaction",
        "make_backup": "backup",
        "make_fork": "fork",
        "preview_erasure": "forget",
    }
    unknown = {name for name in CALLS if not hasattr(Store, renamed.get(name, name))}
    assert unknown == {
        # A transaction, as a client sends it.
        "ask_within", "list_within", "commit", "refusals", "find_title", "find_event_time",
        # Parts of a longer call.
        "acknowledge", "count_asserted", "find_same_transcript", "get_committed_items",
        "unused_relations", "get_head",
    }  # fmt: skip


def test_a_call_comes_back_as_it_was_sent() -> None:
    calls = (
        GetState("a", "n", "k", 3, "2026-01-01T00:00:00Z"),
        ListKeys("a", "n"),
        Why(KeyRef("k", 1, "a", "n"), 7),
    )
    for call in calls:
        assert codec.decode_call(codec.encode_call(call)) == call


@pytest.mark.parametrize("tag", [UUID(int=1), date(2026, 2, 7), frozenset({"x"})])
def test_what_would_arrive_as_something_else_is_not_sent(tag: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^tags: .* cannot be sent"):
        codec.encode_call(Remember("a", "n", "content", tags=("x", tag)))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"call": "get_stat"}, "'get_stat' is not a call.*get_state"),
        ({"call": 7}, "7 is not a call"),
        ({}, "None is not a call"),
        ({"call": "get_state", "agent_id": "a"}, "get_state: .*namespace"),
        ({"call": "cursors", "more": 1}, "cursors: .*more"),
        ({"call": "why", "ref": [9, "x"]}, "ref: .* is not understood"),
    ],
)
def test_what_is_no_call_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        codec.decode_call(msgspec.msgpack.encode(fields))


def test_any_bytes_give_a_call_or_are_refused() -> None:
    chance, sent = Random(7), codec.encode_call(GetState("a", "n", "k"))
    answer = codec.encode_answer([("a", {"b": 1.5}), frozenset("c")])
    for _ in range(2_000):
        for data, decode in ((sent, codec.decode_call), (answer, codec.decode_answer)):
            changed = bytearray(data)
            changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            try:
                decode(bytes(changed))
            except InvalidInput:
                continue


@pytest.mark.parametrize(
    "data",
    [
        b"\x91" * 100_000 + b"\xc0",
        msgspec.msgpack.encode([1, 2, [0, 7]]),
        msgspec.msgpack.encode([[0, -5]]),
        msgspec.msgpack.encode(["a", [6, 1, "Anchor"]]),
        msgspec.msgpack.encode([[7, 0, "OperationType"]]),
        msgspec.msgpack.encode([[7, 0, "Nothing"]]),
        msgspec.msgpack.encode([1, 2]),
        msgspec.msgpack.encode([2**62, [4, 1]]),
    ],
)
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="answer"):
        codec.decode_answer(data)


@pytest.mark.parametrize("value", [10**30, -(2**63), 2**63, date(2026, 2, 7), 1.5, True, b"\xff"])
def test_a_value_comes_back_as_it_was(value: object) -> None:
    answer = {"value": (value, [value], Literal(value))}  # type: ignore[arg-type]
    assert codec.decode_answer(codec.encode_answer(answer)) == answer


@pytest.mark.parametrize("value", [UUID(int=5), Decimal(1), ALL_NAMESPACES, date(2026, 2, 7)])
def test_what_no_handler_takes_is_not_sent_as_text(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"key: .* cannot be sent"):
        codec.encode_call(GetState("a", "n", value))


def test_an_argument_that_is_no_data_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"version: .* cannot be sent"):
        codec.encode_call(GetState("a", "n", "k", object()))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"key: .* cannot be sent"):
        codec.encode_call(GetState("a", "n", "\ud800"))


def test_an_answer_may_be_deeper_than_python_recurses() -> None:
    with memoranda.open(":memory:", embedder=None) as opened:
        store = opened.bind(agent_id="a")
        store.write(key="0", value={})
        for number in range(1_500):
            store.write(key=str(number + 1), value={}, because=[KeyRef(str(number))])
        reason = store.why("1500")
        returned: Reason = codec.decode_answer(codec.encode_answer(reason))
        assert sum(1 for _ in returned.walk()) == sum(1 for _ in reason.walk()) == 1_501


class TestGrant:
    def test_everything_is_covered(self) -> None:
        assert EVERYTHING.covers("any", "one")
        assert EVERYTHING.scope("n", "a", Limits()) == Scope("n", "a")
        assert EVERYTHING.acting("a") == "a"
        assert Grant("b").acting("a") == "b"

    def test_a_namespace_covers_those_below_it(self) -> None:
        grant = Grant("a", frozenset("ab"), frozenset(["team/x"]))
        assert grant.covers("team/x", "a")
        assert grant.covers("team/x/deep", "b")
        assert not grant.covers("team/xy", "a")
        assert not grant.covers("team", "a")
        assert not grant.covers("team/x", "c")

    def test_what_is_not_covered_reads_as_nothing(self) -> None:
        with memoranda.open(":memory:", embedder=None) as store:
            store.write(agent_id="a", key="k", value={"n": 1})
            grant, core = Grant("b", frozenset("b")), store._core
            assert handle(core, grant, GetState("a", "default", "k")) is None
            assert handle(core, grant, ListKeys("a", "default")).next_page() == []  # type: ignore[attr-defined]
            with pytest.raises(InvalidInput, match="namespace"):  # as for what does not exist
                handle(core, grant, GetState("a", "a//b", "k"))

    def test_writing_where_nothing_is_covered_is_denied(self) -> None:
        grant = Grant("a", frozenset("a"), frozenset(["team"]))
        assert grant.scope("team/x", "a", Limits(), writing=True) == Scope("team/x", "a")
        for place, agent in (("team", "b"), ("teams", "a")):
            with pytest.raises(PermissionDenied, match=f"agent '{agent}' in namespace '{place}'"):
                grant.scope(place, agent, Limits(), writing=True)
        with pytest.raises(InvalidInput, match="engine's own"):
            grant.scope("team/_x", "a", Limits(), writing=True)

    def test_nothing_is_private_to_a_viewer_that_is_not_covered(self) -> None:
        grant = Grant(None, frozenset("a"))
        assert grant.owner(grant.acting("a")) == "a"
        assert grant.owner(grant.acting("b")) == NOBODY

    def test_an_engine_of_covered_rows_does_nothing_else(self) -> None:
        with memoranda.open(":memory:", embedder=None) as store:
            engine = CoveredEngine(store._core.engine, Coverage(frozenset("a")))
            assert engine.path is None
            assert not engine.is_closed
            for refused in (engine.write, engine.query, engine.copy_to, engine.footprint):
                with pytest.raises(PermissionDenied):
                    refused()

    def test_a_verb_that_is_not_granted(self) -> None:
        with memoranda.open(":memory:", embedder=None) as store:
            reader = Grant(verbs=frozenset(["read"]))
            assert handle(store._core, reader, Cursors()) == []
            with pytest.raises(PermissionDenied, match="no verb 'admin'"):
                handle(store._core, reader, GetStats())
            with pytest.raises(PermissionDenied, match="no verb 'write'"):
                handle(store._core, reader, DropCursor("c"))
