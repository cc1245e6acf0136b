"""Walks through random graphs, compared with walks over the plain list of what holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

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
    said = {"subject": step.subject, "relation": step.relation, "object": step.object}
    if step.name == "assert":
        store.assert_fact(**said, valid_from=day(step.day))
    elif step.name == "end":
        store.end_fact(**said, at=day(step.day))
    elif step.name in ("single", "multi"):
        store.set_cardinality(relation=step.relation, cardinality=step.name)
    elif store.entity(step.subject) and isinstance(step.object, str) and store.entity(step.object):
        store.merge_entities(source=step.subject, into=step.object)


class Plain:
    """Everything that holds at an instant as far as it was known, and nothing clever."""

    def __init__(self, store: Store, relation: str | None, direction: str, **times: Any) -> None:
        self.facts = store.facts(relation=relation, **times)
        known = {"known_at": times.get("known_at")}
        self.rank = {each.name: at for at, each in enumerate(store.entities(**known))}
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
        found = dict.fromkeys(starts, 0)
        for hop in range(1, hops + 1):
            for node in [each for each, at in found.items() if at == hop - 1]:
                for _, end in self.steps_from(node):
                    found.setdefault(end, hop)
        return found

    def way(self, source: str, target: str, hops: int) -> list[str] | None:
        """Return the first of the shortest ways, by the order in which entities came up."""
        ways = [[source]]
        for _ in range(hops + 1):
            there = [way for way in ways if way[-1] == target]
            if there:
                return min(there, key=lambda way: [self.rank[each] for each in way])
            ways = [
                [*way, end]
                for way in ways
                for end in {end for _, end in self.steps_from(way[-1]) if isinstance(end, str)}
                if end not in way
            ]
        return None


def resolved(store: Store, name: str, known_at: int | None) -> str | None:
    found = store.entity(name, known_at=known_at)
    return None if found is None else found.name


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
        named = [name for name in ENTITIES if resolved(store, name, known) is not None]
        if not named:
            return
        source, target = data.draw(st.tuples(*[st.sampled_from(named)] * 2))
        asked = {"relation": relation, **times}
        plain = Plain(store, relation, direction, **times)
        check_neighbors(store, plain, source, hops, **asked)
        check_path(store, plain, source, target, hops, **asked)
        check_subgraph(
            store, Plain(store, relation, "both", **times), [source, target], hops, asked
        )


def check_neighbors(store: Store, plain: Plain, source: str, hops: int, **asked: Any) -> None:
    start = resolved(store, source, asked["known_at"])
    assert start is not None
    found = store.neighbors(source, hops=hops, direction=plain.direction, **asked)
    distances = plain.distances([start], hops)
    assert len(found) == len(distances) - 1
    assert [each.hop for each in found] == sorted(each.hop for each in found)
    for each in found:
        assert distances[each.node] == each.hop
        assert any(
            (each.via, each.node) in plain.steps_from(origin)
            for origin, hop in distances.items()
            if hop == each.hop - 1
        )


def check_path(
    store: Store, plain: Plain, source: str, target: str, hops: int, **asked: Any
) -> None:
    first, last = (resolved(store, name, asked["known_at"]) for name in (source, target))
    assert first is not None
    assert last is not None
    found = store.path(source, target, max_hops=hops, direction=plain.direction, **asked)
    expected = plain.way(first, last, hops)
    assert (found is None) == (expected is None)
    if found is None or expected is None:
        return
    assert len(found) == len(expected) - 1
    for fact, node, end in zip(found, expected, expected[1:], strict=False):
        assert (fact, end) in plain.steps_from(node)


def check_subgraph(
    store: Store, plain: Plain, names: list[str], hops: int, asked: dict[str, Any]
) -> None:
    starts: list[Node] = [
        name for each in names if (name := resolved(store, each, asked["known_at"])) is not None
    ]
    found = store.subgraph(names, hops=hops, **asked)
    within = plain.distances(starts, hops)
    assert set(found.entities) == {node for node in within if isinstance(node, str)}
    assert [plain.rank[name] for name in found.entities] == sorted(
        plain.rank[name] for name in found.entities
    )
    assert list(found.facts) == [
        fact for fact in plain.facts if fact.subject in within and fact.object in within
    ]
