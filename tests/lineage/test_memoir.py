"""Memoir's tests of edges under their own names, and what its text promises besides."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memoranda import (
    CardinalityPolicy,
    Edge,
    EdgeCatalog,
    EdgeError,
    EdgeResolution,
    EdgeResolver,
    ExistingEdge,
    MemorandaError,
    NaiveAppendResolver,
    RelationCardinality,
    Scope,
    Store,
    TemporalEdgeResolver,
)
from memoranda.graph.entities import normal_name
from tests.lineage.corrections import corrected

SCOPE = Scope.of(agent_id="agent", org_id="org", user_id="user")
SINGLE = RelationCardinality.SINGLE_VALUED
MULTI = RelationCardinality.MULTI_VALUED


def at(day: int) -> datetime:
    return datetime(2026, 6, day, tzinfo=UTC)


def new(subject: str, relation: str, object_: str, day: int, confidence: float = 0.9) -> Edge:
    return Edge(
        subject_key=subject,
        relation=relation,
        object_key=object_,
        confidence=confidence,
        valid_from=at(day),
    )


def there(subject: str, relation: str, object_: str, day: int) -> ExistingEdge:
    return ExistingEdge(
        subject_key=subject, relation=relation, object_key=object_, valid_from=at(day)
    )


class Shelf:
    """A catalog in memory: current edges, by the forms of their names."""

    def __init__(self, *edges: ExistingEdge) -> None:
        self.edges = edges
        self.reads = 0

    def current_edges(
        self, scope: Scope, subject_key: str, relation: str
    ) -> Iterable[ExistingEdge]:
        self.reads += 1
        return [
            edge
            for edge in self.edges
            if edge.valid_to is None
            and (normal_name(edge.subject_key), normal_name(edge.relation))
            == (subject_key, relation)
        ]


class Unreadable:
    """A catalog whose storage is gone."""

    def current_edges(
        self, scope: Scope, subject_key: str, relation: str
    ) -> Iterable[ExistingEdge]:
        raise ConnectionError("the graph is gone")


def employed(*edges: ExistingEdge) -> TemporalEdgeResolver:
    """A resolver by which one works at one place at a time."""
    return TemporalEdgeResolver(Shelf(*edges), CardinalityPolicy.with_single_valued(["works at"]))


# Memoir's tests


def test_should_append_without_closing_under_naive_resolver() -> None:
    resolution = NaiveAppendResolver().resolve(SCOPE, new("alice", "works at", "globex", 2))

    assert resolution.close == ()
    assert resolution.open is not None
    assert resolution.open.object_key == "globex"


def test_should_close_conflicting_single_valued_edge() -> None:
    resolver = employed(there("alice", "works at", "acme", 1))
    resolution = resolver.resolve(SCOPE, new("alice", "works at", "globex", 2))

    assert resolution.close == (there("alice", "works at", "acme", 1),)
    assert resolution.open is not None
    assert resolution.open.object_key == "globex"


def test_should_not_close_multi_valued_edges() -> None:
    resolver = employed(
        there("team", "deployed", "weekend", 1), there("team", "deployed", "monday", 3)
    )
    resolution = resolver.resolve(SCOPE, new("team", "deployed", "today", 6))

    assert resolution.close == ()
    assert resolution.open is not None
    assert resolution.open.object_key == "today"


def test_should_not_close_when_same_object_restated() -> None:
    resolver = employed(there("alice", "works at", "acme", 1))
    assert resolver.resolve(SCOPE, new("alice", "works at", "acme", 2)).close == ()


def test_should_fold_restated_fact_by_adopting_existing_valid_from() -> None:
    resolver = employed(there("alice", "works at", "acme", 1))
    resolution = resolver.resolve(SCOPE, new("alice", "works at", "acme", 9))

    assert resolution.open is not None
    assert resolution.open.valid_from == at(1)


def test_should_close_low_confidence_new_edge_over_high_confidence_old() -> None:
    resolver = employed(there("alice", "works at", "acme", 1))
    hedged = new("alice", "works at", "globex", 2, confidence=0.3)
    resolution = resolver.resolve(SCOPE, hedged)

    assert [closed.object_key for closed in resolution.close] == ["acme"]
    assert resolution.open == hedged


def test_should_default_unknown_relations_to_multi_valued() -> None:
    policy = CardinalityPolicy.with_single_valued(["works at"])
    assert policy.cardinality("knows") is MULTI
    assert policy.cardinality("works at") is SINGLE


def test_should_classify_cardinality_case_insensitively() -> None:
    policy = CardinalityPolicy.with_single_valued(["Works At"])
    assert policy.cardinality("works at") is SINGLE


def test_should_treat_empty_policy_as_all_multi_valued() -> None:
    assert CardinalityPolicy().cardinality("works at") is MULTI


def test_should_carry_event_time_as_valid_from() -> None:
    backdated = new("alice", "works at", "acme", 1)
    current = new("alice", "works at", "globex", 5)
    assert backdated.valid_from < current.valid_from


# What its text says


def test_two_cardinalities() -> None:
    assert set(RelationCardinality) == {SINGLE, MULTI}
    assert RelationCardinality("single") is SINGLE
    assert RelationCardinality("multi") is MULTI


def test_an_edge_has_these_fields() -> None:
    edge = new("alice", "works at", "acme", 1)
    assert edge.__struct_fields__ == (
        "subject_key",
        "relation",
        "object_key",
        "confidence",
        "valid_from",
    )
    assert edge == new("alice", "works at", "acme", 1)
    assert edge != new("alice", "works at", "acme", 1, confidence=0.8)
    east = at(1).astimezone(timezone(timedelta(hours=9)))
    assert Edge("alice", "works at", "acme", 0.9, east) == edge


def test_an_existing_edge_is_its_own_identity() -> None:
    edge = there("alice", "works at", "acme", 1)
    assert edge.__struct_fields__ == (
        "subject_key",
        "relation",
        "object_key",
        "valid_from",
        "valid_to",
    )
    assert edge.valid_to is None


@corrected("an-answer-says-more")
def test_a_resolution_has_these_fields() -> None:
    edge = new("alice", "works at", "acme", 1)
    resolution = EdgeResolution(open=edge)
    assert (resolution.open, resolution.close) == (edge, ())
    assert (resolution.changed, resolution.folded, resolution.reopened) == ((), None, ())
    assert EdgeResolution(open=None).open is None

    resolver = employed(there("alice", "works at", "acme", 1))
    for answer in (
        resolver.resolve(SCOPE, new("alice", "works at", "globex", 2)),
        resolver.resolve(SCOPE, new("alice", "works at", "acme", 2)),
    ):
        assert (answer.changed, answer.folded, answer.reopened) == ((), None, ())


def test_a_restatement_closes_nothing_and_what_differs_is_closed() -> None:
    acme, globex = there("alice", "works at", "acme", 1), there("alice", "works at", "globex", 2)
    resolution = employed(acme, globex).resolve(SCOPE, new("alice", "works at", "acme", 3))

    assert resolution.close == (globex,)
    assert resolution.open == new("alice", "works at", "acme", 1)


@corrected("both-sides-are-compared-by-form")
def test_policy_and_matching_compare_alike() -> None:
    resolver = employed(there("Alice", "Works_At", "ACME", 1))

    assert resolver.resolve(SCOPE, new("ALICE", "works at", "Acme", 2)).close == ()
    closed = resolver.resolve(SCOPE, new("alice", "WORKS AT", "globex", 2)).close
    assert closed == (there("Alice", "Works_At", "ACME", 1),)


@corrected("nothing-is-awaited")
def test_one_resolver_stands_for_another() -> None:
    edge = new("alice", "works at", "globex", 2)
    acme = there("alice", "works at", "acme", 1)
    resolvers: list[EdgeResolver] = [NaiveAppendResolver(), employed(acme)]
    answers = [resolver.resolve(SCOPE, edge) for resolver in resolvers]
    assert [answer.close for answer in answers] == [(), (acme,)]


@corrected("nothing-is-awaited")
def test_a_catalog_gives_current_edges() -> None:
    ended = ExistingEdge("alice", "works at", "initech", at(1), at(2))
    shelf = Shelf(ended, there("alice", "works at", "acme", 2), there("bob", "works at", "acme", 2))
    catalog: EdgeCatalog = shelf
    resolver = TemporalEdgeResolver(catalog, CardinalityPolicy.with_single_valued(["works at"]))

    resolution = resolver.resolve(SCOPE, new("alice", "works at", "globex", 3))
    assert resolution.close == (there("alice", "works at", "acme", 2),)
    assert shelf.reads == 1
    resolver.resolve(SCOPE, new("alice", "knows", "bob", 3))
    assert shelf.reads == 1


@corrected("the-cause-is-kept")
def test_an_unreadable_catalog_is_an_edge_error() -> None:
    resolver = TemporalEdgeResolver(
        Unreadable(), CardinalityPolicy.with_single_valued(["works at"])
    )
    with pytest.raises(EdgeError, match="edge catalog cannot be read: the graph is gone") as raised:
        resolver.resolve(SCOPE, new("alice", "works at", "acme", 1))
    assert isinstance(raised.value, MemorandaError)
    assert isinstance(raised.value.__cause__, ConnectionError)


@corrected("a-scope-is-a-path")
def test_a_scope_of_organisation_user_and_agent() -> None:
    assert Scope("org/user", "agent") == SCOPE
    assert Scope.of(agent_id="a", org_id="o/u", user_id="") != Scope.of(
        agent_id="a", org_id="o", user_id="u/"
    )


def test_a_newer_memory_wins_over_an_older_one(client: Store) -> None:
    old = client.remember("works at acme", agent_id="agent", confidence=1.0)
    newer = client.remember("works at globex", agent_id="agent", confidence=0.1)
    client.supersede(old=old.id, new=newer.id)

    memory = client.get_memory(old.id)
    assert memory is not None
    assert (memory.superseded_by, memory.retracted) == (newer.id, False)
