"""Answers: what a committed transaction did to the timelines it touched."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from memoranda.graph import beliefs
from memoranda.graph.beliefs import Asking
from memoranda.graph.derive import Holding, Statement
from memoranda.graph.effects import Effect, Effects, Keys, compared, resolution
from memoranda.graph.queries import Wanted, asking_of, node_at
from memoranda.graph.resolution import EdgeResolution
from memoranda.graph.timelines import Which
from memoranda.graph.times import instant_of
from memoranda.log import horizons
from memoranda.log.views import Commit
from memoranda.model.event import SealedEvent
from memoranda.model.graph_operations import RELATION, Name
from memoranda.model.operations import Assert, End, Withdraw
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader


class Answer(msgspec.Struct, frozen=True):
    """A commit of a request about facts, and the id under which something was said in it."""

    scope: Scope
    commit_ts: int
    assertion_id: str | None = None
    viewer: str | None = None
    """Who asks; None: nobody in particular, who sees all."""


def answer(reader: Reader, effects: Effects, asked: Answer) -> EdgeResolution:
    """Return what a commit did; of one that is summed up, only that it was."""
    horizon = horizons.find(reader, asked.scope.namespace)
    if horizon is not None and asked.commit_ts <= horizon.commit_ts:
        return EdgeResolution(None, assertion_id=asked.assertion_id, commit_ts=asked.commit_ts)
    asking = asking_of(reader, Wanted(scope=asked.scope, viewer=asked.viewer))
    if asking is None or asking.public:  # a retry, behind an erasure; or others are not to know
        return EdgeResolution(None, assertion_id=asked.assertion_id, commit_ts=asked.commit_ts)
    row = reader.row("event_get", commit_ts=asked.commit_ts)
    assert row is not None, "a transaction's own commit is there"
    commit = Commit.of(SealedEvent(*row))
    found = effects.of(asked.commit_ts)
    if found is None:
        found = list(_derived(reader, asked, commit))
    numbers = {number for effect in found for number in _numbers(effect)}
    keys = Keys({number: name.key for number, name in beliefs.names(reader, numbers).items()})
    asserted, confidence = _asserted(reader, asked, commit)
    told = resolution(found, keys, asserted, confidence)
    return replace(told, assertion_id=asked.assertion_id, commit_ts=asked.commit_ts)


def _asserted(reader: Reader, asked: Answer, commit: Commit) -> tuple[Statement[int] | None, float]:
    """Return the assertion that is answered, and how sure it is, if there is one."""
    for position, operation in enumerate(commit.operations):
        if isinstance(operation, Assert) and operation.assertion_id == asked.assertion_id:
            asking = _asking(reader, asked)
            at = instant_of(commit.operations, position, commit.committed_at)
            held = node_at(reader, asking.scope_id, operation.object, asked.commit_ts)
            return Statement((at, asked.commit_ts, position), True, held), operation.confidence
    return None, 0.0


def _derived(reader: Reader, asked: Answer, commit: Commit) -> Iterable[Effect]:
    """Yield what became of each timeline between what was known before a commit and behind it."""
    asking = _asking(reader, asked)
    timelines: dict[Which, None] = {}
    for subject, relation in _timelines(reader, commit):
        number = node_at(reader, asking.scope_id, relation, asked.commit_ts)
        root = node_at(reader, asking.scope_id, subject, asked.commit_ts)
        if root is not None and number is not None:  # else it is a retry, behind an erasure
            timelines[root, number] = None  # once, however many names its subject has
    for root, number in timelines:
        edges = [
            _edges(reader, replace(asking, relation=number, known=known), root)
            for known in (asked.commit_ts - 1, asked.commit_ts)
        ]
        yield compared((root, number), *edges)


def _edges(reader: Reader, asking: Asking, subject: int) -> list[Holding[int]]:
    return [each.held for each in beliefs.of_subjects(reader, asking, [subject])]


def _timelines(reader: Reader, commit: Commit) -> Iterable[tuple[Name, Name]]:
    """Yield the subjects and relations that a commit says something of."""
    for operation in commit.operations:
        if isinstance(operation, Assert | End):
            yield operation.subject, _relation(operation.relation.key)
        elif isinstance(operation, Withdraw):
            rows = reader.rows("graph_statement_keys", assertion_id=operation.assertion_id)
            for subject, relation in rows:
                yield Name(subject, subject), _relation(relation)


def _relation(key: str) -> Name:
    return Name(key, key, RELATION)


def _numbers(effect: Effect) -> Iterable[int]:
    yield from effect.timeline
    for edges in (effect.before, effect.after):
        yield from (held.object for held in edges.values())


def _asking(reader: Reader, asked: Answer) -> Asking:
    found = asking_of(reader, Wanted(scope=asked.scope))
    assert found is not None, "whoever said something is known"
    return found
