"""Taking back a few statements of many: what is left is not derived as a whole."""

from __future__ import annotations

from datetime import UTC, datetime
from unittest import mock

import pytest

from memoranda import Store
from memoranda.graph import timeline_store
from memoranda.graph.timeline_store import Timeline
from memoranda.testing import memory_store
from tests.work import counted, grows_with

START = datetime(2020, 1, 1, tzinfo=UTC)


def filled(count: int) -> Store:
    store = memory_store().bind(agent_id="a")
    store.assert_facts(
        {"subject": "Ann", "relation": "knows", "object": f"o{number}", "valid_from": START}
        for number in range(count)
    )
    return store


def take_back(store: Store, count: int) -> None:
    facts = store.facts(subject="Ann", include_closed=True)[:count]
    with store.begin_transaction() as tx:
        for fact in facts:
            tx.retract_fact(assertion_id=fact.assertions[0])


def test_one_of_many_costs_no_more_than_one_of_few() -> None:
    steps = []
    for count in (20, 600):
        with filled(count) as store:
            (fact,) = store.facts(subject="Ann", object="o7")
            with counted(store) as work:
                store.retract_fact(assertion_id=fact.assertions[0])
            steps.append(work.steps)
            assert len(store.facts(subject="Ann")) == count - 1
    assert grows_with(steps[0], steps[1], 1), steps


@pytest.mark.parametrize(
    ("gone", "rebuilt"),
    [
        (timeline_store._BULK_WITHDRAWAL_THRESHOLD, 0),
        (timeline_store._BULK_WITHDRAWAL_THRESHOLD + 1, 1),
    ],
    ids=repr,
)
def test_as_a_whole_only_if_many_go_and_once(gone: int, rebuilt: int) -> None:
    with filled(150) as store:
        rebuild, calls = Timeline.rebuild, list[Timeline]()

        def noted(timeline: Timeline, *, single: bool) -> None:
            calls.append(timeline)
            rebuild(timeline, single=single)

        with mock.patch.object(Timeline, "rebuild", noted):
            take_back(store, gone)
        assert len(calls) == rebuilt
        assert len(store.facts(subject="Ann")) == 150 - gone
        assert store.rebuild().identical


def test_one_by_one_if_they_are_a_small_share() -> None:
    with filled(150) as store:
        with (
            mock.patch.object(timeline_store, "_BULK_WITHDRAWAL_THRESHOLD", 2),
            mock.patch.object(timeline_store, "_WITHDRAWAL_COST_FACTOR", 10),
            mock.patch.object(Timeline, "rebuild", side_effect=AssertionError),
        ):
            take_back(store, 10)
        assert store.rebuild().identical
