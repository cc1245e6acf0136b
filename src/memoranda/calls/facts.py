"""Calls that read facts, timelines and entities, by valid time and by when they were known."""

from __future__ import annotations

from typing import Any, Generic

from msgspec.structs import replace

from memoranda.calls.arguments import (
    TypedText,
    check_agent,
    check_place,
    check_plain_object,
    check_viewer,
)
from memoranda.calls.call import Answer, AnyInstant, AnyMoment, Call, Handlers
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.errors import InvalidInput, NotFound
from memoranda.graph import fact_explanation
from memoranda.graph import reads as graph_reads
from memoranda.graph.edge_resolver import ExistingEdge, RelationCardinality
from memoranda.graph.reads import EntityPages, FactPages, FactQuery, FactVisibilityPages
from memoranda.graph.records import Entity as EntityRecord
from memoranda.graph.records import Explanation, Fact
from memoranda.graph.requests import check_entity, check_relation
from memoranda.log.pages import Pages
from memoranda.log.read.as_of import resolve_as_of
from memoranda.memory.requests import check_id
from memoranda.memory.transcripts import quotes
from memoranda.model.clock import to_micros
from memoranda.model.scope import Scope

# Facts.


class _FactSelection(Call[Answer], Generic[Answer], frozen=True):
    agent_id: str | None
    """None: the beliefs of all agents of the namespace."""
    namespace: str
    subject: str | None = None
    relation: str | None = None
    object: str | TypedText | None = None
    valid_at: AnyInstant = None
    known_at: AnyMoment = None
    include_closed: bool = False


class Facts(_FactSelection[list[Fact]], frozen=True):
    """List the facts that hold at an instant, as they were known at a moment."""


class IterFacts(_FactSelection[Fact], frozen=True):
    """List the same facts in pages, as of the call."""

    shape = "pages"


class IterSharedFacts(_FactSelection[tuple[Fact, str]], frozen=True):
    """List facts in pages with their visibility, to assert them in another store."""

    shape = "pages"


class Timeline(Call[list[Fact]], frozen=True):
    """List all facts of a subject and relation, in the order of valid time."""

    agent_id: str | None
    """None: those of all agents, agent by agent."""
    namespace: str
    subject: str
    relation: str
    known_at: AnyMoment = None


class Explain(Call[Explanation], frozen=True):
    """Explain a fact by its assertions and its end, with their sources and quotes."""

    reach = "walk"

    fact: str
    known_at: AnyMoment = None
    agent_id: str | None = None


class CurrentEdges(Call[list[ExistingEdge]], frozen=True):
    """List the open edges of a subject and relation."""

    agent_id: str
    namespace: str
    subject_key: str
    relation: str


def facts(core: Core, grant: Grant, call: Facts) -> list[Fact]:
    """Return the facts."""
    query = _at_valid_time(core, _fact_query(core, grant, call), call)
    if call.known_at is not None:
        query = replace(query, as_of_commit=core.commit_at("known_at", call.known_at))
    with core.engine.snapshot() as reader:
        return graph_reads.facts(reader, query)


def iter_facts(core: Core, grant: Grant, call: IterFacts) -> Pages[Fact]:
    """Return the facts as of the call, or of `known_at`: later assertions do not show."""
    query = _at_valid_time(core, _fact_query(core, grant, call), call)
    query = replace(query, as_of_commit=core.commit_at("known_at", call.known_at))
    return FactPages(core.engine, query)


def iter_shared_facts(core: Core, grant: Grant, call: IterSharedFacts) -> Pages[tuple[Fact, str]]:
    """Return the facts with "namespace" if others see them alike, and else with "private"."""
    query = _at_valid_time(core, _fact_query(core, grant, call), call)
    query = replace(query, as_of_commit=core.commit_at("known_at", call.known_at))
    return FactVisibilityPages(core.engine, query)


def timeline(core: Core, grant: Grant, call: Timeline) -> list[Fact]:
    """Return the facts."""
    check_entity("subject", call.subject, core.limits)
    check_relation("relation", call.relation, core.limits)
    return facts(
        core,
        grant,
        Facts(
            call.agent_id,
            call.namespace,
            call.subject,
            call.relation,
            known_at=call.known_at,
            include_closed=True,
        ),
    )


def explain(core: Core, grant: Grant, call: Explain) -> Explanation:
    """Return the explanation."""
    assertion_id = check_id("fact", call.fact)
    viewer = check_viewer(core, grant, call.agent_id)
    with core.engine.snapshot() as reader:
        commit = resolve_as_of(reader, core.clock, call.known_at, "known_at").commit
        explanation = fact_explanation.explain(reader, assertion_id, commit, viewer)
        if explanation is None:
            moment = "" if call.known_at is None else f" at commit {commit}"
            raise NotFound(f"no assertion {assertion_id!r} stands{moment}", field="fact")
        assertions = tuple(
            replace(assertion, quotes=quotes(reader, assertion.source, commit, viewer))
            for assertion in explanation.assertions
        )
        end = explanation.end
        if end is not None:
            end = replace(end, quotes=quotes(reader, end.source, commit, viewer))
        return replace(explanation, assertions=assertions, end=end)


def current_edges(core: Core, grant: Grant, call: CurrentEdges) -> list[ExistingEdge]:
    """Return the edges."""
    query = FactQuery(
        scope=grant.scope(call.namespace, call.agent_id, core.limits),
        viewer=check_viewer(core, grant, call.agent_id),
        subject=check_entity("subject_key", call.subject_key, core.limits),
        relation=check_relation("relation", call.relation, core.limits),
    )
    with core.engine.snapshot() as reader:
        return graph_reads.current_edges(reader, query)


def _fact_query(core: Core, grant: Grant, call: _FactSelection[Any]) -> FactQuery:
    limits, viewer = core.limits, check_viewer(core, grant, call.agent_id)
    owner = viewer if call.agent_id is None else check_agent(core, call.agent_id)
    assert owner is not None, "an agent is named, or the viewer is"
    if call.include_closed and call.valid_at is not None:
        raise InvalidInput("valid_at", "is one instant, and include_closed asks for all")
    return FactQuery(
        scope=Scope(check_place(core, call.namespace), owner),
        all_agents=call.agent_id is None,
        subject=None if call.subject is None else check_entity("subject", call.subject, limits),
        relation=None
        if call.relation is None
        else check_relation("relation", call.relation, limits),
        object=None if call.object is None else check_plain_object(core, call.object),
        viewer=viewer,
    )


def _at_valid_time(core: Core, query: FactQuery, call: _FactSelection[Any]) -> FactQuery:
    """Return the query with its valid time, which defaults to the time of `known_at`."""
    if call.include_closed:
        return query
    if call.valid_at is not None:
        return replace(query, valid_at=to_micros("valid_at", call.valid_at))
    with core.engine.reading() as reader:
        as_of = resolve_as_of(reader, core.clock, call.known_at, "known_at")
        return replace(query, valid_at=graph_reads.current_time_at(reader, as_of))


# Entities and relations.


class Cardinalities(Call[dict[str, RelationCardinality]], frozen=True):
    """Read the cardinality of each relation of a namespace for which one was set."""

    namespace: str


class Entity(Call[EntityRecord | None], frozen=True):
    """Read the entity that has a name, with its aliases."""

    agent_id: str
    namespace: str
    name: str
    known_at: AnyMoment = None


class Entities(Call[EntityRecord], frozen=True):
    """List the entities of facts, in the order of their first mention."""

    shape = "pages"

    agent_id: str
    namespace: str
    known_at: AnyMoment = None


def cardinalities(core: Core, _: Grant, call: Cardinalities) -> dict[str, RelationCardinality]:
    """Return the cardinalities by relation, in normal form; all others are multi-valued."""
    namespace = check_place(core, call.namespace)
    with core.engine.reading() as reader:
        return graph_reads.cardinalities(reader, namespace)


def entity(core: Core, grant: Grant, call: Entity) -> EntityRecord | None:
    """Return the entity, or None if no fact mentions it."""
    query = _entity_query(core, grant, call)
    name = check_entity("name", call.name, core.limits)
    with core.engine.snapshot() as reader:
        return graph_reads.entity(reader, query, name)


def entities(core: Core, grant: Grant, call: Entities) -> Pages[EntityRecord]:
    """Return the entities."""
    return EntityPages(core.engine, _entity_query(core, grant, call))


def _entity_query(core: Core, grant: Grant, call: Entity | Entities) -> FactQuery:
    scope = grant.scope(call.namespace, call.agent_id, core.limits)
    commit = None if call.known_at is None else core.commit_at("known_at", call.known_at)
    viewer = check_viewer(core, grant, call.agent_id)
    return FactQuery(scope=scope, as_of_commit=commit, viewer=viewer)


HANDLERS: Handlers = {
    Facts: facts,
    IterFacts: iter_facts,
    IterSharedFacts: iter_shared_facts,
    Timeline: timeline,
    Explain: explain,
    CurrentEdges: current_edges,
    Cardinalities: cardinalities,
    Entity: entity,
    Entities: entities,
}
