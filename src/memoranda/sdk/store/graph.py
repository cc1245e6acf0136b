"""The store's calls that traverse facts as a graph, and that suggest merges of entities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from memoranda.graph import reads as graph_reads
from memoranda.graph import traversal
from memoranda.graph.as_of import ResolvedQuery
from memoranda.graph.reads import EntityPages, FactQuery
from memoranda.graph.records import Entity, Fact, MergeSuggestion, Neighbor, Subgraph
from memoranda.graph.requests import (
    check_direction,
    check_entity,
    check_names,
    check_relation,
    check_score,
)
from memoranda.log.read.as_of import Moment, resolve_as_of
from memoranda.model.clock import Instant, to_micros
from memoranda.model.limits import check_integer
from memoranda.model.operations.graph import Name
from memoranda.sdk.store.handle import Handle
from memoranda.storage.port import Reader

_NO_RELATION = 0
"""Id of a relation that no fact has; ids of names begin at 1."""


class GraphCalls(Handle):
    """Traversing the facts that hold at `valid_at`, as they were known at `known_at`.

    Both default to now; with `known_at` alone, `valid_at` is the same moment. A traversal that
    would reach more than 10,000 entities and values is refused.
    """

    def neighbors(
        self,
        entity: str,
        *,
        hops: int = 1,
        relation: str | None = None,
        direction: str = "both",
        valid_at: Instant | None = None,
        known_at: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> list[Neighbor]:
        """Return the entities and values up to `hops` facts away, the nearest first, each once.

        `direction` follows facts from subject to object ("out"), from object to subject ("in"), or
        both ways ("both").
        """
        query = self._traversal_query(relation, agent_id, namespace)
        name = check_entity("entity", entity, self._core.limits)
        max_hops = check_integer("hops", hops, minimum=0)
        way = check_direction(direction)
        return self._calls.run(self._neighbors, query, valid_at, known_at, name, max_hops, way)

    def path(
        self,
        source: str,
        target: str,
        *,
        max_hops: int = 6,
        relation: str | None = None,
        direction: str = "both",
        valid_at: Instant | None = None,
        known_at: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> list[Fact] | None:
        """Return the facts of a shortest path from one entity to another, or None if there is none.

        Of several, it is the path whose entities were mentioned first. A value that two entities
        share does not connect them.
        """
        limits = self._core.limits
        query = self._traversal_query(relation, agent_id, namespace)
        ends = [check_entity("source", source, limits), check_entity("target", target, limits)]
        limit = check_integer("max_hops", max_hops, minimum=0)
        way = check_direction(direction)
        return self._calls.run(self._path, query, valid_at, known_at, ends, limit, way)

    def subgraph(
        self,
        entities: str | Iterable[str],
        *,
        hops: int = 1,
        relation: str | None = None,
        valid_at: Instant | None = None,
        known_at: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Subgraph:
        """Return the entities up to `hops` facts away from these, and all facts between them.

        With `hops=0` it is the facts between the given entities themselves.
        """
        query = self._traversal_query(relation, agent_id, namespace)
        names = check_names("entities", entities, self._core.limits)
        max_hops = check_integer("hops", hops, minimum=0)
        return self._calls.run(self._subgraph, query, valid_at, known_at, names, max_hops)

    def suggest_merges(
        self,
        *,
        score: float = 0.85,
        limit: int = 50,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> list[MergeSuggestion]:
        """Return pairs of entities with similar names, the most similar first; merge nothing.

        Aliases count as names. Names with different numbers are never similar.
        """
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        min_score, max_pairs = check_score(score), check_integer("limit", limit, minimum=1)
        query = FactQuery(scope=scope, viewer=self._viewer(agent_id))
        return self._calls.run(self._suggest_merges, query, min_score, max_pairs)

    def _traversal_query(
        self, relation: str | None, agent_id: str | None, namespace: str | None
    ) -> FactQuery:
        limits = self._core.limits
        return FactQuery(
            scope=self._defaults.scope(agent_id, namespace, limits),
            relation=None if relation is None else check_relation("relation", relation, limits),
            viewer=self._viewer(agent_id),
        )

    def _neighbors(
        self,
        query: FactQuery,
        valid_at: Instant | None,
        known_at: Moment | None,
        entity: Name,
        hops: int,
        direction: str,
    ) -> list[Neighbor]:
        with self._core.engine.snapshot() as reader:
            query = self._at_times(reader, query, valid_at, known_at)
            resolved_query, (start,) = _resolve_names(reader, query, {"entity": [entity]})
            return traversal.neighbors(reader, resolved_query, start, hops, direction)

    def _path(
        self,
        query: FactQuery,
        valid_at: Instant | None,
        known_at: Moment | None,
        ends: Sequence[Name],
        max_hops: int,
        direction: str,
    ) -> list[Fact] | None:
        source, target = ends
        with self._core.engine.snapshot() as reader:
            query = self._at_times(reader, query, valid_at, known_at)
            names_by_field = {"source": [source], "target": [target]}
            resolved_query, (first, last) = _resolve_names(reader, query, names_by_field)
            return traversal.path(reader, resolved_query, first, last, max_hops, direction)

    def _subgraph(
        self,
        query: FactQuery,
        valid_at: Instant | None,
        known_at: Moment | None,
        entities: Sequence[Name],
        hops: int,
    ) -> Subgraph:
        if not entities:
            return Subgraph((), ())
        with self._core.engine.snapshot() as reader:
            query = self._at_times(reader, query, valid_at, known_at)
            resolved_query, starts = _resolve_names(reader, query, {"entities": entities})
            return traversal.subgraph(reader, resolved_query, starts, hops)

    def _suggest_merges(self, query: FactQuery, score: float, limit: int) -> list[MergeSuggestion]:
        from memoranda.graph import (
            merge_suggestions,  # few ask for any: rapidfuzz is loaded for those
        )

        query = replace(query, as_of_commit=self._core.head())
        pages, entities = EntityPages(self._core.engine, query), list[Entity]()
        while page := pages.next_page():
            entities.extend(page)
        return merge_suggestions.suggest_merges(entities, score=score, limit=limit)

    def _at_times(
        self, reader: Reader, query: FactQuery, valid_at: Instant | None, known_at: Moment | None
    ) -> FactQuery:
        """Return the query with its valid time and its commit."""
        as_of = resolve_as_of(reader, self._core.clock, known_at, "known_at")
        if valid_at is None:
            valid = graph_reads.current_time_at(reader, as_of)
        else:
            valid = to_micros("valid_at", valid_at)
        return replace(
            query, valid_at=valid, as_of_commit=None if known_at is None else as_of.commit
        )


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
