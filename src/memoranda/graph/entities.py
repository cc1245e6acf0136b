"""Nodes: the numbers that stand for entities, literals and relations in the tables."""

from __future__ import annotations

import msgspec

from memoranda.log.scopes import Scopes
from memoranda.model.graph_operations import Name
from memoranda.model.scope import Scope
from memoranda.storage.port import Reader, Writer

_MOST = 50_000


class Node(msgspec.Struct, frozen=True, gc=False):
    """A name's number, and that of what it means now."""

    id: int
    root: int
    new_in: int | None = None
    """The commit that brought it, where it is known to have, and to mean nothing older."""


class Nodes:
    """Remembers the nodes it has seen. What one means changes only by `point`."""

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._known: dict[tuple[str, str, str, str], Node] = {}
        self._single: dict[tuple[str, str], bool] = {}
        self._last: int | None = None
        """The highest number that was given."""

    def of(self, writer: Writer, scope: Scope, name: Name, commit_ts: int) -> Node:
        """Return a name's node; one that is new means itself."""
        which = (scope.agent_id, scope.namespace, name.kind, name.key)
        known = self._known.get(which)
        if known is None:
            scope_id = self._scopes.id_of(writer, scope.agent_id, scope.namespace)
            row = writer.find("graph_node_find", scope_id, name.kind, name.key)
            known = Node(*row) if row else self._add(writer, scope_id, name, commit_ts)
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[which] = known
        return known

    def _add(self, writer: Writer, scope_id: int, name: Name, commit_ts: int) -> Node:
        """Give a name the next number."""
        if self._last is None:
            row = writer.find("graph_node_last")
            assert row is not None, "a maximum has a row"
            self._last = int(row[0])
        self._last += 1
        writer.put(
            "graph_node_add", self._last, scope_id, name.kind, name.key, name.text, commit_ts
        )
        return Node(self._last, self._last, commit_ts)

    def is_single(self, reader: Reader, namespace: str, relation: str) -> bool:
        """Say whether a relation has one object at a time in a namespace."""
        known = self._single.get((namespace, relation))
        if known is None:
            row = reader.row("graph_cardinality_find", namespace=namespace, relation=relation)
            known = self._single[namespace, relation] = row is not None and bool(row[0])
        return known

    def forget(self) -> None:
        """Remember nothing: a node, its root or a cardinality may not be as it was."""
        self._known.clear()
        self._single.clear()
        self._last = None
        self._scopes.forget()
