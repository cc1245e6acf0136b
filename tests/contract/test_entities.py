"""Entities: what names mean, aliases, merges, and how much they may derive anew."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect import InvalidInput, Scope, Store
from recollect.model.limits import Limits
from tests.contract.opener import Opener


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
    for unite in (
        lambda large: agent.merge_entities(source="ally", into="alice", allow_large=large),
        lambda large: agent.alias(entity="p9", alias="p0", allow_large=large),
    ):
        with pytest.raises(InvalidInput, match=r"^allow_large: \d statements .* limit of 4"):
            unite(False)
        unite(True)
    assert [fact.subject for fact in agent.facts(object="p0")] == ["alice"]


def test_an_entity_that_is_only_ended_counts_as_well(open_store: Opener) -> None:
    agent = open_store(limits=Limits(derived_statements=2)).bind(agent_id="a1")
    for number in range(3):
        say(agent, "alice", "knows", f"p{number}")
    agent.end_fact(subject="alice", relation="knows", object="nobody", at=day(2))
    with pytest.raises(InvalidInput, match="^allow_large: 4 statements"):
        agent.alias(entity="p0", alias="nobody")


def test_a_catalog_shows_each_current_object_once_from_its_earliest(agent: Store) -> None:
    for since in (5, 1, 3):
        say(agent, "alice", "knows", "bob", since)
    say(agent, "alice", "knows", "cy", 2)
    agent.assert_fact(
        subject="alice", relation="knows", object="dan", valid_from=day(1), valid_to=day(2)
    )
    found = agent.current_edges(Scope("default", "a1"), "alice", "knows")
    assert [(edge.object_key, edge.valid_from) for edge in found] == [
        ("bob", day(1)),
        ("cy", day(2)),
    ]
