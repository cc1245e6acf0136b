"""The graph view: applying what was said of facts to the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from memoranda.graph import requests
from memoranda.graph.derive import said_at
from memoranda.graph.effects import Effects
from memoranda.graph.erasing import GraphEraser, names_of, places_of
from memoranda.graph.keeping import GraphKeeper
from memoranda.graph.nodes import Node, Nodes
from memoranda.graph.queries import timeline_changed
from memoranda.graph.rules import GraphRules
from memoranda.graph.saying import Saying
from memoranda.graph.timelines import Timeline
from memoranda.graph.times import bound_of, instant_of
from memoranda.graph.trimming import GraphTrimmer
from memoranda.graph.withdrawing import withdraw
from memoranda.log.retaining import Retained
from memoranda.log.scopes import Scopes
from memoranda.log.views import Commit, LookUp, View
from memoranda.model import codec
from memoranda.model.erasure import Place, Target
from memoranda.model.graph_operations import Name
from memoranda.model.ids import IdSource
from memoranda.model.operations import (
    Alias,
    AnyOperation,
    Assert,
    AssertPrivately,
    Classify,
    End,
    EndFrom,
    EndPrivately,
    Mentioned,
    Merge,
    Withdraw,
    WithdrawPrivately,
)
from memoranda.model.refs import FactRef
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader, Writer

_ANSWERED = 16
"""How many operations a commit has at most for its effects to be remembered."""
_NOTHING = Node(0, 0)
"""Stands for the object of an end of whatever there is."""


class GraphView(View):
    """Names, what was said of them, and what holds: current belief in full, the rest to derive."""

    name = "graph"
    version = 2
    staged = (
        requests.AssertFact,
        requests.AssertFactAs,
        requests.EndFact,
        requests.EndFactFrom,
        requests.EndFactAs,
        requests.RetractAssertion,
        requests.RetractFact,
        requests.SetCardinality,
        requests.AliasEntity,
        requests.MergeEntities,
    )
    referred = (FactRef,)
    tracked = (requests.TimelineRead,)
    clear = (
        "graph_edge_clear",
        "graph_statement_clear",
        "graph_cardinality_clear",
        "graph_root_clear",
        "graph_node_clear",
    )
    rows = (
        "graph_node_rows",
        "graph_root_rows",
        "graph_cardinality_rows",
        "graph_statement_rows",
        "graph_edge_rows",
    )

    def __init__(self, scopes: Scopes, effects: Effects) -> None:
        self._nodes = Nodes(scopes)
        self._effects = effects
        self._appliers: Mapping[type, Callable[[Saying, Commit, int, Any], None]] = {
            Assert: self._state,
            AssertPrivately: self._state,
            End: self._state,
            EndFrom: self._state,
            EndPrivately: self._state,
            Classify: self._classify,
            Alias: self._alias,
            Merge: self._merge,
            Mentioned: self._mention,
        }
        self.applied = frozenset({*self._appliers, Withdraw, WithdrawPrivately})

    def rules(self, reader: Reader, look_up: LookUp, /) -> GraphRules:
        """Return the rules for one transaction."""
        return GraphRules(reader, look_up)

    def changed(self, reader: Reader, read: requests.TimelineRead, since: int, /) -> bool:
        """Say whether anything that the timeline follows from has changed since."""
        return timeline_changed(reader, read, since)

    def keeper(self, notes: Retained, ids: IdSource, /) -> GraphKeeper:
        """Return who says what stays when a namespace is summed up."""
        return GraphKeeper(notes, ids)

    def apply(self, writer: Writer, commit: Commit, /) -> None:
        """Bring the tables from before the commit to after it."""
        self._apply_each(writer, commit, enumerate(commit.operations))

    def places(self, reader: Reader, target: Target, viewer: str | None, /) -> Iterator[Place]:
        """Return where the log has an assertion, what names an entity, or what a source gave."""
        return places_of(reader, target, viewer)

    def names(self, reader: Reader, target: Target, /) -> list[Name]:
        """Return the name of an entity, and its aliases."""
        return names_of(reader, target)

    def eraser(self, writer: Writer, /) -> GraphEraser:
        """Return what derives anew what is left of facts."""
        return GraphEraser(writer, self._again)

    def trimmer(self, writer: Writer, /) -> GraphTrimmer:
        """Return what drops what a compaction erases."""
        return GraphTrimmer(writer)

    def _again(self, writer: Writer, commit: Commit, scope: Scope) -> None:
        """Apply what a commit says of one scope's facts; what relations are like stays known."""
        self._apply_each(
            writer,
            commit,
            (
                (position, operation)
                for position, operation in enumerate(commit.operations)
                if operation.scope == scope and not isinstance(operation, Classify)
            ),
        )

    def _apply_each(
        self, writer: Writer, commit: Commit, operations: Iterable[tuple[int, AnyOperation]]
    ) -> None:
        """Apply operations in order; what is taken back in one go is taken together."""
        saying = self._saying(writer, commit)
        withdrawals: list[Withdraw] = []
        for position, operation in operations:
            if isinstance(operation, Withdraw):
                withdrawals.append(operation)
            elif applier := self._appliers.get(type(operation)):
                self._withdraw(saying, commit, withdrawals)
                applier(saying, commit, position, operation)
        self._withdraw(saying, commit, withdrawals)
        saying.settled()

    def _withdraw(self, saying: Saying, commit: Commit, operations: list[Withdraw]) -> None:
        if operations:
            withdraw(saying, commit.commit_ts, operations, self._is_single)
            operations.clear()

    def _saying(self, writer: Writer, commit: Commit) -> Saying:
        """Return who gathers what a commit says; in bulk, nobody asks what a statement did."""
        if len(commit.operations) > _ANSWERED:
            return Saying(writer, lambda _, __: None)
        return Saying(writer, partial(self._effects.note, commit.commit_ts))

    def forget(self) -> None:
        """Drop what is remembered of nodes, cardinalities and effects."""
        self._nodes.forget()
        self._effects.forget()

    def _state(
        self, saying: Saying, commit: Commit, position: int, operation: Assert | End
    ) -> None:
        """Add a statement, and let its timeline follow."""
        scope, commit_ts, writer = operation.scope, commit.commit_ts, saying.writer
        at = instant_of(commit.operations, position, commit.committed_at)
        bound = bound_of(commit.operations, position, commit.committed_at)
        subject = self._nodes.of(writer, scope, operation.subject, commit_ts)
        relation = self._nodes.of(writer, scope, operation.relation, commit_ts).id
        named = operation.object
        object_ = _NOTHING if named is None else self._nodes.of(writer, scope, named, commit_ts)
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
        )
        saying.say(
            (subject.root, relation),
            said_at((at, commit_ts, position), asserts, object_.root or None, bound),
            row,
            single=self._nodes.is_single(writer, scope.namespace, operation.relation.key),
            new=subject.new_in == commit_ts,
        )

    def _classify(self, saying: Saying, commit: Commit, _: int, operation: Classify) -> None:
        """Change a cardinality, and derive what was said of the relation anew."""
        writer = saying.settled()
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

    def _mention(self, saying: Saying, commit: Commit, _: int, operation: Mentioned) -> None:
        """Keep names that came up in what is gone."""
        for name in operation.names:
            self._nodes.of(saying.writer, operation.scope, name, commit.commit_ts)

    def _alias(self, saying: Saying, commit: Commit, _: int, operation: Alias) -> None:
        self._unite(saying, commit, operation, operation.alias, operation.entity)

    def _merge(self, saying: Saying, commit: Commit, _: int, operation: Merge) -> None:
        self._unite(saying, commit, operation, operation.source, operation.into)

    def _unite(
        self, saying: Saying, commit: Commit, operation: Alias | Merge, one: Name, other: Name
    ) -> None:
        """Let a name, and all that means the same, mean what another one means."""
        writer, commit_ts = saying.settled(), commit.commit_ts
        into = self._nodes.of(writer, operation.scope, other, commit_ts).root
        entity = self._nodes.of(writer, operation.scope, one, commit_ts).root
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
        for subject, relation in {(into if s == entity else s, r) for s, r in touched}:
            single = self._is_single(writer, relation)
            Timeline(writer, subject, relation).rebuild(single=single)

    def _is_single(self, reader: Reader, relation: int) -> bool:
        row = reader.row("graph_relation_place", relation=relation)
        assert row is not None, "a relation has a place"
        return self._nodes.is_single(reader, *row)
