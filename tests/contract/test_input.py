"""Bad input of every kind is refused by name, before anything is staged."""

from __future__ import annotations

import enum
from collections import OrderedDict, defaultdict
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

import pytest

from memoranda import (
    FactRef,
    InvalidInput,
    KeyRef,
    Limits,
    MemoryRef,
    NotFound,
    Scope,
    Store,
    TranscriptRef,
)
from tests.contract.opener import Opener


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"in": value}
    return value


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


BAD_WRITES: list[tuple[str, dict[str, Any]]] = [
    ("agent_id", {"agent_id": ""}),
    ("agent_id", {"agent_id": "x" * 257}),
    ("agent_id", {"agent_id": "a\x01"}),
    ("agent_id", {"agent_id": "a\x00"}),
    ("agent_id", {"agent_id": "a\x85"}),
    ("agent_id", {"agent_id": "a\ud800"}),
    ("agent_id", {"agent_id": 7}),
    ("namespace", {"namespace": ""}),
    ("namespace", {"namespace": "/a"}),
    ("namespace", {"namespace": "a//b"}),
    ("namespace", {"namespace": "a/./b"}),
    ("namespace", {"namespace": "a/../b"}),
    ("namespace", {"namespace": "a/b/c/d/e/f/g/h/i"}),
    ("namespace", {"namespace": "x" * 513}),
    ("namespace", {"namespace": "a\n"}),
    ("namespace", {"namespace": "_log"}),
    ("namespace", {"namespace": "a/_mine"}),
    ("namespace", {"namespace": 7}),
    ("key", {"key": ""}),
    ("key", {"key": "x" * 1025}),
    ("key", {"key": "é" * 513}),
    ("key", {"key": "a\x00b"}),
    ("key", {"key": "\udfff"}),
    ("key", {"key": b"bytes"}),
    ("value", {"value": None}),
    ("value", {"value": [1]}),
    ("value", {"value": "text"}),
    ("value.a", {"value": {"a": float("nan")}}),
    ("value.a[1]", {"value": {"a": [0, float("inf")]}}),
    ("value.a.b", {"value": {"a": {"b": 2**63}}}),
    ("value.a", {"value": {"a": -(2**63) - 1}}),
    ("value", {"value": {1: "one"}}),
    ("value.a", {"value": {"a": {None: 1}}}),
    ("value.a", {"value": {"a": (1, 2)}}),
    ("value.a", {"value": {"a": {1, 2}}}),
    ("value.a", {"value": {"a": b"bytes"}}),
    ("value.a", {"value": {"a": Decimal("1.5")}}),
    ("value.a", {"value": {"a": datetime(2026, 1, 1)}}),  # noqa: DTZ001
    ("value.a", {"value": {"a": "nul\x00"}}),
    ("value", {"value": {"nul\x00": 1}}),
    ("value.a", {"value": {"a": "\ud800"}}),
    ("value.in", {"value": deep(65)}),
    ("value.self", {"value": cyclic()}),
    ("value", {"value": {"text": "x" * (1024 * 1024)}}),
    ("expect_version", {"expect_version": -1}),
    ("expect_version", {"expect_version": "1"}),
    ("expect_version", {"expect_version": True}),
    ("expect_version", {"expect_version": 2**63}),
    ("because", {"because": 5}),
    ("because", {"because": None}),
    ("because", {"because": "evidence"}),
    ("because[0].version", {"because": [KeyRef("k", version=2**63)]}),
    ("because[0]", {"because": ["evidence"]}),
    ("because[0].key", {"because": [KeyRef("")]}),
    ("because[0].version", {"because": [KeyRef("k", version=0)]}),
    ("agent_id", {"because": [KeyRef("k", agent_id="")]}),
    ("because[0].memory_id", {"because": [MemoryRef("")]}),
    ("because[0].memory_id", {"because": [MemoryRef(cast(str, 5))]}),
    ("because[0].version", {"because": [MemoryRef("m", 0)]}),
    ("because[0].assertion_id", {"because": [FactRef("")]}),
    ("because[0].transcript_id", {"because": [TranscriptRef("")]}),
    ("because[1]", {"because": [MemoryRef("m"), None]}),
    ("because.key", {"because": KeyRef("")}),
]


@pytest.mark.parametrize(("field", "bad"), BAD_WRITES)
def test_a_bad_write_is_refused_before_it_is_staged(
    store: Store, field: str, bad: dict[str, Any]
) -> None:
    transaction = store.begin_transaction()
    with pytest.raises(InvalidInput) as caught:
        transaction.write(**{"agent_id": "a", "key": "k", "value": {}, **bad})
    assert caught.value.field.startswith(field)
    assert str(caught.value).startswith(caught.value.field)
    assert transaction.commit() == 0


@pytest.mark.parametrize(
    ("field", "bad"),
    [case for case in BAD_WRITES if case[0] in ("agent_id", "key") and "because" not in case[1]],
)
def test_reads_and_deletes_refuse_the_same_names(
    store: Store, field: str, bad: dict[str, Any]
) -> None:
    address = {"agent_id": "a", "key": "k", **bad}
    transaction = store.begin_transaction()
    calls = (
        store.get_state,
        store.history,
        store.delete,
        transaction.delete,
        transaction.get_state,
    )
    for call in calls:
        with pytest.raises(InvalidInput, match=field):
            call(**address)


@pytest.mark.parametrize("name", ["list_keys", "scan_prefix"])
def test_a_prefix_is_text(store: Store, name: str) -> None:
    for prefix in (7, "a\x00", "\ud800"):
        with pytest.raises(InvalidInput, match="prefix"):
            getattr(store, name)(agent_id="a", prefix=prefix)


def test_at_the_limit_is_fine(agent: Store) -> None:
    agent.write(
        agent_id="x" * 256,
        namespace="/".join(["é" * 31] * 8),
        key="x" * 1024,
        value={"least": -(2**63), "most": 2**63 - 1, "deep": deep(63)},
    )
    agent.write(key="k", value={"t": "x" * (1024 * 1024 - len('{"t":""}'))})
    agent.write(key="empty", value={})
    assert list(agent.list_keys()) == ["empty", "k"]


def test_backslash_u0000_as_text_is_just_text(agent: Store) -> None:
    agent.write(key="k", value={"a": "\\u0000"})
    record = agent.get_state(key="k")
    assert record is not None
    assert record.value == {"a": "\\u0000"}


class Name(str, enum.Enum):  # noqa: UP042
    """Prints itself otherwise than it reads."""

    GOAL = "goal"


class Shout(str):
    """Prints itself otherwise than it reads."""

    def __str__(self) -> str:
        return "x" * 5000


class Measure(float):
    """A number of a library's own kind."""


class Count(int):
    """A number of a library's own kind."""


@pytest.mark.parametrize("name", [Name.GOAL, Shout("goal")])
def test_what_is_like_text_is_taken_for_its_characters(store: Store, name: str) -> None:
    address: dict[str, Any] = {"agent_id": name, "namespace": name, "key": name}
    with store.begin_transaction(txn_id=name) as transaction:
        transaction.write(**address, value={name: name}, because=[])
        observations = transaction.get_state(**address)
        assert observations is not None
    plain: dict[str, Any] = {"agent_id": "goal", "namespace": "goal", "key": "goal"}
    for queries in (address, plain):
        record = store.get_state(**queries)
        assert record is not None
        assert record.value == {"goal": "goal"}
    (event,) = store.bind(agent_id=name, namespace=name).replay()
    assert (event.txn_id, event.operations[0].key) == ("goal", "goal")
    assert list(store.list_keys(agent_id="goal", namespace="goal", prefix=name)) == ["goal"]


def test_numbers_and_containers_of_other_kinds_are_taken_for_what_they_hold(agent: Store) -> None:
    odd = OrderedDict(b=Measure(1.5), a=[Count(3), defaultdict(list, x=[1])])
    agent.write(key="k", value=odd, expect_version=Count(0))
    record = agent.get_state(key="k", version=Count(1))
    assert record is not None
    assert record.value == {"b": 1.5, "a": [3, {"x": [1]}]}


HUGE = 10**5000


@pytest.mark.parametrize(
    "call",
    [
        lambda agent: agent.write(key="k", value={"n": HUGE}),
        lambda agent: agent.write(key=HUGE, value={}),
        lambda agent: agent.write(key="k", value={}, expect_version=HUGE),
        lambda agent: agent.get_state(key="k", version=HUGE),
        lambda agent: agent.get_state(key="k", at=-HUGE),
        lambda agent: agent.replay(through_commit=-HUGE),
        lambda agent: agent.begin_transaction(timeout=HUGE),
    ],
)
def test_a_number_too_long_to_print_is_refused_like_any_other(agent: Store, call: Any) -> None:
    with pytest.raises(InvalidInput):
        call(agent)


@pytest.mark.parametrize("txn_id", ["", "x" * 513, "a\x00", 7])
def test_a_txn_id_is_text_of_some_length(store: Store, txn_id: Any) -> None:
    with pytest.raises(InvalidInput, match="txn_id"):
        store.begin_transaction(txn_id=txn_id)


@pytest.mark.parametrize("version", [0, -1, "1", 1.0, True, 2**63])
def test_a_version_is_a_number_from_one(agent: Store, version: Any) -> None:
    with pytest.raises(InvalidInput, match="version"):
        agent.get_state(key="k", version=version)


def test_somebody_must_be_meant(store: Store) -> None:
    for call in (store.get_state, store.history, store.delete):
        with pytest.raises(InvalidInput, match="bind"):
            call(key="k")
    with pytest.raises(InvalidInput, match="agent_id"):
        store.replay()


def test_binding_checks_its_names(store: Store) -> None:
    with pytest.raises(InvalidInput, match="agent_id"):
        store.bind(agent_id="")
    with pytest.raises(InvalidInput, match="namespace"):
        store.bind(namespace="a//b")


def test_limits_are_set_when_opening(open_store: Opener) -> None:
    agent = open_store(limits=Limits(key_bytes=3, value_bytes=10)).bind(agent_id="a")
    agent.write(key="abc", value={"a": 1})
    with pytest.raises(InvalidInput, match="the limit is 3"):
        agent.write(key="abcd", value={})
    with pytest.raises(InvalidInput, match="the limit is 10"):
        agent.write(key="abc", value={"a": 12345678})


@pytest.mark.parametrize("limits", [{"key_bytes": 0}, {"value_depth": -1}, {"key_bytes": 5000}])
def test_limits_have_limits(limits: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="limits"):
        Limits(**limits)


@pytest.mark.parametrize("options", [{"durability": "none"}, {"durability": None}])
def test_durability_is_full_or_relaxed(open_store: Opener, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="durability"):
        open_store(**options)


def test_memoirs_scope_becomes_a_namespace() -> None:
    scope = Scope.of(agent_id="a", org_id="acme/eu", user_id="50%")
    assert scope == Scope(namespace="acme%2Feu/50%25", agent_id="a")
    assert Scope.of(agent_id="a", org_id="acme", user_id="eu/50%") != scope


def test_nothing_rests_on_what_is_not_there_even_under_a_good_name(agent: Store) -> None:
    with pytest.raises(NotFound):
        agent.write(key="k", value={}, because=[KeyRef("k")])
