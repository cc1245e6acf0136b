"""What memoir's text says of edges, held by the store, which keeps every assertion."""

from __future__ import annotations

from datetime import UTC, datetime

from memoranda import (
    CardinalityPolicy,
    Edge,
    EdgeCatalog,
    EdgeResolution,
    ExistingEdge,
    Scope,
    Store,
    TemporalEdgeResolver,
)
from memoranda.model.refs import MemoryRef
from tests.lineage.corrections import corrected


def at(day: int) -> datetime:
    return datetime(2026, 6, day, tzinfo=UTC)


def employed(client: Store, *, agent_id: str = "agent") -> Store:
    """A client of an agent who knows that one works at one place at a time."""
    agent = client.bind(agent_id=agent_id)
    agent.set_cardinality(relation="works at", cardinality="single")
    return agent


def say(agent: Store, job: str, day: int, source: str | None = None) -> EdgeResolution:
    return agent.assert_fact(
        subject="alice", relation="works at", object=job, valid_from=at(day), source=source
    )


Span = tuple[object, int, int | None]


def seen(agent: Store, subject: str = "alice") -> list[Span]:
    return [
        (fact.object, fact.valid_from.day, fact.valid_to.day if fact.valid_to else None)
        for fact in agent.timeline(subject=subject, relation="works at")
    ]


@corrected("timelines-from-all-assertions")
def test_a_backdated_edge_takes_its_place_in_history(client: Store) -> None:
    agent = employed(client)
    say(agent, "globex", 5)
    resolution = say(agent, "acme", 1)

    assert resolution.close == ()
    assert seen(agent) == [("acme", 1, 5), ("globex", 5, None)]


@corrected("timelines-from-all-assertions")
def test_an_edge_that_has_ended_is_reconsidered(client: Store) -> None:
    agent = employed(client)
    say(agent, "acme", 1)
    wrong = say(agent, "globex", 5)
    say(agent, "initech", 3)
    assert seen(agent) == [("acme", 1, 3), ("initech", 3, 5), ("globex", 5, None)]

    agent.retract_fact(assertion_id=wrong.assertion_id)
    assert seen(agent) == [("acme", 1, 3), ("initech", 3, None)]


def test_valid_from_is_the_event_time_of_the_source_memory(client: Store) -> None:
    agent = employed(client)
    memory = agent.remember("she has worked at acme since June", event_time=at(1))
    agent.assert_fact(subject="alice", relation="works at", object="acme", source=memory.id)
    assert seen(agent) == [("acme", 1, None)]


def test_closing_keeps_the_edge_and_ends_it_where_the_next_begins(client: Store) -> None:
    agent = employed(client)
    say(agent, "acme", 1)
    resolution = say(agent, "globex", 5)

    assert resolution.close == (ExistingEdge("alice", "works at", "acme", at(1)),)
    acme, globex = agent.timeline(subject="alice", relation="works at")
    assert (acme.object, acme.valid_to) == ("acme", at(5))
    assert (globex.valid_from, globex.valid_to) == (at(5), None)


def test_a_restatement_gains_a_source(client: Store) -> None:
    agent = employed(client)
    memories = [agent.remember(text).id for text in ("she works at acme", "still at acme")]
    for day, memory in enumerate(memories, 1):
        say(agent, "acme", day, memory)
    (fact,) = agent.timeline(subject="alice", relation="works at")
    assert fact.valid_from == at(1)
    assert fact.sources == tuple(MemoryRef(memory, 1) for memory in memories)


def test_contradicting_ending_and_retracting_are_different_and_none_forgets(client: Store) -> None:
    agent = employed(client)
    say(agent, "acme", 1)
    text = say(agent, "globex", 5)
    agent.end_fact(subject="alice", relation="works at", at=at(9))
    assert seen(agent) == [("acme", 1, 5), ("globex", 5, 9)]

    agent.retract_fact(assertion_id=text.assertion_id)
    assert seen(agent) == [("acme", 1, 9)]
    facts = agent.timeline(subject="alice", relation="works at", known_at=text.commit_ts)
    assert [fact.object for fact in facts] == ["acme", "globex"]


def test_edges_are_reconciled_within_one_scope(client: Store) -> None:
    agent, other = employed(client), client.bind(agent_id="other")
    elsewhere = client.bind(agent_id="agent", namespace="elsewhere")
    for store, job in ((agent, "acme"), (other, "globex"), (elsewhere, "initech")):
        say(store, job, 1)
    for store, job in ((agent, "acme"), (other, "globex"), (elsewhere, "initech")):
        assert seen(store) == [(job, 1, None)]


def test_the_store_is_a_catalog_of_edges(client: Store) -> None:
    agent = employed(client)
    say(agent, "initech", 1)
    say(agent, "acme", 2)
    catalog: EdgeCatalog = agent
    resolver = TemporalEdgeResolver(catalog, CardinalityPolicy.with_single_valued(["works at"]))

    edge = Edge("Alice", "works at", "globex", 1.0, at(3))
    resolution = resolver.resolve(Scope("default", "agent"), edge)
    assert resolution.close == (ExistingEdge("alice", "works at", "acme", at(2)),)


def test_names_bind_by_their_form_or_by_an_alias(client: Store) -> None:
    agent = employed(client)
    agent.alias(entity="Alice Liddell", alias="alice")
    say(agent, "Acme", 1)
    say(agent, "ACME", 3)
    assert seen(agent, "alice_liddell") == [("Acme", 1, None)]
    assert [entity.name for entity in agent.entities()] == ["Alice Liddell", "Acme"]
