"""The store's calls that read facts, timelines and entities."""

from __future__ import annotations

from collections.abc import Iterator

from memoranda.calls.arguments import plain_object
from memoranda.calls.facts import (
    Cardinalities,
    CurrentEdges,
    Entities,
    Explain,
    Facts,
    IterFacts,
    IterSharedFacts,
    Timeline,
)
from memoranda.calls.facts import Entity as EntityCall
from memoranda.calls.requests import check_fact_id
from memoranda.graph.edge_resolver import ExistingEdge, RelationCardinality
from memoranda.graph.records import Entity, Explanation, Fact
from memoranda.graph.requests import Object
from memoranda.log.read.as_of import Moment, plain_moment
from memoranda.model.clock import Instant, plain_instant
from memoranda.model.refs import IdLike
from memoranda.model.scope import ALL_AGENTS, AllAgents, Scope, check_scope
from memoranda.sdk.calls import listed
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
        call = Facts(
            *self._believers(agent_id, namespace),
            subject,
            relation,
            plain_object(object),
            plain_instant("valid_at", valid_at),
            plain_moment("known_at", known_at),
            bool(include_closed),
        )
        return self._calls.ask(call)

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
        call = IterFacts(
            *self._believers(agent_id, namespace),
            subject,
            relation,
            plain_object(object),
            plain_instant("valid_at", valid_at),
            plain_moment("known_at", known_at),
            bool(include_closed),
        )
        return listed(self._calls, call)

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
        agent, place = self._defaults.place(agent_id, namespace)
        call = IterSharedFacts(
            agent,
            place,
            valid_at=plain_instant("valid_at", valid_at),
            known_at=plain_moment("known_at", known_at),
            include_closed=bool(include_closed),
        )
        return listed(self._calls, call)

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
        agent, place = self._believers(agent_id, namespace)
        moment = plain_moment("known_at", known_at)
        return self._calls.ask(Timeline(agent, place, subject, relation, moment))

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
        moment = plain_moment("known_at", known_at)
        return self._calls.ask(Explain(assertion_id, moment, agent_id))

    def cardinalities(self, *, namespace: str | None = None) -> dict[str, RelationCardinality]:
        """Return the cardinality of each relation of a namespace for which one was set.

        Relations are in normal form. All others are multi-valued.
        """
        place = self._defaults.namespace if namespace is None else namespace
        return self._calls.ask(Cardinalities(place))

    def entity(
        self,
        name: str,
        *,
        known_at: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Entity | None:
        """Return the entity that has a name, with its aliases, or None if no fact mentions it."""
        agent, place = self._defaults.place(agent_id, namespace)
        return self._calls.ask(EntityCall(agent, place, name, plain_moment("known_at", known_at)))

    def entities(
        self,
        *,
        known_at: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Iterator[Entity]:
        """Yield the entities of facts, in the order of their first mention."""
        agent, place = self._defaults.place(agent_id, namespace)
        return listed(self._calls, Entities(agent, place, plain_moment("known_at", known_at)))

    def current_edges(self, scope: Scope, subject_key: str, relation: str) -> list[ExistingEdge]:
        """Return the open edges of a subject and relation: a store is an `EdgeCatalog`."""
        checked = check_scope("scope", scope).check(self._calls.limits)
        call = CurrentEdges(checked.agent_id, checked.namespace, subject_key, relation)
        return self._calls.ask(call)

    def _believers(
        self, agent_id: str | AllAgents | None, namespace: str | None
    ) -> tuple[str | None, str]:
        """Return the agent whose facts a call is about, None for all, and the namespace."""
        place = self._defaults.namespace if namespace is None else namespace
        return None if agent_id is ALL_AGENTS else self._defaults.agent(agent_id), place
