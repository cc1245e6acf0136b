"""Removal of erased statements from a graph, where nothing else in it changes.

Intervals depend on statements, so the timeline of a statement that goes is updated. Node ids depend
on the order of first mention. A name whose first mention goes is mentioned nowhere else, and its
node goes too; or it has another first mention now, and its node gets an id at that place: node ids
leave room for others between them. Where that is not enough, the graph is filled again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memoranda.graph.entities import NODE_ID_STEP
from memoranda.graph.timeline_store import SingleRelations, remove_statements
from memoranda.log.views import Commit, RewrittenEvent
from memoranda.model.operations import (
    Alias,
    AnyOperation,
    Assert,
    End,
    Merge,
    NamesResidue,
    Withdraw,
)
from memoranda.model.operations.graph import RELATION, Name
from memoranda.model.scope import Scope
from memoranda.storage.port import Writer

MAX_REMOVED_STATEMENTS = 256
"""Statements that are taken out one by one: more are forgotten with most of their graph."""


class StatementRemoval:
    """The statements that an erasure takes out of the graph of one scope."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._statements: list[tuple[int, int, Assert | End]] = []
        """The commit and the position of each statement, and the statement."""
        self._withdrawn_ids: set[str] = set()
        self._operations_after: dict[int, Sequence[AnyOperation]] = {}
        """The operations of each commit after the erasure."""
        self.is_possible = True
        """Whether only statements were erased so far; if not, the graph is to be filled again."""

    def add(
        self,
        rewritten: RewrittenEvent,
        position: int,
        before: AnyOperation,
        after: AnyOperation,
    ) -> None:
        """Note an operation on the graph that was erased, and what is in its place."""
        commit = rewritten.after
        is_gone = after.scope == before.scope and not isinstance(after, _MENTIONING)
        if isinstance(before, Assert | End) and is_gone:
            self._statements.append((commit.commit_ts, position, before))
            self._operations_after[commit.commit_ts] = commit.operations
            if _has_remaining_part(commit.operations, position, before):
                self.is_possible = False
        elif isinstance(before, Withdraw) and is_gone and not isinstance(after, Withdraw):
            self._withdrawn_ids.add(before.assertion_id)
        else:
            self.is_possible = False

    def run(self, writer: Writer, singles: SingleRelations) -> bool:
        """Take the statements out; return False if the graph is to be filled again."""
        erased_ids = {statement.assertion_id for _, _, statement in self._statements}
        if (
            not self.is_possible
            or len(self._statements) > MAX_REMOVED_STATEMENTS
            or not self._withdrawn_ids <= erased_ids
        ):
            return False
        rows: dict[int, None] = {}
        first_mentions: dict[int, None] = {}
        for commit_ts, position, statement in self._statements:
            matches = writer.rows(
                "graph_statement_by_position",
                assertion_id=statement.assertion_id,
                commit_ts=commit_ts,
                position=position,
            )
            if len(matches) != 1:
                return False
            ((row_id, *node_ids),) = matches
            rows[row_id] = None
            for node_id in filter(None, node_ids):
                mention = self._next_mention(writer, node_id, commit_ts)
                if mention is None or mention > position:
                    first_mentions[node_id] = None
        remove_statements(writer, [*rows], singles)
        return all(self._place_node(writer, node_id) for node_id in first_mentions)

    def _next_mention(self, writer: Writer, node_id: int, commit_ts: int) -> int | None:
        """Return the position of the first mention of a name that remains in a commit.

        None: there is none, and no earlier commit mentions it. If one does, return -1.
        """
        row = writer.row("graph_node_get", id=node_id)
        assert row is not None, "a statement names nodes"
        kind, key, first_commit = row
        if first_commit < commit_ts:
            return -1
        for position, operation in enumerate(self._operations_after[commit_ts]):
            if operation.scope == self._scope and any(
                (name.kind, name.key) == (kind, key) for name in names_in(operation)
            ):
                return position
        return None

    def _place_node(self, writer: Writer, node_id: int) -> bool:
        """Delete or move the node of a name whose first mention went; return False if it cannot."""
        row = writer.row("graph_node_get", id=node_id)
        assert row is not None, "it was just there"
        kind, key, commit_ts = row
        after = self._operations_after[commit_ts]
        if writer.row("graph_node_merged", id=node_id) is not None or any(
            (name.kind, name.key) == (kind, key)
            for operation in after
            if operation.scope == self._scope and not isinstance(operation, Assert | End)
            for name in names_in(operation)
        ):
            return False
        first = writer.row("graph_node_first_mention", id=node_id)
        if first is None:
            writer.run("graph_node_drop", id=node_id)
            return True
        return kind != RELATION and self._move_node(writer, node_id, (kind, key), first[0])

    def _move_node(
        self, writer: Writer, node_id: int, name_key: tuple[str, str], commit_ts: int
    ) -> bool:
        """Give a node an id at the place of its first mention; return False if there is no room."""
        names: dict[tuple[str, str], Name] = {}
        for operation in Commit.load(writer, commit_ts).operations:
            for name in names_in(operation) if operation.scope == self._scope else ():
                names.setdefault((name.kind, name.key), name)
        order = [*names]
        earlier = order[: order.index(name_key)]
        values = {"id": node_id, "commit_ts": commit_ts}
        row = writer.row("graph_node_before", **values, earlier=[list(item) for item in earlier])
        before = 0 if row is None else row[0]
        row = writer.row("graph_node_next", id=before)
        new_id = before + NODE_ID_STEP if row is None else (before + row[0]) // 2
        if new_id == before:
            return False
        writer.run("graph_node_move", **values, new_id=new_id, name=names[name_key].text)
        for query in _MOVES:
            writer.run(query, id=node_id, new_id=new_id)
        return True


_MOVES = (
    "graph_subjects_move",
    "graph_objects_move",
    "graph_ended_objects_move",
    "graph_edge_subjects_move",
    "graph_edge_objects_move",
)
"""Queries that let the rows of statements and intervals name a node by its new id."""


def names_in(operation: AnyOperation) -> Iterator[Name]:
    """Yield the names that an operation mentions, in the order in which they get their nodes."""
    names: tuple[Name | None, ...] = ()
    if isinstance(operation, Assert | End):
        names = (operation.subject, operation.relation, operation.object)
    elif isinstance(operation, Alias):
        names = (operation.entity, operation.alias)
    elif isinstance(operation, Merge):
        names = (operation.into, operation.source)
    elif isinstance(operation, NamesResidue):
        names = operation.names
    yield from (name for name in names if name is not None)


_MENTIONING = (Assert, End, Alias, Merge, NamesResidue)


def _has_remaining_part(
    operations: Sequence[AnyOperation], position: int, before: Assert | End
) -> bool:
    """Say whether the assertion of an end, or the end of an assertion, remains beside it."""
    return any(
        isinstance(neighbour, Assert | End) and neighbour.assertion_id == before.assertion_id
        for neighbour in operations[max(position - 1, 0) : position + 2]
    )
