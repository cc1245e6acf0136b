"""Calls that traverse facts as a graph, and that suggest merges of entities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic

from msgspec.structs import replace

from memoranda.calls.arguments import check_viewer
from memoranda.calls.call import Answer, AnyInstant, AnyMoment, Call, Handlers
from memoranda.calls.core import Core
from memoranda.calls.grant import Grant
from memoranda.graph import reads as graph_reads
from memoranda.graph import traversal
from memoranda.graph.as_of import ResolvedQuery
from memoranda.graph.reads import EntityPages, FactQuery
from memoranda.graph.records import Entity, Fact, MergeSuggestion, Neighbor
from memoranda.graph.records import Subgraph as SubgraphRecord
from memoranda.graph.requests import (
    check_direction,
    check_entity,
    check_names,
    check_relation,
    check_score,
)
from memoranda.log.read.as_of import resolve_as_of
from memoranda.model.clock import to_micros
from memoranda.model.limits import check_integer
from memoranda.model.operations.graph import Name
from memoranda.storage.port import Reader

_NO_RELATION = 0
"""Id of a relation that no fact has; ids of names begin at 1."""


class _Traversal(Call[Answer], Generic[Answer], frozen=True, kw_only=True):
    reach = "walk"
    lane = "search"

    agent_id: str
    namespace: str
    relation: str | None = None
    valid_at: AnyInstant = None
    known_at: AnyMoment = None


class Neighbors(_Traversal[list[Neighbor]], frozen=True, kw_only=True):
    """List the entities and values up to some facts away, the nearest first."""

    entity: str
    hops: int = 1
    direction: str = "both"


class Path(_Traversal[list[Fact] | None], frozen=True, kw_only=True):
    """Find the facts of a shortest path from one entity to another."""

    source: str
    target: str
    max_hops: int = 6
    direction: str = "both"


class Subgraph(_Traversal[SubgraphRecord], frozen=True, kw_only=True):
    """Read the entities up to some facts away from these, and all facts between them."""

    entities: str | tuple[str, ...]
    hops: int = 1


class SuggestMerges(Call[list[MergeSuggestion]], frozen=True):
    """List pairs of entities with similar names, the most similar first."""

    lane = "search"

    agent_id: str
    namespace: str
    score: float = 0.85
    limit: int = 50


def neighbors(core: Core, grant: Grant, call: Neighbors) -> list[Neighbor]:
    """Return the neighbors, each once."""
    query = _traversal_query(core, grant, call)
    name = check_entity("entity", call.entity, core.limits)
    hops = check_integer("hops", call.hops, minimum=0)
    direction = check_direction(call.direction)
    with core.engine.snapshot() as reader:
        query = _at_times(core, reader, query, call)
        resolved_query, (start,) = _resolve_names(reader, query, {"entity": [name]})
        return traversal.neighbors(reader, resolved_query, start, hops, direction)


def path(core: Core, grant: Grant, call: Path) -> list[Fact] | None:
    """Return the facts, or None if there is no path."""
    query, limits = _traversal_query(core, grant, call), core.limits
    names_by_field = {
        "source": [check_entity("source", call.source, limits)],
        "target": [check_entity("target", call.target, limits)],
    }
    max_hops = check_integer("max_hops", call.max_hops, minimum=0)
    direction = check_direction(call.direction)
    with core.engine.snapshot() as reader:
        query = _at_times(core, reader, query, call)
        resolved_query, (first, last) = _resolve_names(reader, query, names_by_field)
        return traversal.path(reader, resolved_query, first, last, max_hops, direction)


def subgraph(core: Core, grant: Grant, call: Subgraph) -> SubgraphRecord:
    """Return the entities and facts."""
    query = _traversal_query(core, grant, call)
    names = check_names("entities", call.entities, core.limits)
    hops = check_integer("hops", call.hops, minimum=0)
    if not names:
        return SubgraphRecord((), ())
    with core.engine.snapshot() as reader:
        query = _at_times(core, reader, query, call)
        resolved_query, starts = _resolve_names(reader, query, {"entities": names})
        return traversal.subgraph(reader, resolved_query, starts, hops)


def suggest_merges(core: Core, grant: Grant, call: SuggestMerges) -> list[MergeSuggestion]:
    """Return the suggestions; merge nothing."""
    from memoranda.graph import (
        merge_suggestions,  # few ask for any: rapidfuzz is loaded for those
    )

    scope = grant.scope(call.namespace, call.agent_id, core.limits)
    score, limit = check_score(call.score), check_integer("limit", call.limit, minimum=1)
    viewer = check_viewer(core, grant, call.agent_id)
    query = FactQuery(scope=scope, viewer=viewer, as_of_commit=core.head())
    pages, entities = EntityPages(core.engine, query), list[Entity]()
    while page := pages.next_page():
        entities.extend(page)
    return merge_suggestions.suggest_merges(entities, score=score, limit=limit)


def _traversal_query(core: Core, grant: Grant, call: _Traversal[Any]) -> FactQuery:
    relation = call.relation
    return FactQuery(
        scope=grant.scope(call.namespace, call.agent_id, core.limits),
        relation=None if relation is None else check_relation("relation", relation, core.limits),
        viewer=check_viewer(core, grant, call.agent_id),
    )


def _at_times(core: Core, reader: Reader, query: FactQuery, call: _Traversal[Any]) -> FactQuery:
    """Return the query with its valid time and its commit."""
    as_of = resolve_as_of(reader, core.clock, call.known_at, "known_at")
    if call.valid_at is None:
        valid = graph_reads.current_time_at(reader, as_of)
    else:
        valid = to_micros("valid_at", call.valid_at)
    commit = None if call.known_at is None else as_of.commit
    return replace(query, valid_at=valid, as_of_commit=commit)


def _resolve_names(
    reader: Reader, query: FactQuery, names_by_field: Mapping[str, Sequence[Name]]
) -> tuple[ResolvedQuery, list[int]]:
    """Return the query with ids for names, and the ids of the entities to start from."""
    resolved_query = graph_reads.resolve_query(reader, replace(query, relation=None))
    nodes: list[int] = []
    for field, name in ((field, name) for field, names in names_by_field.items() for name in names):
        node = None
        if resolved_query is not None:
            node = graph_reads.resolve_name(reader, resolved_query, name)
        if (
            node is None
            or resolved_query is None
            or not graph_reads.is_visible(reader, resolved_query, node)
        ):
            raise graph_reads.unknown_entity(reader, query, field, name)
        nodes.append(node)
    assert resolved_query is not None, "who knows of an entity is known"
    if query.relation is not None:
        relation = graph_reads.resolve_name(reader, resolved_query, query.relation)
        resolved_query = replace(resolved_query, relation=relation or _NO_RELATION)
    return resolved_query, nodes


HANDLERS: Handlers = {
    Neighbors: neighbors,
    Path: path,
    Subgraph: subgraph,
    SuggestMerges: suggest_merges,
}
