"""Facts in transactions: what they see of themselves, and what makes them conflict."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect import NotFound, Store
from recollect.testing import FixedClock


def day(number: int) -> datetime:
    return datetime(2025, 6, number, tzinfo=UTC)


def test_what_was_staged_can_be_taken_back_and_again(agent: Store) -> None:
    with agent.begin_transaction() as tx:
        said = tx.assert_fact(subject="alice", relation="knows", object="bob")
        tx.retract_fact(assertion_id=said)
        tx.retract_fact(assertion_id=said)
        assert tx.timeline(subject="alice", relation="knows") == []
    assert agent.facts(subject="alice", include_closed=True) == []
    agent.retract_fact(assertion_id=said)


def test_what_another_agent_stages_is_not_ones_own_to_take_back(agent: Store) -> None:
    for other in ({"agent_id": "a2"}, {"namespace": "elsewhere"}):
        tx = agent.begin_transaction()
        said = tx.assert_fact(subject="alice", relation="knows", object="bob")
        tx.retract_fact(assertion_id=said, **other)
        with pytest.raises(NotFound, match="has said nothing under"):
            tx.commit()
    assert agent.facts() == []


def test_a_name_that_only_an_alias_brought_up_can_be_merged(agent: Store) -> None:
    with agent.begin_transaction() as tx:
        tx.alias(entity="Robert", alias="Bob")
        tx.assert_fact(subject="Rob", relation="knows", object="alice")
        tx.merge_entities(source="Rob", into="Robert")
    (fact,) = agent.facts(subject="bob")
    assert fact.subject == "Robert"


def test_a_name_whose_facts_were_taken_back_is_known(agent: Store) -> None:
    with agent.begin_transaction() as tx:
        said = tx.assert_fact(subject="Rob", relation="knows", object="alice")
        tx.retract_fact(assertion_id=said)
        tx.assert_fact(subject="Robert", relation="knows", object="alice")
        tx.merge_entities(source="Rob", into="Robert")
    known = agent.entity("rob")
    assert known is not None
    assert known.name == "Robert"


def test_what_ends_while_it_is_being_said_held_for_no_time(agent: Store, clock: FixedClock) -> None:
    tx = agent.begin_transaction()
    tx.assert_fact(subject="a", relation="r", object="b", valid_to="2026-01-01T00:00:01Z")
    clock.advance(5)
    (staged,) = tx.timeline(subject="a", relation="r")
    assert staged.valid_from == staged.valid_to == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)
    tx.commit()
    (fact,) = agent.timeline(subject="a", relation="r")
    assert (fact.valid_from, fact.valid_to) == (staged.valid_from, staged.valid_to)
    assert agent.facts(valid_at=fact.valid_from) == []


def test_a_transaction_writes_names_as_they_will_be_written(agent: Store) -> None:
    agent.assert_fact(subject="Ann Lee", relation="Works_At", object="ACME", valid_from=day(1))
    with agent.begin_transaction() as tx:
        tx.assert_fact(subject="ann lee", relation="works at", object="acme", valid_from=day(3))
        tx.assert_fact(subject="ann_lee", relation="works at", object="Globex", valid_from=day(4))
        tx.assert_fact(subject="ann lee", relation="works at", object="GLOBEX", valid_from=day(5))
        tx.assert_fact(subject="Bo", relation="Knows", object="ann  lee", valid_from=day(5))
        tx.alias(entity="Initech Ltd", alias="globex")
        about = (("ANN LEE", "works_at"), ("bo", "knows"))
        seen = [tx.timeline(subject=who, relation=how) for who, how in about]
    found = [agent.timeline(subject=who, relation=how) for who, how in about]
    assert [list(map(str, facts)) for facts in seen] == [list(map(str, facts)) for facts in found]
    assert str(seen[0][0]) == "Ann Lee Works_At ACME"
    assert str(seen[0][-1]) == "Ann Lee Works_At Initech Ltd"
    assert str(seen[1][0]) == "Bo Knows Ann Lee"
