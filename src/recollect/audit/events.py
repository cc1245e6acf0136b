"""Audit events: each operation of the log as something that happened, its content as a hash."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from recollect.errors import InvalidInput
from recollect.log import chain, pages
from recollect.model import codec
from recollect.model.event import SealedEvent
from recollect.model.instant import to_rfc3339
from recollect.model.limits import plain_text, shown
from recollect.model.operations import AnyOperation, OperationType
from recollect.storage.port import Engine

EVENT_TYPES: Mapping[OperationType, str] = {
    OperationType.WRITE: "state.written",
    OperationType.DELETE: "state.deleted",
    OperationType.EPOCH: "log.epoch_begun",
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
    OperationType.TRUST: "key.trusted",
    OperationType.RETIRE: "key.retired",
    OperationType.REFUSED: "request.refused",
}


class AuditEvent(msgspec.Struct, frozen=True):
    """That something was done: what, by whom, when, and the salted hash of its content.

    The hash is the operation's leaf in the chain, so whoever has the operation can prove it.
    """

    id: str
    event_type: str
    agent_id: str
    timestamp: str
    payload_hash: str
    signature: str | None
    attest_level: str
    commit_ts: int


def check_event_type(value: object) -> str | None:
    """Return a type of event, if one is asked for."""
    if value is None:
        return None
    name = plain_text("event_type", value)
    if name not in EVENT_TYPES.values():
        known = ", ".join(sorted(EVENT_TYPES.values()))
        raise InvalidInput("event_type", f"{shown(name)} is not one of {known}")
    return name


class AuditTrail:
    """What was done behind a commit, a stretch of the log at a time."""

    def __init__(
        self,
        engine: Engine,
        *,
        event_type: str | None,
        agent_id: str | None,
        after: int,
        through: int,
    ) -> None:
        self._engine = engine
        self._event_type = event_type
        self._agent_id = agent_id
        self._after = after
        self._through = through

    def next_page(self) -> list[AuditEvent]:
        """Return the next events that are asked for."""
        asked: list[AuditEvent] = []
        while not asked:
            with self._engine.reading() as reader:
                events = pages.page(reader, after=self._after, through=self._through)
            if not events:
                break
            self._after = events[-1].commit_ts
            asked = [each for event in events for each in self._project(event)]
        return asked

    def _project(self, event: SealedEvent) -> list[AuditEvent]:
        actor = codec.decode_envelope(event.envelope).actor
        operations = codec.decode_operations(event.operations)
        leaves = chain.operation_leaves(event)
        found = [
            self._event(event, position, operation, leaves[position], actor)
            for position, operation in enumerate(operations)
        ]
        return [each for each in found if self._includes(each)]

    def _event(
        self, event: SealedEvent, position: int, operation: AnyOperation, leaf: bytes, actor: str
    ) -> AuditEvent:
        return AuditEvent(
            id=f"{event.commit_ts}.{position}",
            event_type=EVENT_TYPES[operation.type],
            agent_id=getattr(operation, "by", actor),
            timestamp=to_rfc3339(event.committed_at),
            payload_hash=leaf.hex(),
            signature=None,
            attest_level="unsigned",
            commit_ts=event.commit_ts,
        )

    def _includes(self, event: AuditEvent) -> bool:
        return self._event_type in (None, event.event_type) and self._agent_id in (
            None,
            event.agent_id,
        )
