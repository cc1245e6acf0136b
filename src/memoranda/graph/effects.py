"""Effects of commits on timelines, and the `EdgeResolution` that callers get for them.

Effects are not stored. A process caches those of the commits it has just applied. For an older
commit, its timelines are derived as of the commit before it and as of itself, and compared.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from memoranda.graph import as_of
from memoranda.graph.as_of import ResolvedQuery
from memoranda.graph.edge_resolver import Edge, EdgeResolution, ExistingEdge
from memoranda.graph.reads import FactQuery, resolve_name, resolve_query
from memoranda.graph.timeline import Interval, Statement, TimelinePoint, times_of
from memoranda.graph.timeline_store import TimelineChange, TimelineId
from memoranda.log.commit.outcome import CommitResult
from memoranda.log.compaction import horizon as compaction_horizon
from memoranda.log.views import Commit
from memoranda.model.clock import to_datetime
from memoranda.model.intervals import OPEN_END
from memoranda.model.operations import AnyOperation, Assert, End, Withdraw
from memoranda.model.operations.graph import RELATION, Name
from memoranda.model.receipt import Outcome
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader

_MAX_CACHED_COMMITS = 1_000
"""The most commits whose effects are cached. A caller asks right after its own commit."""


class Effect(msgspec.Struct, frozen=True):
    """What a commit did to one timeline: the intervals it changed, by their starts."""

    timeline: TimelineId
    before: dict[TimelinePoint, Interval[int]]
    after: dict[TimelinePoint, Interval[int]]

    def add(self, change: TimelineChange) -> None:
        """Add a later change of the same commit.

        An interval that this commit made itself is dropped from `after`. Any other one was there
        before the commit.
        """
        old = {interval.start: interval for interval in change.old}  # it may be listed twice
        for start, interval in old.items():
            if self.after.pop(start, None) is None:
                self.before.setdefault(start, interval)
        self.after.update((interval.start, interval) for interval in change.new)


class EffectCache:
    """A cache of the effects of the last commits that this process applied."""

    def __init__(self) -> None:
        self._commits: OrderedDict[int, dict[TimelineId, Effect]] = OrderedDict()

    def note(self, commit_ts: int, timeline: TimelineId, change: TimelineChange) -> None:
        """Add a change that a commit made."""
        effects = self._commits.setdefault(commit_ts, {})
        effects.setdefault(timeline, Effect(timeline, {}, {})).add(change)
        if len(self._commits) > _MAX_CACHED_COMMITS:
            self._commits.popitem(last=False)

    def get(self, commit_ts: int) -> list[Effect] | None:
        """Return the effects of a commit; None: they are not cached."""
        effects = self._commits.get(commit_ts)
        return None if effects is None else list(effects.values())

    def forget(self) -> None:
        """Empty the cache."""
        self._commits.clear()


def diff_intervals(
    timeline: TimelineId, before: Iterable[Interval[int]], after: Iterable[Interval[int]]
) -> Effect:
    """Return the effect that leads from one derivation of a timeline to another."""
    return Effect(
        timeline,
        {interval.start: interval for interval in before},
        {interval.start: interval for interval in after},
    )


class NodeKeys(msgspec.Struct, frozen=True):
    """The keys of nodes, by which callers know them."""

    by_node: Mapping[int, str]

    def existing_edge(self, timeline: TimelineId, interval: Interval[int]) -> ExistingEdge:
        """Return an interval as callers see it."""
        return ExistingEdge(
            self.by_node[timeline[0]],
            self.by_node[timeline[1]],
            self.by_node[interval.object],
            to_datetime(interval.valid_from),
            None if interval.valid_to == OPEN_END else to_datetime(interval.valid_to),
        )

    def open_edge(self, timeline: TimelineId, interval: Interval[int], confidence: float) -> Edge:
        """Return the interval of an assertion as the edge it opened."""
        edge = self.existing_edge(timeline, interval)
        return Edge(edge.subject_key, edge.relation, edge.object_key, confidence, edge.valid_from)


def build_resolution(
    effects: Iterable[Effect], keys: NodeKeys, assertion: Statement[int] | None, confidence: float
) -> EdgeResolution:
    """Return the effects of a commit as the resolution of its assertion, if it has one."""
    builder = _ResolutionBuilder(keys)
    for effect in effects:
        own = None if assertion is None else _asserted_interval(effect, assertion)
        if own is not None:
            builder.open_edge = keys.open_edge(effect.timeline, own, confidence)
        builder.add(effect, own)
    return EdgeResolution(
        open=builder.open_edge,
        close=tuple(builder.closed_edges),
        changed=tuple(builder.changed_edges),
        folded=builder.folded_edge,
        reopened=tuple(builder.reopened_edges),
    )


class _ResolutionBuilder:
    """Collects the parts of a resolution."""

    def __init__(self, keys: NodeKeys) -> None:
        self._keys = keys
        self.open_edge: Edge | None = None
        self.folded_edge: ExistingEdge | None = None
        self.closed_edges: list[ExistingEdge] = []
        self.changed_edges: list[tuple[ExistingEdge, ExistingEdge]] = []
        self.reopened_edges: list[ExistingEdge] = []

    def add(self, effect: Effect, own: Interval[int] | None) -> None:
        """Add one timeline; `own` is the interval of the assertion.

        For each interval that was there before:

        1. It is gone, or ends earlier: closed.
        2. It lost its end: reopened.
        3. It starts elsewhere, or ends later: changed.
        4. It has the same start and is the interval of the assertion: folded, in addition.

        An interval that was not there before, and is not the one of the assertion, is reopened: it
        was part of an earlier interval, which now ends before it.
        """
        moves = _moved_intervals(effect)
        for start, old in sorted(effect.before.items()):
            new = effect.after.get(start) or moves.get(start)
            old_edge = self._keys.existing_edge(effect.timeline, old)
            if new is None or (new.start == start and new.valid_to < old.valid_to):
                self.closed_edges.append(old_edge)
            elif new.start != start or new.valid_to > old.valid_to:
                new_edge = self._keys.existing_edge(effect.timeline, new)
                if new.start == start and new.is_open:
                    self.reopened_edges.append(new_edge)
                else:
                    self.changed_edges.append((old_edge, new_edge))
            if new is not None and new == own and new.start == start:
                self.folded_edge = old_edge
        old_starts = {*effect.before, *(new.start for new in moves.values())}
        for start, new in sorted(effect.after.items()):
            if start not in old_starts and new != own:
                self.reopened_edges.append(self._keys.existing_edge(effect.timeline, new))


def _moved_intervals(effect: Effect) -> dict[TimelinePoint, Interval[int]]:
    """Map the old starts of intervals that moved to the intervals they became.

    An interval moved if its start is gone, and a new interval of the same object overlaps it. Of
    several, the last counts.
    """
    new_intervals: dict[int, list[Interval[int]]] = {}
    for start, new in sorted(effect.after.items()):
        if start not in effect.before:
            new_intervals.setdefault(new.object, []).append(new)
    moves: dict[TimelinePoint, Interval[int]] = {}
    for start, old in effect.before.items():
        candidates = new_intervals.get(old.object) if start not in effect.after else None
        if candidates is not None:
            last = bisect_left(candidates, old.end, key=lambda new: new.start) - 1
            if last >= 0 and old.start < candidates[last].end:
                moves[start] = candidates[last]
    return moves


def _asserted_interval(effect: Effect, assertion: Statement[int]) -> Interval[int] | None:
    """Return the interval that an assertion is part of."""
    return next(
        (
            interval
            for interval in effect.after.values()
            if interval.object == assertion.object
            and interval.start <= assertion.point <= interval.last
        ),
        None,
    )


# The resolution of a commit.


class ResolutionQuery(msgspec.Struct, frozen=True):
    """A commit, and the assertion in it that a caller asks about."""

    scope: Scope
    result: CommitResult
    assertion_id: str | None = None
    viewer: str | None = None
    """The agent that reads. None: an internal read, which sees everything."""

    @property
    def commit_ts(self) -> int:
        """The number of the commit."""
        return self.result.commit_ts


def resolve_commit(reader: Reader, effects: EffectCache, query: ResolutionQuery) -> EdgeResolution:
    """Return the resolution of a commit; without effects if these may not or cannot be told.

    They cannot after a compaction, or if this is a retry of a commit that was erased since. They
    may not where private statements hide part of the timeline from the viewer.
    """
    unknown = EdgeResolution(None, assertion_id=query.assertion_id)
    horizon = compaction_horizon.find(reader, query.scope.namespace)
    if horizon is not None and query.commit_ts <= horizon.commit_ts:
        return unknown
    resolved_query = resolve_query(
        reader,
        FactQuery(scope=query.scope, as_of_commit=query.commit_ts, viewer=query.viewer),
    )
    if resolved_query is None or resolved_query.public_only:
        return unknown
    commit = query.result.load(reader)
    cached = effects.get(query.commit_ts) if resolved_query.is_stored else None
    if cached is None:
        commit_effects = list(_derive_effects(reader, resolved_query, commit))
    else:
        commit_effects = _effects_in(reader, resolved_query.graph, cached)
    nodes = {node for effect in commit_effects for node in _node_ids(effect)}
    keys = NodeKeys({node: name.key for node, name in as_of.node_names(reader, nodes).items()})
    assertion, confidence = _find_assertion(reader, resolved_query, query.assertion_id, commit)
    resolution = build_resolution(commit_effects, keys, assertion, confidence)
    return replace(resolution, assertion_id=query.assertion_id)


def outcome_of(operations: Iterable[AnyOperation]) -> Outcome:
    """Return what a commit of one assertion, end or retraction did."""
    for operation in operations:
        if isinstance(operation, Assert):
            return "created"
        if isinstance(operation, End):
            return "updated"
        if isinstance(operation, Withdraw):
            return "deleted"
    return "unchanged"


def _find_assertion(
    reader: Reader, query: ResolvedQuery, assertion_id: str | None, commit: Commit
) -> tuple[Statement[int] | None, float]:
    """Return the assertion that the caller asks about, and its confidence."""
    for position, operation in enumerate(commit.operations):
        if isinstance(operation, Assert) and operation.assertion_id == assertion_id:
            at, _ = times_of(commit.operations, position, commit.committed_at)
            object_ = resolve_name(reader, query, operation.object)
            return Statement((at, commit.commit_ts, position), True, object_), operation.confidence
    return None, 0.0


def _effects_in(reader: Reader, graph: int, effects: Iterable[Effect]) -> list[Effect]:
    """Return the effects on the timelines of one graph."""
    subjects = sorted({effect.timeline[0] for effect in effects})
    nodes = {row[0] for row in reader.rows("graph_nodes_in", ids=subjects, graph=graph)}
    return [effect for effect in effects if effect.timeline[0] in nodes]


def _derive_effects(reader: Reader, query: ResolvedQuery, commit: Commit) -> Iterable[Effect]:
    """Derive each timeline of a commit as of the commit before it and as of itself."""
    timelines: dict[TimelineId, None] = {}
    for subject_name, relation_name in _touched_timelines(reader, commit):
        relation = resolve_name(reader, query, relation_name)
        subject = resolve_name(reader, query, subject_name)
        if subject is not None and relation is not None:  # None: erased before a retry
            timelines[subject, relation] = None  # once, however many names its subject has
    for subject, relation in timelines:
        of_relation = replace(query, relation=relation, as_of_commit=commit.commit_ts)
        earlier = replace(of_relation, as_of_commit=commit.commit_ts - 1)
        before = _intervals(reader, earlier, subject)
        after = _intervals(reader, of_relation, subject)
        yield diff_intervals((subject, relation), before, after)


def _intervals(reader: Reader, query: ResolvedQuery, subject: int) -> list[Interval[int]]:
    return [belief.interval for belief in as_of.beliefs_of_subjects(reader, query, [subject])]


def _touched_timelines(reader: Reader, commit: Commit) -> Iterable[tuple[Name, Name]]:
    """Yield the subjects and relations of a commit's statements and withdrawals."""
    for operation in commit.operations:
        if isinstance(operation, Assert | End):
            yield operation.subject, _relation_name(operation.relation.key)
        elif isinstance(operation, Withdraw):
            rows = reader.rows("graph_statement_keys", assertion_id=operation.assertion_id)
            for subject, relation in rows:
                yield Name(subject, subject), _relation_name(relation)


def _relation_name(key: str) -> Name:
    return Name(key, key, RELATION)


def _node_ids(effect: Effect) -> Iterable[int]:
    yield from effect.timeline
    for intervals in (effect.before, effect.after):
        yield from (interval.object for interval in intervals.values())
