"""Remembering a known title: what is given changes, what is not given stays."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime, timedelta
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memoranda
from memoranda import ChangedMemory, NamespaceSettings, NewMemory, Store, Transaction
from memoranda.model.memory import TIERS
from memoranda.testing import FixedClock, FixedIds

DEFAULTS: dict[str, Any] = {
    "kind": "observation",
    "tier": "long",
    "tags": (),
    "priority": 5,
    "confidence": 1.0,
    "source": "api",
    "metadata": None,
    "event_time": None,
    "source_uri": None,
    "citations": (),
    "entity_id": None,
    "confidence_source": None,
}
OTHERS: dict[str, Any] = {
    "kind": "decision",
    "tier": "long",
    "tags": ("a", "b"),
    "priority": 9,
    "confidence": 0.25,
    "source": "crm",
    "metadata": {"n": 1},
    "event_time": datetime(2020, 3, 14, tzinfo=UTC),
    "source_uri": "https://example.org",
    "citations": ("page 3",),
    "entity_id": "e1",
    "confidence_source": "model",
}


def fields_of(store: Store) -> dict[str, Any]:
    memory = store.get_memory(title="t")
    assert memory is not None
    return {name: getattr(memory, name) for name in ("content", *DEFAULTS)}


@pytest.mark.parametrize("field", DEFAULTS)
def test_a_field_that_is_not_given_stays_and_one_that_is_given_changes(
    agent: Store, field: str
) -> None:
    agent.remember("one", title="t", **OTHERS)
    again = agent.remember("two", title="t")
    assert (again.outcome, again.version) == ("updated", 2)
    assert fields_of(agent) == {"content": "two", **OTHERS}
    assert agent.remember("two", title="t").outcome == "unchanged"
    default = {field: DEFAULTS[field]}
    agent.remember("two", title="t", **default)
    tier = {"tier": "long"}  # never falls
    assert fields_of(agent) == {"content": "two", **OTHERS, **default, **tier}


def test_the_same_holds_in_a_transaction_and_for_a_reflection(agent: Store) -> None:
    source = agent.remember("source")
    with agent.begin_transaction() as tx:
        tx.remember("one", title="t", **OTHERS)
        tx.remember("two", title="t", tags=[])
        tx.reflect("three", on=[source.id], title="t", confidence=1)
    fields = {**OTHERS, "tags": (), "kind": "reflection", "confidence": 1.0}
    assert fields_of(agent) == {"content": "three", **fields}


def test_without_a_ttl_a_known_title_lasts_as_long_again(agent: Store, clock: FixedClock) -> None:
    agent.remember("one", title="t", ttl="1d")
    clock.advance(3600)
    again = agent.remember("one", title="t")
    assert again.outcome == "updated"
    assert again.expires_at is not None
    assert again.updated_at is not None
    assert again.expires_at - again.updated_at == timedelta(days=1)


def test_giving_a_default_is_another_request(agent: Store) -> None:
    agent.remember("one", title="t", priority=9)
    agent.remember("two", title="t", txn_id="x")
    with pytest.raises(memoranda.IdempotencyMismatch):
        agent.remember("two", title="t", priority=5, txn_id="x")
    assert agent.remember("two", title="t", txn_id="x").priority == 9


def test_what_is_not_given_is_the_value_at_the_commit(agent: Store) -> None:
    memory = agent.remember("one", title="t", tags=["a"])
    tx = agent.begin_transaction()
    tx.remember("two", title="t", source="crm")
    agent.update_memory(memory.id, priority=8)
    tx.commit()
    changed = {"content": "two", "tags": ("a",), "priority": 8, "source": "crm"}
    assert fields_of(agent) == {**DEFAULTS, **changed}


values = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from([DEFAULTS[name], OTHERS[name]])
        for name in DEFAULTS
        if name not in ("kind", "tier")
    }
    | {"tier": st.sampled_from(TIERS), "kind": st.sampled_from(["observation", "claim"])},
)


@settings(max_examples=20, deadline=None)
@given(writes=st.lists(st.tuples(st.sampled_from(["x", "y"]), values), min_size=1, max_size=5))
def test_it_agrees_with_a_dict_that_is_updated(writes: list[tuple[str, dict[str, Any]]]) -> None:
    with memoranda.open(":memory:", clock=FixedClock(), ids=FixedIds()) as opened:
        store = opened.bind(agent_id="a")
        store.configure(tiers=dict.fromkeys(TIERS))  # nothing is only renewed
        model: dict[str, Any] = {}
        for content, fields in writes:
            before = model
            tier = max(fields.get("tier", "short"), before.get("tier", "short"), key=TIERS.index)
            model = {**DEFAULTS, **before, **fields, "content": content}
            model["tier"] = tier if before or "tier" in fields else "long"
            outcome = store.remember(content, title="t", **fields).outcome
            expected = "created" if not before else "unchanged" if model == before else "updated"
            assert outcome == expected
            assert fields_of(store) == model
        store.verify(deep=True)


@pytest.mark.parametrize(
    ("call", "declared", "others"),
    [
        ("remember", NewMemory, {"content", "title", "agent_id", "namespace"}),
        ("reflect", NewMemory, {"content", "title", "agent_id", "namespace", "on"}),
        ("update_memory", ChangedMemory, {"memory_id", "agent_id", "expect_version"}),
        ("configure", NamespaceSettings, {"namespace", "agent_id", "facts", "allow_large"}),
    ],
)
def test_every_field_is_a_parameter(call: str, declared: type, others: set[str]) -> None:
    for owner in (Store, Transaction):
        parameters = inspect.signature(getattr(owner, call)).parameters
        assert not any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        names = parameters.keys() - {"self", "txn_id"}
        assert names == get_type_hints(declared).keys() | others


def test_every_field_is_documented() -> None:
    for call in (Store.remember, Store.configure):
        text = inspect.getdoc(call) or ""
        names = NewMemory if call is Store.remember else NamespaceSettings
        assert all(f"{name}:" in text or f"{name}," in text for name in get_type_hints(names))
