"""Walks through random graphs, compared with walks over the plain list of what holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import Fact, Literal, Store
from memoranda.testing import memory_store

ENTITIES = ("a", "b", "c", "d", "e", "f", "g")
RELATIONS = ("r", "s")
Node = str | Literal

entities = st.sampled_from(ENTITIES)
relations = st.sampled_from(RELATIONS)
days = st.integers(1, 6)
objects = st.one_of(entities, entities, entities, st.builds(Literal, st.integers(1, 2)))


class Step(NamedTuple):
    name: str
    subject: str
    relation: str
    object: Any
    day: int


steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(("assert",) * 8 + ("end", "single", "multi", "merge")),
        entities,
        relations,
        objects,
        days,
    ),
    min_size=1,
    max_size=30,
)


def day(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


def take(store: Store, step: Step) -> None:
    text = {"subject": step.subject, "relation": step.relation, "object": step.object}
    if step.name == "assert":
        store.assert_fact(**text, valid_from=day(step.day))
    elif step.name == "end":
        store.end_fact(**text, at=day(step.day), allow_unknown=True)
    elif step.name in ("single", "multi"):
        store.set_cardinality(relation=step.relation, cardinality=step.name)
    elif store.entity(step.subject) and isinstance(step.object, str) and store.entity(step.object):
        store.merge_entities(source=step.subject, into=step.object)


class Plain:
    """Everything that holds at an instant as far as it was known, and nothing clever."""

    def __init__(self, store: Store, relation: str | None, direction: str, **times: Any) -> None:
        self.facts = store.facts(relation=relation, **times)
        reference = {"known_at": times.get("known_at")}
        self.rank = {item.name: at for at, item in enumerate(store.entities(**reference))}
        self.direction = direction

    def steps_from(self, node: Node) -> list[tuple[Fact, Node]]:
        if isinstance(node, Literal):
            return []
        out = [(fact, fact.object) for fact in self.facts if fact.subject == node]
        back: list[tuple[Fact, Node]] = [
            (fact, fact.subject) for fact in self.facts if fact.object == node
        ]
        return {"out": out, "in": back, "both": out + back}[self.direction]

    def distances(self, starts: list[Node], hops: int) -> dict[Node, int]:
        result = dict.fromkeys(starts, 0)
        for hop in range(1, hops + 1):
            for node in [item for item, at in result.items() if at == hop - 1]:
                for _, end in self.steps_from(node):
                    result.setdefault(end, hop)
        return result

    def way(self, source: str, target: str, hops: int) -> list[str] | None:
        """Return the first of the shortest ways, by the order in which entities came up."""
        ways = [[source]]
        for _ in range(hops + 1):
            there = [way for way in ways if way[-1] == target]
            if there:
                return min(there, key=lambda way: [self.rank[item] for item in way])
            ways = [
                [*way, end]
                for way in ways
                for end in {end for _, end in self.steps_from(way[-1]) if isinstance(end, str)}
                if end not in way
            ]
        return None


def resolved(store: Store, name: str, known_at: int | None) -> str | None:
    result = store.entity(name, known_at=known_at)
    return None if result is None else result.name


@pytest.mark.slow
@settings(deadline=None)
@given(
    steps=steps,
    valid=days,
    known=st.one_of(st.none(), st.integers(1, 30)),
    relation=st.one_of(st.none(), st.none(), relations),
    direction=st.sampled_from(("both", "out", "in")),
    hops=st.integers(0, 4),
    data=st.data(),
)
def test_walks_are_those_of_the_plain_list(
    steps: list[Step],
    valid: int,
    known: int | None,
    relation: str | None,
    direction: str,
    hops: int,
    data: st.DataObject,
) -> None:
    with memory_store() as opened:
        store = opened.bind(agent_id="a")
        for step in steps:
            take(store, step)
        times = {"valid_at": day(valid), "known_at": known}
        by_name = [name for name in ENTITIES if resolved(store, name, known) is not None]
        if not by_name:
            return
        source, target = data.draw(st.tuples(*[st.sampled_from(by_name)] * 2))
        queries = {"relation": relation, **times}
        plain = Plain(store, relation, direction, **times)
        check_neighbors(store, plain, source, hops, **queries)
        check_path(store, plain, source, target, hops, **queries)
        check_subgraph(
            store, Plain(store, relation, "both", **times), [source, target], hops, queries
        )


def check_neighbors(store: Store, plain: Plain, source: str, hops: int, **options: Any) -> None:
    start = resolved(store, source, options["known_at"])
    assert start is not None
    neighbors = store.neighbors(source, hops=hops, direction=plain.direction, **options)
    distances = plain.distances([start], hops)
    assert len(neighbors) == len(distances) - 1
    assert [item.hop for item in neighbors] == sorted(item.hop for item in neighbors)
    for item in neighbors:
        assert distances[item.node] == item.hop
        assert any(
            (item.via, item.node) in plain.steps_from(origin)
            for origin, hop in distances.items()
            if hop == item.hop - 1
        )


def check_path(
    store: Store, plain: Plain, source: str, target: str, hops: int, **options: Any
) -> None:
    first, last = (resolved(store, name, options["known_at"]) for name in (source, target))
    assert first is not None
    assert last is not None
    path_facts = store.path(source, target, max_hops=hops, direction=plain.direction, **options)
    expected = plain.way(first, last, hops)
    assert (path_facts is None) == (expected is None)
    if path_facts is None or expected is None:
        return
    assert len(path_facts) == len(expected) - 1
    for fact, node, end in zip(path_facts, expected, expected[1:], strict=False):
        assert (fact, end) in plain.steps_from(node)


def check_subgraph(
    store: Store, plain: Plain, names: list[str], hops: int, options: dict[str, Any]
) -> None:
    starts: list[Node] = [
        name for item in names if (name := resolved(store, item, options["known_at"])) is not None
    ]
    subgraph = store.subgraph(names, hops=hops, **options)
    within = plain.distances(starts, hops)
    assert set(subgraph.entities) == {node for node in within if isinstance(node, str)}
    assert [plain.rank[name] for name in subgraph.entities] == sorted(
        plain.rank[name] for name in subgraph.entities
    )
    assert list(subgraph.facts) == [
        fact for fact in plain.facts if fact.subject in within and fact.object in within
    ]
