"""Visibility: the operations a reader asks for and may see, and masks for private references.

Private operations are not shown to other agents at all. Other operations may rest on private items,
and are shown without those references.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import msgspec
from msgspec.structs import replace

from memoranda.errors import InvalidInput
from memoranda.log import pages
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import plain_text, short_repr
from memoranda.model.memory import inbox_of
from memoranda.model.operations import (
    AUDIT_SCOPE,
    ENGINE_SCOPE,
    AnyOperation,
    Assert,
    End,
    OperationType,
    Write,
)
from memoranda.model.refs import FactRef, MemoryRef, Ref
from memoranda.model.scope import ALL_AGENTS, ALL_NAMESPACES, AllAgents, AllNamespaces
from memoranda.model.suggestions import did_you_mean
from memoranda.storage.port import Engine, Reader

# Selections: which operations of the log a reader asks for.

_ENGINE_NAMESPACES = (ENGINE_SCOPE.namespace, AUDIT_SCOPE.namespace)

Kinds = Iterable[OperationType | str] | None
"""Kinds of operation, as `OperationType` or by name; None: all of them."""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The agent, namespace, kinds and key prefix of the operations a reader asks for."""

    agent_id: str | AllAgents
    namespace: str | AllNamespaces
    kinds: frozenset[OperationType] | None = None
    prefix: str = ""
    viewer: str | None = None
    """The agent that reads: it is not shown others' private operations. None: show everything."""

    def part_of(self, event: ReplayEvent) -> ReplayEvent | None:
        """Return the event with only its selected operations; None if there are none."""
        operations = event.operations
        if len(operations) == 1:  # the most frequent case
            return event if self.includes(operations[0]) else None
        matches = [operation for operation in operations if self.includes(operation)]
        if not matches:
            return None
        return event if len(matches) == len(operations) else event.only(matches)

    def includes(self, operation: AnyOperation) -> bool:
        """Return whether an operation is selected."""
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
        """Return whether a scope is selected; "all" excludes the engine's own namespaces."""
        if self.namespace is not ALL_NAMESPACES and self.namespace != namespace:
            return False
        if self.agent_id is not ALL_AGENTS:
            return self.agent_id == agent_id
        return self.namespace is not ALL_NAMESPACES or namespace not in _ENGINE_NAMESPACES


def check_kinds(kinds: object) -> frozenset[OperationType] | None:
    """Return the operation types a caller names, as types or names; None means all."""
    if kinds is None:
        return None
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        kinds = (kinds,)
    return frozenset(_check_kind(kind) for kind in kinds)


def plain_kinds(kinds: Kinds) -> tuple[str, ...] | None:
    """Return kinds of operation as plain data, which `check_kinds` accepts."""
    checked = check_kinds(kinds)
    return None if checked is None else tuple(sorted(kind.value for kind in checked))


def select_notices(
    kinds: Kinds, namespace: str | AllNamespaces | None, prefix: str
) -> tuple[Kinds, str | AllNamespaces]:
    """Return the kinds and the namespace of notices: one namespace's, or those of all."""
    for field, value in (("kinds", kinds), ("prefix", prefix)):
        if value:
            raise InvalidInput(field, "cannot be combined with notices, which are of one kind")
    if namespace is None or namespace is ALL_NAMESPACES:
        return (OperationType.NOTIFY,), ALL_NAMESPACES
    return (OperationType.NOTIFY,), inbox_of(plain_text("namespace", namespace))


def _check_kind(kind: object) -> OperationType:
    if isinstance(kind, OperationType):
        return kind
    if isinstance(kind, str) and kind.upper() in OperationType.__members__:
        return OperationType[kind.upper()]
    names = sorted(OperationType.__members__)
    hint = did_you_mean(kind, names) if isinstance(kind, str) else ""
    raise InvalidInput("kinds", f"{short_repr(kind)} is not one of {', '.join(names)}{hint}")


# Merging: the commits of several scopes in order, each once.


def commits_of(
    engine: Engine, scopes: Sequence[int], *, after: int, through: int
) -> Iterator[tuple[int, list[int]]]:
    """Yield the commits that touched any of the scopes, in order, each with the scopes it touched.

    Numbers are small, so reading ahead in one scope costs little.
    """
    limit = max(pages.PAGE_ROWS // max(len(scopes), 1), 8)
    streams = [_commits_of_one(engine, scope_id, after, through, limit) for scope_id in scopes]
    for commit_ts, group in groupby(heapq.merge(*streams), key=itemgetter(0)):
        yield commit_ts, [scope_id for _, scope_id in group]


def _commits_of_one(
    engine: Engine, scope_id: int, after: int, through: int, limit: int
) -> Iterator[tuple[int, int]]:
    while after < through:
        with engine.reading() as reader:
            rows = reader.rows(
                "commits_of_scope", scope_id=scope_id, after=after, through=through, limit=limit
            )
        if not rows:
            return
        for (commit_ts,) in rows:
            yield commit_ts, scope_id
        after = rows[-1][0]


# Masking: remove references to other agents' private items.


def mask_private(reader: Reader, events: Sequence[ReplayEvent], viewer: str) -> list[ReplayEvent]:
    """Return events as an agent may see them."""
    refs = [ref for event in events for op in event.operations for ref in _references(op, viewer)]
    if not refs:
        return [*events]
    hidden = _hidden(reader, refs, viewer)
    return [_mask_event(event, hidden, viewer) for event in events] if hidden else [*events]


def _references(operation: AnyOperation, viewer: str) -> Iterator[Ref]:
    """Yield the references in an operation of another agent."""
    if operation.agent_id == viewer:
        return
    if isinstance(operation, Assert | End) and operation.source is not None:
        yield operation.source
    elif isinstance(operation, Write):
        yield from operation.because


def _hidden(reader: Reader, refs: Iterable[Ref], viewer: str) -> set[Ref]:
    """Return the references to private items of others."""
    memories = {ref.memory_id: None for ref in refs if isinstance(ref, MemoryRef)}
    facts = {ref.assertion_id: None for ref in refs if isinstance(ref, FactRef)}
    of_memories = reader.rows("memories_hidden", memory_ids=list(memories), viewer=viewer)
    of_facts = reader.rows("graph_assertions_private", ids=list(facts), viewer=viewer)
    ids = {row[0] for row in (*of_memories, *of_facts)}
    return {
        ref
        for ref in refs
        if (isinstance(ref, MemoryRef) and ref.memory_id in ids)
        or (isinstance(ref, FactRef) and ref.assertion_id in ids)
    }


def _mask_event(event: ReplayEvent, hidden: Collection[Ref], viewer: str) -> ReplayEvent:
    if not any(ref in hidden for op in event.operations for ref in _references(op, viewer)):
        return event
    return event.only(_mask_operation(operation, hidden, viewer) for operation in event.operations)


def _mask_operation(operation: AnyOperation, hidden: Collection[Ref], viewer: str) -> AnyOperation:
    if operation.agent_id == viewer:
        return operation
    if isinstance(operation, Write):
        return replace(
            operation, because=tuple(ref for ref in operation.because if ref not in hidden)
        )
    if isinstance(operation, Assert | End) and operation.source in hidden:
        return _without_source(operation)
    return operation


def _without_source(operation: Assert | End) -> Assert | End:
    """Return an assertion without its source."""
    if isinstance(operation, Assert):
        return replace(operation, source=None)
    return End(
        operation.namespace,
        operation.agent_id,
        operation.assertion_id,
        operation.subject,
        operation.relation,
        operation.object,
        operation.at,
    )
