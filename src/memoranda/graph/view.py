"""The graph view: apply operations about facts to the tables of nodes, statements and intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from memoranda.graph import requests
from memoranda.graph.effects import EffectCache
from memoranda.graph.entities import NodeRef, NodeTable
from memoranda.graph.erasure import GraphEraser, names_of_entity, positions_from, positions_of
from memoranda.graph.reads import timeline_changed
from memoranda.graph.retention import GraphRetentionPolicy, GraphTrimmer
from memoranda.graph.rules import GraphRules
from memoranda.graph.sharing import FACTS, shared_scope
from memoranda.graph.timeline import make_statement, times_of
from memoranda.graph.timeline_store import (
    Timeline,
    TimelineWriter,
    read_if_small,
    withdraw_statements,
)
from memoranda.log import pages
from memoranda.log.compaction.retention import RetainedRefs
from memoranda.log.read.scope_index import ScopeIds
from memoranda.log.views import Commit, LookUp, View
from memoranda.model import codec
from memoranda.model.erasure import LogPosition, Target
from memoranda.model.ids import IdSource
from memoranda.model.operations import (
    Alias,
    AnyOperation,
    Assert,
    AssertPrivately,
    Classify,
    Configure,
    End,
    EndFrom,
    EndPrivately,
    Merge,
    NamesResidue,
    Withdraw,
    WithdrawPrivately,
)
from memoranda.model.operations.graph import Name
from memoranda.model.refs import FactRef
from memoranda.model.scope import Scope
from memoranda.storage.memory_budget import MemoryBudget
from memoranda.storage.port import Reader, Unread, Writer

_MAX_TRACKED_OPERATIONS = 16
"""The most operations of a commit whose effects are cached.

Callers ask for the effects of single calls. Caching those of bulk imports would only cost memory.
"""
_ANY_OBJECT = NodeRef(0, 0)
"""The object of an end that names none, so that it ends whichever object holds."""

Graphs = Callable[[Writer, AnyOperation], Iterable[Scope]]
"""Returns the graphs that an operation changes."""


class GraphView(View):
    """Nodes, statements and intervals of facts.

    Each agent has a graph of its own in a namespace. A namespace that ever shared its facts has one
    more, with the public operations of all its agents (see `sharing`). The intervals of current
    belief are stored. Past belief, and what others see beside private facts, is derived from the
    statements when it is read (see `as_of`).
    """

    name = "graph"
    version = 2
    request_types = (
        requests.AssertFact,
        requests.AssertFactAs,
        requests.EndFact,
        requests.EndFactFrom,
        requests.EndFactAs,
        requests.EndUnknownFact,
        requests.RetractAssertion,
        requests.RetractFact,
        requests.SetCardinality,
        requests.AliasEntity,
        requests.MergeEntities,
        requests.ShareFacts,
    )
    reference_types = (FactRef,)
    tracked_reads = (requests.TimelineRead,)
    tables = (
        "graph_node",
        "graph_root",
        "graph_cardinality",
        "graph_statement",
        "graph_edge",
        "graph_sharing",
        "graph_shared",
    )
    clear_queries = (
        "graph_edge_clear",
        "graph_statement_clear",
        "graph_cardinality_clear",
        "graph_root_clear",
        "graph_node_clear",
        "graph_sharing_clear",
        "graph_shared_clear",
    )
    row_queries = (
        "graph_node_rows",
        "graph_root_rows",
        "graph_cardinality_rows",
        "graph_statement_rows",
        "graph_edge_rows",
        "graph_sharing_rows",
        "graph_shared_rows",
    )

    def __init__(
        self, scopes: ScopeIds, effects: EffectCache, budget: MemoryBudget | None = None
    ) -> None:
        self._nodes = NodeTable(scopes, budget)
        self._effects = effects
        self._appliers: Mapping[type, Callable[[TimelineWriter, Commit, int, Any, Scope], None]] = {
            Assert: self._state,
            AssertPrivately: self._state,
            End: self._state,
            EndFrom: self._state,
            EndPrivately: self._state,
            Alias: self._alias,
            Merge: self._merge,
            NamesResidue: self._mention,
        }
        """How operations change a graph. Others, on namespaces or by id, change several at once."""
        self.applied_types = frozenset(
            {*self._appliers, Withdraw, WithdrawPrivately, Classify, Configure}
        )

    def rules(self, reader: Reader, look_up: LookUp, /) -> GraphRules:
        """Return the rules for one transaction."""
        return GraphRules(reader, look_up)

    def has_changed(self, reader: Reader, read: requests.TimelineRead, since: int, /) -> bool:
        """Say whether a timeline may have changed after a commit."""
        return timeline_changed(reader, read, since)

    def retention_policy(self, notes: RetainedRefs, ids: IdSource, /) -> GraphRetentionPolicy:
        """Return the policy that decides which operations a compaction retains."""
        return GraphRetentionPolicy(notes, ids)

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Bring the tables from before the commit to after it."""
        self._apply_operations(writer, commit, enumerate(commit.operations), self._graphs_of)

    def rehearse(self, scout: Reader, commit: Commit, /) -> None:
        """Read the nodes that statements name, and the timelines that they change."""
        for operation in commit.operations:
            if isinstance(operation, (Assert, End)):
                scope = operation.scope
                with suppress(Unread):
                    self._nodes.is_single(scout, scope.namespace, operation.relation.key)
                if operation.object is not None:
                    self._rehearse_node(scout, scope, operation.object)
                subject = self._rehearse_node(scout, scope, operation.subject)
                relation = self._rehearse_node(scout, scope, operation.relation)
                if subject is not None and relation is not None:
                    with suppress(Unread):
                        read_if_small(scout, (subject.root, relation.id))

    def _rehearse_node(self, scout: Reader, scope: Scope, name: Name) -> NodeRef | None:
        with suppress(Unread):
            return self._nodes.look_up(scout, scope, name)
        return None

    def places(
        self, reader: Reader, target: Target, viewer: str | None, /
    ) -> Iterator[LogPosition]:
        """Return the positions of the operations that an erasure of the target removes."""
        return positions_of(reader, target, viewer)

    def places_from(self, reader: Reader, sources: Sequence[str], /) -> Iterator[LogPosition]:
        """Return the positions of facts with any of these memories or transcripts as source."""
        return positions_from(reader, sources)

    def names(self, reader: Reader, target: Target, /) -> list[Name]:
        """Return the name of an entity and its aliases."""
        return names_of_entity(reader, target)

    def eraser(self, writer: Writer, /) -> GraphEraser:
        """Return the eraser, which takes statements out, or applies what remains again."""
        return GraphEraser(writer, self._apply_scope, self._apply_namespace, self._singles)

    def compaction_eraser(self, writer: Writer, /) -> GraphTrimmer:
        """Return the trimmer, which deletes the statements that a compaction erased."""
        return GraphTrimmer(writer)

    def _apply_scope(self, writer: Writer, commit: Commit, scope: Scope) -> None:
        """Apply a commit's operations of one scope again, except cardinalities.

        Those belong to a namespace, not to a scope: their rows were not deleted.
        """
        operations = (
            (position, operation)
            for position, operation in enumerate(commit.operations)
            if operation.scope == scope and not isinstance(operation, (Classify, Configure))
        )
        self._apply_operations(writer, commit, operations, self._graphs_of)

    def _apply_namespace(self, writer: Writer, commit: Commit, namespace: str) -> None:
        """Apply a commit's operations of one namespace again, except its settings."""
        operations = _in_namespace(commit.operations, namespace)
        self._apply_operations(writer, commit, operations, self._graphs_of)

    def _apply_operations(
        self,
        writer: Writer,
        commit: Commit,
        operations: Iterable[tuple[int, AnyOperation]],
        graphs_of: Graphs,
    ) -> None:
        """Apply operations in order; withdrawals in a row are applied together."""
        timelines = self._timeline_writer(writer, commit)
        withdrawals: list[Withdraw] = []
        for position, operation in operations:
            if isinstance(operation, Withdraw):
                withdrawals.append(operation)
                continue
            self._withdraw(timelines, commit, withdrawals)
            if applier := self._appliers.get(type(operation)):
                for graph in graphs_of(writer, operation):
                    applier(timelines, commit, position, operation, graph)
            elif isinstance(operation, Classify):
                self._classify(timelines, commit, operation)
            elif isinstance(operation, Configure) and FACTS in operation.settings:
                self._share(timelines.flush(), commit, position, operation)
        self._withdraw(timelines, commit, withdrawals)
        timelines.flush()

    def _graphs_of(self, writer: Writer, operation: AnyOperation) -> Iterable[Scope]:
        """Return the graph of the operation's agent and, if it is public, the shared graph."""
        if operation.private or not self._nodes.has_shared_graph(writer, operation.namespace):
            return (operation.scope,)
        return (operation.scope, shared_scope(operation.namespace))

    def _withdraw(
        self, timelines: TimelineWriter, commit: Commit, operations: list[Withdraw]
    ) -> None:
        if operations:
            withdraw_statements(timelines, commit.commit_ts, operations, self._singles)
            operations.clear()

    def _timeline_writer(self, writer: Writer, commit: Commit) -> TimelineWriter:
        """Return the timeline writer of a commit, which reports changes unless it is a bulk."""
        if len(commit.operations) > _MAX_TRACKED_OPERATIONS:
            return TimelineWriter(writer, lambda _, __: None)
        return TimelineWriter(writer, partial(self._effects.note, commit.commit_ts))

    def drop_caches(self) -> None:
        """Drop cached nodes, cardinalities and effects."""
        self._nodes.forget()
        self._effects.forget()

    def _state(
        self,
        timelines: TimelineWriter,
        commit: Commit,
        position: int,
        operation: Assert | End,
        scope: Scope,
    ) -> None:
        """Add a statement to a graph, and update its timeline there."""
        commit_ts, writer = commit.commit_ts, timelines.writer
        is_own = scope.agent_id == operation.agent_id and scope.namespace == operation.namespace
        at, bound = times_of(commit.operations, position, commit.committed_at)
        subject = self._nodes.get(writer, scope, operation.subject, commit_ts)
        relation = self._nodes.get(writer, scope, operation.relation, commit_ts).id
        name = operation.object
        object_ = _ANY_OBJECT if name is None else self._nodes.get(writer, scope, name, commit_ts)
        asserts, source = isinstance(operation, Assert), operation.source
        row = (
            operation.assertion_id,
            int(asserts),
            subject.id,
            relation,
            object_.id,
            subject.root,
            object_.root,
            at,
            bound,
            commit_ts,
            position,
            commit.committed_at,
            operation.confidence if isinstance(operation, Assert) else None,
            None if source is None else codec.encode(source),
            int(operation.private),
            0 if is_own else self._nodes.graph_of(writer, operation.scope),
        )
        timelines.add_statement(
            (subject.root, relation),
            make_statement((at, commit_ts, position), asserts, object_.root or None, bound),
            row,
            single=self._nodes.is_single(writer, scope.namespace, operation.relation.key),
            new=subject.created_in == commit_ts,
        )

    def _classify(self, timelines: TimelineWriter, commit: Commit, operation: Classify) -> None:
        """Change a relation's cardinality, and derive all timelines of the relation again."""
        writer = timelines.flush()
        namespace, relation = operation.namespace, operation.relation.key
        before = self._nodes.is_single(writer, namespace, relation)
        values = {
            "namespace": namespace,
            "relation": relation,
            "commit_ts": commit.commit_ts,
            "single": int(operation.single),
        }
        writer.run("graph_cardinality_close", **values)
        writer.run("graph_cardinality_put", **values)
        self._nodes.forget()
        if before != operation.single:
            query = "graph_timelines_of_relation"
            for row in writer.rows(query, namespace=namespace, relation=relation):
                Timeline(writer, *row).rebuild(single=operation.single)

    def _share(self, writer: Writer, commit: Commit, position: int, operation: Configure) -> None:
        """Note whether a namespace shares its facts, and make the shared graphs this needs.

        Once made, a shared graph is kept up to date, whatever the setting is.
        """
        namespaces = [
            row[0] for row in writer.rows("graph_namespaces_below", namespace=operation.namespace)
        ]
        new = [name for name in namespaces if not self._nodes.has_shared_graph(writer, name)]
        writer.run(
            "graph_sharing_put",
            namespace=operation.namespace,
            commit_ts=commit.commit_ts,
            shared=operation.settings[FACTS],
        )
        self._nodes.forget()
        for namespace in new if operation.settings[FACTS] else ():
            self._make_shared_graph(writer, namespace, commit, position)

    def _make_shared_graph(
        self, writer: Writer, namespace: str, commit: Commit, position: int
    ) -> None:
        """Apply the public operations of a namespace, up to a position, to its shared graph."""

        def graphs_of(_: Writer, operation: AnyOperation) -> Iterable[Scope]:
            return () if operation.private else (shared_scope(namespace),)

        rows = writer.rows("graph_commits_of_namespace", namespace=namespace)
        commits = [commit_ts for (commit_ts,) in rows if commit_ts < commit.commit_ts]
        for event in pages.events_of(self.log or writer, commits):
            earlier = Commit.of(event)
            operations = _in_namespace(earlier.operations, namespace)
            self._apply_operations(writer, earlier, operations, graphs_of)
        operations = _in_namespace(commit.operations[:position], namespace)
        self._apply_operations(writer, commit, operations, graphs_of)

    def _mention(
        self,
        timelines: TimelineWriter,
        commit: Commit,
        _: int,
        operation: NamesResidue,
        scope: Scope,
    ) -> None:
        """Add names whose first mention was erased, so that their nodes keep their order."""
        for name in operation.names:
            self._nodes.get(timelines.writer, scope, name, commit.commit_ts)

    def _alias(
        self, timelines: TimelineWriter, commit: Commit, _: int, operation: Alias, scope: Scope
    ) -> None:
        self._merge_nodes(timelines, commit, scope, operation.alias, operation.entity)

    def _merge(
        self, timelines: TimelineWriter, commit: Commit, _: int, operation: Merge, scope: Scope
    ) -> None:
        self._merge_nodes(timelines, commit, scope, operation.source, operation.into)

    def _merge_nodes(
        self,
        timelines: TimelineWriter,
        commit: Commit,
        scope: Scope,
        source: Name,
        target: Name,
    ) -> None:
        """Let a name, with all its aliases, mean the entity that another name means.

        Nothing is renamed. Every node points to the node it means, its root, and statements carry
        the roots of their subject and object. So a merge moves these pointers:

        1. Find the timelines of the entity that goes: those it is the subject of, and those in
           which it is an object.
        2. Delete their intervals, and point their objects to the root that stays.
        3. Keep each name's old root in `graph_root`, until this commit: reads as of an earlier
           commit still see two entities.
        4. Point the names and the subjects of statements to the root that stays.
        5. Derive these timelines again. Where the entity was the subject, its timeline is now part
           of the one of the same relation of the root that stays.
        """
        writer, commit_ts = timelines.flush(), commit.commit_ts
        into = self._nodes.get(writer, scope, target, commit_ts).root
        entity = self._nodes.get(writer, scope, source, commit_ts).root
        if entity == into:
            return
        touched = writer.rows("graph_timelines_touched", entity=entity)
        for subject, relation in touched:
            writer.run("graph_timeline_drop", subject=subject, relation=relation)
            writer.run(
                "graph_objects_point",
                subject=subject,
                relation=relation,
                entity=entity,
                into=into,
            )
        writer.run("graph_roots_keep", commit_ts=commit_ts, entity=entity)
        writer.run("graph_nodes_point", entity=entity, into=into)
        writer.run("graph_subjects_point", entity=entity, into=into)
        self._nodes.forget()
        changed = {(into if s == entity else s, r) for s, r in touched}
        singles = self._singles(writer, [relation for _, relation in changed])
        for subject, relation in changed:
            Timeline(writer, subject, relation).rebuild(single=singles[relation])

    def _singles(self, reader: Reader, relations: Sequence[int]) -> dict[int, bool]:
        """Say of relations, given by their node ids, whether they are single-valued."""
        singles: dict[int, bool] = {}
        for chunk in pages.chunks([(relation,) for relation in dict.fromkeys(relations)]):
            rows_of_each = reader.rows_each("graph_relation_scope", chunk)
            names = [(namespace, key) for ((namespace, key),) in rows_of_each]
            self._nodes.look_up_singles(reader, names)
            for (relation,), name in zip(chunk, names, strict=True):
                singles[relation] = self._nodes.is_single(reader, *name)
        return singles


def _in_namespace(
    operations: Iterable[AnyOperation], namespace: str
) -> Iterator[tuple[int, AnyOperation]]:
    """Yield the operations of a namespace with their positions, except its settings."""
    for position, operation in enumerate(operations):
        if operation.namespace == namespace and not isinstance(operation, (Classify, Configure)):
            yield position, operation
