"""Audit events: one for every operation of the log, with a type and a hash instead of content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import msgspec

from memoranda.errors import Corruption, InvalidInput
from memoranda.log import chain, pages
from memoranda.log.chain import leaf_hash
from memoranda.log.commit import refusals
from memoranda.log.commit import transaction_signature as commit_signature
from memoranda.log.pages import Position, ResumablePages
from memoranda.log.read import visibility
from memoranda.model import codec
from memoranda.model.clock import to_rfc3339
from memoranda.model.event import UNSIGNED, Envelope, SealedEvent
from memoranda.model.limits import plain_text
from memoranda.model.limits import short_repr as quoted
from memoranda.model.operations import (
    AUDIT_SCOPE,
    ENGINE_SCOPE,
    AnyOperation,
    NotifyStale,
    OperationType,
    Refuse,
    is_restated,
    visible_operation,
)
from memoranda.model.scope import ALL_NAMESPACES, DEFAULT_ACTOR, Scope
from memoranda.model.suggestions import did_you_mean
from memoranda.storage.port import Engine, Reader

# Event types: the public name of each kind of operation.

EVENT_TYPES: Mapping[OperationType, str] = {
    OperationType.WRITE: "state.written",
    OperationType.DELETE: "state.deleted",
    OperationType.REMEMBER: "memory.stored",
    OperationType.UPDATE: "memory.updated",
    OperationType.RETRACT: "memory.retracted",
    OperationType.TOUCH: "memory.touched",
    OperationType.LINK: "link.created",
    OperationType.UNLINK: "link.closed",
    OperationType.TRANSCRIPT: "transcript.stored",
    OperationType.CITE: "transcript.linked",
    OperationType.NOTIFY: "reflection.invalidation_notified",
    OperationType.RESOLVE: "reflection.invalidation_resolved",
    OperationType.CONFIGURE: "namespace.configured",
    OperationType.ASSERT: "fact.asserted",
    OperationType.END: "fact.ended",
    OperationType.WITHDRAW: "fact.retracted",
    OperationType.CARDINALITY: "relation.classified",
    OperationType.ALIAS: "entity.aliased",
    OperationType.MERGE: "entity.merged",
    OperationType.ERASED: "content.erased",
    OperationType.ERASE: "erasure.carried_out",
    OperationType.SUMMARY: "log.compacted",
    OperationType.EPOCH: "log.epoch_begun",
    OperationType.TRUST: "key.trusted",
    OperationType.RETIRE: "key.retired",
}
"""Operation type → event type. A `Refuse` operation stores its event type itself."""
STALE_NOTIFIED = "belief.stale_notified"
"""The event type of a notice that evidence changed, whatever the belief that rests on it."""

ALL_EVENT_TYPES = frozenset({*EVENT_TYPES.values(), STALE_NOTIFIED, *refusals.KINDS})
_FAMILY_SUFFIX = ".*"
_ENGINE_NAMESPACES = (AUDIT_SCOPE.namespace, ENGINE_SCOPE.namespace)
_SCOPES: Mapping[str, Scope] = {
    **dict.fromkeys(refusals.KINDS, AUDIT_SCOPE),
    **{
        EVENT_TYPES[kind]: ENGINE_SCOPE
        for kind in (
            OperationType.ERASE,
            OperationType.EPOCH,
            OperationType.TRUST,
            OperationType.RETIRE,
        )
    },
}
"""Event type → the one scope that the engine writes such operations in."""


def event_type(operation: AnyOperation) -> str:
    """Return the event type of an operation.

    An operation of the engine keeps its type when an agent's name in it is erased: it has no other
    content.
    """
    visible = (
        visible_operation(operation) if operation.namespace in _ENGINE_NAMESPACES else operation
    )
    if isinstance(visible, NotifyStale):
        return STALE_NOTIFIED
    return visible.what if isinstance(visible, Refuse) else EVENT_TYPES[visible.type]


def check_event_types(value: object) -> frozenset[str] | None:
    """Return the event types to include; `link.*` selects a family, None selects every type."""
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = (value,)
    return frozenset(name for entry in value for name in _matching_types(entry))


def scopes_of(types: frozenset[str] | None) -> frozenset[Scope] | None:
    """Return the engine's scopes that hold all events of these types; None if others may too."""
    if types is None or not types <= _SCOPES.keys():
        return None
    return frozenset(_SCOPES[name] for name in types)


def _matching_types(value: object) -> set[str]:
    name = plain_text("event_type", value)
    matches = {candidate for candidate in ALL_EVENT_TYPES if _matches(candidate, name)}
    if not matches:
        names = ", ".join(sorted(ALL_EVENT_TYPES))
        problem = f"{quoted(name)} is not one of {names}, nor a family such as link.*"
        raise InvalidInput("event_type", problem + did_you_mean(name, ALL_EVENT_TYPES))
    return matches


def _matches(candidate: str, name: str) -> bool:
    family = name.endswith(_FAMILY_SUFFIX) and candidate.startswith(name.removesuffix("*"))
    return family or candidate == name


# The projection of the log to audit events.


class AuditEvent(msgspec.Struct, frozen=True):
    """One operation: its type, agent and time, and the salted hash of its content.

    `payload_hash` is derived from the operation's leaf in the chain, so it can be recomputed from
    the operation and its salt. `signature`, in hexadecimal, is the agent's signature of the whole
    transaction.
    """

    id: str
    event_type: str
    agent_id: str
    timestamp: str
    payload_hash: str
    signature: str | None
    attest_level: str
    commit_ts: int


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Selects audit events; a field that is None matches any event."""

    event_types: frozenset[str] | None = None
    agent_id: str | None = None

    def includes(self, event: AuditEvent) -> bool:
        """Return whether the filter matches an event."""
        return (self.event_types is None or event.event_type in self.event_types) and (
            self.agent_id is None or event.agent_id == self.agent_id
        )

    def scopes(self, reader: Reader, after: int, through: int) -> list[int] | None:
        """Return the ids of scopes whose commits hold every match; None: scan the whole log."""
        if reader.coverage is not None:
            return visibility.scopes_in(reader, ALL_NAMESPACES, after=after, through=through)
        own = scopes_of(self.event_types)
        if own is not None:
            names = ((scope.agent_id, scope.namespace) for scope in own)
            rows = [
                reader.row("scope_find", agent_id=agent_id, namespace=namespace)
                for agent_id, namespace in names
            ]
            return [row[0] for row in rows if row is not None]
        if self.agent_id is None or self.agent_id == DEFAULT_ACTOR:
            return None
        return [row[0] for row in reader.rows("scopes_of_agent", agent_id=self.agent_id)]


class AuditTrail(ResumablePages[AuditEvent]):
    """Reads the audit events in a range of commits page by page."""

    def __init__(
        self, engine: Engine, event_filter: AuditFilter, *, after: int, through: int
    ) -> None:
        self._engine = engine
        self._filter = event_filter
        self._after = after
        self._through = through
        with engine.reading() as reader:
            self._scopes = event_filter.scopes(reader, after, through)
            self._coverage = reader.coverage
        self._commits: Iterator[tuple[int, list[int]]] | None = None

    @property
    def position(self) -> Position:
        """The last commit of the trail, and the last one read."""
        return [self._through, self._after]

    @position.setter
    def position(self, position: Position) -> None:
        self._through, self._after = position

    def next_page(self) -> list[AuditEvent]:
        """Return the next events that match the filter; empty at the end."""
        page: list[AuditEvent] = []
        while not page and (events := self._next_events()):
            self._after = events[-1].commit_ts
            page = [audit_event for event in events for audit_event in self._project(event)]
        return page

    def _next_events(self) -> list[SealedEvent]:
        if self._scopes is not None:
            return self._events_of(self._scopes)
        with self._engine.reading() as reader:
            return pages.page(reader, after=self._after, through=self._through, limit=self.rows)

    def _events_of(self, scopes: list[int]) -> list[SealedEvent]:
        """Read one page of the events of these scopes, through the scope index."""
        commits, self._commits = self._commits, None  # if this raises, the next call starts anew
        if commits is None:
            commits = visibility.commits_of(
                self._engine, scopes, after=self._after, through=self._through
            )
        events: list[SealedEvent] = []
        budget = pages.PAGE_BYTES
        for commit_ts, _ in islice(commits, self.rows):
            with self._engine.reading() as reader:
                row = reader.row("event_get", commit_ts=commit_ts)
            if row is None:
                raise Corruption(f"commit {commit_ts}, which the index names, is not in the log")
            events.append(SealedEvent(*row))
            budget -= len(events[-1].operations)
            if budget <= 0:
                break
        self._commits = commits
        return events

    def _project(self, event: SealedEvent) -> Iterator[AuditEvent]:
        """Yield the audit events of a transaction that match the filter."""
        envelope = codec.decode_envelope(event.envelope)
        operations = codec.decode_operations(event.operations)
        leaves = chain.operation_leaves(event)
        for position, operation in enumerate(operations):
            if not self._covers(operation):
                continue
            audit_event = _audit_event(event, position, operation, leaves[position], envelope)
            if self._filter.includes(audit_event):
                yield audit_event

    def _covers(self, operation: AnyOperation) -> bool:
        coverage = self._coverage
        return coverage is None or coverage.covers(operation.namespace, operation.agent_id)


def _audit_event(
    event: SealedEvent, position: int, operation: AnyOperation, leaf: bytes, envelope: Envelope
) -> AuditEvent:
    by = getattr(visible_operation(operation), "by", envelope.actor) or operation.agent_id
    signature = commit_signature.signature_hex(envelope) if by == envelope.actor else None
    if is_restated(operation):
        signature = None  # the erasing commit attests the present form, not the agent's signature
    return AuditEvent(
        id=f"{event.commit_ts}.{position}",
        event_type=event_type(operation),
        agent_id=by,
        timestamp=to_rfc3339(event.committed_at),
        payload_hash=leaf_hash(leaf).hex(),
        signature=signature,
        attest_level=UNSIGNED if signature is None else commit_signature.attest_level(envelope),
        commit_ts=event.commit_ts,
    )
