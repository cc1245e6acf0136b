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
from memoranda.model.coverage import Coverage
from memoranda.model.event import ReplayEvent
from memoranda.model.limits import plain_text, short_repr
from memoranda.model.memory import inbox_of
from memoranda.model.operations import (
    AUDIT_SCOPE,
    ENGINE_SCOPE,
    AddLink,
    AnyOperation,
    Assert,
    CloseLink,
    End,
    OperationType,
    Write,
)
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, Ref, TranscriptRef
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
    coverage: Coverage | None = None
    """The agents and namespaces that the reader's authority extends to; None: all."""

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
                or self.includes_scope(operation.agent_id, operation.namespace)
            )
            and (self.kinds is None or operation.type in self.kinds)
            and (not self.prefix or operation.key.startswith(self.prefix))
            and (not operation.private or self.viewer in (None, operation.agent_id))
            and (
                self.coverage is None
                or self.coverage.covers(operation.namespace, operation.agent_id)
            )
        )

    @property
    def needs_scopes_only(self) -> bool:
        """Whether the scope of an operation tells whether it is selected, and shown as it is."""
        return (
            self.kinds is None
            and not self.prefix
            and self.coverage is None
            and self.viewer in (None, self.agent_id)
        )

    def includes_scope(self, agent_id: str, namespace: str) -> bool:
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


def scopes_in(
    reader: Reader, namespace: str | AllNamespaces, *, after: int, through: int
) -> list[int]:
    """Return the scopes of all agents that some commits touched, in a namespace or in all.

    All namespaces are those of users, without the engine's own.
    """
    name = None if namespace is ALL_NAMESPACES else namespace
    rows = reader.rows("scopes_touched", namespace=name, after=after, through=through)
    return [row[0] for row in rows]


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


# Masking: remove references to what the viewer may not see.


def mask_private(
    reader: Reader, events: Sequence[ReplayEvent], viewer: str | None
) -> list[ReplayEvent]:
    """Return events as an agent may see them.

    Its own operations stay as they are, unless the reader has a coverage: they may rest on what is
    not covered.
    """
    whole_agent = viewer if reader.coverage is None else None
    refs = [
        ref for event in events for op in event.operations for ref in _references(op, whole_agent)
    ]
    if not refs:
        return [*events]
    hidden = hidden_refs(reader, refs, viewer)
    return [_mask_event(event, hidden, whole_agent) for event in events] if hidden else [*events]


def _references(operation: AnyOperation, whole_agent: str | None) -> Iterator[Ref]:
    """Yield the references in an operation, unless it is of an agent that sees all of its own."""
    if operation.agent_id == whole_agent:
        return
    if isinstance(operation, Assert | End) and operation.source is not None:
        yield operation.source
    elif isinstance(operation, Write):
        yield from operation.because
    elif isinstance(operation, AddLink | CloseLink):
        yield from (MemoryRef(change.memory_id) for change in operation.depths)


def hidden_refs(reader: Reader, refs: Iterable[Ref], viewer: str | None) -> set[Ref]:
    """Return the references to private items of others, and to what the reader does not cover."""
    unique, coverage = frozenset(refs), reader.coverage
    memories = list({ref.memory_id for ref in unique if isinstance(ref, MemoryRef)})
    facts = list({ref.assertion_id for ref in unique if isinstance(ref, FactRef)})
    hidden_memories: set[str] = set()
    if memories:
        rows = reader.rows("memories_hidden", memory_ids=memories, viewer=viewer)
        hidden_memories = {row[0] for row in rows}
    hidden_facts: set[str] = set()
    if facts:
        rows = reader.rows("graph_assertions_private", ids=facts, viewer=viewer)
        hidden_facts = {row[0] for row in rows}
    hidden: set[Ref] = {
        ref
        for ref in unique
        if (isinstance(ref, MemoryRef) and ref.memory_id in hidden_memories)
        or (isinstance(ref, FactRef) and ref.assertion_id in hidden_facts)
    }
    return hidden if coverage is None else hidden | _uncovered(reader, coverage, unique)


def _uncovered(reader: Reader, coverage: Coverage, refs: Collection[Ref]) -> set[Ref]:
    """Return the references to keys and transcripts that are not covered."""
    transcripts = {ref.transcript_id for ref in refs if isinstance(ref, TranscriptRef)}
    rows = reader.rows("transcripts_hidden", transcript_ids=list(transcripts))
    hidden = {row[0] for row in rows}
    return {
        ref
        for ref in refs
        if (isinstance(ref, TranscriptRef) and ref.transcript_id in hidden)
        or (isinstance(ref, KeyRef) and not _covers_key(coverage, ref))
    }


def _covers_key(coverage: Coverage, ref: KeyRef) -> bool:
    """Say whether a key is covered; one that was erased has no agent and hides nothing."""
    return not ref.agent_id or coverage.covers(ref.namespace or "", ref.agent_id)


def _mask_event(
    event: ReplayEvent, hidden: Collection[Ref], whole_agent: str | None
) -> ReplayEvent:
    if not any(ref in hidden for op in event.operations for ref in _references(op, whole_agent)):
        return event
    return event.only(
        _mask_operation(operation, hidden, whole_agent) for operation in event.operations
    )


def _mask_operation(
    operation: AnyOperation, hidden: Collection[Ref], whole_agent: str | None
) -> AnyOperation:
    if operation.agent_id == whole_agent:
        return operation
    if isinstance(operation, Write):
        return replace(
            operation, because=tuple(ref for ref in operation.because if ref not in hidden)
        )
    if isinstance(operation, Assert | End) and operation.source in hidden:
        return _without_source(operation)
    if isinstance(operation, AddLink | CloseLink):
        depths = (
            change for change in operation.depths if MemoryRef(change.memory_id) not in hidden
        )
        return replace(operation, depths=tuple(depths))
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
