"""Removal of erased statements from a graph, where nothing else in it changes.

Intervals depend on statements, and node ids on the order of first mention. So a statement can be
taken out alone if every name in it was mentioned before it, or is mentioned nowhere else. Then only
its timelines change, and the nodes of names that nothing mentions any more go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memoranda.graph.timeline_store import IsSingle, remove_statements
from memoranda.log.views import RewrittenEvent
from memoranda.model.operations import (
    Alias,
    AnyOperation,
    Assert,
    End,
    Merge,
    NamesResidue,
    Withdraw,
)
from memoranda.model.operations.graph import Name
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

    def run(self, writer: Writer, is_single: IsSingle) -> bool:
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
                if mention is None:
                    first_mentions[node_id] = None
                elif mention > position:
                    return False
        remove_statements(writer, [*rows], is_single)
        return _drop_nodes(writer, [*first_mentions])

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


def names_in(operation: AnyOperation) -> Iterator[Name]:
    """Yield the names that an operation mentions, each of which has a node."""
    names: tuple[Name | None, ...] = ()
    if isinstance(operation, Assert | End):
        names = (operation.subject, operation.relation, operation.object)
    elif isinstance(operation, Alias):
        names = (operation.entity, operation.alias)
    elif isinstance(operation, Merge):
        names = (operation.source, operation.into)
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


def _drop_nodes(writer: Writer, node_ids: list[int]) -> bool:
    """Delete the nodes of names that are not mentioned any more; return False if one is.

    A name that is still mentioned has another first mention now, so that its node has another place
    in the order of nodes.
    """
    if not node_ids:
        return True
    for query in ("graph_node_in_use", "graph_node_as_relation", "graph_node_in_end"):
        if writer.row(query, nodes=node_ids) is not None:
            return False
    writer.run("graph_nodes_drop", nodes=node_ids)
    return True
