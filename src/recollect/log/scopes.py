"""Scope ids: the small numbers that stand for agents in namespaces in the indexes."""

from __future__ import annotations

from recollect.storage.port import Writer


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
