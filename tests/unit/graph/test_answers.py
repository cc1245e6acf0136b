"""Answers: what a commit did is told once and alike, whether it is remembered or derived again."""

from __future__ import annotations

import pytest

from memoranda import EdgeResolution, Store
from memoranda.testing import memory_store
from tests.cores import core_of


def day(number: int) -> str:
    return f"2026-01-{number:02}T00:00:00Z"


@pytest.fixture
def store() -> Store:
    store = memory_store().bind(agent_id="a")
    store.set_cardinality(relation="lives in", cardinality="single")
    return store


def _retracted(store: Store) -> EdgeResolution:
    """Retract everything of a subject, and see that a retry is told the same."""

    def retract() -> EdgeResolution:
        return store.retract_fact(subject="Al", relation="lives in", object="Rome", txn_id="t")

    first = retract()
    core_of(store).effects.forget()
    assert retract() == first
    return first


def test_a_timeline_under_several_names_is_told_once(store: Store) -> None:
    for name in ("Alice", "Al"):
        store.assert_fact(subject=name, relation="lives in", object="Rome", valid_from=day(1))
    store.merge_entities(source="Al", into="Alice")
    (closed,) = _retracted(store).close
    assert (closed.subject_key, closed.object_key) == ("alice", "rome")


def test_what_was_only_so_within_the_commit_is_not_told(store: Store) -> None:
    for since, place in ((1, "Rome"), (2, "Rome"), (3, "Rome"), (4, "Paris"), (5, "Rome")):
        store.assert_fact(subject="Al", relation="lives in", object=place, valid_from=day(since))
    answer = _retracted(store)
    assert [(edge.object_key, edge.valid_from.day) for edge in answer.close] == [
        ("rome", 1),
        ("rome", 5),
    ]
