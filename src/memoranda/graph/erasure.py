"""Erasure of facts: find the operations of a target, and bring the tables up to date.

Statements are taken out of a graph alone where that is possible (see `removal`). Otherwise the
scope is emptied, and its remaining operations are applied again. In a namespace that ever shared
its facts, agents may have retracted what others said, and the shared graph has what all of them
said. So all graphs of such a namespace are emptied and filled again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from memoranda.graph.entities import normal_name
from memoranda.graph.fact_explanation import private_assertions
from memoranda.graph.removal import StatementRemoval, names_in
from memoranda.graph.sharing import FACTS as SHARING
from memoranda.graph.sharing import has_shared_graph, own_graph, shared_graph
from memoranda.graph.timeline_store import SingleRelations
from memoranda.log import pages
from memoranda.log.views import Commit, Eraser, RewrittenEvent
from memoranda.model import codec
from memoranda.model.erasure import ENTITY, FACT, LogPosition, Target
from memoranda.model.intervals import OPEN_END
from memoranda.model.operations import (
    Alias,
    AnyOperation,
    Assert,
    Classify,
    Configure,
    End,
    Merge,
    NamesResidue,
    Withdraw,
)
from memoranda.model.operations.graph import ENTITY as ENTITY_NAME
from memoranda.model.operations.graph import Name
from memoranda.model.refs import MemoryRef, TranscriptRef
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader, Writer

ReapplyScope = Callable[[Writer, Commit, Scope], None]
"""Applies a commit's operations of one scope to the tables."""
ReapplyNamespace = Callable[[Writer, Commit, str], None]
"""Applies a commit's operations of one namespace to the tables."""
_SCOPE_OPERATIONS = (Assert, End, Withdraw, Alias, Merge, NamesResidue)
_PREFIX_END = b"\xff"
"""Sorts after the byte that follows an id in a reference: no version or span list starts so."""
_CLEAR_GRAPH_QUERIES = (
    "graph_scope_edges",
    "graph_scope_statements",
    "graph_scope_roots",
    "graph_scope_nodes",
)


def positions_of(reader: Reader, target: Target, viewer: str | None) -> Iterator[LogPosition]:
    """Yield the positions of operations that an erasure of the target removes.

    The target is an assertion or an entity.
    """
    if target.kind == FACT:
        if viewer is not None and private_assertions(reader, [target.name], viewer):
            return
        yield from _positions_of_assertions(reader, [target.name])
    elif target.kind == ENTITY:
        yield from _positions_of_entity(reader, target)


def names_of_entity(reader: Reader, target: Target) -> list[Name]:
    """Return the name of an entity and its aliases, in the graph that its agent reads."""
    scope = target.scope
    if target.kind != ENTITY or scope is None:
        return []
    key = normal_name(target.name)
    for graph in (shared_graph(reader, scope.namespace), own_graph(reader, scope)):
        rows = reader.rows("graph_names_of_entity", scope_id=graph, kind=ENTITY_NAME, key=key)
        if rows:
            return [Name(text, key) for key, text in rows]
    return []


def _positions_of_entity(reader: Reader, target: Target) -> Iterator[LogPosition]:
    """Yield the positions of operations that name an entity, and of their ends and withdrawals.

    An entity of a shared graph is named by all agents of its namespace. The private statements of
    other agents stay: they are not in that graph.
    """
    names, scope = names_of_entity(reader, target), target.scope
    if not names or scope is None:
        return
    keys = {name.key for name in names}
    is_shared = shared_graph(reader, scope.namespace) is not None
    commits = (
        _commits_of_namespace(reader, scope.namespace)
        if is_shared
        else commits_of(reader, own_graph(reader, scope))
    )
    assertion_ids: dict[str, None] = {}
    for event in pages.events_of(reader, commits):
        commit_ts = event.commit_ts
        for position, operation in enumerate(codec.decode_effective(event.operations)):
            is_public = operation.namespace == scope.namespace and not operation.private
            if operation.scope != scope and not (is_shared and is_public):
                continue
            if keys.isdisjoint(_entity_keys(operation)):
                continue
            yield commit_ts, position
            if isinstance(operation, Assert | End):
                assertion_ids[operation.assertion_id] = None
    yield from _positions_of_assertions(reader, assertion_ids)


def _entity_keys(operation: AnyOperation) -> set[str]:
    """Return the keys of the entities that an operation names."""
    return {name.key for name in names_in(operation) if name.kind == ENTITY_NAME}


def positions_from(reader: Reader, sources: Iterable[str]) -> Iterator[LogPosition]:
    """Yield the positions of statements that have any of these memories or transcripts as source.

    A reference ends with a version or a list of spans. If it has neither, its encoding ends with
    one byte (nil, or an empty list). Without it, it is a prefix of every reference to this id.
    """
    prefixes = [
        prefix
        for source in sources
        for prefix in (
            codec.encode(MemoryRef(source)).removesuffix(b"\xc0"),
            codec.encode(TranscriptRef(source)).removesuffix(b"\x90"),
        )
    ]
    ids: dict[str, None] = {}
    for chunk in pages.chunks([(prefix, prefix + _PREFIX_END) for prefix in prefixes]):
        for rows in reader.rows_each("graph_statements_from", chunk):
            ids |= dict.fromkeys(assertion_id for (assertion_id,) in rows)
    yield from _positions_of_assertions(reader, ids)


def _positions_of_assertions(reader: Reader, ids: Iterable[str]) -> Iterator[LogPosition]:
    """Yield the positions of assertions, of the ends that came with them, and of withdrawals."""
    withdrawals: dict[int, set[str]] = {}
    for chunk in pages.chunks([(assertion_id,) for assertion_id in ids]):
        for (assertion_id,), rows in zip(
            chunk, reader.rows_each("graph_statement_positions", chunk), strict=True
        ):
            for commit_ts, position, until_commit in rows:
                yield commit_ts, position
                if until_commit < OPEN_END:
                    withdrawals.setdefault(until_commit, set()).add(assertion_id)
    for event in pages.events_of(reader, sorted(withdrawals)):
        withdrawn_ids = withdrawals[event.commit_ts]
        for position, operation in enumerate(codec.decode_effective(event.operations)):
            if isinstance(operation, Withdraw) and operation.assertion_id in withdrawn_ids:
                yield event.commit_ts, position


class GraphEraser(Eraser):
    """Brings the graphs in which something was erased to the rewritten log."""

    def __init__(
        self,
        writer: Writer,
        reapply_scope: ReapplyScope,
        reapply_namespace: ReapplyNamespace,
        singles: SingleRelations,
    ) -> None:
        self._writer = writer
        self._reapply_scope = reapply_scope
        self._reapply_namespace = reapply_namespace
        self._singles = singles
        self._removals: dict[Scope, StatementRemoval] = {}

    def apply_rewrite(self, rewritten: RewrittenEvent, /) -> None:
        """Note the scopes of the operations that an event has lost."""
        for position, before, after in rewritten.changes():
            if isinstance(before, _SCOPE_OPERATIONS):
                removal = self._removals.setdefault(before.scope, StatementRemoval(before.scope))
                removal.add(rewritten, position, before, after)
            elif isinstance(before, Classify) and not isinstance(after, Classify):
                self._writer.run(
                    "graph_cardinality_drop",
                    namespace=before.namespace,
                    relation=before.relation.key,
                )
            elif (
                isinstance(before, Configure)
                and not isinstance(after, Configure)
                and SHARING in before.settings
            ):
                self._writer.run("graph_sharing_drop", namespace=before.namespace)

    def finish(self) -> None:
        """Take statements out of these graphs, or apply all remaining operations again in order."""
        self._drop_unshared()
        namespaces = {scope.namespace for scope in self._removals}
        shared = {name for name in namespaces if has_shared_graph(self._writer, name)}
        for namespace in sorted(shared):
            self._clear_shared(namespace)
            for (scope_id,) in self._writer.rows("graph_scope_ids", namespace=namespace):
                self._clear(scope_id)
            for commit in self._load(_commits_of_namespace(self._writer, namespace)):
                self._reapply_namespace(self._writer, commit, namespace)
        for scope in sorted(scope for scope in self._removals if scope.namespace not in shared):
            if self._removals[scope].run(self._writer, self._singles):
                continue
            scope_id = own_graph(self._writer, scope)
            self._clear(scope_id)
            for commit in self._load(commits_of(self._writer, scope_id)):
                self._reapply_scope(self._writer, commit, scope)

    def _drop_unshared(self) -> None:
        """Empty the shared graphs of namespaces whose setting was erased."""
        for (namespace,) in self._writer.rows("graph_shared_rows"):
            if not has_shared_graph(self._writer, namespace):
                self._clear_shared(namespace)

    def _clear_shared(self, namespace: str) -> None:
        row = self._writer.row("graph_shared_find", namespace=namespace)
        if row is not None:
            self._clear(row[0])
            self._writer.run("graph_shared_drop", namespace=namespace)

    def _clear(self, graph: int) -> None:
        for query in _CLEAR_GRAPH_QUERIES:
            self._writer.run(query, scope_id=graph)

    def _load(self, commits: Iterable[int]) -> Iterator[Commit]:
        return map(Commit.of, pages.events_of(self._writer, commits))


def _commits_of_namespace(reader: Reader, namespace: str) -> Iterator[int]:
    """Yield the commits that have operations of a namespace, in order."""
    rows = reader.rows("graph_scope_ids", namespace=namespace)
    commits = heapq.merge(*(commits_of(reader, row[0]) for row in rows))
    yield from (commit_ts for commit_ts, _ in groupby(commits))


def commits_of(reader: Reader, scope_id: int) -> Iterator[int]:
    """Yield the commits that have operations of a scope, in order."""
    after = 0
    while rows := reader.rows(
        "commits_of_scope", scope_id=scope_id, after=after, through=OPEN_END, limit=pages.PAGE_ROWS
    ):
        for (after,) in rows:
            yield after
