"""Entities: what names mean, aliases, merges, and how much they may derive anew."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

import pytest

from memoranda import InvalidInput, Literal, NotFound, Scope, Store
from memoranda.model.limits import Limits
from tests.contract.opener import Opener

OVER_4 = r"^allow_large: \d statements .* limit of 4"


def day(number: int) -> datetime:
    return datetime(2025, 6, number, tzinfo=UTC)


def say(store: Store, subject: str, relation: str, object_: str, since: int = 1) -> None:
    store.assert_fact(subject=subject, relation=relation, object=object_, valid_from=day(since))


def test_what_two_entities_become_counts_for_how_large_it_is(open_store: Opener) -> None:
    agent = open_store(limits=Limits(derived_statements=4)).bind(agent_id="a1")
    for number in range(4):
        say(agent, "alice", "knows", f"p{number}")
    say(agent, "al", "likes", "tea")
    agent.merge_entities(source="al", into="alice")
    say(agent, "ally", "knows", "p9")
    for large in (False, True):
        with pytest.raises(InvalidInput, match=OVER_4) if not large else nullcontext():
            agent.merge_entities(source="ally", into="alice", allow_large=large)
    for large in (False, True):
        with pytest.raises(InvalidInput, match=OVER_4) if not large else nullcontext():
            agent.alias(entity="p9", alias="p0", allow_large=large)
    assert [fact.subject for fact in agent.facts(object="p0")] == ["alice"]


def test_an_entity_that_is_only_ended_counts_as_well(open_store: Opener) -> None:
    agent = open_store(limits=Limits(derived_statements=2)).bind(agent_id="a1")
    for number in range(3):
        say(agent, "alice", "knows", f"p{number}")
    agent.end_fact(subject="alice", relation="knows", object="nobody", at=day(2))
    with pytest.raises(InvalidInput, match=r"^allow_large: 4 statements"):
        agent.alias(entity="p0", alias="nobody")


def test_a_catalog_shows_each_current_object_once_from_its_earliest(agent: Store) -> None:
    for since in (5, 1, 3):
        say(agent, "alice", "knows", "bob", since)
    say(agent, "alice", "knows", "cy", 2)
    agent.assert_fact(
        subject="alice", relation="knows", object="dan", valid_from=day(1), valid_to=day(2)
    )
    edges = agent.current_edges(Scope("default", "a1"), "alice", "knows")
    assert [(edge.object_key, edge.valid_from) for edge in edges] == [
        ("bob", day(1)),
        ("cy", day(2)),
    ]


def test_an_entity_has_the_name_it_was_first_given(agent: Store) -> None:
    say(agent, "Ann Lee", "knows", "Bob")
    say(agent, "ANN_LEE", "knows", "Cy")
    result = agent.entity("ann lee")
    assert result is not None
    assert (result.name, result.key, result.aliases) == ("Ann Lee", "ann lee", ())
    assert (result.agent_id, result.namespace) == ("a1", "default")
    assert agent.entity("nobody") is None
    assert agent.entity("ann lee", agent_id="a2") is None
    assert [entity.name for entity in agent.entities()] == ["Ann Lee", "Bob", "Cy"]
    assert list(agent.entities(known_at=0)) == []


def test_an_alias_means_the_entity_from_then_on(agent: Store) -> None:
    say(agent, "alice", "knows", "bob")
    say(agent, "al", "knows", "cy")
    commit = agent.alias(entity="alice", alias="Al").commit_ts
    assert [fact.object for fact in agent.facts(subject="AL")] == ["bob", "cy"]
    result = agent.entity("al")
    assert result is not None
    assert (result.name, result.aliases) == ("alice", ("al",))
    assert [fact.object for fact in agent.facts(subject="al", known_at=commit - 1)] == ["cy"]
    before = agent.entity("al", known_at=commit - 1)
    assert before is not None
    assert before.name == "al"


def test_an_alias_means_one_thing(agent: Store) -> None:
    first = agent.alias(entity="alice", alias="al").commit_ts
    assert agent.alias(entity="alice", alias="AL").commit_ts == first
    assert agent.alias(entity="al", alias="alice").commit_ts == first
    say(agent, "bob", "knows", "cy")
    with pytest.raises(InvalidInput, match=r"^alias: 'al' already means 'alice'"):
        agent.alias(entity="bob", alias="al")
    agent.merge_entities(source="alice", into="bob")
    agent.alias(entity="bob", alias="al")
    assert agent.stats().commits == 3


def test_a_merge_joins_what_is_known_and_only_that(agent: Store) -> None:
    say(agent, "alice", "knows", "bob")
    say(agent, "al", "knows", "cy")
    with pytest.raises(NotFound, match="source: nothing is known of an entity 'nobody'"):
        agent.merge_entities(source="nobody", into="alice")
    with pytest.raises(NotFound, match="into: nothing is known of an entity 'nobody'"):
        agent.merge_entities(source="alice", into="nobody")
    commit = agent.merge_entities(source="al", into="alice").commit_ts
    assert agent.merge_entities(source="al", into="alice").commit_ts == commit
    assert agent.merge_entities(source="alice", into="AL").commit_ts == commit
    assert {fact.subject for fact in agent.facts()} == {"alice"}
    assert [entity.name for entity in agent.entities()] == ["alice", "bob", "cy"]


def test_a_merge_joins_objects_and_ends_too(agent: Store) -> None:
    say(agent, "alice", "knows", "bob")
    agent.end_fact(subject="alice", relation="knows", object="robert", at=day(3))
    agent.merge_entities(source="robert", into="bob")
    (fact,) = agent.timeline(subject="alice", relation="knows")
    assert (fact.object, fact.valid_to) == ("bob", day(3))


def test_a_value_is_never_merged(agent: Store) -> None:
    say(agent, "alice", "knows", "bob")
    agent.assert_fact(subject="alice", relation="knows", object=Literal("bob"), valid_from=day(1))
    agent.alias(entity="robert", alias="bob")
    assert [fact.object for fact in agent.facts()] == ["robert", Literal("bob")]
    with pytest.raises(NotFound):
        agent.merge_entities(source="knows", into="alice")


def test_names_are_an_agents_own(agent: Store) -> None:
    say(agent, "al", "knows", "bob")
    agent.alias(entity="alice", alias="al", agent_id="a2")
    agent.alias(entity="alan", alias="al", namespace="n")
    assert [fact.subject for fact in agent.facts()] == ["al"]
    for who, name in (({"agent_id": "a2"}, "alice"), ({"namespace": "n"}, "alan")):
        result = agent.entity("al", **who)
        assert result is not None
        assert result.name == name


@pytest.mark.parametrize("name", ["", " _ ", "x" * 513, "a\nb", 7])
def test_what_is_no_name_is_refused(agent: Store, name: Any) -> None:
    for field, call in (
        ("entity", lambda: agent.alias(entity=name, alias="x")),
        ("alias", lambda: agent.alias(entity="x", alias=name)),
        ("source", lambda: agent.merge_entities(source=name, into="x")),
        ("into", lambda: agent.merge_entities(source="x", into=name)),
        ("name", lambda: agent.entity(name)),
    ):
        with pytest.raises(InvalidInput, match=rf"^{field}: "):
            call()


def test_what_another_store_says_of_names_and_relations_counts_here(reopen: Opener) -> None:
    one, two = reopen().bind(agent_id="a1"), reopen().bind(agent_id="a1")
    say(one, "al", "knows", "bob", 1)
    say(two, "alice", "knows", "cy", 3)
    two.merge_entities(source="al", into="alice")
    two.set_cardinality(relation="knows", cardinality="single")
    say(one, "al", "knows", "dan", 5)
    for store in (one, two):
        facts = store.timeline(subject="alice", relation="knows")
        assert [(fact.object, fact.valid_to) for fact in facts] == [
            ("bob", day(3)),
            ("cy", day(5)),
            ("dan", None),
        ]
        assert store.rebuild().identical
