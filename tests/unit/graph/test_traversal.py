"""Walking the graph: what is near, how things hang together, and only through what holds then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import InvalidInput, Literal, NotFound, Store
from memoranda.graph import reads, traversal
from memoranda.graph.as_of import ResolvedQuery
from memoranda.graph.reads import FactQuery
from memoranda.graph.requests import check_entity
from memoranda.model.limits import Limits
from memoranda.model.scope import Scope
from memoranda.storage.sqlite.connection import Connection
from memoranda.testing import memory_store
from tests.cores import core_of
from tests.work import queries_of_caller


def day(number: int) -> str:
    return f"2026-01-{number:02}T00:00:00Z"


@pytest.fixture
def store() -> Store:
    return memory_store().bind(agent_id="a")


def say(store: Store, *facts: str, since: int = 1) -> None:
    """Say facts of three words each, in one commit."""
    with store.begin_transaction() as transaction:
        for fact in facts:
            subject, relation, object_ = fact.split()
            transaction.assert_fact(
                subject=subject, relation=relation, object=object_, valid_from=day(since)
            )


def near(store: Store, entity: str, **options: Any) -> list[tuple[str, int, str]]:
    neighbors = store.neighbors(entity, **{"valid_at": day(9), **options})
    return [(str(item.node), item.hop, str(item.via)) for item in neighbors]


def way(store: Store, source: str, target: str, **options: Any) -> list[str] | None:
    path_facts = store.path(source, target, **{"valid_at": day(9), **options})
    return None if path_facts is None else [str(fact) for fact in path_facts]


def part(store: Store, *entities: str, **options: Any) -> tuple[list[str], list[str]]:
    subgraph = store.subgraph(entities, **{"valid_at": day(9), **options})
    return list(subgraph.entities), [str(fact) for fact in subgraph.facts]


class TestNeighbors:
    def test_the_nearest_come_first_and_each_once(self, store: Store) -> None:
        say(store, "a knows b", "b knows c", "c knows d", "a likes c", "d knows a")
        assert near(store, "a") == [
            ("b", 1, "a knows b"),
            ("c", 1, "a likes c"),
            ("d", 1, "d knows a"),
        ]
        assert near(store, "b", hops=2) == [
            ("a", 1, "a knows b"),
            ("c", 1, "b knows c"),
            ("d", 2, "d knows a"),
        ]
        assert near(store, "b", hops=0) == []
        assert near(store, "b", hops=10**30) == near(store, "b", hops=2)

    def test_facts_are_followed_either_way_or_one_way(self, store: Store) -> None:
        say(store, "a knows b", "b knows c")
        assert near(store, "b", direction="out") == [("c", 1, "b knows c")]
        assert near(store, "b", direction="in") == [("a", 1, "a knows b")]
        assert near(store, "a", direction="in", hops=5) == []

    def test_one_relation_can_be_asked_for(self, store: Store) -> None:
        say(store, "a knows b", "a likes c", "b likes d")
        assert near(store, "a", relation="Likes", hops=3) == [("c", 1, "a likes c")]
        assert near(store, "a", relation="never heard of") == []

    def test_a_value_is_a_leaf_and_connects_nobody(self, store: Store) -> None:
        for name in ("a", "b"):
            store.assert_fact(subject=name, relation="age", object=Literal(7), valid_from=day(1))
        assert near(store, "a", hops=5) == [("7", 1, "a age 7")]
        assert store.neighbors("a", valid_at=day(9))[0].node == Literal(7)
        assert near(store, "a", hops=5, known_at=2) == [("7", 1, "a age 7")]
        assert way(store, "a", "b") is None
        assert way(store, "a", "b", known_at=2) is None

    def test_a_value_is_a_leaf_even_beside_what_leads_on(self, store: Store) -> None:
        say(store, "a knows b", "c knows b")
        for name in ("a", "c", "d"):
            store.assert_fact(subject=name, relation="age", object=Literal(7), valid_from=day(1))
        for queries in ({}, {"known_at": 4}):
            assert [item[:2] for item in near(store, "a", hops=9, **queries)] == [
                ("b", 1),
                ("7", 1),
                ("c", 2),
            ]

    def test_only_what_holds_then_is_passed(self, store: Store) -> None:
        store.set_cardinality(relation="works_at", cardinality="single")
        say(store, "ann works_at acme", "bob works_at acme")
        say(store, "ann works_at globex", since=5)
        store.end_fact(subject="bob", relation="works_at", at=day(7))
        assert [name for name, _, _ in near(store, "ann", hops=2)] == ["globex"]
        assert [name for name, _, _ in near(store, "ann", hops=2, valid_at=day(4))] == [
            "acme",
            "bob",
        ]
        assert near(store, "acme", valid_at=day(6)) == [("bob", 1, "bob works_at acme")]
        assert near(store, "acme") == []

    def test_what_was_known_is_derived_as_it_was(self, store: Store) -> None:
        say(store, "ann knows robert", "bob knows carl")
        store.merge_entities(source="bob", into="robert")
        assert near(store, "ann", hops=2) == [
            ("robert", 1, "ann knows robert"),
            ("carl", 2, "robert knows carl"),
        ]
        assert near(store, "ann", hops=2, known_at=1) == [("robert", 1, "ann knows robert")]
        assert near(store, "Bob", known_at=1) == [("carl", 1, "bob knows carl")]

    def test_a_fact_said_repeatedly_is_shown_as_facts_show_it(self, store: Store) -> None:
        for since in (3, 1, 5):
            say(store, "a knows b", since=since)
        (neighbor,) = store.neighbors("b", valid_at=day(9))
        assert [neighbor.via] == store.facts(subject="a", valid_at=day(9))
        assert len(neighbor.via.assertions) == 3

    def test_what_is_near_itself_is_not_listed(self, store: Store) -> None:
        say(store, "a knows a")
        assert near(store, "a", hops=3) == []
        assert part(store, "a", hops=0) == (["a"], ["a knows a"])

    def test_without_an_instant_it_is_now_or_when_it_was_known(self, store: Store) -> None:
        store.assert_fact(subject="a", relation="knows", object="b")
        store.end_fact(subject="a", relation="knows")
        assert store.neighbors("a") == []
        assert [neighbor.node for neighbor in store.neighbors("a", known_at=1)] == ["b"]


class TestPath:
    def test_it_is_the_shortest_and_the_first_mentioned(self, store: Store) -> None:
        say(store, "a r c", "c r e", "a r b", "b r d", "d r e", "b r e")
        assert way(store, "a", "e") == ["a r c", "c r e"]
        store.retract_fact(subject="c", relation="r", object="e")
        assert way(store, "a", "e") == ["a r b", "b r e"]

    def test_of_two_facts_between_the_same_it_is_the_older_relation(self, store: Store) -> None:
        say(store, "b back a", "a likes b", "a knows b")
        assert way(store, "a", "b") == ["a likes b"]
        assert way(store, "b", "a") == ["b back a"]

    def test_direction_and_length_can_be_bounded(self, store: Store) -> None:
        say(store, "a r b", "c r b", "c r d")
        assert way(store, "a", "d") == ["a r b", "c r b", "c r d"]
        assert way(store, "a", "d", max_hops=2) is None
        assert way(store, "a", "d", direction="out") is None
        assert way(store, "d", "c", direction="in") == ["c r d"]
        assert way(store, "a", "a", max_hops=0) == []

    def test_two_names_of_one_are_no_way_apart(self, store: Store) -> None:
        say(store, "a r b")
        store.alias(entity="a", alias="Al")
        assert way(store, "al", "A") == []


class TestSubgraph:
    def test_everything_in_between_is_there(self, store: Store) -> None:
        say(store, "a r b", "a r c", "b r c", "c r d", "d r e")
        assert part(store, "a") == (["a", "b", "c"], ["a r b", "a r c", "b r c"])
        assert part(store, "a", known_at=1) == part(store, "a")
        assert part(store, "a", "d", hops=0) == (["a", "d"], [])
        assert part(store, "e", "a") == (["a", "b", "c", "d", "e"], [
            "a r b", "a r c", "b r c", "c r d", "d r e",
        ])  # fmt: skip

    def test_values_within_reach_are_there_and_others_are_not(self, store: Store) -> None:
        say(store, "a r b")
        for name, age in (("a", 7), ("b", 7), ("b", 8)):
            store.assert_fact(subject=name, relation="n", object=Literal(age), valid_from=day(1))
        assert part(store, "a") == (["a", "b"], ["a r b", "a n 7", "b n 7"])

    def test_one_name_or_none_will_do(self, store: Store) -> None:
        say(store, "a r b")
        assert store.subgraph("a", valid_at=day(9)).entities == ("a", "b")
        assert part(store) == ([], [])


class TestRefusals:
    def test_who_is_unknown_is_named(self, store: Store) -> None:
        with pytest.raises(NotFound, match=r"entity: .*'a'"):
            store.neighbors("a")
        say(store, "a r b")
        with pytest.raises(NotFound, match=r"target: .*'x'"):
            store.path("a", "x")
        with pytest.raises(NotFound, match=r"entities: .*'y'"):
            store.subgraph(["b", "y"])
        with pytest.raises(NotFound, match="'r'"):
            store.neighbors("r")
        with pytest.raises(NotFound, match="'a'"):
            store.neighbors("a", known_at=0)

    @pytest.mark.parametrize(
        "options",
        [
            {"hops": -1},
            {"hops": True},
            {"hops": 1.0},
            {"direction": "up"},
            {"direction": None},
            {"relation": ""},
            {"valid_at": "yesterday"},
            {"known_at": "yesterday"},
            {"known_at": -1},
        ],
    )
    def test_what_cannot_be_taken_is_named(self, store: Store, options: dict[str, Any]) -> None:
        say(store, "a r b")
        with pytest.raises(InvalidInput, match=next(iter(options))):
            store.neighbors("a", **options)

    def test_a_walk_too_far_is_refused_and_says_what_helps(self, store: Store) -> None:
        say(store, *(f"a r b{number}" for number in range(8)), "b7 r c", "b7 s d")
        scope = Scope("default", "a")
        with core_of(store).engine.snapshot() as reader:
            asking = reads.resolve_query(reader, FactQuery(scope=scope, valid_at=2**62))
            assert asking is not None
            a, c = (node(reader, asking, name) for name in ("a", "c"))
            assert len(traversal.neighbors(reader, asking, a, 1, max_nodes=9)) == 8
            with pytest.raises(InvalidInput, match=r"hops: more than 9 .* or a relation"):
                traversal.neighbors(reader, asking, a, 2, max_nodes=9)
            with pytest.raises(InvalidInput, match="hops: more than 8 "):
                traversal.neighbors(reader, asking, a, 1, max_nodes=8)
            with pytest.raises(InvalidInput, match="max_hops: more than 8 "):
                traversal.path(reader, asking, a, c, 2, max_nodes=8)
            assert traversal.path(reader, asking, c, a, 2, max_nodes=3) is not None
            with pytest.raises(InvalidInput, match="hops: more than 8 "):
                traversal.subgraph(reader, asking, [a], 1, max_nodes=8)


def node(reader: Any, asking: ResolvedQuery, name: str) -> int:
    result = reads.resolve_name(reader, asking, check_entity("entity", name, Limits()))
    assert result is not None
    return result


def test_a_hop_is_one_query(store: Store) -> None:
    say(store, *(f"hub r n{number}" for number in range(1000)))
    say(store, *(f"n{number} r m{number % 7}" for number in range(1000)), "n1 r late")
    store.end_fact(subject="n1", relation="r", object="late", at=day(5))
    with queries_of_caller() as queries:
        neighbors = store.neighbors("hub", hops=2, valid_at=day(3))
    assert len(neighbors) == 1008
    assert len(queries) <= 2 + 7
    walking = [query for query, _ in queries if query.startswith("graph_edge")]
    assert walking == ["graph_edges_touching"] * 2


def test_a_walk_sees_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with memoranda.open(tmp_path / "store.db", durability="relaxed") as opened:
        store = opened.bind(agent_id="a")
        say(store, "a r b", "b r c")
        rows = Connection.rows

        def disturbed(self: Connection, query: str, /, **values: Any) -> Any:
            result = rows(self, query, **values)
            if query == "graph_edges_touching" and len(list(store.facts(valid_at=day(9)))) == 2:
                store.retract_fact(subject="a", relation="r", object="b")
                store.retract_fact(subject="b", relation="r", object="c")
            return result

        monkeypatch.setattr(Connection, "rows", disturbed)
        assert [name for name, _, _ in near(store, "a", hops=2)] == ["b", "c"]
        assert near(store, "a", hops=2) == []
