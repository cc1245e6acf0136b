"""Look up many facts by their assertions, and many entities by their names, in several graphs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from memoranda.graph import as_of
from memoranda.graph.as_of import Belief, ResolvedQuery
from memoranda.graph.reads import resolve_name
from memoranda.graph.records import Fact
from memoranda.graph.sharing import shared_graphs
from memoranda.model.intervals import NEWEST
from memoranda.model.operations.graph import Name
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader


class TimeSlice(msgspec.Struct, frozen=True):
    """A point in transaction time and one in valid time."""

    as_of_commit: int | None
    """Transaction time: the commit to read as of. None: current belief."""
    valid_at: int
    """Valid time in microseconds."""
    include_ended: bool = False
    """Whether to include facts that ended before `valid_at`."""


class NamedEntity(msgspec.Struct, frozen=True):
    """An entity that was found by one of its names."""

    scope: Scope
    """The scope of its graph; of a shared graph, of the agent that reads it."""
    key: str
    """The name."""
    node: int


Beliefs = Iterator[tuple[Scope, list[Belief]]]
"""Beliefs by the scope that stands for their graph."""


def facts_by_assertion(
    reader: Reader, ids: Collection[str], time_slice: TimeSlice, viewer: str | None = None
) -> dict[str, Fact]:
    """Return facts by the ids of their assertions, without those that do not hold then."""
    facts: dict[str, Fact] = {}
    for scope, group in _beliefs_of(reader, ids, time_slice.as_of_commit, viewer):
        for _, fact in facts_at(reader, scope, group, time_slice, viewer):
            facts.update(dict.fromkeys(fact.assertions, fact))
    return facts


def facts_at(
    reader: Reader,
    scope: Scope,
    beliefs: Iterable[Belief],
    time_slice: TimeSlice,
    viewer: str | None = None,
) -> list[tuple[Belief, Fact]]:
    """Return the beliefs that hold in a time slice, each with its fact; each triple once."""
    in_slice = [belief for belief in beliefs if _matches(belief, time_slice)]
    in_slice = as_of.with_assertions(reader, in_slice)
    if not time_slice.include_ended:
        in_slice = as_of.coalesce(in_slice)
    return list(zip(in_slice, as_of.to_facts(reader, scope, in_slice, viewer), strict=True))


def has_entities(reader: Reader) -> bool:
    """Say whether any entity was ever named; in many stores none was."""
    return reader.cached(_is_any_named)


def _is_any_named(reader: Reader) -> bool:
    return reader.row("graph_node_any") is not None


def find_named_entities(
    reader: Reader,
    names: Collection[str],
    *,
    namespaces: Sequence[str],
    agent_id: str | None,
    viewer: str | None,
    as_of_commit: int | None,
    limit: int,
) -> list[NamedEntity]:
    """Return the entities that had one of these names at a commit, in some namespaces.

    `agent_id` restricts them to one agent, also in a shared graph: what it has there is what all
    have. Names that only private statements mention are looked up in a shared graph's overlay.
    """
    shared = shared_graphs(reader, namespaces, as_of_commit)
    values: dict[str, Any] = {
        "names": list(names),
        "as_of_commit": NEWEST if as_of_commit is None else as_of_commit,
        "limit": limit,
    }
    rows = reader.rows(
        "graph_nodes_named",
        namespaces=[name for name in namespaces if name not in shared],
        agent_id=agent_id,
        **values,
    )
    entities = [NamedEntity(Scope(row[0], row[1]), row[3], row[4]) for row in rows]
    if not shared:
        return entities
    reading_agent = viewer if agent_id is None else agent_id
    rows = reader.rows("graph_shared_nodes_named", namespaces=sorted(shared), **values)
    entities += [NamedEntity(Scope(row[0], reading_agent or ""), row[3], row[4]) for row in rows]
    if viewer is not None and reading_agent == viewer:
        nodes = {(entity.scope.namespace, entity.key) for entity in entities}
        rows = reader.rows(
            "graph_nodes_named", namespaces=sorted(shared), agent_id=viewer, **values
        )
        entities += [
            NamedEntity(Scope(row[0], viewer), row[3], row[4])
            for row in rows
            if (row[0], row[3]) not in nodes
        ]
    return entities[:limit]


def _matches(belief: Belief, time_slice: TimeSlice) -> bool:
    interval, valid_at = belief.interval, time_slice.valid_at
    return interval.valid_from <= valid_at and (
        time_slice.include_ended or valid_at < interval.valid_to
    )


def _beliefs_of(
    reader: Reader, ids: Collection[str], as_of_commit: int | None, viewer: str | None
) -> Beliefs:
    """Yield the beliefs that assertions support, by the graphs that the viewer reads them in.

    1. Assertions in shared namespaces: from the shared graph. If the viewer has private statements
       there, they are derived together with these.
    2. Assertions of other agents beside private statements: derived from public ones, as of the
       newest commit; missing if they are private.
    3. All others: from the stored intervals, or derived as of a commit.
    """
    shared = _in_shared_graphs(reader, ids, as_of_commit, viewer)
    current_ids: list[str] = []
    for query, subjects in shared:
        if query.as_of_commit is None:
            current_ids += [assertion_id for group in subjects.values() for assertion_id in group]
        else:
            yield _supported(reader, query, subjects)
    yield from _current_beliefs(reader, current_ids, shared=True)
    shared_ids = {id_ for _, subjects in shared for group in subjects.values() for id_ in group}
    own_ids = [assertion_id for assertion_id in ids if assertion_id not in shared_ids]
    restricted_ids = set[str]()
    if viewer is not None and own_ids:
        rows = reader.rows("graph_assertions_beside_private", ids=own_ids, viewer=viewer)
        restricted_ids = {row[0] for row in rows}
    open_ids = [assertion_id for assertion_id in own_ids if assertion_id not in restricted_ids]
    if as_of_commit is None:
        yield from _current_beliefs(reader, open_ids, shared=False)
        yield from _past_beliefs(reader, restricted_ids, NEWEST, viewer)
    else:
        yield from _past_beliefs(reader, open_ids, as_of_commit)
        yield from _past_beliefs(reader, restricted_ids, as_of_commit, viewer)


_BySubject = Mapping[str, Sequence[str]]
"""The ids of assertions by the key of their subject."""


def _in_shared_graphs(
    reader: Reader, ids: Collection[str], as_of_commit: int | None, viewer: str | None
) -> list[tuple[ResolvedQuery, _BySubject]]:
    """Return a query for each shared graph that assertions are in, with these assertions.

    The viewer reads it with its own private statements; an internal read, with their agent's.
    """
    rows = reader.rows("graph_assertion_scopes", ids=list(ids)) if ids else []
    shared = shared_graphs(reader, {row[1] for row in rows}, as_of_commit)
    groups: dict[Scope, dict[str, list[str]]] = {}
    for assertion_id, namespace, agent_id, subject in rows:
        if namespace in shared:
            group = groups.setdefault(Scope(namespace, viewer or agent_id), {})
            group.setdefault(subject, []).append(assertion_id)
    queries = (
        (as_of.query_graph(reader, scope, viewer, as_of_commit), subjects)
        for scope, subjects in groups.items()
    )
    return [(query, subjects) for query, subjects in queries if query is not None]


def _supported(
    reader: Reader, query: ResolvedQuery, subjects: _BySubject
) -> tuple[Scope, list[Belief]]:
    """Return the beliefs of a shared graph, as of a commit, that some assertions support."""
    nodes = {resolve_name(reader, query, Name(key, key)) for key in subjects}
    ids = {assertion_id for group in subjects.values() for assertion_id in group}
    beliefs = as_of.beliefs_of_subjects(
        reader, query, sorted(node for node in nodes if node is not None)
    )
    return query.scope, [belief for belief in beliefs if _rests_on(belief, ids)]


def _rests_on(belief: Belief, ids: Collection[str]) -> bool:
    return any(assertion.assertion_id in ids for assertion in belief.assertions)


def _current_beliefs(reader: Reader, ids: Collection[str], *, shared: bool) -> Beliefs:
    """Yield the current beliefs that assertions support, in their own or in shared graphs."""
    by_scope: dict[Scope, dict[str, Belief]] = {}
    rows = reader.rows("graph_edges_of_assertions", ids=list(ids), shared=int(shared))
    for row in rows if ids else ():
        by_scope.setdefault(Scope(row[0], row[1]), {})[row[2]] = as_of.decode_belief(row[3:])
    for scope, beliefs in by_scope.items():
        unique = {(belief.triple, belief.interval.start): belief for belief in beliefs.values()}
        yield scope, list(unique.values())


def _past_beliefs(
    reader: Reader, ids: Collection[str], as_of_commit: int, viewer: str | None = None
) -> Beliefs:
    """Yield the beliefs that assertions supported at a commit, by scope."""
    subjects: dict[tuple[Scope, int], set[int]] = {}
    rows = reader.rows("graph_subjects_of_assertions", ids=list(ids), as_of_commit=as_of_commit)
    for row in rows if ids else ():
        subjects.setdefault((Scope(row[0], row[1]), row[2]), set()).add(row[3])
    id_set = set(ids)
    for (scope, graph), nodes in subjects.items():
        query = ResolvedQuery(scope=scope, graph=graph, as_of_commit=as_of_commit)
        query = as_of.restrict_to_viewer(reader, query, viewer)
        beliefs = as_of.beliefs_of_subjects(reader, query, sorted(nodes))
        yield scope, [belief for belief in beliefs if _rests_on(belief, id_set)]
