"""Twenty thousand dated facts about people, in the order of time and shuffled: one and the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from random import Random

import pytest

from memoranda import Fact, Store
from memoranda.graph.entities import normal_name
from memoranda.testing import memory_store
from tests.property.graph_oracle import Edge, GraphOracle
from tests.property.yago import FOLDER, DatedFact, read_yago

AT_ONCE = 400
INSTANTS = [
    datetime(year, 7, 1, tzinfo=UTC) for year in (1, 400, 1500, 1800, *range(1880, 2020, 12))
]
FOREVER = datetime.max.replace(tzinfo=UTC)
Group = Callable[[DatedFact], tuple[str, ...]]


def usable() -> list[DatedFact]:
    facts = read_yago()
    if facts is None:
        pytest.skip(f"YAGO11k is not beside this checkout, in {FOLDER}")
    return facts


def untied(facts: Sequence[DatedFact], group: Group) -> list[DatedFact]:
    """Leave out groups where two things are said of one instant: there the last one counts."""
    instants: dict[tuple[str, ...], Counter[datetime]] = {}
    for fact in facts:
        result = instants.setdefault(group(fact), Counter())
        result.update({fact.valid_from, fact.valid_to or fact.valid_from})
    tied = {name for name, result in instants.items() if max(result.values()) > 1}
    return [fact for fact in facts if group(fact) not in tied]


def timeline_of(fact: DatedFact) -> tuple[str, ...]:
    return normal_name(fact.subject), fact.relation


def loaded(facts: Sequence[DatedFact], *, single: bool) -> Store:
    store = memory_store().bind(agent_id="a")
    if single:
        for relation in sorted({fact.relation for fact in facts}):
            store.set_cardinality(relation=relation, cardinality="single")
    for begin in range(0, len(facts), AT_ONCE):
        with store.begin_transaction(timeout=300) as tx:
            for fact in facts[begin : begin + AT_ONCE]:
                tx.assert_fact(**fact._asdict())
    return store


def foretold(facts: Sequence[DatedFact], *, single: bool) -> GraphOracle:
    oracle = GraphOracle()
    oracle.begin()
    for relation in sorted({fact.relation for fact in facts}):
        if single:
            oracle.set_cardinality(relation, single=True)
    for fact in facts:
        oracle.assert_fact(*fact[:4], valid_to=fact.valid_to)
    return oracle


Row = tuple[str, str, str, str, str]


def shown(facts: Sequence[Fact]) -> list[Row]:
    return sorted(
        (
            normal_name(fact.subject),
            normal_name(fact.relation),
            normal_name(str(fact.object)),
            str(fact.valid_from),
            str(fact.valid_to),
        )
        for fact in facts
    )


def expected(edges: Sequence[Edge]) -> list[Row]:
    return sorted(
        (
            edge.subject,
            edge.relation,
            str(edge.object),
            str(edge.valid_from),
            str(edge.valid_to),
        )
        for edge in edges
    )


def check(facts: Sequence[DatedFact], *, single: bool) -> None:
    """Load them by date and shuffled, and compare what held then, then and then."""
    by_date = sorted(facts, key=lambda fact: fact.valid_from)
    shuffled = Random(11).sample(by_date, len(by_date))
    oracle = foretold(by_date, single=single)
    stores = [loaded(order, single=single) for order in (by_date, shuffled)]
    for at in INSTANTS:
        target = expected(oracle.facts(at))
        for store in stores:
            assert shown(store.facts(valid_at=at)) == target, at
    everything = [shown(store.facts(include_closed=True)) for store in stores]
    assert everything[0] == everything[1]
    assert len(everything[0]) <= len(facts)
    for store in stores:
        assert store.rebuild().identical
        store.close()


def check_years(facts: Sequence[DatedFact]) -> None:
    """Load them shuffled, and look for every year of every statement in what is said to hold."""
    store = loaded(Random(5).sample(facts, len(facts)), single=False)
    spans: dict[tuple[str, ...], list[tuple[datetime, datetime]]] = {}
    for *about, since, until in every(store.facts(include_closed=True)):
        spans.setdefault(tuple(about), []).append((since, until))
    short = [
        fact
        for fact in facts
        if not any(
            since <= fact.valid_from and (fact.valid_to or FOREVER) <= until
            for since, until in spans[object_of(fact)]
        )
    ]
    assert short == []
    stated = {(*object_of(fact), fact.valid_from) for fact in facts}
    assert stated == {(*about, since) for about in spans for since, _ in spans[about]}
    store.close()


def object_of(fact: DatedFact) -> tuple[str, ...]:
    return normal_name(fact.subject), normal_name(fact.relation), normal_name(fact.object)


def every(facts: Sequence[Fact]) -> Iterator[tuple[str, str, str, datetime, datetime]]:
    for fact in facts:
        names = (normal_name(str(name)) for name in (fact.subject, fact.relation, fact.object))
        yield (*names, fact.valid_from, fact.valid_to or FOREVER)  # type: ignore[misc]


def some(facts: list[DatedFact], subjects: int) -> list[DatedFact]:
    """Keep all that is said of a few of the subjects."""
    names = sorted({fact.subject for fact in facts})
    stored_item = set(Random(7).sample(names, min(subjects, len(names))))
    return [fact for fact in facts if fact.subject in stored_item]


@pytest.mark.slow
def test_some_of_it_with_many_objects_at_a_time() -> None:
    check(some(usable(), 500), single=False)


@pytest.mark.slow
def test_some_of_it_with_one_object_at_a_time() -> None:
    check(some(untied(usable(), timeline_of), 500), single=True)


def test_what_overlaps_keeps_its_years() -> None:
    """Those of the data of which another statement says the same for other years."""
    facts = usable()
    counter = Counter(map(object_of, facts))
    check_years([fact for fact in facts if counter[object_of(fact)] > 1])


@pytest.mark.slow
def test_all_of_it_keeps_its_years() -> None:
    check_years(usable())


@pytest.mark.slow
def test_all_of_it_with_many_objects_at_a_time() -> None:
    check(usable(), single=False)


@pytest.mark.slow
def test_all_of_it_with_one_object_at_a_time() -> None:
    facts = untied(usable(), timeline_of)
    assert len(facts) > 10_000
    check(facts, single=True)
