"""Audit events: each operation of the log as something that happened, its content as a hash."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec

from memoranda.audit.event_types import event_type, scopes_of
from memoranda.errors import Corruption
from memoranda.log import chain, merging, pages, signing
from memoranda.log.leaves import leaf_hash
from memoranda.model import codec
from memoranda.model.event import SELF_SIGNED, UNSIGNED, Envelope, SealedEvent
from memoranda.model.instant import to_rfc3339
from memoranda.model.operations import AnyOperation, is_restated, shown
from memoranda.model.scope import NOBODY
from memoranda.storage.port import Engine, Reader


class AuditEvent(msgspec.Struct, frozen=True):
    """That something was done: what, by whom, when, and the salted hash of its content.

    The hash is the operation's leaf in the chain, so whoever has the operation can prove it. The
    signature, in hexadecimal, is of the whole transaction, by the agent who did it.
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
    """Which audit events are asked for; None means any."""

    event_types: frozenset[str] | None = None
    agent_id: str | None = None

    def includes(self, event: AuditEvent) -> bool:
        """Say whether an event is asked for."""
        return (self.event_types is None or event.event_type in self.event_types) and (
            self.agent_id is None or event.agent_id == self.agent_id
        )

    def scopes(self, reader: Reader) -> list[int] | None:
        """Return the scopes whose commits have all that is asked for; None: it may be anywhere."""
        own = scopes_of(self.event_types)
        if own is not None:
            named = ((each.agent_id, each.namespace) for each in own)
            rows = [
                reader.row("scope_find", agent_id=agent_id, namespace=namespace)
                for agent_id, namespace in named
            ]
            return [row[0] for row in rows if row is not None]
        if self.agent_id is None or self.agent_id == NOBODY:
            return None
        return [row[0] for row in reader.rows("scopes_of_agent", agent_id=self.agent_id)]


class AuditTrail:
    """What was done behind a commit, a stretch of the log at a time."""

    def __init__(self, engine: Engine, chosen: AuditFilter, *, after: int, through: int) -> None:
        self._engine = engine
        self._chosen = chosen
        self._after = after
        self._through = through
        with engine.reading() as reader:
            self._scopes = chosen.scopes(reader)
        self._commits: Iterator[int] | None = None

    def next_page(self) -> list[AuditEvent]:
        """Return the next events that are asked for."""
        found: list[AuditEvent] = []
        while not found and (events := self._next_events()):
            self._after = events[-1].commit_ts
            found = [each for event in events for each in self._project(event)]
        return found

    def _next_events(self) -> list[SealedEvent]:
        if self._scopes is not None:
            return self._events_of(self._scopes)
        with self._engine.reading() as reader:
            return pages.page(reader, after=self._after, through=self._through)

    def _events_of(self, scopes: list[int]) -> list[SealedEvent]:
        """Read the events of some scopes, as many as make a page."""
        commits, self._commits = self._commits, None  # begun anew, if this fails
        if commits is None:
            commits = merging.commits_of(
                self._engine, scopes, after=self._after, through=self._through
            )
        events: list[SealedEvent] = []
        budget = pages.PAGE_BYTES
        for commit_ts in islice(commits, pages.PAGE_ROWS):
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
        """Yield what is asked for of a transaction."""
        envelope = codec.decode_envelope(event.envelope)
        operations = codec.decode_operations(event.operations)
        leaves = chain.operation_leaves(event)
        for position, operation in enumerate(operations):
            found = _audit_event(event, position, operation, leaves[position], envelope)
            if self._chosen.includes(found):
                yield found


def _audit_event(
    event: SealedEvent, position: int, operation: AnyOperation, leaf: bytes, envelope: Envelope
) -> AuditEvent:
    by = getattr(shown(operation), "by", envelope.actor) or operation.agent_id
    signature = signing.shown(envelope) if by == envelope.actor else None
    if is_restated(operation):
        signature = None  # what stands there now is vouched for by who erased the rest
    return AuditEvent(
        id=f"{event.commit_ts}.{position}",
        event_type=event_type(operation),
        agent_id=by,
        timestamp=to_rfc3339(event.committed_at),
        payload_hash=leaf_hash(leaf).hex(),
        signature=signature,
        attest_level=UNSIGNED if signature is None else SELF_SIGNED,
        commit_ts=event.commit_ts,
    )
