"""What an assertion costs: as many statements and steps of SQLite, however long its timeline is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from unittest import mock

import apsw
import pytest

from memoranda import Store
from memoranda.search.index import background_indexer
from memoranda.storage.sqlite.engine import SqliteEngine
from memoranda.testing import memory_store
from tests.cores import core_of
from tests.quick import only

SIZES = (10, 1_000, 20_000)
CARDINALITIES = ("single", "multi")
CROWDED = datetime(2020, 1, 1, tzinfo=UTC)
"""An instant that half of a timeline's assertions share."""
MOST = 4_000
"""Assertions in one commit."""


class Cost(NamedTuple):
    statements: int
    steps: int


@contextmanager
def counted(store: Store) -> Iterator[list[int]]:
    """Collect the steps of each statement the writer runs."""
    engine = core_of(store).engine
    assert isinstance(engine, SqliteEngine)
    database, steps = engine._writer.database, list[int]()

    def note(event: dict[str, Any]) -> None:
        steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    database.trace_v2(apsw.SQLITE_TRACE_PROFILE, note, id="cost")
    try:
        yield steps
    finally:
        database.trace_v2(0, None, id="cost")


def instant(number: int) -> datetime:
    return CROWDED + timedelta(days=1 + number)


def filled(size: int) -> Store:
    """Return a store whose timelines of both kinds have so many edges, half at one instant."""
    store = memory_store().bind(agent_id="a")
    store.set_cardinality(relation="single", cardinality="single")
    for begin in range(0, size, MOST):
        with store.begin_transaction(timeout=120) as tx:
            for number in range(begin, min(begin + MOST, size)):
                at = instant(number) if number % 2 else CROWDED
                for relation in CARDINALITIES:
                    about: dict[str, Any] = {"subject": "alice", "relation": relation}
                    tx.assert_fact(**about, object=f"o{number}", valid_from=at)
    return store


def assertion(size: int) -> dict[str, tuple[str, datetime]]:
    """Return what to say: an object, and since when."""
    middle = size // 2 + (size // 2 + 1) % 2
    return {
        "in order": ("new", instant(size + 1)),
        "backdated into the middle": ("new", instant(middle) + timedelta(hours=1)),
        "told again": (f"o{middle}", instant(middle)),
        "told again a little later": (f"o{middle}", instant(middle) + timedelta(hours=2)),
        "at the instant of many others": ("new", CROWDED),
        "told again at the instant of many others": (f"o{size - 2}", CROWDED),
        "before all others": ("new", CROWDED - timedelta(days=1)),
    }


def cost(
    store: Store, relation: str, statement: tuple[str, datetime], end: timedelta | None
) -> Cost:
    object_, since = statement
    with counted(store) as steps, store.begin_transaction() as tx:
        tx.assert_fact(
            subject="alice",
            relation=relation,
            object=object_,
            valid_from=since,
            valid_to=None if end is None else since + end,
        )
    return Cost(len(steps), sum(steps))


@pytest.fixture(autouse=True, scope="module")
def no_indexing() -> Iterator[None]:
    """Let nothing else work in a store while steps are counted."""
    with mock.patch.object(background_indexer, "WAKE_THRESHOLD", sys.maxsize):
        yield


@pytest.fixture(scope="module")
def stores() -> Iterator[list[tuple[int, Store]]]:
    instance = [(size, filled(size)) for size in SIZES]
    yield instance
    for _, store in instance:
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize("relation", CARDINALITIES)
@pytest.mark.parametrize("name", assertion(2))
@pytest.mark.parametrize("end", only([None], [None, timedelta(minutes=5)]))
def test_an_assertion_costs_the_same_in_a_timeline_of_any_length(
    stores: list[tuple[int, Store]], relation: str, name: str, end: timedelta | None
) -> None:
    costs = [cost(store, relation, assertion(size)[name], end) for size, store in stores]
    small, *others = costs
    for large in others:
        assert abs(large.statements - small.statements) <= 2, costs
        assert large.steps <= small.steps + 300, costs


def test_what_comes_and_goes_costs_the_same_however_often_it_did() -> None:
    store, costs = memory_store().bind(agent_id="a"), list[Cost]()
    about: dict[str, Any] = {"subject": "the door", "relation": "is", "object": "open"}
    for begin, end in ((0, 10), (10, 2_000)):
        with store.begin_transaction(timeout=120) as tx:
            for number in range(begin, end):
                since = instant(number)
                tx.assert_fact(**about, valid_from=since, valid_to=since + timedelta(hours=1))
        for number in (end, end // 2):
            since = instant(number) + timedelta(hours=2)
            with counted(store) as steps, store.begin_transaction() as tx:
                fact = tx.assert_fact(
                    **about, valid_from=since, valid_to=since + timedelta(hours=1)
                )
            with counted(store) as more:
                store.retract_fact(assertion_id=fact)
            costs.append(Cost(len(steps) + len(more), sum(steps) + sum(more)))
    assert costs[2].steps <= costs[0].steps + 300, costs
    assert costs[3].steps <= costs[1].steps + 300, costs
