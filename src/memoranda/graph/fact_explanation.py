"""Explain facts: their assertions, as they were made, and the evidence these come from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from memoranda.graph import as_of
from memoranda.graph.as_of import Belief, ResolvedQuery, StoredAssertion
from memoranda.graph.entities import object_of
from memoranda.graph.reads import LastChanges, last_changes, last_name_change, resolve_name
from memoranda.graph.records import Assertion, Ending, Explanation, Fact
from memoranda.graph.requests import TimelineRead
from memoranda.graph.sharing import has_shared_graph, shared_graph
from memoranda.graph.timeline import Interval, TimelinePoint, coalesced_ends
from memoranda.log import pages
from memoranda.log.compaction import horizon
from memoranda.log.pages import EventParts, SplitEventCache
from memoranda.model.clock import to_datetime
from memoranda.model.operations import Assert, End
from memoranda.model.operations.graph import RELATION, Name
from memoranda.model.refs import Evidence
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader


class AssertionLifetime(NamedTuple):
    """The commits that made and retracted an assertion."""

    asserted_in: int
    retracted_in: int
    """`OPEN_END` if the assertion stands."""
    reason: str | None


def assertion_lifetime(reader: Reader, assertion_id: str) -> AssertionLifetime | None:
    """Return the lifetime of an assertion; None: there never was such an assertion."""
    row = reader.row("graph_assertion_of", assertion_id=assertion_id)
    return None if row is None else AssertionLifetime(*row[4:])


class TimelineCache:
    """A cache of derived timelines for one viewer. Drop it when something is erased."""

    def __init__(self) -> None:
        self.beliefs: dict[tuple[int, int, int], dict[str, Belief]] = {}
        """Maps (subject, relation, commit) to the beliefs as of the commit, by assertion id."""
        self.coalesced_ends: dict[
            tuple[int, int, int, int], dict[TimelinePoint, TimelinePoint]
        ] = {}
        """Maps (subject, relation, object, commit) to the ends of overlapping intervals."""
        self.changes: dict[TimelineRead, LastChanges] = {}
        self.name_changes: dict[Scope, int] = {}
        """The last commit of a scope that merged entities or added an alias."""


class BeliefReader:
    """Reads facts by their assertions as of commits, and derives each timeline once per commit.

    The newest commit is read from the stored intervals, so all reads need one snapshot. A caller
    with several snapshots passes the same cache to each reader, and reads as of no commit that is
    newer than the oldest snapshot. A caller that has applied a commit before it is in the log says
    so with `newest`.
    """

    def __init__(
        self,
        reader: Reader,
        viewer: str | None = None,
        timelines: TimelineCache | None = None,
        newest: int | None = None,
    ) -> None:
        self._reader = reader
        self._viewer = viewer
        self._newest = pages.head_commit(reader) if newest is None else newest
        self._timelines = timelines or TimelineCache()

    def fact(self, assertion_id: str, as_of_commit: int) -> Fact | None:
        """Return the fact an assertion supported at a commit; None: it did not stand then.

        Where intervals of its object overlap, the fact lasts until the last of them ends.
        """
        result = self.belief(assertion_id, as_of_commit)
        if result is None:
            return None
        scope, belief = result
        interval = belief.interval
        if not interval.is_open:
            end = self._coalesced_ends(belief, as_of_commit)[interval.start]
            belief = replace(belief, interval=replace(interval, end=end))
        return as_of.to_facts(self._reader, scope, [belief], self._viewer)[0]

    def _coalesced_ends(
        self, belief: Belief, as_of_commit: int
    ) -> dict[TimelinePoint, TimelinePoint]:
        """Map the start of each interval of a belief's object to the end of its overlapping run."""
        subject, relation, object_ = belief.triple
        commit = min(as_of_commit, self._newest)
        key = (subject, relation, object_, commit)
        cache = self._timelines.coalesced_ends
        if key not in cache:
            timeline = self._timelines.beliefs.get((subject, relation, as_of_commit))
            if timeline is None:
                beliefs = as_of.beliefs_between(self._reader, subject, relation, object_)
                cache[key] = coalesced_ends(belief.interval for belief in beliefs)
            else:
                for node, intervals in _intervals_by_object(timeline.values()).items():
                    cache[subject, relation, node, commit] = coalesced_ends(intervals)
        return cache[key]

    def closed_since(self, assertion_id: str, fact: Fact, as_of_commit: int, commit: int) -> bool:
        """Say whether a fact ends earlier than it did as of an earlier commit.

        The last changes of its timeline mostly tell. Otherwise the fact is derived as of then.
        """
        assert fact.valid_to is not None, "the fact ends"
        sooner = self._ends_sooner(assertion_id, as_of_commit, commit)
        if sooner is not None:
            return sooner
        earlier = self.fact(assertion_id, commit)
        return earlier is not None and (
            earlier.valid_to is None or fact.valid_to < earlier.valid_to
        )

    def _ends_sooner(self, assertion_id: str, as_of_commit: int, commit: int) -> bool | None:
        """Answer `closed_since` from the last changes of the timeline; None: they do not tell.

        1. Nothing changed after the commit: no.
        2. A withdrawal, a merge or a new cardinality: they do not tell.
        3. Multi-valued: assertions only prolong a fact, so no, unless an end was added.
        4. Single-valued: the interval ends with the first statement that ends it, whatever else is
           asserted. So yes, if that statement came after the commit and the assertion did not.

        They do not tell either if the namespace ever shared its facts: its agents have several
        timelines then.
        """
        changes = self._changes(assertion_id)
        if changes is None:
            return None
        if changes.any_change <= commit:
            return False
        if changes.redefinition > commit:
            return None
        if not changes.single:
            return None if changes.end > commit else False
        result = self.belief(assertion_id, as_of_commit)
        if result is None:
            return None
        return result[1].interval.end[1] > commit and self._is_asserted_by(assertion_id, commit)

    def _is_asserted_by(self, assertion_id: str, commit: int) -> bool:
        lifetime = assertion_lifetime(self._reader, assertion_id)
        return lifetime is not None and lifetime.asserted_in <= commit

    def _changes(self, assertion_id: str) -> LastChanges | None:
        """Return when an assertion's timeline changed last; None: it has several."""
        row = self._reader.row("graph_assertion_of", assertion_id=assertion_id)
        assert row is not None, "the assertion exists"
        namespace, agent_id, subject, relation = row[:4]
        if has_shared_graph(self._reader, namespace):
            return None
        scope, cache = Scope(namespace, agent_id), self._timelines
        if scope not in cache.name_changes:
            cache.name_changes[scope] = last_name_change(self._reader, scope)
        read = TimelineRead(scope, subject, relation)
        if read not in cache.changes:
            cache.changes[read] = last_changes(self._reader, read, cache.name_changes[scope])
        return cache.changes[read]

    def belief(self, assertion_id: str, as_of_commit: int) -> tuple[Scope, Belief] | None:
        """Return the belief an assertion supported at a commit, and the scope of its graph."""
        row = self._reader.row("graph_assertion_of", assertion_id=assertion_id)
        if row is None:
            return None
        namespace, agent_id, subject, relation, begin, end, _ = row
        if not begin <= as_of_commit < end:
            return None
        query = self._query(Scope(namespace, agent_id), as_of_commit)
        if as_of_commit >= self._newest and query.is_stored:
            edge = self._reader.row(
                "graph_edge_of_assertion",
                assertion_id=assertion_id,
                shared=int(query.is_shared),
            )
            return None if edge is None else (query.scope, as_of.decode_belief(edge))
        node = resolve_name(self._reader, query, Name(relation, relation, RELATION))
        if node is None:
            return None
        query = replace(query, relation=node)
        belief = self._timeline(query, Name(subject, subject)).get(assertion_id)
        return None if belief is None else (query.scope, belief)  # None: the assertion is private

    def _query(self, owner: Scope, as_of_commit: int) -> ResolvedQuery:
        """Return a query for the graph that the viewer reads an agent's assertions in.

        A shared graph is read as the viewer sees it, with its own private statements.
        """
        reader, viewer = self._reader, self._viewer
        is_shared = shared_graph(reader, owner.namespace, as_of_commit) is not None
        scope = Scope(owner.namespace, viewer) if is_shared and viewer is not None else owner
        query = as_of.query_graph(reader, scope, viewer, as_of_commit)
        assert query is not None, "an agent with an assertion has a graph"
        return query

    def _timeline(self, query: ResolvedQuery, subject: Name) -> dict[str, Belief]:
        """Return the beliefs of a timeline by the ids of their assertions."""
        commit, relation = query.as_of_commit, query.relation
        assert commit is not None, "current belief is stored, not derived"
        assert relation is not None, "a timeline has one relation"
        root = resolve_name(self._reader, query, subject)
        if root is None:  # only private statements of another agent mention it
            return {}
        key = (root, relation, commit)
        cache = self._timelines.beliefs
        if key not in cache:
            cache[key] = {
                assertion.assertion_id: belief
                for belief in as_of.beliefs_of_subjects(self._reader, query, [root])
                for assertion in belief.assertions
            }
        return cache[key]


def _intervals_by_object(beliefs: Iterable[Belief]) -> dict[int, list[Interval[int]]]:
    intervals: dict[int, list[Interval[int]]] = {}
    for belief in beliefs:
        intervals.setdefault(belief.interval.object, []).append(belief.interval)
    return intervals


def private_assertions(reader: Reader, assertion_ids: Iterable[str], viewer: str) -> set[str]:
    """Return the assertions that are private to agents other than the viewer."""
    ids = list(assertion_ids)
    return {row[0] for row in reader.rows("graph_assertions_private", ids=ids, viewer=viewer)}


def explain(
    reader: Reader, assertion_id: str, as_of_commit: int, viewer: str | None = None
) -> Explanation | None:
    """Return a fact with its assertions and its end; None: the assertion did not stand then.

    An assertion that is private to another agent counts as not standing. A source that is private
    to another agent is left out.
    """
    result = BeliefReader(reader, viewer).belief(assertion_id, as_of_commit)
    if result is None:
        return None
    scope, belief = result
    horizon.check(reader, (scope.namespace,), as_of_commit)
    (belief,) = as_of.with_assertions(reader, [belief])
    (fact,) = as_of.to_facts(reader, scope, [belief], viewer)
    events = SplitEventCache()
    assertions = tuple(
        _to_assertion(stored_assertion, events.of(reader, stored_assertion.point[1]))
        for stored_assertion in belief.assertions
    )
    end = _find_ending(reader, belief.interval, assertions, events)
    sources = [assertion.source for assertion in assertions]
    if end is not None:
        sources.append(end.source)
    hidden = as_of.hidden_sources(reader, sources, viewer)
    assertions = tuple(
        replace(assertion, source=_visible_source(assertion.source, hidden))
        for assertion in assertions
    )
    end = None if end is None else replace(end, source=_visible_source(end.source, hidden))
    return Explanation(fact, assertions, end)


def _visible_source(source: Evidence | None, hidden: Collection[Evidence]) -> Evidence | None:
    return None if source in hidden else source


def _find_ending(
    reader: Reader,
    interval: Interval[int],
    assertions: Sequence[Assertion],
    events: SplitEventCache,
) -> Ending | None:
    """Return the end statement of a fact; one that came with an assertion has its source."""
    if interval.is_open:
        return None
    at, commit_ts, position = interval.end
    event = events.of(reader, commit_ts)
    operation = event.effective(position)
    if not isinstance(operation, End):
        return None
    sources = {assertion.id: assertion.source for assertion in assertions}
    return Ending(
        id=operation.assertion_id,
        at=to_datetime(at),
        commit_ts=commit_ts,
        committed_at=to_datetime(event.committed_at),
        actor=event.envelope.actor,
        source=operation.source or sources.get(operation.assertion_id),
        agent_id=operation.agent_id,
    )


def _to_assertion(stored_assertion: StoredAssertion, event: EventParts) -> Assertion:
    """Return an assertion with its names as the log has them."""
    _, commit_ts, position = stored_assertion.point
    operation = event.effective(position)
    assert isinstance(operation, Assert), "the log has an assertion at its position"
    return Assertion(
        id=stored_assertion.assertion_id,
        subject=operation.subject.text,
        relation=operation.relation.text,
        object=object_of(operation.object),
        valid_from=to_datetime(stored_assertion.point[0]),
        confidence=stored_assertion.confidence,
        commit_ts=commit_ts,
        committed_at=to_datetime(stored_assertion.committed_at),
        actor=event.envelope.actor,
        source=operation.source,
        agent_id=operation.agent_id,
    )
