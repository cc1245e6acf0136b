"""Walks and suggested merges: the same on every kind of store."""

from __future__ import annotations

import pytest

from memoranda import Literal, NotFound, Store

SINCE = "2026-01-01T00:00:00Z"
THEN = "2026-01-02T00:00:00Z"


@pytest.fixture
def people(agent: Store) -> Store:
    for subject, relation, object_ in (
        ("Ann", "knows", "Bob"),
        ("Bob", "works at", "Acme Corp"),
        ("Carla", "works at", "Acme Corp."),
        ("Carla", "age", Literal(41)),
    ):
        agent.assert_fact(subject=subject, relation=relation, object=object_, valid_from=SINCE)
    return agent


def test_what_is_near_can_be_asked_for(people: Store) -> None:
    neighbors = people.neighbors("ann", hops=2, valid_at=THEN)
    assert [(item.node, item.hop) for item in neighbors] == [("Bob", 1), ("Acme Corp", 2)]
    with pytest.raises(NotFound, match="Dora"):
        people.neighbors("Dora")
    with pytest.raises(NotFound, match="Ann"):
        people.neighbors("Ann", agent_id="another")


def test_a_suggestion_that_is_followed_connects(people: Store) -> None:
    assert people.path("Ann", "Carla", valid_at=THEN) is None
    (suggested,) = people.suggest_merges()
    assert (suggested.entity, suggested.other) == ("Acme Corp", "Acme Corp.")
    merged = people.merge_entities(source=suggested.other, into=suggested.entity).commit_ts
    path_facts = people.path("Ann", "Carla", valid_at=THEN)
    assert path_facts is not None
    assert [fact.relation for fact in path_facts] == ["knows", "works at", "works at"]
    assert people.path("Ann", "Carla", valid_at=THEN, known_at=merged - 1) is None
    assert people.suggest_merges() == []


def test_a_part_can_be_taken_out(people: Store) -> None:
    subgraph = people.subgraph(["Carla"], valid_at=THEN)
    assert subgraph.entities == ("Carla", "Acme Corp.")
    assert [fact.object for fact in subgraph.facts] == ["Acme Corp.", Literal(41)]
    assert people.subgraph("Carla", valid_at="2025-01-01T00:00:00Z").facts == ()
