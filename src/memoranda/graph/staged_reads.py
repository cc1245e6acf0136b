"""What a transaction has staged about facts, seen by its own reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from memoranda.errors import InvalidInput, NotFound
from memoranda.graph import beliefs
from memoranda.graph.derive import Holding, Statement, belonging, derive, said_at
from memoranda.graph.literal import literal_of
from memoranda.graph.queries import Wanted, asking_of, node_at
from memoranda.graph.records import Fact
from memoranda.graph.requests import GraphRequest, TimelineRead
from memoranda.graph.rules import GraphRules
from memoranda.graph.spelling import Meaning, Spelling
from memoranda.graph.times import bound_of, instant_of
from memoranda.log.views import LookUp
from memoranda.model.graph_operations import ENTITY, RELATION, Name
from memoranda.model.instant import to_datetime
from memoranda.model.operations import AnyOperation, Assert, End, Withdraw
from memoranda.model.refs import Evidence
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader

_REFUSALS = (InvalidInput, NotFound)
"""What the rules say to a request they do not grant. The commit may yet: it sees more."""
_UNCOMMITTED = 2**62
"""Stands for the commit that what is staged will have: behind all there are."""


class _Told(msgspec.Struct, frozen=True):
    """Something that was said, committed or not, in terms of what its names mean."""

    statement: Statement[Meaning]
    assertion_id: str
    confidence: float = 1.0
    source: Evidence | None = None
    committed_at: int | None = None


class PendingFacts:
    """The requests of one transaction about facts, decided as of its beginning."""

    def __init__(self, at: int) -> None:
        self._at = at
        self._staged: list[GraphRequest] = []

    def add(self, request: GraphRequest) -> None:
        """Remember a staged request."""
        self._staged.append(request)

    def refusals(self, reader: Reader, look_up: LookUp) -> dict[int, InvalidInput | NotFound]:
        """Return what the rules would not grant now, by its place among the requests."""
        rules = GraphRules(reader, look_up)
        found: dict[int, InvalidInput | NotFound] = {}
        for place, request in enumerate(self._staged):
            try:
                list(rules.decide(request))
            except _REFUSALS as error:
                found[place] = error
        return found

    def timeline(
        self,
        reader: Reader,
        read: TimelineRead,
        look_up: LookUp,
        now: int,
        viewer: str | None = None,
    ) -> list[Fact]:
        """Return a timeline as the transaction sees it; what it says to hold from now on, from now.

        The same rules run again when it is committed, then on what is there by then.
        """
        rules = GraphRules(reader, look_up, self._at)
        operations: list[AnyOperation] = []
        for request in self._staged:
            with suppress(*_REFUSALS):
                operations.extend(rules.decide(request))
        subject = Name(read.subject, read.subject, ENTITY)
        spelling = Spelling(reader, read.scope, operations)
        told = [
            *self._committed(reader, rules, read, subject, spelling, viewer),
            *_staged(rules, operations, read, subject, now),
        ]
        gone = {each.assertion_id for each in operations if isinstance(each, Withdraw)}
        told = [each for each in told if each.assertion_id not in gone]
        told.sort(key=lambda each: each.statement.place)
        single = rules.is_single(read.scope, read.relation)
        statements = [each.statement for each in told]
        edges = derive(statements, single=single)
        who, how = rules.meaning(read.scope, subject), (RELATION, read.relation)
        about = (spelling.of(who), spelling.of(how))
        own: list[list[_Told]] = [[] for _ in edges]
        for each, number in zip(told, belonging(statements, edges, single=single), strict=True):
            if number is not None:
                own[number].append(each)
        return [
            _fact(read, about, held, said, spelling) for held, said in zip(edges, own, strict=True)
        ]

    def _committed(
        self,
        reader: Reader,
        rules: GraphRules,
        read: TimelineRead,
        subject: Name,
        spelling: Spelling,
        viewer: str | None,
    ) -> Iterable[_Told]:
        """Yield what had been said when the transaction began."""
        relation = Name(read.relation, read.relation, RELATION)
        wanted = Wanted(scope=read.scope, relation=relation, known=self._at, viewer=viewer)
        asking = asking_of(reader, wanted)
        if asking is None:
            return
        for key in rules.stored(read.scope, subject):
            root = node_at(reader, asking.scope_id, Name(key, key), self._at)
            rows = [] if root is None else beliefs.said(reader, asking, [root])
            named = beliefs.names(reader, {row[6] for row in rows if row[6]})
            spelling.learn(named.values())
            sources = [beliefs.evidence(row[10]) for row in rows]
            hidden = beliefs.hidden_sources(reader, sources, viewer)
            for row, source in zip(rows, sources, strict=True):
                object_ = named.get(row[6])
                yield _Told(
                    said_at(
                        (row[2], row[3], row[4]),
                        row[5],
                        _meaning(rules, read.scope, object_),
                        row[11],
                    ),
                    row[7],
                    row[9] or 0.0,
                    None if source in hidden else source,
                    row[8],
                )


def _staged(
    rules: GraphRules,
    operations: Sequence[AnyOperation],
    read: TimelineRead,
    subject: Name,
    now: int,
) -> Iterable[_Told]:
    meaning = rules.meaning(read.scope, subject)
    for position, operation in enumerate(operations):
        if not isinstance(operation, Assert | End) or operation.scope != read.scope:
            continue
        same = rules.meaning(read.scope, operation.subject) == meaning
        if not same or operation.relation.key != read.relation:
            continue
        asserts = isinstance(operation, Assert)
        place = (instant_of(operations, position, now), _UNCOMMITTED, position)
        bound = bound_of(operations, position, now)
        told = _Told(
            said_at(place, asserts, _meaning(rules, read.scope, operation.object), bound),
            operation.assertion_id,
        )
        if isinstance(operation, Assert):
            told = replace(told, confidence=operation.confidence, source=operation.source)
        yield told


def _meaning(rules: GraphRules, scope: Scope, name: Name | None) -> Meaning | None:
    return None if name is None else rules.meaning(scope, name)


def _fact(
    read: TimelineRead,
    about: tuple[str, str],
    held: Holding[Meaning],
    own: list[_Told],
    spelling: Spelling,
) -> Fact:
    """Return an edge as callers see it; what is staged has no time of its own yet."""
    own.sort(key=lambda each: each.statement.place[1:])
    begin = own[0].committed_at
    kind, key = held.object
    return Fact(
        subject=about[0],
        relation=about[1],
        object=spelling.of(held.object) if kind == ENTITY else literal_of(kind, key),
        valid_from=to_datetime(held.first[0]),
        valid_to=None if held.is_open else to_datetime(held.end[0]),
        confidence=max(each.confidence for each in own),
        sources=tuple(dict.fromkeys(each.source for each in own if each.source is not None)),
        known_from=None if begin is None else to_datetime(begin),
        assertions=tuple(each.assertion_id for each in own),
        namespace=read.scope.namespace,
        agent_id=read.scope.agent_id,
    )
