"""The rules of facts within one transaction, where each request sees those before it."""

from __future__ import annotations

import pytest

from memoranda import Literal, NotFound, Store
from memoranda.testing import memory_store


@pytest.fixture
def store() -> Store:
    return memory_store().bind(agent_id="a")


def test_nobody_retracts_what_another_agent_says_in_the_same_transaction(store: Store) -> None:
    transaction = store.begin_transaction()
    fact = transaction.assert_fact(subject="Alice", relation="knows", object="Bob")
    transaction.retract_fact(assertion_id=fact, agent_id="b")
    with pytest.raises(NotFound, match="'b' in 'default' has no assertion"):
        transaction.commit()


def test_to_retract_once_more_changes_nothing(store: Store) -> None:
    with store.begin_transaction() as transaction:
        fact = transaction.assert_fact(subject="Alice", relation="knows", object="Bob")
        transaction.retract_fact(assertion_id=fact)
        transaction.retract_fact(assertion_id=fact)
    assert [operation.type.name for event in store.replay() for operation in event.operations] == [
        "ASSERT",
        "WITHDRAW",
    ]


def test_who_was_just_given_a_name_can_be_merged(store: Store) -> None:
    store.assert_fact(subject="Al", relation="knows", object="Bob")
    with store.begin_transaction() as transaction:
        transaction.alias(entity="Alice", alias="Al")
        transaction.merge_entities(source="Bob", into="Alice")
    assert [str(fact) for fact in store.facts()] == ["Alice knows Alice"]


def test_a_value_that_was_just_said_is_no_entity(store: Store) -> None:
    transaction = store.begin_transaction()
    transaction.assert_fact(subject="Alice", relation="says", object=Literal("bob"))
    transaction.merge_entities(source="bob", into="Alice")
    with pytest.raises(NotFound, match="'bob'"):
        transaction.commit()


def test_a_fact_is_retracted_under_every_name_it_was_just_said_under(store: Store) -> None:
    store.assert_fact(subject="e0", relation="knows", object="Bob")
    with store.begin_transaction() as transaction:
        for number in range(1, 300):
            transaction.assert_fact(subject=f"e{number}", relation="knows", object="Bob")
            transaction.merge_entities(source=f"e{number - 1}", into=f"e{number}")
        transaction.retract_fact(subject="e7", relation="knows", object="Bob")
    assert store.facts() == []
    assert store.rebuild().identical
