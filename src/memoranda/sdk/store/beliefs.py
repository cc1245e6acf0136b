"""What a store does with facts: asking what is believed."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from memoranda.errors import InvalidInput, NotFound
from memoranda.graph import queries as graph
from memoranda.graph.explaining import explain
from memoranda.graph.inputs import Object, check_entity, check_object, check_relation
from memoranda.graph.queries import Entities, Facts, Wanted
from memoranda.graph.records import Entity, Explanation, Fact
from memoranda.graph.resolution import ExistingEdge, RelationCardinality
from memoranda.log.moments import Moment, asked_at
from memoranda.memory.inputs import check_id
from memoranda.memory.quoting import quotes
from memoranda.model.graph_operations import Name
from memoranda.model.instant import Instant, to_micros
from memoranda.model.refs import FactRef
from memoranda.model.scope import Scope, check_scope
from memoranda.sdk.calls import paged
from memoranda.sdk.handle import Handle


class BeliefCalls(Handle):
    """Asking what holds, when, and as of when it was known."""

    def facts(
        self,
        *,
        subject: str | None = None,
        relation: str | None = None,
        object: Object | None = None,
        valid_at: Instant | None = None,
        known_at: Moment | None = None,
        include_closed: bool = False,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> list[Fact]:
        """Return what holds at `valid_at`, as far as it was known at `known_at`.

        Not given, both are now; `known_at` alone asks what was believed then to hold then. With
        `include_closed` it is everything that holds or held, whenever.
        """
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        wanted = self._wanted(scope, subject, relation, object)
        _check_closed(valid_at, include_closed=include_closed)
        return self._calls.run(self._facts, wanted, valid_at, known_at, closed=include_closed)

    def iter_facts(
        self,
        *,
        subject: str | None = None,
        relation: str | None = None,
        object: Object | None = None,
        valid_at: Instant | None = None,
        known_at: Moment | None = None,
        include_closed: bool = False,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Iterator[Fact]:
        """Yield what `facts` returns, some subjects at a time, however many there are.

        It is what is known when the call is made, or at `known_at`, whatever is said meanwhile.
        """
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        wanted = self._wanted(scope, subject, relation, object)
        _check_closed(valid_at, include_closed=include_closed)
        if not include_closed:
            wanted = replace(wanted, valid=self._valid(valid_at, known_at))
        wanted = replace(wanted, known=self._core.commit_at("known_at", known_at))
        return paged(self._calls, Facts(self._core.engine, wanted))

    def timeline(
        self,
        *,
        subject: str,
        relation: str,
        known_at: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> list[Fact]:
        """Return everything that holds or held of a subject and relation, in order of time."""
        limits = self._core.limits
        wanted = Wanted(
            scope=self._defaults.scope(agent_id, namespace, limits),
            subject=check_entity("subject", subject, limits),
            relation=check_relation("relation", relation, limits),
            viewer=self._viewer(agent_id),
        )
        return self._calls.run(self._facts, wanted, None, known_at, closed=True)

    def explain(
        self,
        fact: Fact | FactRef | str,
        *,
        known_at: Moment | None = None,
        agent_id: str | None = None,
    ) -> Explanation:
        """Return what was said for a fact, and to end it, from what, and in which words.

        A fact is given as such, by a reference, or by the id of one of its assertions.
        """
        ref = fact.ref if isinstance(fact, Fact) else fact
        assertion_id = check_id("fact", ref.assertion_id if isinstance(ref, FactRef) else ref)
        return self._calls.run(self._explain, assertion_id, known_at, self._viewer(agent_id))

    def cardinalities(self, *, namespace: str | None = None) -> dict[str, RelationCardinality]:
        """Return the relations of a namespace of which it was said how many objects they have.

        They have the form by which relations are compared. All others are multi-valued.
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
        """Return what a name means, with its other names; None: nobody has mentioned it."""
        limits = self._core.limits
        scope = self._defaults.scope(agent_id, namespace, limits)
        wanted = Wanted(scope=scope, viewer=self._viewer(agent_id))
        return self._calls.run(self._entity, wanted, check_entity("name", name, limits), known_at)

    def entities(
        self,
        *,
        known_at: Moment | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> Iterator[Entity]:
        """Yield the entities that facts are about, in the order of their first mention."""
        scope = self._defaults.scope(agent_id, namespace, self._core.limits)
        known = None if known_at is None else self._core.commit_at("known_at", known_at)
        wanted = Wanted(scope=scope, known=known, viewer=self._viewer(agent_id))
        return paged(self._calls, Entities(self._core.engine, wanted))

    def current_edges(self, scope: Scope, subject_key: str, relation: str) -> list[ExistingEdge]:
        """Return the edges of a subject and relation that have no end: a store is a catalog."""
        limits = self._core.limits
        wanted = Wanted(
            scope=check_scope("scope", scope).check(limits),
            viewer=self._viewer(scope.agent_id),
            subject=check_entity("subject_key", subject_key, limits),
            relation=check_relation("relation", relation, limits),
        )
        return self._calls.run(self._current_edges, wanted)

    def _explain(self, assertion_id: str, known_at: Moment | None, viewer: str) -> Explanation:
        with self._core.engine.snapshot() as reader:
            known = asked_at(reader, self._core.clock, known_at, "known_at").commit
            found = explain(reader, assertion_id, known, viewer)
            if found is None:
                when = "" if known_at is None else f" at commit {known}"
                raise NotFound(f"fact: no assertion {assertion_id!r} stands{when}")
            quoted = tuple(
                replace(each, quotes=quotes(reader, each.source, known, viewer))
                for each in found.assertions
            )
            end = found.end
            if end is not None:
                end = replace(end, quotes=quotes(reader, end.source, known, viewer))
            return replace(found, assertions=quoted, end=end)

    def _wanted(
        self, scope: Scope, subject: str | None, relation: str | None, object: Object | None
    ) -> Wanted:
        limits = self._core.limits
        return Wanted(
            scope=scope,
            subject=None if subject is None else check_entity("subject", subject, limits),
            relation=None if relation is None else check_relation("relation", relation, limits),
            object=None if object is None else check_object(object, limits),
            viewer=self._viewer(scope.agent_id),
        )

    def _cardinalities(self, namespace: str) -> dict[str, RelationCardinality]:
        with self._core.engine.reading() as reader:
            return graph.cardinalities(reader, namespace)

    def _current_edges(self, wanted: Wanted) -> list[ExistingEdge]:
        with self._core.engine.snapshot() as reader:
            return graph.current_edges(reader, wanted)

    def _facts(
        self, wanted: Wanted, valid_at: Instant | None, known_at: Moment | None, *, closed: bool
    ) -> list[Fact]:
        if not closed:
            wanted = replace(wanted, valid=self._valid(valid_at, known_at))
        if known_at is not None:
            wanted = replace(wanted, known=self._core.commit_at("known_at", known_at))
        with self._core.engine.snapshot() as reader:
            return graph.facts(reader, wanted)

    def _valid(self, valid_at: Instant | None, known_at: Moment | None) -> int:
        """Return the instant that is meant: none in particular is that of what is known."""
        if valid_at is not None:
            return to_micros("valid_at", valid_at)
        asked = self._asked(known_at, "known_at")
        with self._core.engine.reading() as reader:
            return graph.instant_of(reader, asked)

    def _entity(self, wanted: Wanted, name: Name, known_at: Moment | None) -> Entity | None:
        if known_at is not None:
            wanted = replace(wanted, known=self._core.commit_at("known_at", known_at))
        with self._core.engine.snapshot() as reader:
            return graph.entity(reader, wanted, name)


def _check_closed(valid_at: Instant | None, *, include_closed: bool) -> None:
    if include_closed and valid_at is not None:
        raise InvalidInput("valid_at", "is one instant, and include_closed asks for all")
