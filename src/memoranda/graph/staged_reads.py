"""Read facts inside a transaction, including the ones it has staged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from memoranda.errors import InvalidInput, NotFound
from memoranda.graph import as_of
from memoranda.graph.entities import decode_literal
from memoranda.graph.reads import FactQuery, resolve_name, resolve_query
from memoranda.graph.records import Fact
from memoranda.graph.requests import GraphRequest, TimelineRead
from memoranda.graph.rules import GraphRules
from memoranda.graph.timeline import (
    Interval,
    Statement,
    derive_intervals,
    interval_indexes,
    make_statement,
    times_of,
)
from memoranda.log.views import LookUp
from memoranda.model.clock import to_datetime
from memoranda.model.operations import Alias, AnyOperation, Assert, End, Merge, Withdraw
from memoranda.model.operations.graph import ENTITY, RELATION, Name
from memoranda.model.refs import Evidence
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader

# Spellings: facts show each name as it was first written.

Meaning = tuple[str, str]
"""What a name means: a kind and a root key. Staged names have no node id yet."""


class NameSpellings:
    """Finds the first spelling of names, committed or staged."""

    def __init__(
        self, reader: Reader, rules: GraphRules, scope: Scope, operations: Iterable[AnyOperation]
    ) -> None:
        self._reader = reader
        self._query = resolve_query(reader, FactQuery(scope=scope))
        self._staged: dict[Meaning, str] = {}
        for operation in operations:
            if _is_seen(rules, operation, scope):
                for name in _names_in(operation):
                    self._staged.setdefault((name.kind, name.key), name.text)
        self._committed: dict[Meaning, str] = {}

    def learn(self, names: Iterable[Name]) -> None:
        """Add committed names."""
        self._committed |= {(name.kind, name.key): name.text for name in names}

    def get(self, meaning: Meaning) -> str:
        """Return the first spelling of a name; a committed one comes first."""
        if meaning not in self._committed:
            kind, key = meaning
            self.learn(self._read(Name(key, key, kind)))
        return self._committed.get(meaning) or self._staged.get(meaning, meaning[1])

    def _read(self, name: Name) -> Iterable[Name]:
        query = self._query
        node = None if query is None else resolve_name(self._reader, query, name)
        return [] if node is None else as_of.node_names(self._reader, [node]).values()


def _is_seen(rules: GraphRules, operation: AnyOperation, scope: Scope) -> bool:
    """Say whether an operation is in the graph that an agent reads, or is its own private one."""
    if operation.scope == scope:
        return True
    return not operation.private and rules.graph_of(operation.scope) == rules.graph_of(scope)


def _names_in(operation: AnyOperation) -> Iterable[Name]:
    if isinstance(operation, Assert | End):
        yield operation.subject
        yield operation.relation
        if operation.object is not None:
            yield operation.object
    elif isinstance(operation, Alias):
        yield from (operation.entity, operation.alias)
    elif isinstance(operation, Merge):
        yield from (operation.source, operation.into)


# The facts that a transaction has staged, as its own reads see them.

_REFUSALS = (InvalidInput, NotFound)
"""Errors by which rules refuse a request. A read skips the request: the commit, which may see newer
facts, decides again."""
_UNCOMMITTED = 2**62
"""The commit number that staged statements have in reads: after every real one."""


class _StatementRecord(msgspec.Struct, frozen=True):
    """A statement, committed or staged, with its object by meaning."""

    statement: Statement[Meaning]
    assertion_id: str
    confidence: float = 1.0
    source: Evidence | None = None
    committed_at: int | None = None
    unproven: bool = False
    author: str = ""


class FactOverlay:
    """The staged requests of one transaction about facts.

    Reads decide them as of the commit at which the transaction began.
    """

    def __init__(self, as_of_commit: Callable[[], int]) -> None:
        self._as_of_commit = as_of_commit
        self._staged: list[GraphRequest] = []

    def add(self, request: GraphRequest) -> None:
        """Add a staged request."""
        self._staged.append(request)

    def refusals(self, reader: Reader, look_up: LookUp) -> dict[int, InvalidInput | NotFound]:
        """Return the errors of requests that the rules refuse now, by index."""
        rules = GraphRules(reader, look_up)
        errors: dict[int, InvalidInput | NotFound] = {}
        for index, request in enumerate(self._staged):
            try:
                list(rules.decide(request))
            except _REFUSALS as error:
                errors[index] = error
        return errors

    def timeline(
        self,
        reader: Reader,
        read: TimelineRead,
        look_up: LookUp,
        now: int,
        viewer: str | None = None,
    ) -> list[Fact]:
        """Return a timeline as the transaction sees it; a staged fact without a time starts `now`.

        The same rules decide the requests again at commit, on the facts that are stored by then.
        """
        rules = GraphRules(reader, look_up, self._as_of_commit())
        operations: list[AnyOperation] = []
        for request in self._staged:
            with suppress(*_REFUSALS):
                operations.extend(rules.decide(request))
        subject = Name(read.subject, read.subject, ENTITY)
        graph = rules.graph_of(read.scope)
        spellings = NameSpellings(reader, rules, read.scope, operations)
        records = [
            *self._committed_statements(reader, rules, read, subject, spellings, viewer),
            *_staged_statements(rules, operations, read, subject, now),
        ]
        withdrawn = {
            operation.assertion_id for operation in operations if isinstance(operation, Withdraw)
        }
        records = [record for record in records if record.assertion_id not in withdrawn]
        records.sort(key=lambda record: record.statement.point)
        single = rules.is_single(read.scope, read.relation)
        statements = [record.statement for record in records]
        intervals = derive_intervals(statements, single=single)
        supporting: list[list[_StatementRecord]] = [[] for _ in intervals]
        indexes = interval_indexes(statements, intervals, single=single)
        for record, index in zip(records, indexes, strict=True):
            if index is not None:
                supporting[index].append(record)
        unproven = {record.statement.point[1:] for record in records if record.unproven}
        names = (
            spellings.get(rules.meaning(graph, subject)),
            spellings.get((RELATION, read.relation)),
        )
        return [
            replace(
                _fact(graph, names, interval, assertions, spellings),
                unproven=interval.end[1:] in unproven
                or any(assertion.unproven for assertion in assertions),
            )
            for interval, assertions in zip(intervals, supporting, strict=True)
        ]

    def _committed_statements(
        self,
        reader: Reader,
        rules: GraphRules,
        read: TimelineRead,
        subject: Name,
        spellings: NameSpellings,
        viewer: str | None,
    ) -> Iterable[_StatementRecord]:
        """Yield the statements that stood when the transaction began."""
        relation = Name(read.relation, read.relation, RELATION)
        query = resolve_query(
            reader,
            FactQuery(
                scope=read.scope,
                relation=relation,
                as_of_commit=self._as_of_commit(),
                viewer=viewer,
            ),
        )
        if query is None:
            return
        graph = rules.graph_of(read.scope)
        for key in rules.stored_keys(graph, subject):
            root = resolve_name(reader, query, Name(key, key))
            rows = [] if root is None else as_of.statement_rows(reader, query, [root])
            names = as_of.node_names(reader, {row[6] for row in rows if row[6]})
            spellings.learn(names.values())
            sources = [as_of.decode_source(row[10]) for row in rows]
            hidden = as_of.hidden_sources(reader, sources, viewer)
            for row, source in zip(rows, sources, strict=True):
                object_ = names.get(row[6])
                yield _StatementRecord(
                    make_statement(
                        (row[2], row[3], row[4]),
                        row[5],
                        _meaning(rules, graph, object_),
                        row[11],
                    ),
                    row[7],
                    row[9] or 0.0,
                    None if source in hidden else source,
                    row[8],
                    bool(row[13]),
                    row[12] or graph.agent_id,
                )


def _staged_statements(
    rules: GraphRules,
    operations: Sequence[AnyOperation],
    read: TimelineRead,
    subject: Name,
    now: int,
) -> Iterable[_StatementRecord]:
    graph = rules.graph_of(read.scope)
    meaning = rules.meaning(graph, subject)
    for position, operation in enumerate(operations):
        if not isinstance(operation, Assert | End) or not _is_seen(rules, operation, read.scope):
            continue
        same = rules.meaning(graph, operation.subject) == meaning
        if not same or operation.relation.key != read.relation:
            continue
        asserts = isinstance(operation, Assert)
        at, bound = times_of(operations, position, now)
        point = (at, _UNCOMMITTED, position)
        record = _StatementRecord(
            make_statement(point, asserts, _meaning(rules, graph, operation.object), bound),
            operation.assertion_id,
            author=operation.agent_id,
        )
        if isinstance(operation, Assert):
            record = replace(record, confidence=operation.confidence, source=operation.source)
        yield record


def _meaning(rules: GraphRules, scope: Scope, name: Name | None) -> Meaning | None:
    return None if name is None else rules.meaning(scope, name)


def _fact(
    graph: Scope,
    names: tuple[str, str],
    interval: Interval[Meaning],
    assertions: list[_StatementRecord],
    spellings: NameSpellings,
) -> Fact:
    """Return an interval as callers see it; a staged assertion has no commit time yet."""
    assertions.sort(key=lambda assertion: assertion.statement.point[1:])
    committed_at = assertions[0].committed_at
    sources = (assertion.source for assertion in assertions)
    kind, key = interval.object
    return Fact(
        subject=names[0],
        relation=names[1],
        object=spellings.get(interval.object) if kind == ENTITY else decode_literal(kind, key),
        valid_from=to_datetime(interval.valid_from),
        valid_to=None if interval.is_open else to_datetime(interval.valid_to),
        confidence=max(assertion.confidence for assertion in assertions),
        sources=tuple(dict.fromkeys(source for source in sources if source is not None)),
        known_from=None if committed_at is None else to_datetime(committed_at),
        assertions=tuple(assertion.assertion_id for assertion in assertions),
        namespace=graph.namespace,
        agent_id=graph.agent_id or None,
        asserted_by=tuple(assertion.author for assertion in assertions),
    )
