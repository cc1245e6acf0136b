"""What one commit about very many statements costs: it grows with their number, not its square."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from msgspec.structs import replace

from memoranda import Store
from memoranda.graph.timeline import Interval
from memoranda.graph.timeline_store import Timeline, TimelineChange
from memoranda.search.index import background_indexer
from memoranda.testing import memory_store
from tests.cores import core_of
from tests.work import counted, grows_with

FEW, TIMES = 70, 10
START = datetime(2020, 1, 1, tzinfo=UTC)
ABOUT: dict[str, Any] = {"subject": "Ann", "relation": "knows"}


@pytest.fixture(autouse=True)
def _no_indexing() -> Iterator[None]:
    """Indexing is not what is counted."""
    with mock.patch.object(background_indexer, "WAKE_THRESHOLD", sys.maxsize):
        yield


Facts = Callable[[int], dict[str, Any]]


def apart(number: int) -> dict[str, Any]:
    return {**ABOUT, "object": f"o{number}", "valid_from": START + timedelta(hours=number)}


def crowded(number: int) -> dict[str, Any]:
    return {**ABOUT, "object": f"o{number}", "valid_from": START}


def told_again(number: int) -> dict[str, Any]:
    return {**ABOUT, "object": f"o{number % 3}", "valid_from": START}


def bounded(number: int) -> dict[str, Any]:
    return {**apart(number), "valid_to": START + timedelta(days=10_000, hours=-number)}


SHAPES = [
    pytest.param(crowded, False, id="crowded"),
    pytest.param(told_again, False, id="told again"),
    pytest.param(apart, False, id="apart", marks=pytest.mark.slow),
    pytest.param(bounded, False, id="bounded", marks=pytest.mark.slow),
    pytest.param(apart, True, id="one at a time", marks=pytest.mark.slow),
]
"""What is said, and whether there is one object at a time."""


def filled(count: int, facts: Facts, *, single: bool = False) -> Store:
    store = memory_store().bind(agent_id="a")
    if single:
        store.set_cardinality(relation="knows", cardinality="single")
    source = store.remember("who Ann knows")
    store.write(key="source", value={"id": source.id})
    store.assert_facts(facts(number) | {"source": source.id} for number in range(count))
    return store


def end_all(store: Store) -> Any:
    return store.end_fact(**ABOUT, at=START + timedelta(days=5_000))


def take_back_the_end(store: Store) -> None:
    store.retract_fact(assertion_id=store.get_state(key="end").value["id"])  # type: ignore[union-attr]


def retract_all(store: Store) -> None:
    store.retract_fact(**ABOUT)


def classify(store: Store) -> None:
    cardinality = "multi" if store.cardinalities() else "single"
    store.set_cardinality(relation="knows", cardinality=cardinality, allow_large=True)


def merge(store: Store) -> None:
    store.merge_entities(source="Ann", into="Annie", allow_large=True)


def forget(store: Store) -> None:
    source = store.get_state(key="source").value["id"]  # type: ignore[union-attr]
    store.forget(facts_from=source)


def read(store: Store) -> None:
    assert sum(1 for _ in store.iter_facts(include_closed=True)) > 0


def prepare(deed: Callable[[Store], Any], store: Store) -> None:
    if deed is take_back_the_end:
        store.write(key="end", value={"id": end_all(store).assertion_id})
    elif deed is merge:
        store.assert_fact(subject="Annie", relation="knows", object="o1", valid_from=START)
    elif deed is forget:
        retract_all(store)


DEEDS = [end_all, take_back_the_end, retract_all, classify, merge, forget, read]


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
@pytest.mark.parametrize(("facts", "single"), SHAPES)
def test_it_grows_with_the_number_of_statements(
    deed: Callable[[Store], Any], facts: Facts, *, single: bool
) -> None:
    done = []
    for count in (FEW, FEW * TIMES):
        with filled(count, facts, single=single) as store:
            prepare(deed, store)
            with counted(store) as work:
                deed(store)
            done.append(work)
            if deed in (take_back_the_end, retract_all):
                assert store.rebuild().identical
    small, large = done
    assert grows_with(small.decoded + small.split, large.decoded + large.split, TIMES), (
        vars(small),
        vars(large),
    )
    assert grows_with(small.steps, large.steps, TIMES), (vars(small), vars(large))


class Compared(int):
    """A number that counts how often it is compared."""

    count = 0

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return int(self) == other

    def __hash__(self) -> int:
        return int(self)


def test_edges_that_change_are_not_compared_with_all_others() -> None:
    number = 500
    old: list[Interval[int]] = [
        Interval(Compared(at), (at, 1, at), (at, 1, at)) for at in range(number)
    ]
    new = [replace(edge, end=(number, 2, 0)) for edge in old]
    with memory_store() as store:
        edges = core_of(store).engine.write(
            lambda writer: Timeline(writer, 1, 2).replace(TimelineChange(old, new))
        )
        assert len(edges) == number
        assert Compared.count <= 4 * number
