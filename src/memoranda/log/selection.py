"""Selections: which operations of the log a reader asks for."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from memoranda.errors import InvalidInput
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import shown
from memoranda.model.operations import AUDIT_SCOPE, ENGINE_SCOPE, AnyOperation, OperationType
from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES, AllAgents, AllNamespaces

_ENGINES_OWN = (ENGINE_SCOPE.namespace, AUDIT_SCOPE.namespace)

Kinds = Iterable[OperationType | str] | None


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Whose operations, where, of which kinds, and at which addresses."""

    agent_id: str | AllAgents
    namespace: str | AllNamespaces
    kinds: frozenset[OperationType] | None = None
    prefix: str = ""
    viewer: str | None = None
    """Who looks: an agent is shown nothing that is private to another one. None: nobody, but all
    of it, as whoever holds the file could."""

    def part_of(self, event: ReplayEvent) -> ReplayEvent | None:
        """Return the event with what is asked for and nothing else; None if none of it is."""
        operations = event.operations
        if len(operations) == 1:  # as most have
            return event if self.includes(operations[0]) else None
        asked = [operation for operation in operations if self.includes(operation)]
        if not asked:
            return None
        return event if len(asked) == len(operations) else event.only(asked)

    def includes(self, operation: AnyOperation) -> bool:
        """Say whether an operation is asked for."""
        return (
            (
                (operation.agent_id == self.agent_id and operation.namespace == self.namespace)
                or self._includes_scope(operation.agent_id, operation.namespace)
            )
            and (self.kinds is None or operation.type in self.kinds)
            and (not self.prefix or operation.key.startswith(self.prefix))
            and (not operation.private or self.viewer in (None, operation.agent_id))
        )

    def _includes_scope(self, agent_id: str, namespace: str) -> bool:
        """All agents in all namespaces are the users': the engine's own are none of theirs."""
        if self.namespace is not ALL_NAMESPACES and self.namespace != namespace:
            return False
        if self.agent_id is not ALL_AGENTS:
            return self.agent_id == agent_id
        return self.namespace is not ALL_NAMESPACES or namespace not in _ENGINES_OWN


def check_kinds(kinds: object) -> frozenset[OperationType] | None:
    """Return the kinds a caller names, by themselves or by their names; None means all."""
    if kinds is None:
        return None
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        kinds = (kinds,)
    return frozenset(_check_kind(kind) for kind in kinds)


def _check_kind(kind: object) -> OperationType:
    if isinstance(kind, OperationType):
        return kind
    if isinstance(kind, str) and kind.upper() in OperationType.__members__:
        return OperationType[kind.upper()]
    known = ", ".join(sorted(OperationType.__members__))
    raise InvalidInput("kinds", f"{shown(kind)} is not one of {known}")
