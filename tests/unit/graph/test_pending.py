"""What a transaction sees of timelines: as of its beginning, whatever others do meanwhile."""

from __future__ import annotations

import pytest

from memoranda import Store, Transaction, TransactionConflict
from memoranda.testing import memory_store
from tests.quick import only


def day(number: int) -> str:
    return f"2026-01-{number:02}T00:00:00Z"


@pytest.fixture
def store() -> Store:
    store = memory_store().bind(agent_id="a")
    for since, place in ((1, "Rome"), (2, "Paris")):
        store.assert_fact(subject="Alice", relation="lives in", object=place, valid_from=day(since))
    store.assert_fact(subject="Bob", relation="lives in", object="Oslo", valid_from=day(3))
    return store


def _seen(transaction: Transaction) -> list[tuple[str, bool]]:
    timeline = transaction.timeline(subject="Alice", relation="lives in")
    return [(str(fact.object), fact.valid_to is None) for fact in timeline]


def test_another_cardinality_is_not_seen(store: Store) -> None:
    transaction = store.begin_transaction()
    store.set_cardinality(relation="lives in", cardinality="single")
    assert _seen(transaction) == [("Rome", True), ("Paris", True)]


def test_a_merge_is_not_seen(store: Store) -> None:
    transaction = store.begin_transaction()
    store.merge_entities(source="Alice", into="Bob")
    store.merge_entities(source="Rome", into="Paris")
    assert _seen(transaction) == [("Rome", True), ("Paris", True)]
    transaction.assert_fact(subject="Alice", relation="lives in", object="Bonn", valid_from=day(4))
    assert _seen(transaction) == [("Rome", True), ("Paris", True), ("Bonn", True)]
    with pytest.raises(TransactionConflict):
        transaction.commit()


@pytest.mark.slow
@pytest.mark.parametrize("cardinality", only(["single"], ["single", "multi"]))
def test_a_long_timeline_is_read_as_the_store_reads_it(store: Store, cardinality: str) -> None:
    store.set_cardinality(relation="is", cardinality=cardinality)
    with store.begin_transaction() as transaction:
        for number in range(9000):
            since = f"{1000 + number // 4}-01-01T00:00:00Z"
            transaction.assert_fact(
                subject="it", relation="is", object=f"o{number % 5}", valid_from=since
            )
    facts = store.begin_transaction().timeline(subject="it", relation="is")
    assert facts == store.timeline(subject="it", relation="is")


def test_a_merge_of_its_own_is_seen(store: Store) -> None:
    transaction = store.begin_transaction()
    transaction.set_cardinality(relation="lives in", cardinality="single")
    transaction.merge_entities(source="Alice", into="Bob")
    assert _seen(transaction) == [("Rome", False), ("Paris", False), ("Oslo", True)]
