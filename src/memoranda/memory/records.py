"""The results of reading memories, links, notices and origins."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec

from memoranda.memory.snapshots import MemorySnapshot
from memoranda.model import document
from memoranda.model.clock import to_datetime
from memoranda.model.document import Document
from memoranda.model.memory import Span
from memoranda.model.receipt import Written
from memoranda.model.refs import Belief, MemoryRef, TranscriptRef


class Memory(Written, frozen=True, kw_only=True):
    """A version of a memory.

    Times are None inside the transaction that staged it. `content` is None in a list without
    contents.
    """

    id: str
    namespace: str
    agent_id: str
    title: str | None
    content: str | None
    kind: str
    tier: str
    tags: tuple[str, ...]
    priority: int
    confidence: float
    source: str
    metadata: Document | None
    version: int
    created_at: datetime | None
    updated_at: datetime | None
    expires_at: datetime | None
    event_time: datetime | None
    visibility: str
    reflection_depth: int
    superseded_by: str | None
    source_uri: str | None
    citations: tuple[str, ...]
    entity_id: str | None
    confidence_source: str | None
    access_count: int
    last_accessed_at: datetime | None
    retracted: bool = False
    reason: str | None = None
    """The reason for its retraction."""
    unproven: bool = False
    """Whether an erasure left only a part of this version, and no hash proves that part."""

    @property
    def forgotten(self) -> bool:
        """Whether it was erased: only its id and its owner remain."""
        return not self.kind

    @property
    def ref(self) -> MemoryRef:
        """The reference to this version."""
        return MemoryRef(self.id, self.version)


class Link(Written, frozen=True):
    """A link between two memories; an open link has no `valid_until`.

    `notified` has the ids of memories whose owners got a notice from the call that returned it.
    """

    source: str
    target: str
    relation: str
    valid_from: datetime | None
    valid_until: datetime | None = None
    notified: tuple[str, ...] = ()


class DependentRecord(msgspec.Struct, frozen=True):
    """A memory that reflects on another one, `hop` links away."""

    id: str
    namespace: str
    agent_id: str
    hop: int

    @property
    def ref(self) -> MemoryRef:
        """The reference to the memory."""
        return MemoryRef(self.id)


class Invalidation(Written, frozen=True):
    """A notice that a belief rests on evidence that changed, and the decision about it.

    `dependent` and `evidence` can be cited; None: erased. The ids are those of memories: None if
    the belief or the evidence is a key or a fact, or if no memory superseded the evidence.
    """

    id: str
    namespace: str
    agent_id: str
    """The owner of the dependent."""
    kind: str
    """`reflection_invalidation`: a memory reflects on a reflection that another one superseded.
    Else by what the belief is: `stale_key`, `stale_memory` or `stale_fact`."""
    dependent: Belief | None
    """The belief: a `KeyRef`, `MemoryRef` or `FactRef`."""
    evidence: Belief | None
    """What it rests on, and what changed: a `KeyRef`, `MemoryRef` or `FactRef`."""
    change: str
    """What happened: superseded, revised, retracted, overwritten, deleted or closed."""
    dependent_id: str | None
    invalidated_id: str | None
    invalidating_id: str | None
    by: str
    """The agent whose transaction caused the notice."""
    created_at: datetime
    decision: str | None = None
    note: str | None = None
    replacement: str | None = None
    resolved_at: datetime | None = None
    resolved_by: str | None = None

    @property
    def ref(self) -> MemoryRef:
        """The reference to the notice, which is a memory."""
        return MemoryRef(self.id)

    @property
    def status(self) -> str:
        """Whether it is open or resolved."""
        return "open" if self.decision is None else "resolved"


class TranscriptLink(Written, frozen=True):
    """A citation of a transcript by a memory; without spans, of the whole transcript."""

    memory_id: str
    transcript_id: str
    spans: tuple[Span, ...] = ()
    erased: bool = False
    """Whether the text was erased; the citation stays."""

    @property
    def ref(self) -> TranscriptRef:
        """The reference to the cited spans."""
        return TranscriptRef(self.transcript_id, self.spans)


class Anchor(NamedTuple):
    """A memory that cites a transcript, `hop` links from the start, and the cited spans."""

    memory_id: str
    hop: int
    spans: tuple[Span, ...]


class Source(msgspec.Struct, frozen=True):
    """A transcript that a memory cites, with the text of the cited spans.

    If the whole transcript is cited, the excerpt is its beginning.
    """

    transcript_id: str
    occurred_at: datetime
    spans: tuple[Span, ...]
    excerpts: tuple[str, ...]
    expired: bool
    erased: bool = False
    """Whether the text was erased; then there are no excerpts."""

    @property
    def ref(self) -> TranscriptRef:
        """The reference to the cited spans."""
        return TranscriptRef(self.transcript_id, self.spans)


class Origin(msgspec.Struct, frozen=True):
    """A tree: a memory, the transcripts it cites, and the memories it rests on.

    A memory that the tree already has is marked as `repeated` and not expanded again.
    """

    memory: Memory
    relation: str | None
    """The link from the parent; None at the root."""
    expired: bool
    sources: tuple[Source, ...] = ()
    origins: tuple[Origin, ...] = ()
    repeated: bool = False

    @property
    def ref(self) -> MemoryRef:
        """The reference to the memory."""
        return self.memory.ref


def memory_of(snapshot: MemorySnapshot, content: str | None) -> Memory:
    """Convert a snapshot to the public record."""
    details = snapshot.details
    return Memory(
        id=snapshot.memory_id,
        namespace=snapshot.namespace,
        agent_id=snapshot.agent_id,
        title=snapshot.title,
        content=content,
        kind=snapshot.kind,
        tier=snapshot.tier,
        tags=details.tags,
        priority=details.priority,
        confidence=details.confidence,
        source=details.source,
        metadata=None if details.metadata is None else document.decode(details.metadata),
        version=snapshot.version,
        created_at=time_of(snapshot.created_at),
        updated_at=time_of(snapshot.updated_at),
        expires_at=time_of(snapshot.expires_at),
        event_time=time_of(details.event_time),
        visibility="private" if snapshot.private else "namespace",
        reflection_depth=snapshot.depth,
        superseded_by=snapshot.superseded_by,
        source_uri=details.source_uri,
        citations=details.citations,
        entity_id=details.entity_id,
        confidence_source=details.confidence_source,
        access_count=snapshot.access_count,
        last_accessed_at=time_of(snapshot.last_accessed_at),
        retracted=snapshot.retracted,
        reason=snapshot.reason,
        unproven=snapshot.unproven,
    )


def time_of(micros: int | None) -> datetime | None:
    """Convert microseconds to a datetime; None stays None."""
    return None if micros is None else to_datetime(micros)
