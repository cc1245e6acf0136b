"""The store's calls that traverse facts as a graph, and that suggest merges of entities."""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.calls.arguments import plain_items
from memoranda.calls.graph import Neighbors, Path, SuggestMerges
from memoranda.calls.graph import Subgraph as SubgraphCall
from memoranda.graph.records import Fact, MergeSuggestion, Neighbor, Subgraph
from memoranda.log.read.as_of import Moment, plain_moment
from memoranda.model.clock import Instant, plain_instant
from memoranda.sdk.store.handle import Handle


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
        agent, place = self._defaults.place(agent_id, namespace)
        call = Neighbors(
            agent_id=agent,
            namespace=place,
            relation=relation,
            valid_at=plain_instant("valid_at", valid_at),
            known_at=plain_moment("known_at", known_at),
            entity=entity,
            hops=hops,
            direction=direction,
        )
        return self._calls.ask(call)

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
        agent, place = self._defaults.place(agent_id, namespace)
        call = Path(
            agent_id=agent,
            namespace=place,
            relation=relation,
            valid_at=plain_instant("valid_at", valid_at),
            known_at=plain_moment("known_at", known_at),
            source=source,
            target=target,
            max_hops=max_hops,
            direction=direction,
        )
        return self._calls.ask(call)

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
        agent, place = self._defaults.place(agent_id, namespace)
        call = SubgraphCall(
            agent_id=agent,
            namespace=place,
            relation=relation,
            valid_at=plain_instant("valid_at", valid_at),
            known_at=plain_moment("known_at", known_at),
            entities=plain_items(entities),
            hops=hops,
        )
        return self._calls.ask(call)

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
        agent, place = self._defaults.place(agent_id, namespace)
        return self._calls.ask(SuggestMerges(agent, place, score, limit))
