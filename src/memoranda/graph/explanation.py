"""Explaining facts: what was said for them, in the words it was said in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from memoranda.graph import beliefs
from memoranda.graph.beliefs import Asking, Belief, Said
from memoranda.graph.derive import Holding, Place, stretches
from memoranda.graph.literal import literal_of
from memoranda.graph.queries import node_at, timeline_changed
from memoranda.graph.records import Assertion, Ending, Explanation, Fact
from memoranda.graph.requests import TimelineRead
from memoranda.log import horizons, pages
from memoranda.log.views import Commit
from memoranda.model.event import SealedEvent
from memoranda.model.graph_operations import ENTITY, Name
from memoranda.model.instant import to_datetime
from memoranda.model.operations import Assert, End
from memoranda.model.refs import Evidence
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader


class Standing(NamedTuple):
    """When an assertion was made, and when and why it was taken back."""

    asserted_in: int
    retracted_in: int
    """A commit that never comes, if it stands."""
    reason: str | None


def standing_of(reader: Reader, assertion_id: str) -> Standing | None:
    """Return how an assertion stands; None: it was never made."""
    row = reader.row("graph_assertion_of", assertion_id=assertion_id)
    return None if row is None else Standing(*row[5:])


class Believed:
    """Facts by their assertions, as of commits: each timeline is derived once for each of these.

    What is asked of the newest commit is in the tables: all is to be read in one snapshot.
    """

    def __init__(self, reader: Reader, viewer: str | None = None) -> None:
        self._reader = reader
        self._viewer = viewer
        self._newest = pages.head_commit(reader)
        self._derived: dict[tuple[int, int, int], dict[str, Belief]] = {}
        self._stretches: dict[tuple[int, int, int, int], dict[Place, Place]] = {}

    def fact(self, assertion_id: str, known: int) -> Fact | None:
        """Return the fact an assertion stood for at a commit; None: it did not stand.

        It ends where nothing that overlaps goes on to say the same: what holds is the union.
        """
        found = self.belief(assertion_id, known)
        if found is None:
            return None
        scope, belief = found
        held = belief.held
        if not held.is_open:
            end = self._ends(scope, belief, known)[held.first]
            belief = replace(belief, held=replace(held, end=end))
        return beliefs.facts_of(self._reader, scope, [belief], self._viewer)[0]

    def _ends(self, scope: Scope, belief: Belief, known: int) -> dict[Place, Place]:
        """Return where each edge of a timeline's object ends with those that overlap it."""
        subject, relation, object_ = belief.edge
        which = (subject, relation, object_, min(known, self._newest))
        if which not in self._stretches:
            timeline = self._derived.get((subject, relation, known))
            if timeline is None:
                asking = Asking(scope=scope, scope_id=0, relation=relation, object=object_)
                same = beliefs.of_subjects(self._reader, asking, [subject])
            else:
                same = [each for each in timeline.values() if each.held.object == object_]
            self._stretches[which] = stretches(each.held for each in same)
        return self._stretches[which]

    def is_as_at(self, assertion_id: str, commit: int) -> bool:
        """Say whether nothing has changed of an assertion's timeline since a commit."""
        row = self._reader.row("graph_assertion_keys", assertion_id=assertion_id)
        assert row is not None, "it was asserted"
        namespace, agent_id, subject, relation = row
        read = TimelineRead(Scope(namespace, agent_id), subject, relation)
        return not timeline_changed(self._reader, read, commit)

    def belief(self, assertion_id: str, known: int) -> tuple[Scope, Belief] | None:
        """Return the same as an edge, and whose it is."""
        row = self._reader.row("graph_assertion_of", assertion_id=assertion_id)
        if row is None:
            return None
        namespace, agent_id, scope_id, subject, relation, begin, end, _ = row
        scope = Scope(namespace, agent_id)
        if not begin <= known < end:
            return None
        asking = Asking(scope=scope, scope_id=scope_id, known=known, relation=relation)
        asking = beliefs.seen_by(self._reader, asking, self._viewer)
        if known >= self._newest and not asking.public:
            edge = self._reader.row("graph_edge_of_assertion", assertion_id=assertion_id)
            assert edge is not None, "what stands is part of an edge"
            return scope, beliefs.belief_of(edge)
        held = self._timeline(asking, Name(subject, subject)).get(assertion_id)
        return None if held is None else (scope, held)  # None: it is private

    def _timeline(self, asking: Asking, subject: Name) -> dict[str, Belief]:
        """Return the edges of a timeline by the assertions they follow from."""
        known, relation = asking.known, asking.relation
        assert known is not None, "what is known now stands in the tables"
        assert relation is not None, "a timeline is of one relation"
        root = node_at(self._reader, asking.scope_id, subject, known)
        assert root is not None, "whatever something was said of is known"
        which = (root, relation, known)
        if which not in self._derived:
            self._derived[which] = {
                said.assertion_id: each
                for each in beliefs.of_subjects(self._reader, asking, [root])
                for said in each.said
            }
        return self._derived[which]


def hidden_from(reader: Reader, assertion_ids: Iterable[str], viewer: str) -> set[str]:
    """Return those of the assertions that another agent keeps to itself."""
    listed = msgspec.json.encode([*assertion_ids]).decode()
    return {row[0] for row in reader.rows("graph_assertions_private", ids=listed, viewer=viewer)}


def explain(
    reader: Reader, assertion_id: str, known: int, viewer: str | None = None
) -> Explanation | None:
    """Return a fact and everything that was said for it; None: the assertion did not stand.

    Nor does what is private to another than the viewer; a memory that is, is not told of.
    """
    found = Believed(reader, viewer).belief(assertion_id, known)
    if found is None:
        return None
    scope, belief = found
    horizons.check(reader, (scope.namespace,), known)
    (belief,) = beliefs.backed(reader, [belief])
    (fact,) = beliefs.facts_of(reader, scope, [belief], viewer)
    commits = {number: _commit(reader, number) for number in {s.place[1] for s in belief.said}}
    told = tuple(_assertion(said, commits[said.place[1]]) for said in belief.said)
    end = _ending(reader, belief.held, told)
    sources = [each.source for each in told] + ([] if end is None else [end.source])
    hidden = beliefs.hidden_sources(reader, sources, viewer)
    told = tuple(replace(each, source=_told(each.source, hidden)) for each in told)
    end = None if end is None else replace(end, source=_told(end.source, hidden))
    return Explanation(fact, told, end)


def _told(source: Evidence | None, hidden: Collection[Evidence]) -> Evidence | None:
    return None if source in hidden else source


def _ending(reader: Reader, held: Holding[int], told: Sequence[Assertion]) -> Ending | None:
    """Return what was said to end a fact; said with an assertion, it comes from the same."""
    if held.is_open:
        return None
    at, commit_ts, position = held.end
    commit = _commit(reader, commit_ts)
    operation = commit.operations[position]
    if not isinstance(operation, End):
        return None
    sources = {each.id: each.source for each in told}
    return Ending(
        id=operation.assertion_id,
        at=to_datetime(at),
        commit_ts=commit_ts,
        committed_at=to_datetime(commit.committed_at),
        actor=commit.envelope.actor,
        source=operation.source or sources.get(operation.assertion_id),
    )


def _commit(reader: Reader, commit_ts: int) -> Commit:
    row = reader.row("event_get", commit_ts=commit_ts)
    assert row is not None, "what was said stands in the log"
    return Commit.of(SealedEvent(*row))


def _assertion(said: Said, commit: Commit) -> Assertion:
    """Return what was said as the log has it."""
    _, commit_ts, position = said.place
    operation = commit.operations[position]
    assert isinstance(operation, Assert), "it was an assertion when it was applied"
    object_ = operation.object
    return Assertion(
        id=said.assertion_id,
        subject=operation.subject.text,
        relation=operation.relation.text,
        object=object_.text if object_.kind == ENTITY else literal_of(object_.kind, object_.key),
        valid_from=to_datetime(said.place[0]),
        confidence=said.confidence,
        commit_ts=commit_ts,
        committed_at=to_datetime(said.committed_at),
        actor=commit.envelope.actor,
        source=operation.source,
    )
