"""Read facts and entities by valid time and by transaction time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from memoranda.errors import NotFound
from memoranda.graph import as_of
from memoranda.graph.as_of import Belief, ResolvedQuery
from memoranda.graph.edge_resolver import ExistingEdge, RelationCardinality
from memoranda.graph.records import Entity, Fact
from memoranda.graph.requests import TimelineRead
from memoranda.graph.sharing import own_graph, shared_graph
from memoranda.log.compaction import horizon
from memoranda.log.pages import Position, ResumablePages
from memoranda.log.read.as_of import AsOf
from memoranda.model.clock import to_datetime
from memoranda.model.intervals import NEWEST
from memoranda.model.operations.graph import Name
from memoranda.model.scope import Scope
from memoranda.model.suggestions import did_you_mean
from memoranda.storage.port import Engine, Reader

# When a timeline changed last, and how.


class LastChanges(NamedTuple):
    """The last commits that changed a timeline, by the kind of change; 0: there was none."""

    any_change: int
    end: int
    """The last end that did not come with an assertion."""
    redefinition: int
    """The last withdrawal, merge, alias or change of cardinality."""
    single: bool
    """Whether the relation is single-valued now."""


def last_changes(reader: Reader, read: TimelineRead, name_change: int) -> LastChanges:
    """Return when a timeline changed; `name_change` is the last merge or alias of its scope."""
    row = reader.row(
        "graph_timeline_changes",
        agent_id=read.scope.agent_id,
        namespace=read.scope.namespace,
        subject=read.subject,
        relation=read.relation,
    )
    assert row is not None, "the timeline has statements"
    statement, end, withdrawal, classification, single = row
    redefinition = max(withdrawal, classification, name_change)
    return LastChanges(max(statement, redefinition), end, redefinition, bool(single))


def last_name_change(reader: Reader, scope: Scope) -> int:
    """Return the last commit that merged entities of a scope or added an alias; 0: none."""
    values = {"agent_id": scope.agent_id, "namespace": scope.namespace}
    row = reader.row("graph_roots_last_change", **values)
    return 0 if row is None else int(row[0])


# Facts and entities.

_PAGE_SUBJECTS = 256
"""Subjects per page: one snapshot and a few queries each, short enough not to hold up writers."""
_NO_AGENT = ""
"""A viewer that is no agent. It sees exactly what is public to the namespace."""


class FactQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query for facts, by names. `resolve_query` turns the names into node ids."""

    scope: Scope
    subject: Name | None = None
    relation: Name | None = None
    object: Name | None = None
    as_of_commit: int | None = None
    """Transaction time: the commit to read as of. None: current belief."""
    valid_at: int | None = None
    """Valid time in microseconds. None: any."""
    viewer: str | None = None
    """The agent that reads. None: an internal read, which sees everything."""
    all_agents: bool = False
    """Whether to read the facts of every agent of the namespace; the scope is the viewer's then."""


def facts(reader: Reader, query: FactQuery) -> list[Fact]:
    """Return facts in the order in which their subjects were first mentioned, agent by agent."""
    if query.all_agents:
        return [fact for single in _by_agent(reader, query) for fact in facts(reader, single)]
    resolved_query = resolve_query(reader, query)
    if resolved_query is None:
        return []
    if query.subject is not None:
        subject = resolve_name(reader, resolved_query, query.subject)
        return [] if subject is None else _facts_of_subjects(reader, resolved_query, [subject])
    if resolved_query.object is not None:
        beliefs = as_of.beliefs_to_objects(reader, resolved_query, [resolved_query.object])
        return _to_facts(reader, resolved_query, beliefs)
    results: list[Fact] = []
    after = 0
    while page := _entity_page(reader, resolved_query, after):
        results.extend(_facts_of_subjects(reader, resolved_query, page))
        after = page[-1]
    return results


def _by_agent(reader: Reader, query: FactQuery) -> list[FactQuery]:
    """Return a query for each agent of a namespace; one alone if they share their facts."""
    namespace = query.scope.namespace
    if shared_graph(reader, namespace, query.as_of_commit) is not None:
        return [replace(query, all_agents=False)]
    rows = reader.rows("graph_scopes_of_namespace", namespace=namespace)
    scopes = [Scope(namespace, agent_id) for (agent_id,) in rows]
    return [replace(query, scope=scope, all_agents=False) for scope in scopes]


class FactPages(ResumablePages[Fact]):
    """Pages of facts as of a commit. Each page is a snapshot of its own."""

    rows = _PAGE_SUBJECTS

    def __init__(self, engine: Engine, query: FactQuery) -> None:
        self._engine = engine
        self._queries = [query]
        """What is left to read, the next one last."""
        self._first_agent = ""
        """The agent to begin with, where the facts of all agents are read."""
        self._after = 0

    @property
    def position(self) -> Position:
        """The moments, the agent, and the subject after which it goes on; empty at the end."""
        if not self._queries:
            return []
        query = self._queries[-1]
        agent = self._first_agent if query.all_agents else query.scope.agent_id
        return [query.as_of_commit, query.valid_at, agent, self._after]

    @position.setter
    def position(self, position: Position) -> None:
        if not position:
            self._queries = []
            return
        commit, valid_at, self._first_agent, self._after = position
        (query,) = self._queries
        self._queries = [replace(query, as_of_commit=commit, valid_at=valid_at)]

    def next_page(self) -> list[Fact]:
        """Return the facts of the next subjects that have any; empty at the end."""
        page: list[Fact] = []
        while not page and self._queries:
            with self._engine.snapshot() as reader:
                page = self._page(reader)
        return page

    def _page(self, reader: Reader) -> list[Fact]:
        query = self._queries[-1]
        if query.all_agents:
            queries = _by_agent(reader, query)[::-1]
            self._queries = [
                agent_query
                for agent_query in queries
                if agent_query.scope.agent_id >= self._first_agent
            ]
            if not self._queries or self._queries[-1].scope.agent_id != self._first_agent:
                self._after = 0
            return []
        resolved_query = resolve_query(reader, query)
        if resolved_query is None or query.subject is not None or resolved_query.object is not None:
            self._queries.pop()
            return facts(reader, query)
        subjects = _entity_page(reader, resolved_query, self._after, self.rows)
        if not subjects:
            self._queries.pop()
            self._after = 0
            return []
        self._after = subjects[-1]
        return _facts_of_subjects(reader, resolved_query, subjects)


class FactVisibilityPages(ResumablePages[tuple[Fact, str]]):
    """Pages of facts as of a commit, each fact with its visibility."""

    rows = _PAGE_SUBJECTS

    def __init__(self, engine: Engine, query: FactQuery) -> None:
        self._engine = engine
        self._query = query
        self._after = 0
        self._at_end = False

    @property
    def position(self) -> Position:
        """The moments, and the last subject."""
        return [self._query.as_of_commit, self._query.valid_at, self._after]

    @position.setter
    def position(self, position: Position) -> None:
        commit, valid_at, self._after = position
        self._query = replace(self._query, as_of_commit=commit, valid_at=valid_at)

    def next_page(self) -> list[tuple[Fact, str]]:
        """Return the facts of the next subjects that have any; empty at the end."""
        page: list[tuple[Fact, str]] = []
        while not page and not self._at_end:
            with self._engine.snapshot() as reader:
                resolved_query = resolve_query(reader, self._query)
                subjects = (
                    []
                    if resolved_query is None
                    else _entity_page(reader, resolved_query, self._after, self.rows)
                )
                if resolved_query is None or not subjects:
                    self._at_end = True
                else:
                    self._after = subjects[-1]
                    page = list(_with_visibility(reader, resolved_query, subjects))
        return page


def resolve_query(reader: Reader, query: FactQuery) -> ResolvedQuery | None:
    """Return a query by node ids; None if it names something that is not in the store.

    Raises `Compacted` for a commit before the compaction horizon of the namespace.
    """
    scope = query.scope
    if query.as_of_commit is not None:
        horizon.check(reader, (scope.namespace,), query.as_of_commit)
    resolved_query = as_of.query_graph(
        reader, scope, query.viewer, query.as_of_commit, query.valid_at
    )
    if resolved_query is None:
        return None
    if query.relation is not None:
        relation = resolve_name(reader, resolved_query, query.relation)
        if relation is None:
            return None
        resolved_query = replace(resolved_query, relation=relation)
    if query.object is not None:
        object_ = resolve_name(reader, resolved_query, query.object)
        if object_ is None:
            return None
        resolved_query = replace(resolved_query, object=object_)
    return resolved_query


def resolve_name(
    reader: Reader, query: ResolvedQuery, name: Name, as_of_commit: int | None = None
) -> int | None:
    """Return the node id of what a name meant at a commit; None: it was not mentioned yet.

    The commit is that of the query, unless another is given. A name that only private statements
    of the viewer mention is not in a shared graph.
    """
    commit = query.as_of_commit if as_of_commit is None else as_of_commit
    for graph in filter(None, (query.graph, query.overlay_id)):
        row = reader.row(
            "graph_node_at",
            scope_id=graph,
            kind=name.kind,
            key=name.key,
            as_of_commit=NEWEST if commit is None else commit,
        )
        if row is not None:
            return int(row[0])
    return None


def current_time_at(reader: Reader, as_of_moment: AsOf) -> int:
    """Return the default valid time of a read, in microseconds.

    It is the clock's time, but not before the commit that is read: a clock may have been set back.
    """
    return max(as_of_moment.now, reader.cached(_commit_time, as_of_moment.commit))


def _commit_time(reader: Reader, commit: int) -> int:
    row = reader.row("event_time", commit_ts=commit)
    return row[0] if row else 0


def timeline_changed(reader: Reader, read: TimelineRead, since: int) -> bool:
    """Say whether statements, names or the cardinality of a timeline changed after a commit.

    In a shared graph these are the statements of all agents. The agent's own private ones are
    compared by their relation alone: other names may mean the same subject.
    """
    scope = read.scope
    values = {"subject": read.subject, "relation": read.relation, "since": since}
    own, namespace = own_graph(reader, scope), {"namespace": scope.namespace}
    graph, public_only = shared_graph(reader, scope.namespace), int(read.public_only)
    return (
        reader.row("graph_cardinality_changed", **namespace, **values) is not None
        or reader.row("graph_sharing_changed", **namespace, since=since) is not None
        or reader.row(
            "graph_timeline_changed",
            graph=own if graph is None else graph,
            public_only=public_only,
            **values,
        )
        is not None
        or (
            graph is not None
            and not public_only
            and reader.row(
                "graph_private_changed", scope_id=own, relation=read.relation, since=since
            )
            is not None
        )
    )


def entities_of(reader: Reader, query: ResolvedQuery, numbers: Sequence[int]) -> list[Entity]:
    """Return entities by node id, with all their names, in the same order."""
    rows = reader.rows(
        "graph_names_at",
        ids=list(numbers),
        as_of_commit=NEWEST if query.as_of_commit is None else query.as_of_commit,
    )
    names: dict[int, list[tuple[int, str, str, int]]] = {}
    for root, node, key, name, committed_at in rows:
        names.setdefault(root, []).append((node, key, name, committed_at))
    return [_to_entity(query.scope, root, names[root]) for root in numbers]


def entity(reader: Reader, query: FactQuery, name: Name) -> Entity | None:
    """Return the entity that a name meant at a commit, if the viewer may see it."""
    resolved_query = resolve_query(reader, query)
    root = None if resolved_query is None else resolve_name(reader, resolved_query, name)
    if resolved_query is None or root is None or not _visible_nodes(reader, resolved_query, [root]):
        return None
    return entities_of(reader, resolved_query, [root])[0]


def _visible_nodes(reader: Reader, query: ResolvedQuery, numbers: Sequence[int]) -> list[int]:
    """Return the entities that a statement visible to the viewer mentions."""
    if not query.public_only:
        return [*numbers]
    hidden = {row[0] for row in reader.rows("graph_nodes_private", ids=list(numbers))}
    return [number for number in numbers if number not in hidden]


def is_visible(reader: Reader, query: ResolvedQuery, number: int) -> bool:
    """Say whether a statement visible to the viewer mentions an entity."""
    return bool(_visible_nodes(reader, query, [number]))


def current_edges(reader: Reader, query: FactQuery) -> list[ExistingEdge]:
    """Return the open edges of a timeline, by keys; of several with one object, the earliest."""
    resolved_query = resolve_query(reader, query)
    assert query.subject is not None, "a timeline has a subject"
    if resolved_query is None:
        return []
    subject = resolve_name(reader, resolved_query, query.subject)
    if subject is None:
        return []
    beliefs = as_of.beliefs_of_subjects(reader, resolved_query, [subject])
    current = as_of.coalesce(belief for belief in beliefs if belief.interval.is_open)
    names = as_of.node_names(reader, {node for belief in current for node in belief.triple})
    return [
        ExistingEdge(
            names[belief.subject].key,
            names[belief.relation].key,
            names[belief.interval.object].key,
            to_datetime(belief.interval.valid_from),
        )
        for belief in current
    ]


def cardinalities(reader: Reader, namespace: str) -> dict[str, RelationCardinality]:
    """Return the cardinalities that were set in a namespace, in the order of relation names."""
    rows = reader.rows("graph_cardinalities", namespace=namespace)
    kinds = (RelationCardinality.MULTI_VALUED, RelationCardinality.SINGLE_VALUED)
    return {relation: kinds[single] for relation, single in rows}


def is_unused_relation(reader: Reader, namespace: str, relation: str) -> bool:
    """Say whether a namespace has neither a statement nor a cardinality of a relation."""
    key = {"namespace": namespace, "relation": relation}
    if reader.row("graph_cardinality_find", **key) is not None:
        return False
    return reader.row("graph_relation_used", **key) is None


class EntityPages(ResumablePages[Entity]):
    """Pages of the entities of a scope. Each page is a snapshot of its own."""

    rows = _PAGE_SUBJECTS

    def __init__(self, engine: Engine, query: FactQuery) -> None:
        self._engine = engine
        self._query = query
        self._after = 0

    @property
    def position(self) -> Position:
        """The commit, if one was named, and the last entity."""
        return [self._query.as_of_commit, self._after]

    @position.setter
    def position(self, position: Position) -> None:
        commit, self._after = position
        self._query = replace(self._query, as_of_commit=commit)

    def next_page(self) -> list[Entity]:
        """Return the next entities; empty at the end."""
        query = self._query
        with self._engine.snapshot() as reader:
            resolved_query = resolve_query(reader, query)
            while resolved_query is not None and (
                page := _entity_page(reader, resolved_query, self._after, self.rows)
            ):
                self._after = page[-1]
                visible = _visible_nodes(reader, resolved_query, page)
                if visible:
                    return entities_of(reader, resolved_query, visible)
        return []


def visible_names(reader: Reader, query: FactQuery) -> Iterator[str]:
    """Yield the names of the entities that the viewer may see, in the order of first mention."""
    resolved_query, after = resolve_query(reader, query), 0
    while resolved_query is not None and (page := _entity_page(reader, resolved_query, after)):
        after = page[-1]
        visible = _visible_nodes(reader, resolved_query, page)
        for entity in entities_of(reader, resolved_query, visible):
            yield entity.name
            yield from entity.aliases


def unknown_entity(reader: Reader, query: FactQuery, field: str, name: Name) -> NotFound:
    """Return the error for a name that no fact mentions, with similar names the viewer may see."""
    problem = f"nothing is known of an entity {name.text!r}"
    hint = did_you_mean(name.text, visible_names(reader, replace(query, relation=None)))
    return NotFound(problem + hint, field=field)


def _to_entity(scope: Scope, root: int, names: Iterable[tuple[int, str, str, int]]) -> Entity:
    own_key, own_name = next((key, name) for node, key, name, _ in names if node == root)
    return Entity(
        name=own_name,
        key=own_key,
        aliases=tuple(name for node, _, name, _ in names if node != root),
        known_from=to_datetime(min(committed_at for *_, committed_at in names)),
        namespace=scope.namespace,
        agent_id=scope.agent_id or None,
    )


def _facts_of_subjects(reader: Reader, query: ResolvedQuery, subjects: Sequence[int]) -> list[Fact]:
    return _to_facts(reader, query, as_of.beliefs_of_subjects(reader, query, subjects))


def _to_facts(reader: Reader, query: ResolvedQuery, beliefs: list[Belief]) -> list[Fact]:
    """Return beliefs as facts; at one instant, each triple once."""
    if query.valid_at is not None:
        beliefs = as_of.coalesce(as_of.with_assertions(reader, beliefs))
    return as_of.to_facts(reader, query.scope, beliefs, query.viewer)


def _with_visibility(
    reader: Reader, query: ResolvedQuery, subjects: Sequence[int]
) -> Iterator[tuple[Fact, str]]:
    """Yield facts with their visibility: "namespace" if other agents see the same fact.

    1. Others derive the same times from public statements: "namespace".
    2. Others derive no such interval, since a private statement started, ended or prolonged it:
       "private". Its times would give the private statement away.
    3. The times agree but a private statement raised the confidence: two facts, a "namespace" one
       with the confidence others see, and a "private" one.
    """
    own = _beliefs_with_assertions(reader, query, subjects)
    facts = as_of.to_facts(reader, query.scope, own, query.viewer)
    public_query = as_of.restrict_to_viewer(reader, query, _NO_AGENT)
    if not public_query.public_only:
        yield from ((fact, "namespace") for fact in facts)
        return
    shared = {
        _validity_key(belief): max(assertion.confidence for assertion in belief.assertions)
        for belief in _beliefs_with_assertions(reader, public_query, subjects)
    }
    for belief, fact in zip(own, facts, strict=True):
        confidence = shared.get(_validity_key(belief))
        if confidence is not None:
            yield replace(fact, confidence=confidence), "namespace"
        if confidence != fact.confidence:
            yield fact, "private"


def _beliefs_with_assertions(
    reader: Reader, query: ResolvedQuery, subjects: Sequence[int]
) -> list[Belief]:
    """Return beliefs with their assertions; at one instant, each triple once."""
    beliefs = as_of.with_assertions(reader, as_of.beliefs_of_subjects(reader, query, subjects))
    return beliefs if query.valid_at is None else as_of.coalesce(beliefs)


def _validity_key(belief: Belief) -> tuple[int, ...]:
    """Return the triple of a belief and its valid time, to compare beliefs of two viewers."""
    return *belief.triple, belief.interval.valid_from, belief.interval.valid_to


def _entity_page(
    reader: Reader, query: ResolvedQuery, after: int, limit: int = _PAGE_SUBJECTS
) -> list[int]:
    """Return the entities after one of them, in the order of first mention.

    Those that only private statements of the viewer mention come after those of a shared graph.
    """
    values = {
        "graph": query.graph,
        "as_of_commit": NEWEST if query.as_of_commit is None else query.as_of_commit,
        "limit": limit,
    }
    page: list[int] = []
    if not query.overlay_id:
        page = [row[0] for row in reader.rows("graph_entities_page", after=after, **values)]
    elif not after or reader.rows("graph_nodes_in", ids=[after], graph=query.graph):
        page = [row[0] for row in reader.rows("graph_entities_page", after=after, **values)]
        after = 0
    if not page and query.overlay_id:
        values["overlay"] = query.overlay_id
        rows = reader.rows("graph_private_entities_page", after=after, **values)
        page = [row[0] for row in rows]
    return page
