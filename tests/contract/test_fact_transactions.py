"""Facts in transactions: what they see of themselves, and what makes them conflict."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memoranda import InvalidInput, NotFound, Store, TransactionConflict
from memoranda.testing import FixedClock
from tests.contract.opener import Opener


def day(number: int) -> datetime:
    return datetime(2025, 6, number, tzinfo=UTC)


def fact(object_: str, **more: Any) -> dict[str, Any]:
    return {"subject": "alice", "relation": "knows", "object": object_, **more}


def test_what_was_staged_can_be_taken_back_and_again(agent: Store) -> None:
    with agent.begin_transaction() as tx:
        text = tx.assert_fact(subject="alice", relation="knows", object="bob")
        tx.retract_fact(assertion_id=text)
        tx.retract_fact(assertion_id=text)
        assert tx.timeline(subject="alice", relation="knows") == []
    assert agent.facts(subject="alice", include_closed=True) == []
    agent.retract_fact(assertion_id=text)


def test_what_another_agent_stages_is_not_ones_own_to_take_back(agent: Store) -> None:
    for other in ({"agent_id": "a2"}, {"namespace": "elsewhere"}):
        tx = agent.begin_transaction()
        text = tx.assert_fact(subject="alice", relation="knows", object="bob")
        tx.retract_fact(assertion_id=text, **other)
        with pytest.raises(NotFound, match="has no assertion"):
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
        text = tx.assert_fact(subject="Rob", relation="knows", object="alice")
        tx.retract_fact(assertion_id=text)
        tx.assert_fact(subject="Robert", relation="knows", object="alice")
        tx.merge_entities(source="Rob", into="Robert")
    reference = agent.entity("rob")
    assert reference is not None
    assert reference.name == "Robert"


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


def test_a_transaction_shows_the_names_of_merged_entities_and_not_their_keys(agent: Store) -> None:
    agent.assert_fact(subject="A. LEE", relation="Works_At", object="ACME Ltd")
    agent.assert_fact(subject="Ann Lee", relation="Works_At", object="Initech")
    agent.assert_fact(subject="Bo Ray", relation="Works_At", object="Acme Limited")
    with agent.begin_transaction() as tx:
        tx.assert_fact(subject="A. LEE", relation="Works_At", object="Globex")
        tx.merge_entities(source="A. LEE", into="Ann Lee")
        tx.merge_entities(source="ACME Ltd", into="Acme Limited")
        facts = tx.timeline(subject="A. LEE", relation="Works_At")
    names = {(item.subject, item.relation, item.object) for item in facts}
    assert names == {
        ("Ann Lee", "Works_At", name) for name in ("Acme Limited", "Initech", "Globex")
    }
    timeline = agent.timeline(subject="Ann Lee", relation="Works_At")
    assert {(item.subject, item.relation, item.object) for item in timeline} == names


def test_a_transaction_writes_names_as_they_will_be_written(agent: Store) -> None:
    agent.assert_fact(subject="Ann Lee", relation="Works_At", object="ACME", valid_from=day(1))
    with agent.begin_transaction() as tx:
        tx.assert_fact(subject="ann lee", relation="works at", object="acme", valid_from=day(3))
        tx.assert_fact(subject="ann_lee", relation="works at", object="Globex", valid_from=day(4))
        tx.assert_fact(subject="ann lee", relation="works at", object="GLOBEX", valid_from=day(5))
        tx.assert_fact(subject="Bo", relation="Knows", object="ann  lee", valid_from=day(5))
        tx.alias(entity="Initech Ltd", alias="globex")
        about = (("ANN LEE", "works_at"), ("bo", "knows"))
        observations = [tx.timeline(subject=who, relation=how) for who, how in about]
    result = [agent.timeline(subject=who, relation=how) for who, how in about]
    assert [list(map(str, facts)) for facts in observations] == [
        list(map(str, facts)) for facts in result
    ]
    assert str(observations[0][0]) == "Ann Lee Works_At ACME"
    assert str(observations[0][-1]) == "Ann Lee Works_At Initech Ltd"
    assert str(observations[1][0]) == "Bo Knows Ann Lee"


def test_whoever_read_a_timeline_conflicts_with_what_changes_it(reopen: Opener) -> None:
    one, two = reopen().bind(agent_id="a1"), reopen().bind(agent_id="a1")
    text = one.assert_fact(**fact("bob")).assertion_id
    other = one.assert_fact(**fact("cy")).assertion_id
    for change in (
        lambda: two.assert_fact(**fact("dan")),
        lambda: two.end_fact(**fact("bob", at=day(9))),
        lambda: two.retract_fact(assertion_id=text),
        lambda: two.set_cardinality(relation="knows", cardinality="single"),
        lambda: two.alias(entity="alice", alias="al"),
        lambda: two.retract_fact(assertion_id=other),
    ):
        tx = one.begin_transaction()
        tx.timeline(subject="alice", relation="knows")
        tx.assert_fact(**fact("eve"))
        change()
        with pytest.raises(TransactionConflict, match="the timeline of 'alice' 'knows' of 'a1'"):
            tx.commit()
    assert "eve" not in {item.object for item in one.facts(include_closed=True)}


def test_what_is_somewhere_else_is_no_conflict(reopen: Opener) -> None:
    one, two = reopen().bind(agent_id="a1"), reopen().bind(agent_id="a1")
    tx = one.begin_transaction()
    assert tx.timeline(subject="alice", relation="knows") == []
    tx.assert_fact(**fact("bob"))
    two.assert_fact(subject="bob", relation="knows", object="alice")
    two.assert_fact(subject="alice", relation="likes", object="bob")
    two.assert_fact(**fact("cy"), agent_id="a2")
    two.assert_fact(**fact("cy"), namespace="n")
    tx.commit()
    assert [item.object for item in one.facts(subject="alice", relation="knows")] == ["bob"]


def test_who_reads_nothing_never_conflicts(reopen: Opener) -> None:
    one, two = reopen().bind(agent_id="a1"), reopen().bind(agent_id="a1")
    one.set_cardinality(relation="knows", cardinality="single")
    tx = one.begin_transaction()
    tx.assert_fact(**fact("bob", valid_from=day(5)))
    two.assert_fact(**fact("cy", valid_from=day(3)))
    two.set_cardinality(relation="knows", cardinality="multi")
    tx.commit()
    assert {item.object for item in one.facts()} == {"bob", "cy"}


def test_a_transaction_sees_a_timeline_as_of_its_beginning_and_its_own(reopen: Opener) -> None:
    one, two = reopen().bind(agent_id="a1"), reopen().bind(agent_id="a1")
    one.set_cardinality(relation="knows", cardinality="single")
    one.assert_fact(**fact("bob", valid_from=day(1)))
    tx = one.begin_transaction()
    tx.assert_fact(**fact("cy", valid_from=day(5)))
    two.assert_fact(**fact("dan", valid_from=day(7)))
    facts = tx.timeline(subject="alice", relation="knows")
    assert [(item.object, item.valid_from, item.valid_to) for item in facts] == [
        ("bob", day(1), day(5)),
        ("cy", day(5), None),
    ]
    assert [item.known_from is None for item in facts] == [False, True]
    tx.abort()


def test_a_refused_transaction_leaves_nothing(agent: Store) -> None:
    tx = agent.begin_transaction()
    tx.assert_fact(**fact("bob"))
    tx.alias(entity="alice", alias="al")
    tx.alias(entity="bob", alias="al")
    with pytest.raises(InvalidInput, match=r"^alias: "):
        tx.commit()
    assert agent.facts() == []
    assert agent.entity("alice") is None
    assert agent.stats().commits == 0


def test_everything_in_one_transaction(agent: Store) -> None:
    with agent.begin_transaction(txn_id="t") as tx:
        tx.set_cardinality(relation="knows", cardinality="single")
        tx.assert_fact(**fact("bob", valid_from=day(1)))
        text = tx.assert_fact(**fact("cy", valid_from=day(3)))
        tx.end_fact(**fact("robert", at=day(5)))
        tx.retract_fact(assertion_id=text, reason="a rumour")
        tx.alias(entity="bob", alias="robert")
        tx.assert_fact(subject="al", relation="knows", object="dan", valid_from=day(9))
        tx.merge_entities(source="al", into="alice")
        observations = tx.timeline(subject="al", relation="knows")
    result = agent.timeline(subject="alice", relation="knows")
    for facts in (observations, result):
        assert [(item.object, item.valid_from, item.valid_to) for item in facts] == [
            ("bob", day(1), day(5)),
            ("dan", day(9), None),
        ]
    assert agent.stats().commits == 1
    assert agent.rebuild().identical
