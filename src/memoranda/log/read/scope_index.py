"""Scope ids: the small numbers that stand for agents in namespaces in the indexes."""

from __future__ import annotations

from collections.abc import Sequence

from memoranda.model.operations import AUDIT_SCOPE, AnyOperation
from memoranda.model.scope import NOBODY
from memoranda.storage.port import Writer

INDEX_VERSION = 3
"""Raised when other scopes are found, or more of them noted: stores are then indexed anew."""


class Scopes:
    """Remembers the ids it has seen. Ids never change once they are committed."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], int] = {}

    def id_of(self, writer: Writer, agent_id: str, namespace: str) -> int:
        """Return the id, giving a scope that is new the next one."""
        known = self._ids.get((agent_id, namespace))
        if known is not None:
            return known
        writer.run("scope_add", agent_id=agent_id, namespace=namespace)
        row = writer.row("scope_find", agent_id=agent_id, namespace=namespace)
        assert row is not None, "it was just added"
        self._ids[agent_id, namespace] = row[0]
        return int(row[0])

    def forget(self) -> None:
        """Drop every id: one of them may have been rolled back."""
        self._ids.clear()


def touched(actor: str, operations: Sequence[AnyOperation]) -> set[tuple[str, str]]:
    """Return the agents and namespaces an event is found under.

    They are those whose operations it has. Whoever else did something in it, to others or in vain,
    is found in the audit's namespace; a handle that nobody is bound to does no such thing.
    """
    if len(operations) == 1:  # as mostly, and mostly its own agent's
        (only,) = operations
        if getattr(only, "by", actor) in (only.agent_id, NOBODY, ""):
            return {(only.agent_id, only.namespace)}
    found = {(operation.agent_id, operation.namespace) for operation in operations}
    owners = {agent_id for agent_id, _ in found}
    for by in {getattr(operation, "by", actor) for operation in operations}:
        if by and by not in owners and by != NOBODY:
            found.add((by, AUDIT_SCOPE.namespace))
    return found
