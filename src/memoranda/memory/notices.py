"""Notices to the owners of beliefs whose evidence changed, and the inbox that lists them.

There are two sorts. Between reflections, a notice is written when both a memory and its ground are
linked so:

    dependent --reflects_on--> old reflection <--supersedes-- new reflection

The owner of the dependent memory gets it, in the event that adds the later of the two links. Every
other change of what a key's value, a memory or a fact rests on is found by `why/stale_notices.py`,
which judges as `why` does; here is the form of these notices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from memoranda.log.compaction import horizon
from memoranda.log.pages import Position, ResumablePages, SplitEventCache
from memoranda.log.read.visibility import hidden_refs
from memoranda.memory.records import Invalidation, time_of
from memoranda.model import document
from memoranda.model.clock import to_datetime, to_rfc3339
from memoranda.model.ids import derive_id
from memoranda.model.memory import (
    NOTICE_KIND,
    NOTICE_TIER,
    REFLECTION,
    REFLECTS_ON,
    SUPERSEDES,
    Content,
    Details,
    Expiry,
    inbox_of,
)
from memoranda.model.operations import Assert, Delete, Notify, NotifyStale, Remember, Write
from memoranda.model.operations.memory import reference_fields
from memoranda.model.refs import Belief, FactRef, KeyRef, MemoryRef, OperationRef
from memoranda.model.scope import Scope
from memoranda.storage.port import Engine, Reader, Row

if TYPE_CHECKING:
    from memoranda.memory.overlay import TransactionOverlay
    from memoranda.memory.snapshots import MemorySnapshot

# A notice's id is derived from its cause: the three memories concerned. So the same cause can never
# lead to two notices, whichever link came last, and a retry or a replay finds the same id.


class NoticeCause(msgspec.Struct, frozen=True):
    """The ids of three memories: one reflects on the second, which the third supersedes."""

    dependent: str
    invalidated: str
    invalidating: str

    @property
    def notice_id(self) -> str:
        """The id of the only notice with this cause."""
        return derive_id("notice", self.dependent, self.invalidated, self.invalidating)


def find_causes(
    overlay: TransactionOverlay, source: MemorySnapshot, target: MemorySnapshot, relation: str
) -> list[NoticeCause]:
    """Return the causes of notices that a new link from `source` to `target` completes.

    Either link may come last: a reflection is superseded that others reflect on, or a memory
    reflects on a reflection that is superseded already. A memory that supersedes what it reflects
    on needs no notice: its author knows.
    """
    causes: list[NoticeCause] = []
    if relation == SUPERSEDES and source.kind == target.kind == REFLECTION:
        old, new = target.memory_id, source.memory_id
        dependents = overlay.sources((old,), REFLECTS_ON)[old]
        causes = [NoticeCause(dependent, old, new) for dependent in dependents]
    elif relation == REFLECTS_ON and target.kind == REFLECTION:
        old, dependent = target.memory_id, source.memory_id
        superseding = overlay.sources((old,), SUPERSEDES)[old]
        newer = overlay.memories(superseding, content=False)
        causes = [
            NoticeCause(dependent, old, new)
            for new in sorted(newer)
            if newer[new].kind == REFLECTION
        ]
    return [cause for cause in causes if cause.dependent != cause.invalidating]


def notify(cause: NoticeCause, owner: Scope, *, private: bool, by: str) -> Notify:
    """Return the operation that puts a notice into the inbox of the dependent memory's owner."""
    return Notify(
        namespace=inbox_of(owner.namespace),
        agent_id=owner.agent_id,
        memory_id=cause.notice_id,
        dependent_id=cause.dependent,
        invalidated_id=cause.invalidated,
        invalidating_id=cause.invalidating,
        by=by,
        private=private,
    )


def notice_memory(notice: Notify, committed_at: int | None = None) -> Remember:
    """Return the memory that a notice is; its text follows from the ids and the commit's time.

    `committed_at` is None while the notice is only staged. The memory has no expiry, because an
    open notice must not expire; resolving the notice gives it the lifetime of its tier.
    """
    metadata: document.Document = {
        "notification_kind": NOTICE_KIND,
        "dependent_id": notice.dependent_id,
        "invalidated_id": notice.invalidated_id,
        "invalidating_id": notice.invalidating_id,
        "timestamp": None if committed_at is None else to_rfc3339(committed_at),
        "agent_id": notice.by,
        "target_agent_id": notice.agent_id,
    }
    return _notice(
        notice,
        title=f"invalidation: {notice.invalidated_id} -> {notice.dependent_id} "
        f"by {notice.invalidating_id}",
        text=f"{notice.invalidated_id} was superseded by {notice.invalidating_id}. "
        f"{notice.dependent_id} reflects on it and may need re-evaluation.",
        metadata=metadata,
    )


def _notice(
    notice: Notify | NotifyStale, *, title: str, text: str, metadata: document.Document
) -> Remember:
    return Remember(
        namespace=notice.namespace,
        agent_id=notice.agent_id,
        memory_id=notice.memory_id,
        kind="observation",
        tier=NOTICE_TIER,
        title=title,
        private=notice.private,
        content=Content(text),
        details=Details(
            tags=("_invalidation",),
            priority=7,
            source="notification",
            metadata=msgspec.json.encode(metadata),
        ),
        expiry=Expiry(None),
    )


# Stale evidence: notices about keys, memories and facts.

KEY, MEMORY, FACT = "key", "memory", "fact"
SUPERSEDED, REVISED, RETRACTED = "superseded", "revised", "retracted"
OVERWRITTEN, DELETED, CLOSED = "overwritten", "deleted", "closed"
STALE_KINDS = {KEY: "stale_key", MEMORY: "stale_memory", FACT: "stale_fact"}
"""The kind of a notice, by what it is about."""
NOTICE_KINDS = (NOTICE_KIND, *STALE_KINDS.values())


class StaleCause(msgspec.Struct, frozen=True):
    """A belief, the evidence that it rests on, and what happened to the evidence."""

    dependent_kind: str
    dependent: MemoryRef | OperationRef
    evidence_kind: str
    evidence: MemoryRef | OperationRef
    change: str
    invalidating_id: str | None = None

    @property
    def notice_id(self) -> str:
        """The id of the only notice with this cause."""
        parts = (_identity(self.dependent), _identity(self.evidence), self.change)
        return derive_id("stale", *parts, self.invalidating_id or "")


def _identity(ref: MemoryRef | OperationRef) -> str:
    """Return the id of a reference: a memory as dependent has no version."""
    if isinstance(ref, OperationRef):
        return f"{ref.commit_ts}.{ref.position}"
    return ref.memory_id if ref.version is None else f"{ref.memory_id}@{ref.version}"


def notify_stale(cause: StaleCause, owner: Scope, *, private: bool, by: str) -> NotifyStale:
    """Return the operation that puts a notice into the inbox of a belief's owner."""
    return NotifyStale(
        namespace=inbox_of(owner.namespace),
        agent_id=owner.agent_id,
        memory_id=cause.notice_id,
        dependent_kind=cause.dependent_kind,
        dependent=cause.dependent,
        evidence_kind=cause.evidence_kind,
        evidence=cause.evidence,
        change=cause.change,
        invalidating_id=cause.invalidating_id,
        by=by,
        private=private,
    )


def stale_notice_memory(notice: NotifyStale, committed_at: int) -> Remember:
    """Return the memory that a notice about stale evidence is."""
    by = "" if notice.invalidating_id is None else f" by {notice.invalidating_id}"
    evidence = _label(notice.evidence_kind, notice.evidence)
    dependent = _label(notice.dependent_kind, notice.dependent)
    metadata: document.Document = {
        "notification_kind": STALE_KINDS[notice.dependent_kind],
        "change": notice.change,
        **reference_fields("dependent", notice.dependent_kind, notice.dependent),
        **reference_fields("invalidated", notice.evidence_kind, notice.evidence),
        "invalidating_id": notice.invalidating_id,
        "timestamp": to_rfc3339(committed_at),
        "agent_id": notice.by,
        "target_agent_id": notice.agent_id,
    }
    return _notice(
        notice,
        title=f"stale: {dependent} rests on {evidence}, {notice.change}{by}",
        text=f"The {evidence} was {notice.change}{by}. "
        f"The {dependent} rests on it and may need re-evaluation.",
        metadata=metadata,
    )


def _label(kind: str, ref: MemoryRef | OperationRef) -> str:
    if isinstance(ref, OperationRef):
        noun = "value" if kind == KEY else kind
        return f"{noun} of commit {ref.commit_ts}, operation {ref.position}"
    return f"memory {_identity(ref)}"


# The inbox: the list of notices.


class Inbox(ResumablePages[Invalidation]):
    """Reads notices as of a commit, oldest first, page by page."""

    def __init__(
        self,
        engine: Engine,
        *,
        at: int,
        agent_id: str | None,
        viewer: str,
        is_open: bool | None,
    ) -> None:
        self._engine = engine
        self._range: dict[str, Any] = {
            "at": at,
            "agent_id": agent_id,
            "viewer": viewer,
            "is_open": None if is_open is None else int(is_open),
        }
        self._after = 0

    @property
    def position(self) -> Position:
        """The commit, and the number of the last notice."""
        return [self._range["at"], self._after]

    @position.setter
    def position(self, position: Position) -> None:
        self._range["at"], self._after = position

    def next_page(self) -> list[Invalidation]:
        """Return the next notices; an empty page ends the list."""
        with self._engine.snapshot() as reader:
            rows = reader.rows("notice_page", **self._range, after=self._after, limit=self.rows)
            horizon.check(reader, (row[2] for row in rows), self._range["at"])
            events = SplitEventCache()
            page = [_invalidation(reader, events, row[1:]) for row in rows]
        if rows:
            self._after = rows[-1][0]
        return page


def find(reader: Reader, notice_id: str, at: int) -> Invalidation:
    """Return a notice as of a commit."""
    (row,) = reader.rows("notice_get", notice_id=notice_id, at=at)
    return _invalidation(reader, SplitEventCache(), row[1:])


def _invalidation(reader: Reader, events: SplitEventCache, row: Row) -> Invalidation:
    dependent_id, dependent_place, evidence_id, evidence_version, evidence_place = (
        row[4],
        row[5:7],
        row[7],
        row[8],
        row[9:11],
    )
    return Invalidation(
        id=row[0],
        namespace=row[1],
        agent_id=row[2],
        kind=row[3],
        dependent=_ref(reader, events, dependent_id, None, dependent_place),
        evidence=_ref(reader, events, evidence_id, evidence_version, evidence_place),
        change=row[11],
        dependent_id=dependent_id,
        invalidated_id=evidence_id,
        invalidating_id=row[12],
        by=row[13],
        created_at=to_datetime(row[14]),
        decision=row[15],
        note=row[16],
        replacement=row[17],
        resolved_at=time_of(row[18]),
        resolved_by=row[19],
    )


def _ref(
    reader: Reader, events: SplitEventCache, memory_id: str | None, version: int | None, place: Row
) -> Belief | None:
    if memory_id is not None:
        return MemoryRef(memory_id, version)
    if place[0] is None:  # it is a memory that the reader does not cover
        return None
    ref = resolve_place(reader, events, OperationRef(*place))
    if ref is None or reader.coverage is None:
        return ref
    return None if hidden_refs(reader, [ref], None) else ref


def resolve_place(
    reader: Reader, events: SplitEventCache, place: OperationRef
) -> KeyRef | FactRef | None:
    """Return the key or the fact that an operation made; None if it was erased."""
    operation = events.of(reader, place.commit_ts).effective(place.position)
    if isinstance(operation, (Write, Delete)):
        return KeyRef(operation.key, operation.version, operation.agent_id, operation.namespace)
    return FactRef(operation.assertion_id) if isinstance(operation, Assert) else None
