"""Facts as a listing: the same as `facts`, at one moment, however long it takes."""

from __future__ import annotations

from itertools import islice

import pytest

from memoranda import InvalidInput, RelationCardinality, Store

SINCE = "2020-01-01T00:00:00Z"


def say(agent: Store, count: int) -> None:
    agent.assert_facts(
        {"subject": f"p{number}", "relation": "knows", "object": "Ann", "valid_from": SINCE}
        for number in range(count)
    )


@pytest.mark.slow
def test_a_listing_has_what_facts_has(agent: Store) -> None:
    say(agent, 600)
    agent.end_fact(subject="p7", relation="knows", at="2021-01-01T00:00:00Z")
    assert list(agent.iter_facts()) == agent.facts()
    assert list(agent.iter_facts(include_closed=True)) == agent.facts(include_closed=True)
    assert list(agent.iter_facts(subject="p3")) == agent.facts(subject="p3")
    assert list(agent.iter_facts(object="Ann", relation="knows")) == agent.facts(object="Ann")
    valid = {"valid_at": "2020-06-01T00:00:00Z"}
    assert list(agent.iter_facts(**valid)) == agent.facts(**valid)  # type: ignore[arg-type]
    assert list(agent.iter_facts(known_at=0)) == []


def test_what_is_said_meanwhile_is_not_in_it(agent: Store) -> None:
    say(agent, 600)
    before = agent.facts(include_closed=True)
    listing = agent.iter_facts(include_closed=True)
    first = list(islice(listing, 1))
    agent.retract_fact(subject="p599", relation="knows")
    agent.assert_fact(subject="new", relation="knows", object="Ann")
    assert [*first, *listing] == before


def test_one_instant_or_all_there_was(agent: Store) -> None:
    with pytest.raises(InvalidInput, match="valid_at"):
        agent.iter_facts(valid_at=SINCE, include_closed=True)


def test_cardinalities_are_listed(agent: Store) -> None:
    assert agent.cardinalities() == {}
    agent.set_cardinality(relation="Works_At", cardinality="single")
    agent.set_cardinality(relation="knows", cardinality="single")
    agent.set_cardinality(relation="knows", cardinality="multi")
    agent.set_cardinality(relation="elsewhere", cardinality="single", namespace="team")
    assert agent.cardinalities() == {
        "knows": RelationCardinality.MULTI_VALUED,
        "works at": RelationCardinality.SINGLE_VALUED,
    }
    assert list(agent.cardinalities(namespace="team")) == ["elsewhere"]
