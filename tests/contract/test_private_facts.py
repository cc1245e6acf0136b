"""Facts drawn from private memories: their own agent's, and unseen by any other in every read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoranda import (
    ALL_AGENTS,
    ALL_NAMESPACES,
    FactRef,
    InvalidInput,
    KeyRef,
    Memory,
    NotFound,
    Store,
)
from tests.quick import only


@pytest.fixture
def diary(owner: Store) -> Memory:
    return owner.remember("Ann is ill", visibility="private")


@pytest.fixture
def assertion_id(owner: Store, diary: Memory) -> str:
    """A private fact between public ones of the same timeline; its assertion's id."""
    owner.set_cardinality(relation="is", cardinality="single")
    owner.assert_fact(
        subject="Ann", relation="is", object="well", valid_from="2024-01-01T00:00:00Z"
    )
    fact = owner.assert_fact(
        subject="Ann",
        relation="is",
        object="hospitalised",
        valid_from="2024-02-01T00:00:00Z",
        source=diary,
    )
    owner.assert_fact(
        subject="Secretia",
        relation="knows",
        object="Ann",
        source=diary,
        valid_to="2999-01-01T00:00:00Z",
    )
    owner.assert_fact(subject="Ann", relation="likes", object="tea")
    owner.assert_fact(subject="Bob", relation="knows", object="Ann")
    assert fact.assertion_id is not None
    return fact.assertion_id


HIDDEN = ("hospitalised", "Secretia")

READS: dict[str, Callable[[Store], Any]] = {
    "facts": lambda store: store.facts(agent_id="owner"),
    "facts of then": lambda store: store.facts(agent_id="owner", known_at=99),
    "facts to it": lambda store: store.facts(agent_id="owner", object="Ann"),
    "all facts": lambda store: store.facts(agent_id="owner", include_closed=True),
    "iter_facts": lambda store: list(store.iter_facts(agent_id="owner", include_closed=True)),
    "timeline": lambda store: store.timeline(agent_id="owner", subject="Ann", relation="is"),
    "in a transaction": lambda store: store.begin_transaction().timeline(
        agent_id="owner", subject="Ann", relation="is"
    ),
    "neighbors": lambda store: store.neighbors("Ann", agent_id="owner"),
    "subgraph": lambda store: store.subgraph("Ann", agent_id="owner", hops=2),
    "entities": lambda store: list(store.entities(agent_id="owner")),
    "recall": lambda store: store.recall("hospitalised Secretia Ann"),
    "recall of its agent": lambda store: store.recall("hospitalised Ann", agent_id="owner"),
    "recall of then": lambda store: store.recall("hospitalised Secretia Ann", known_at=99),
    "replay": lambda store: list(store.replay(agent_id="owner", namespace=ALL_NAMESPACES)),
    "replay of all": lambda store: list(
        store.replay(agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES)
    ),
    "subscribe": lambda store: list(
        store.subscribe(agent_id="owner", namespace=ALL_NAMESPACES, after_commit=0, timeout=0)
    ),
    "why": lambda store: store.why(store.facts(agent_id="owner", subject="Ann")[0].ref),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("indexed", only(["waiting"], ["waiting", "indexed"]))
def test_its_agent_sees_it_and_no_other_does(
    owner: Store, other: Store, diary: Memory, assertion_id: str, read: str, indexed: str
) -> None:
    if indexed == "indexed":
        owner.reindex()
    output = repr(READS[read](owner))
    assert any(name in output for name in (*HIDDEN, "hospitalised")) or read == "why"
    output = repr(READS[read](other))
    assert not any(name in output for name in HIDDEN)
    assert diary.id not in output
    assert assertion_id not in output
    assert "Ann" in output or read == "why", "what is not private is there"


def test_others_see_the_timeline_that_follows_without_it(
    owner: Store, other: Store, assertion_id: str
) -> None:
    mine = owner.timeline(subject="Ann", relation="is")
    theirs = other.timeline(agent_id="owner", subject="Ann", relation="is")
    assert [(str(fact.object), fact.valid_to is None) for fact in mine] == [
        ("well", False),
        ("hospitalised", True),
    ]
    assert [(str(fact.object), fact.valid_to) for fact in theirs] == [("well", None)]


def test_a_host_without_an_agent_sees_with_the_eyes_it_names(
    store: Store, assertion_id: str
) -> None:
    assert len(store.timeline(agent_id="owner", subject="Ann", relation="is")) == 2


ACTS: dict[str, Callable[[Store, str], Any]] = {
    "explain": lambda store, assertion_id: store.explain(assertion_id),
    "why": lambda store, assertion_id: store.why(FactRef(assertion_id)),
    "because": lambda store, assertion_id: store.write(
        key="k", value={}, because=[FactRef(assertion_id)]
    ),
    "forget": lambda store, assertion_id: store.forget(fact=assertion_id),
    "neighbors": lambda store, assertion_id: store.neighbors("Secretia", agent_id="owner"),
}


@pytest.mark.parametrize("act", ACTS)
def test_no_other_can_act_on_it(owner: Store, other: Store, assertion_id: str, act: str) -> None:
    with pytest.raises(NotFound):
        ACTS[act](other, assertion_id)
    assert ACTS[act](owner, assertion_id)


def test_an_entity_of_which_only_private_things_are_said_is_not_known(
    owner: Store, other: Store, assertion_id: str
) -> None:
    assert owner.entity("Secretia") is not None
    assert other.entity("Secretia", agent_id="owner") is None
    owner.assert_fact(subject="Secretia", relation="likes", object="tea")
    assert other.entity("Secretia", agent_id="owner") is not None


def test_what_rests_on_it_does_not_say_so(owner: Store, other: Store, assertion_id: str) -> None:
    owner.write(key="plan", value={"visit": True}, because=[FactRef(assertion_id)])
    tree = repr(other.why(KeyRef("plan", agent_id="owner", namespace="default")))
    assert assertion_id not in tree
    assert "may not see" in tree
    assert "hospitalised" not in tree


@pytest.fixture
def opened(owner: Store, diary: Memory) -> str:
    """A fact that everybody may know, of a memory that nobody else may."""
    fact = owner.assert_fact(
        subject="Ann", relation="is", object="away", source=diary, visibility="namespace"
    )
    owner.end_fact(
        allow_unknown=True,
        subject="Bob",
        relation="is",
        object="here",
        source=diary,
        visibility="namespace",
    )
    owner.assert_fact(
        subject="Bob", relation="knows", object="Ann", source=diary, visibility="namespace"
    )
    assert fact.assertion_id is not None
    return fact.assertion_id


@pytest.mark.parametrize("read", [*READS, "explain"])
def test_what_is_said_openly_is_shown_without_the_memory_it_comes_from(
    owner: Store, other: Store, diary: Memory, opened: str, read: str
) -> None:
    act = READS.get(read) or (lambda store: store.explain(opened))
    assert "Ann" in repr(act(other))
    assert diary.id not in repr(act(other))
    if read not in ("entities", "in a transaction", "why"):
        assert diary.id in repr(act(owner))


def test_anything_can_be_said_privately(owner: Store, other: Store) -> None:
    owner.assert_fact(subject="Ann", relation="owes", object="ten", visibility="private")
    owner.assert_fact(subject="Ann", relation="has", object="tea")
    owner.end_fact(subject="Ann", relation="has", object="tea", visibility="private")
    assert [str(fact.object) for fact in owner.facts()] == ["ten"]
    assert [str(fact.object) for fact in other.facts(agent_id="owner")] == ["tea"]


def test_taking_it_back_is_private_too(owner: Store, other: Store, assertion_id: str) -> None:
    owner.retract_fact(assertion_id=assertion_id, reason="she is home")
    assert "she is home" in repr(list(owner.replay()))
    assert "she is home" not in repr(list(other.replay(agent_id="owner")))
    assert assertion_id not in repr(list(other.replay(agent_id=ALL_AGENTS)))


def test_who_writes_into_anothers_timeline_is_not_told_what_that_did_there(
    owner: Store, other: Store, assertion_id: str
) -> None:
    fact = other.assert_fact(agent_id="owner", subject="Ann", relation="is", object="home")
    assert fact.assertion_id is not None
    assert not any(name in repr(fact) for name in HIDDEN)


def test_it_is_erased_with_its_memory(owner: Store, diary: Memory, assertion_id: str) -> None:
    owner.reindex()
    owner.forget(memory_id=diary.id, reason="asked to")
    assert [str(fact.object) for fact in owner.facts(subject="Ann")] == ["well", "tea"]
    assert owner.recall("hospitalised") == []
    owner.verify(deep=True)
    assert owner.rebuild().identical


def test_it_stays_private_through_a_rebuild_and_a_compaction(
    owner: Store, other: Store, assertion_id: str
) -> None:
    assert owner.rebuild().identical
    owner.compact(before=owner.stats().commits, confirm=True)
    assert "hospitalised" in repr(owner.facts())
    assert not any(name in repr(other.facts(agent_id="owner")) for name in HIDDEN)
    owner.verify(deep=True)


def test_what_is_no_visibility_is_refused(owner: Store) -> None:
    with pytest.raises(InvalidInput, match="visibility"):
        owner.assert_fact(subject="a", relation="b", object="c", visibility="everybody")
