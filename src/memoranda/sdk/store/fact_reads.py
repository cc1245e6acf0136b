"""The store's calls that read facts, timelines and entities."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from memoranda.errors import InvalidInput, NotFound
from memoranda.graph import reads as graph_reads
from memoranda.graph.edge_resolver import ExistingEdge, RelationCardinality
from memoranda.graph.fact_explanation import explain
from memoranda.graph.reads import EntityPages, FactPages, FactQuery, FactVisibilityPages
from memoranda.graph.records import Entity, Explanation, Fact
from memoranda.graph.requests import Object, check_entity, check_object, check_relation
from memoranda.log.read.as_of import Moment, resolve_as_of
from memoranda.memory.transcripts import quotes
from memoranda.model.clock import Instant, to_micros
from memoranda.model.operations.graph import Name
from memoranda.model.refs import IdLike
from memoranda.model.scope import ALL_AGENTS, AllAgents, Scope, check_scope
from memoranda.sdk.calls import paged
from memoranda.sdk.requests import check_fact_id
from memoranda.sdk.store.handle import Handle


class FactReadCalls(Handle):
    """Bitemporal reads of facts: by valid time and by the time they were known."""

    def facts(
        self,
        *,
        subject: str | None = None,
        relation: str | None = None,
        object: Object | None = None,
        valid_at: Instant | None = None,
        known_at: Moment | None = None,
        include_closed: bool = False,
        agent_id: str | AllAgents | None = None,
        namespace: str | None = None,
    ) -> list[Fact]:
        """Return the facts that hold at `valid_at`, as they were known at `known_at`.

        Both default to now; with `known_at` alone, `valid_at` is the same moment. `include_closed`
        returns facts of any valid time. With `agent_id=ALL_AGENTS`, they are the beliefs of every
        agent of the namespace; `Fact.agent_id` says whose each is.
        """
        query = self._fact_query(agent_id, namespace, subject, relation, object)
        _check_closed(valid_at, include_closed=include_closed)
        return self._calls.run(
            self._facts, query, valid_at, known_at, include_closed=include_closed
        )

    def iter_facts(
        self,
        *,
        subject: str | None = None,
        relation: str | None = None,
        object: Object | None = None,
        valid_at: Instant | None = None,
        known_at: Moment | None = None,
        include_closed: bool = False,
        agent_id: str | AllAgents | None = None,
        namespace: str | None = None,
    ) -> Iterator[Fact]:
        """Yield the facts that `facts` returns, page by page, whatever their number.

        They are as of the call, or of `known_at`: later assertions do not show.
        """
        query = self._fact_query(agent_id, namespace, subject, relation, object)
        _check_closed(valid_at, include_closed=include_closed)
        if not include_closed:
            query = replace(query, valid_at=self._valid(valid_at, known_at))
        query = replace(query, as_of_commit=self._core.commit_at("known_at", known_at))
        return paged(self._calls, FactPages(self._core.engine, query))

    def iter_shared_facts(
        self,
        *,
        valid_at: Instant | None = None,
        known_at: Moment | None = None,
        include_closed: bool = False,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Iterator[tuple[Fact, str]]:
        """Yield the facts of `iter_facts` with their visibility, to assert them in another store.

        It is "namespace" if other agents see the same fact with the same times, else "private". A
        fact that others see with a lower confidence is yielded twice, once as they see it.
        """
        query = self._fact_query(agent_id, namespace, None, None, None)
        _check_closed(valid_at, include_closed=include_closed)
        if not include_closed:
            query = replace(query, valid_at=self._valid(valid_at, known_at))
        query = replace(query, as_of_commit=self._core.commit_at("known_at", known_at))
        return paged(self._calls, FactVisibilityPages(self._core.engine, query))

    def timeline(
        self,
        *,
        subject: str,
        relation: str,
        known_at: Moment | None = None,
        agent_id: str | AllAgents | None = None,
        namespace: str | None = None,
    ) -> list[Fact]:
        """Return all facts of a subject and relation, in the order of valid time.

        Those of `ALL_AGENTS` come agent by agent.
        """
        limits = self._core.limits
        check_entity("subject", subject, limits)
        check_relation("relation", relation, limits)
        query = self._fact_query(agent_id, namespace, subject, relation, None)
        return self._calls.run(self._facts, query, None, known_at, include_closed=True)

    def explain(
        self,
        fact: IdLike,
        *,
        known_at: Moment | None = None,
        agent_id: str | None = None,
    ) -> Explanation:
        """Return the assertions of a fact and its end, with their sources and quotes.

        `fact` is a fact or a hit, a reference, or the id of one of its assertions.
        """
        assertion_id = check_fact_id("fact", fact)
        return self._calls.run(self._explain, assertion_id, known_at, self._viewer(agent_id))

    def cardinalities(self, *, namespace: str | None = None) -> dict[str, RelationCardinality]:
        """Return the cardinality of each relation of a namespace for which one was set.

        Relations are in normal form. All others are multi-valued.
        """
        scope = self._defaults.scope(self._defaults.actor, namespace, self._core.limits)
        return self._calls.run(self._cardinalities, scope.namespace)

    def entity(
        self,
        name: str,
        *,
        known_at: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Entity | None:
        """Return the entity that has a name, with its aliases, or None if no fact mentions it."""
        limits = self._core.limits
        scope = self._defaults.scope(agent_id, namespace, limits)
        query = FactQuery(scope=scope, viewer=self._viewer(agent_id))
        return self._calls.run(self._entity, query, check_entity("name", name, limits), known_at)

    def entities(
        self,
        *,
        known_at: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Iterator[Entity]:
        """Yield the entities of facts, in the order of their first mention."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        as_of_commit = None if known_at is None else self._core.commit_at("known_at", known_at)
        query = FactQuery(scope=scope, as_of_commit=as_of_commit, viewer=self._viewer(agent_id))
        return paged(self._calls, EntityPages(self._core.engine, query))

    def current_edges(self, scope: Scope, subject_key: str, relation: str) -> list[ExistingEdge]:
        """Return the open edges of a subject and relation: a store is an `EdgeCatalog`."""
        limits = self._core.limits
        query = FactQuery(
            scope=check_scope("scope", scope).check(limits),
            viewer=self._viewer(scope.agent_id),
            subject=check_entity("subject_key", subject_key, limits),
            relation=check_relation("relation", relation, limits),
        )
        return self._calls.run(self._current_edges, query)

    def _explain(self, assertion_id: str, known_at: Moment | None, viewer: str) -> Explanation:
        with self._core.engine.snapshot() as reader:
            as_of_commit = resolve_as_of(reader, self._core.clock, known_at, "known_at").commit
            explanation = explain(reader, assertion_id, as_of_commit, viewer)
            if explanation is None:
                when = "" if known_at is None else f" at commit {as_of_commit}"
                raise NotFound(f"no assertion {assertion_id!r} stands{when}", field="fact")
            assertions = tuple(
                replace(assertion, quotes=quotes(reader, assertion.source, as_of_commit, viewer))
                for assertion in explanation.assertions
            )
            end = explanation.end
            if end is not None:
                end = replace(end, quotes=quotes(reader, end.source, as_of_commit, viewer))
            return replace(explanation, assertions=assertions, end=end)

    def _fact_query(
        self,
        agent_id: str | AllAgents | None,
        namespace: str | None,
        subject: str | None,
        relation: str | None,
        object: Object | None,
    ) -> FactQuery:
        limits, viewer = self._core.limits, self._viewer(agent_id)
        owner = viewer if agent_id is ALL_AGENTS else agent_id
        return FactQuery(
            scope=self._defaults.scope(owner, namespace, limits),
            all_agents=agent_id is ALL_AGENTS,
            subject=None if subject is None else check_entity("subject", subject, limits),
            relation=None if relation is None else check_relation("relation", relation, limits),
            object=None if object is None else check_object(object, limits),
            viewer=viewer,
        )

    def _cardinalities(self, namespace: str) -> dict[str, RelationCardinality]:
        with self._core.engine.reading() as reader:
            return graph_reads.cardinalities(reader, namespace)

    def _current_edges(self, query: FactQuery) -> list[ExistingEdge]:
        with self._core.engine.snapshot() as reader:
            return graph_reads.current_edges(reader, query)

    def _facts(
        self,
        query: FactQuery,
        valid_at: Instant | None,
        known_at: Moment | None,
        *,
        include_closed: bool,
    ) -> list[Fact]:
        if not include_closed:
            query = replace(query, valid_at=self._valid(valid_at, known_at))
        if known_at is not None:
            query = replace(query, as_of_commit=self._core.commit_at("known_at", known_at))
        with self._core.engine.snapshot() as reader:
            return graph_reads.facts(reader, query)

    def _valid(self, valid_at: Instant | None, known_at: Moment | None) -> int:
        """Return the valid time of a read; it defaults to the time of `known_at`."""
        if valid_at is not None:
            return to_micros("valid_at", valid_at)
        as_of = self._as_of(known_at, "known_at")
        with self._core.engine.reading() as reader:
            return graph_reads.current_time_at(reader, as_of)

    def _entity(self, query: FactQuery, name: Name, known_at: Moment | None) -> Entity | None:
        if known_at is not None:
            query = replace(query, as_of_commit=self._core.commit_at("known_at", known_at))
        with self._core.engine.snapshot() as reader:
            return graph_reads.entity(reader, query, name)


def _check_closed(valid_at: Instant | None, *, include_closed: bool) -> None:
    if include_closed and valid_at is not None:
        raise InvalidInput("valid_at", "is one instant, and include_closed asks for all")


# Reasons.
