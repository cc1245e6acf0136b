"""Keeping facts through a compaction: what was said and stands, and what something rests on."""

from __future__ import annotations

from recollect.log.retaining import Keeper, Retained
from recollect.model.erasure import Place
from recollect.model.graph_operations import Name
from recollect.model.ids import IdSource
from recollect.model.operations import AnyOperation, Assert, End, EndFrom, Mentioned, Withdraw
from recollect.model.refs import MemoryRef

_SALT_BYTES = 16


class GraphKeeper(Keeper):
    """Keeps the statements that stood at the horizon.

    Where something rests on a fact, all of its timeline stays: how the fact was believed when it
    was relied on follows from what was said by then. Names and cardinalities stay.
    """

    kinds = (Assert, End, EndFrom, Withdraw)

    def __init__(self, notes: Retained, ids: IdSource) -> None:
        self._notes = notes
        self._ids = ids

    def look(self, _: Place, operation: AnyOperation, /) -> None:
        """Note which memories facts, and the ends of facts, come from."""
        if isinstance(operation, (Assert, End)) and isinstance(operation.source, MemoryRef):
            self._notes.rely(operation.source)

    def settle(self) -> None:
        """Find the statements that stay."""
        notes = self._notes
        notes.writer.run("graph_retain", namespace=notes.namespace, horizon=notes.horizon)

    def left_of(self, place: Place, operation: AnyOperation, /) -> AnyOperation | None:
        """Return all of it, names that came up in it, or nothing."""
        if isinstance(operation, Withdraw):
            query, values = "graph_retained_find", {"assertion_id": operation.assertion_id}
            return operation if self._notes.writer.row(query, **values) else None
        if self._notes.keeps(place):
            return operation
        assert isinstance(operation, (Assert, End)), "nothing else is decided on here"
        if isinstance(operation, End) and self._belongs(place, operation):
            return None
        named = [operation.subject, operation.relation, operation.object]
        names = tuple(name for name in named if name and self._is_new(place, operation, name))
        if not names:
            return None
        if operation.source is not None:
            self._notes.keep(place)  # who forgets the source, forgets the names with it
            return operation
        scope, salt = operation.scope, self._ids.entropy(_SALT_BYTES)
        return Mentioned(scope.namespace, scope.agent_id, names, salt)

    def _belongs(self, place: Place, operation: End) -> bool:
        """Say whether an end was said with an assertion, which has the same names."""
        row = self._notes.writer.row(
            "graph_asserted_with", assertion_id=operation.assertion_id, commit_ts=place[0]
        )
        return row is not None

    def _is_new(self, place: Place, operation: Assert | End, name: Name) -> bool:
        """Say whether a name came up in this commit for the first time."""
        row = self._notes.writer.row(
            "graph_node_begun",
            agent_id=operation.agent_id,
            namespace=operation.namespace,
            kind=name.kind,
            key=name.key,
        )
        return row == (place[0],)
