"""Beliefs: the intervals that hold, now or as of a commit, and the facts made of them.

Facts are bitemporal. *Valid time* says when something holds, *transaction time* (a commit) when
the store knew it. Current belief is stored in `graph_edge`. Belief as of an earlier commit is
derived: `derive_intervals` runs over the statements that stood then, with the names and the
cardinalities of then.

Private facts use the same path. A private statement may end or prolong an interval, so the stored
intervals of a scope would give it away. Another agent therefore never reads them, if the scope has
any private statement: its view is derived from the public statements alone, as if the private ones
had never been committed (`restrict_to_viewer`).

A shared graph has no private statements. An agent that has some of its own reads both, derived
together: names mean what they mean in the shared graph (`ResolvedQuery.overlay_id`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec
from msgspec.structs import replace

from memoranda.graph.entities import object_of
from memoranda.graph.records import Fact
from memoranda.graph.sharing import (
    NO_GRAPH,
    SHARED_AGENT,
    own_graph,
    shared_graph,
    shared_scope,
)
from memoranda.graph.timeline import (
    Interval,
    TimelinePoint,
    derive_intervals,
    interval_indexes,
    make_statement,
)
from memoranda.log.read.visibility import hidden_refs
from memoranda.model import codec
from memoranda.model.clock import to_datetime
from memoranda.model.intervals import NEWEST
from memoranda.model.operations.graph import ENTITY, Name
from memoranda.model.refs import Evidence
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader, Row

_STATEMENT_COLUMNS = 14
"""The columns of a statement; a private one that is laid over a shared graph has one more."""


class StoredAssertion(msgspec.Struct, frozen=True):
    """An assertion that supports a belief."""

    assertion_id: str
    point: TimelinePoint
    committed_at: int
    confidence: float
    source: bytes | None
    """The encoded reference to its evidence, if it names any."""
    author: str | None = None
    """The agent that asserted it; None: the agent of the graph."""
    private: bool = False
    """Whether it is laid over a shared graph, which does not have it."""


class Belief(msgspec.Struct, frozen=True):
    """An interval of a timeline, by node ids, with the assertions that support it."""

    subject: int
    relation: int
    interval: Interval[int]
    assertions: tuple[StoredAssertion, ...] = ()
    """In commit order; empty: not read yet (see `with_assertions`)."""
    unproven: bool = False
    """Whether an erasure left one of its assertions, or its end, without proof."""

    @property
    def triple(self) -> tuple[int, int, int]:
        """The node ids of its subject, relation and object."""
        return self.subject, self.relation, self.interval.object


class ResolvedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query for beliefs of one graph, with node ids instead of names."""

    scope: Scope
    """Whose graph it is; of a shared graph, its namespace without an agent."""
    graph: int
    """The id of the graph."""
    overlay_id: int = NO_GRAPH
    """The scope whose private statements are added to those of a shared graph, if any."""
    as_of_commit: int | None = None
    """Transaction time: the commit to read as of. None: current belief."""
    valid_at: int | None = None
    """Valid time: the instant at which beliefs hold, in microseconds. None: any."""
    relation: int | None = None
    object: int | None = None
    viewer: str | None = None
    """The agent that reads. An agent other than the scope's own does not see private statements.
    None: an internal read, which sees everything."""
    public_only: bool = False
    """Whether beliefs are derived without the private statements of the scope."""

    @property
    def is_shared(self) -> bool:
        """Whether it reads a graph that the agents of a namespace share."""
        return self.scope.agent_id == SHARED_AGENT

    @property
    def is_stored(self) -> bool:
        """Whether the stored intervals are what the viewer believes now."""
        return not self.public_only and not self.overlay_id


def query_graph(
    reader: Reader,
    scope: Scope,
    viewer: str | None,
    as_of_commit: int | None = None,
    valid_at: int | None = None,
) -> ResolvedQuery | None:
    """Return a query for the graph that a scope had at a commit; None: there is none.

    Beliefs that differ from the stored ones are derived as of a commit, because only that path
    reads statements and can leave some out or add some.
    """
    graph, own = shared_graph(reader, scope.namespace, as_of_commit), own_graph(reader, scope)
    if graph is None and own == NO_GRAPH:
        return None
    query = ResolvedQuery(
        scope=scope, graph=own, as_of_commit=as_of_commit, valid_at=valid_at, viewer=viewer
    )
    if graph is None:
        return restrict_to_viewer(reader, query, viewer)
    query = replace(query, scope=shared_scope(scope.namespace), graph=graph)
    if viewer not in (None, scope.agent_id) or not _has_private(reader, own):
        return query
    return replace(query, overlay_id=own, as_of_commit=_commit(query))


def restrict_to_viewer(reader: Reader, query: ResolvedQuery, viewer: str | None) -> ResolvedQuery:
    """Return a query that leaves out the private statements that an agent may not see."""
    query = replace(query, viewer=viewer)
    if viewer in (None, query.scope.agent_id):
        return query
    if query.is_shared:
        return replace(query, overlay_id=NO_GRAPH)
    if not _has_private(reader, query.graph):
        return query
    return replace(query, as_of_commit=_commit(query), public_only=True)


def _has_private(reader: Reader, scope_id: int) -> bool:
    return reader.row("graph_private_any", scope_id=scope_id) is not None


def _commit(query: ResolvedQuery) -> int:
    return NEWEST if query.as_of_commit is None else query.as_of_commit


def beliefs_of_subjects(
    reader: Reader, query: ResolvedQuery, subjects: Sequence[int]
) -> list[Belief]:
    """Return the beliefs about some subjects, with one query for all of them."""
    if query.as_of_commit is not None:
        beliefs = _derive_past(reader, query, subjects)
        return [belief for belief in beliefs if _matches(belief, query)]
    rows = reader.rows(
        "graph_edges_of",
        subjects=list(subjects),
        relation=query.relation,
        valid_at=query.valid_at,
        object=query.object,
    )
    return [decode_belief(row) for row in rows]


def beliefs_between(reader: Reader, subject: int, relation: int, object_: int) -> list[Belief]:
    """Return the current beliefs with this subject, relation and object."""
    triple = {"subject": subject, "relation": relation, "object": object_}
    return [decode_belief(row) for row in reader.rows("graph_edges_between", **triple)]


def beliefs_to_objects(
    reader: Reader, query: ResolvedQuery, objects: Sequence[int]
) -> list[Belief]:
    """Return the beliefs that have one of some objects."""
    if query.as_of_commit is None:
        rows = reader.rows(
            "graph_edges_to",
            objects=list(objects),
            relation=query.relation,
            valid_at=query.valid_at,
        )
        return [decode_belief(row) for row in rows]
    object_ids = set(objects)
    subjects = _subjects_naming(reader, query, objects)
    beliefs = beliefs_of_subjects(reader, replace(query, object=None), sorted(subjects))
    return [belief for belief in beliefs if belief.interval.object in object_ids]


def beliefs_touching(
    reader: Reader,
    query: ResolvedQuery,
    nodes: Sequence[int],
    *,
    outward: bool,
    inward: bool,
    limit: int,
) -> list[Belief]:
    """Return the beliefs that lead from some nodes (outward), to them (inward), or both.

    A literal is reached but not left: two entities with the same value are not connected by it.
    """
    assert query.valid_at is not None, "a traversal is at one instant"
    if query.as_of_commit is None:
        rows = reader.rows(
            "graph_edges_touching",
            nodes=list(nodes),
            outward=outward,
            inward=inward,
            relation=query.relation,
            valid_at=query.valid_at,
            limit=limit,
        )
        return [decode_belief(row) for row in rows]
    entities = {node for node, name in node_names(reader, nodes).items() if name.kind == ENTITY}
    subjects = set(entities) if outward else set()
    if inward:
        subjects |= _subjects_naming(reader, query, sorted(entities))
    beliefs = beliefs_of_subjects(reader, query, sorted(subjects))
    return [
        belief
        for belief in beliefs
        if (outward and belief.subject in entities)
        or (inward and belief.interval.object in entities)
    ][:limit]


def _subjects_naming(reader: Reader, query: ResolvedQuery, objects: Sequence[int]) -> set[int]:
    """Return the subjects with an assertion about some objects, as of a commit."""
    values: dict[str, Any] = {"objects": list(objects), "as_of_commit": query.as_of_commit}
    public_only = int(query.public_only or bool(query.overlay_id))
    rows = reader.rows("graph_subjects_naming", **values, public_only=public_only)
    subjects = {row[0] for row in rows}
    if query.overlay_id:
        graphs = {"graph": query.graph, "overlay": query.overlay_id}
        rows = reader.rows("graph_private_subjects_naming", **values, **graphs)
        subjects.update(row[0] for row in rows)
    return subjects


def beliefs_among(
    reader: Reader, query: ResolvedQuery, nodes: Sequence[int], limit: int
) -> list[Belief]:
    """Return the beliefs whose subject and object are both among some nodes."""
    assert query.valid_at is not None, "a traversal is at one instant"
    if query.as_of_commit is None:
        rows = reader.rows(
            "graph_edges_among",
            nodes=list(nodes),
            relation=query.relation,
            valid_at=query.valid_at,
            limit=limit,
        )
        return [decode_belief(row) for row in rows]
    node_ids = set(nodes)
    beliefs = beliefs_of_subjects(reader, query, nodes)
    return [belief for belief in beliefs if belief.interval.object in node_ids][:limit]


def to_facts(
    reader: Reader, scope: Scope, beliefs: Sequence[Belief], viewer: str | None = None
) -> list[Fact]:
    """Return beliefs as facts, in the same order, without sources that the viewer may not see.

    None as the viewer means the scope's own agent, which sees every source.
    """
    beliefs = with_assertions(reader, beliefs)
    nodes = node_names(reader, {node for belief in beliefs for node in belief.triple})
    facts = [_fact(scope, belief, nodes) for belief in beliefs]
    if viewer in (None, scope.agent_id) and reader.coverage is None:
        return facts
    hidden = hidden_sources(reader, (source for fact in facts for source in fact.sources), viewer)
    return [
        replace(fact, sources=tuple(source for source in fact.sources if source not in hidden))
        for fact in facts
    ]


def hidden_sources(
    reader: Reader, sources: Iterable[Evidence | None], viewer: str | None
) -> set[Evidence]:
    """Return the sources that are private memories of other agents, or that are not covered."""
    references = [source for source in sources if source is not None]
    if not references or (viewer is None and reader.coverage is None):
        return set()
    hidden = hidden_refs(reader, references, viewer)
    return {source for source in references if source in hidden}


def coalesce(beliefs: Iterable[Belief]) -> list[Belief]:
    """Join beliefs of the same triple that all hold at one instant into one.

    It lasts from the earliest start to the latest end, and has the assertions of all.
    """
    by_triple: dict[tuple[int, int, int], Belief] = {}
    for belief in beliefs:
        earlier = by_triple.get(belief.triple)
        if earlier is None:
            by_triple[belief.triple] = belief
            continue
        interval = replace(
            earlier.interval,
            last=max(earlier.interval.last, belief.interval.last),
            end=max(earlier.interval.end, belief.interval.end),
        )
        by_triple[belief.triple] = replace(
            earlier,
            interval=interval,
            assertions=tuple(sorted(earlier.assertions + belief.assertions, key=_by_commit)),
            unproven=earlier.unproven or belief.unproven,
        )
    return list(by_triple.values())


def statement_rows(reader: Reader, query: ResolvedQuery, subjects: Sequence[int]) -> list[Row]:
    """Return the statements about some subjects that stood at a commit, grouped by timeline."""
    values: dict[str, Any] = {"subjects": list(subjects), "as_of_commit": query.as_of_commit}
    rows = reader.rows(
        "graph_statements_as_of",
        **values,
        relation=query.relation,
        public_only=int(query.public_only or bool(query.overlay_id)),
    )
    if query.overlay_id:
        graphs = {"graph": query.graph, "overlay": query.overlay_id}
        private = reader.rows("graph_private_statements_as_of", **values, **graphs)
        rows += [(*row, True) for row in private if query.relation in (None, row[1])]
        rows.sort(key=lambda row: row[:5])
    return rows


def node_names(reader: Reader, nodes: Iterable[int]) -> dict[int, Name]:
    """Return the names of nodes by their ids."""
    rows = reader.rows("graph_nodes", ids=sorted(nodes))
    return {row[0]: Name(row[3], row[2], row[1]) for row in rows}


def decode_source(source: bytes | None) -> Evidence | None:
    """Return the evidence that a statement names, if it names any."""
    return None if source is None else codec.decode_evidence(source)


def _derive_past(reader: Reader, query: ResolvedQuery, subjects: Sequence[int]) -> list[Belief]:
    """Derive beliefs from the statements that stood at a commit.

    The statements come with the roots that names had then, and a relation is single-valued if it
    was then. Neither is read from the current tables.
    """
    assert query.as_of_commit is not None, "current belief is stored, not derived"
    single_valued = {
        row[0]
        for row in reader.rows(
            "graph_singles_at",
            graph=query.graph,
            overlay=query.overlay_id,
            namespace=query.scope.namespace,
            as_of_commit=query.as_of_commit,
        )
    }
    rows = statement_rows(reader, query, subjects)
    beliefs: list[Belief] = []
    for (subject, relation), group in groupby(rows, key=lambda row: (row[0], row[1])):
        derived = _derive_timeline(list(group), single=relation in single_valued)
        beliefs.extend(Belief(subject, relation, *columns) for columns in derived)
    return beliefs


def _derive_timeline(
    rows: Sequence[Row], *, single: bool
) -> Iterator[tuple[Interval[int], tuple[StoredAssertion, ...], bool]]:
    """Yield the intervals of one timeline with their assertions, and whether proof is missing."""
    statements = [make_statement((row[2], row[3], row[4]), row[5], row[6], row[11]) for row in rows]
    intervals = derive_intervals(statements, single=single)
    assertions: list[list[StoredAssertion]] = [[] for _ in intervals]
    indexes = interval_indexes(statements, intervals, single=single)
    for row, index in zip(rows, indexes, strict=True):
        if index is not None:
            point = (row[2], row[3], row[4])
            is_private = len(row) > _STATEMENT_COLUMNS
            assertion = StoredAssertion(row[7], point, row[8], row[9], row[10], row[12], is_private)
            assertions[index].append(assertion)
    unproven = {(row[3], row[4]) for row in rows if row[13]}
    for interval, own in zip(intervals, assertions, strict=True):
        positions = {interval.end[1:], *map(_by_commit, own)}
        yield interval, tuple(sorted(own, key=_by_commit)), not unproven.isdisjoint(positions)


def _matches(belief: Belief, query: ResolvedQuery) -> bool:
    interval, valid_at = belief.interval, query.valid_at
    return (query.object is None or interval.object == query.object) and (
        valid_at is None or interval.valid_from <= valid_at < interval.valid_to
    )


def with_assertions(reader: Reader, beliefs: Sequence[Belief]) -> list[Belief]:
    """Return beliefs with their assertions, reading those that are missing in one query."""
    bare = [belief for belief in beliefs if not belief.assertions]
    if not bare:
        return list(beliefs)
    edges = [
        [*belief.triple, *belief.interval.start, *belief.interval.last, *belief.interval.end[1:]]
        for belief in bare
    ]
    assertions: dict[int, list[StoredAssertion]] = {}
    unproven: set[int] = set()
    for row in reader.rows("graph_assertions_of_edges", edges=edges):
        point = (row[2], row[3], row[4])
        assertion = StoredAssertion(row[1], point, row[5], row[6], row[7], row[8])
        assertions.setdefault(row[0], []).append(assertion)
        if row[9]:
            unproven.add(row[0])
    # By identity: two beliefs may be equal as long as their assertions are missing.
    complete = {
        id(belief): replace(belief, assertions=tuple(assertions[index]), unproven=index in unproven)
        for index, belief in enumerate(bare)
    }
    return [complete.get(id(belief), belief) for belief in beliefs]


def _fact(scope: Scope, belief: Belief, nodes: Mapping[int, Name]) -> Fact:
    interval, assertions = belief.interval, belief.assertions
    sources = dict.fromkeys(
        assertion.source for assertion in assertions if assertion.source is not None
    )
    return Fact(
        subject=nodes[belief.subject].text,
        relation=nodes[belief.relation].text,
        object=object_of(nodes[interval.object]),
        valid_from=to_datetime(interval.valid_from),
        valid_to=None if interval.is_open else to_datetime(interval.valid_to),
        confidence=max(assertion.confidence for assertion in assertions),
        sources=tuple(codec.decode_evidence(source) for source in sources),
        known_from=to_datetime(assertions[0].committed_at),
        assertions=tuple(assertion.assertion_id for assertion in assertions),
        namespace=scope.namespace,
        agent_id=scope.agent_id or _private_author(assertions),
        asserted_by=tuple(assertion.author or scope.agent_id for assertion in assertions),
        unproven=belief.unproven,
    )


def _private_author(assertions: Sequence[StoredAssertion]) -> str | None:
    """Return the agent that alone believes a fact beside a shared graph; None: all share it."""
    return assertions[0].author if all(assertion.private for assertion in assertions) else None


def decode_belief(row: Row) -> Belief:
    """Return the belief of a row of `graph_edge`, without its assertions."""
    interval = Interval(
        row[2], (row[3], row[4], row[5]), (row[6], row[7], row[8]), (row[9], row[10], row[11])
    )
    return Belief(row[0], row[1], interval)


def _by_commit(assertion: StoredAssertion) -> tuple[int, int]:
    return assertion.point[1], assertion.point[2]
