"""What a store does with facts: walking from one to the next, and finding who may be the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from memoranda.errors import NotFound
from memoranda.graph import queries as graph
from memoranda.graph import traversal
from memoranda.graph.beliefs import Asking
from memoranda.graph.inputs import (
    check_count,
    check_direction,
    check_entity,
    check_names,
    check_relation,
    check_score,
)
from memoranda.graph.queries import Entities, Wanted
from memoranda.graph.records import Entity, Fact, MergeSuggestion, Neighbor, Subgraph
from memoranda.log.moments import Moment, asked_at
from memoranda.model.graph_operations import Name
from memoranda.model.instant import Instant, to_micros
from memoranda.sdk.handle import Handle
from memoranda.storage.port import Reader

_NO_RELATION = 0
"""Stands for a relation that nobody has mentioned: no fact is of it."""


class GraphCalls(Handle):
    """Walking through what holds at one instant: `valid_at`, as far as known at `known_at`.

    Not given, both are now; `known_at` alone is what was believed then to hold then. A walk that
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
        """Return what is so many facts away at most, the nearest first, each once.

        `direction` follows facts from subjects to objects ("out"), back ("in"), or both ways.
        """
        wanted = self._walked(relation, agent_id, namespace)
        name = check_entity("entity", entity, self._core.limits)
        most = check_count("hops", hops)
        way = check_direction(direction)
        return self._calls.run(self._neighbors, wanted, valid_at, known_at, name, most, way)

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
        """Return the facts of a shortest way from one entity to another; None: there is no way.

        Of several, it is the one whose entities were mentioned first. A value that two entities
        share does not connect them.
        """
        limits = self._core.limits
        wanted = self._walked(relation, agent_id, namespace)
        ends = [check_entity("source", source, limits), check_entity("target", target, limits)]
        most = check_count("max_hops", max_hops)
        way = check_direction(direction)
        return self._calls.run(self._path, wanted, valid_at, known_at, ends, most, way)

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
        """Return what is so many facts away at most from any of some entities, and all in between.

        With no hops it is what holds between the entities themselves.
        """
        wanted = self._walked(relation, agent_id, namespace)
        names = check_names("entities", entities, self._core.limits)
        most = check_count("hops", hops)
        return self._calls.run(self._subgraph, wanted, valid_at, known_at, names, most)

    def suggest_merges(
        self,
        *,
        score: float = 0.85,
        limit: int = 50,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> list[MergeSuggestion]:
        """Return pairs of entities whose names are alike, the most alike first; it merges nothing.

        Aliases count as well. Names in which the numbers differ are not alike.
        """
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        least, most = check_score(score), check_count("limit", limit, least=1)
        wanted = Wanted(scope=scope, viewer=self._viewer(agent_id))
        return self._calls.run(self._suggest_merges, wanted, least, most)

    def _walked(self, relation: str | None, agent_id: str | None, namespace: str | None) -> Wanted:
        limits = self._core.limits
        return Wanted(
            scope=self._defaults.scope(agent_id, namespace, limits),
            relation=None if relation is None else check_relation("relation", relation, limits),
            viewer=self._viewer(agent_id),
        )

    def _neighbors(
        self,
        wanted: Wanted,
        valid_at: Instant | None,
        known_at: Moment | None,
        entity: Name,
        hops: int,
        direction: str,
    ) -> list[Neighbor]:
        with self._core.engine.snapshot() as reader:
            wanted = self._timed(reader, wanted, valid_at, known_at)
            asking, (start,) = _found(reader, wanted, {"entity": [entity]})
            return traversal.neighbors(reader, asking, start, hops, direction)

    def _path(
        self,
        wanted: Wanted,
        valid_at: Instant | None,
        known_at: Moment | None,
        ends: Sequence[Name],
        max_hops: int,
        direction: str,
    ) -> list[Fact] | None:
        source, target = ends
        with self._core.engine.snapshot() as reader:
            wanted = self._timed(reader, wanted, valid_at, known_at)
            named = {"source": [source], "target": [target]}
            asking, (first, last) = _found(reader, wanted, named)
            return traversal.path(reader, asking, first, last, max_hops, direction)

    def _subgraph(
        self,
        wanted: Wanted,
        valid_at: Instant | None,
        known_at: Moment | None,
        entities: Sequence[Name],
        hops: int,
    ) -> Subgraph:
        if not entities:
            return Subgraph((), ())
        with self._core.engine.snapshot() as reader:
            wanted = self._timed(reader, wanted, valid_at, known_at)
            asking, starts = _found(reader, wanted, {"entities": entities})
            return traversal.subgraph(reader, asking, starts, hops)

    def _suggest_merges(self, wanted: Wanted, score: float, limit: int) -> list[MergeSuggestion]:
        from memoranda.graph import suggestions  # few ask for any: rapidfuzz is loaded for those

        wanted = replace(wanted, known=self._core.head())
        pages, entities = Entities(self._core.engine, wanted), list[Entity]()
        while page := pages.next_page():
            entities.extend(page)
        return suggestions.suggest_merges(entities, score=score, limit=limit)

    def _timed(
        self, reader: Reader, wanted: Wanted, valid_at: Instant | None, known_at: Moment | None
    ) -> Wanted:
        """Return what is asked for, with the instant and the commit that are meant."""
        asked = asked_at(reader, self._core.clock, known_at, "known_at")
        if valid_at is None:
            valid = graph.instant_of(reader, asked)
        else:
            valid = to_micros("valid_at", valid_at)
        return replace(wanted, valid=valid, known=None if known_at is None else asked.commit)


def _found(
    reader: Reader, wanted: Wanted, named: Mapping[str, Sequence[Name]]
) -> tuple[Asking, list[int]]:
    """Return what is asked for by numbers, and the numbers of the entities it starts from."""
    asking = graph.asking_of(reader, replace(wanted, relation=None))
    nodes: list[int] = []
    for field, name in ((field, name) for field, names in named.items() for name in names):
        node = None
        if asking is not None:
            node = graph.node_at(reader, asking.scope_id, name, wanted.known)
        if node is None or asking is None or not graph.is_shown(reader, asking, node):
            raise NotFound(f"{field}: nothing is known of an entity {name.text!r}")
        nodes.append(node)
    assert asking is not None, "who knows of an entity is known"
    if wanted.relation is not None:
        relation = graph.node_at(reader, asking.scope_id, wanted.relation, wanted.known)
        asking = replace(asking, relation=relation or _NO_RELATION)
    return asking, nodes
