"""What reading memories gives."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from memoranda.memory.standing import Standing
from memoranda.model import document
from memoranda.model.document import Document
from memoranda.model.instant import to_datetime
from memoranda.model.memory import Span
from memoranda.model.refs import MemoryRef

Outcome = Literal["created", "updated", "unchanged"]


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory at one of its versions.

    Times are None inside the transaction that staged it, and `content` is None where it was not
    asked for. `outcome` says what became of it in the call that returned it.
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
    """Why it was retracted."""
    outcome: Outcome | None = None

    @property
    def forgotten(self) -> bool:
        """Whether nothing is left of it but that there was one."""
        return not self.kind

    @property
    def ref(self) -> MemoryRef:
        """What names this version of it."""
        return MemoryRef(self.id, self.version)


class Link(msgspec.Struct, frozen=True):
    """A link between two memories; one that holds has no end.

    `notified` are the memories whose owners were told, in the call that returned it.
    """

    source: str
    target: str
    relation: str
    valid_from: datetime | None
    valid_until: datetime | None = None
    notified: tuple[str, ...] = ()


class DependentRecord(msgspec.Struct, frozen=True):
    """A memory that rests on another one, so many links away."""

    id: str
    namespace: str
    agent_id: str
    hop: int


class Invalidation(msgspec.Struct, frozen=True):
    """A notice: the ground of a memory was superseded, and somebody has to decide; or has."""

    id: str
    namespace: str
    agent_id: str
    """Whose memory is concerned."""
    dependent_id: str
    invalidated_id: str
    invalidating_id: str
    by: str
    """Who superseded it."""
    created_at: datetime
    decision: str | None = None
    note: str | None = None
    replacement: str | None = None
    resolved_at: datetime | None = None
    resolved_by: str | None = None

    @property
    def status(self) -> str:
        """Whether it is open or resolved."""
        return "open" if self.decision is None else "resolved"


class TranscriptLink(msgspec.Struct, frozen=True):
    """That a memory comes from a transcript; no spans: from the whole of it."""

    memory_id: str
    transcript_id: str
    spans: tuple[Span, ...] = ()
    erased: bool = False
    """Whether the words were erased: that they are cited stays."""


class Anchor(NamedTuple):
    """A memory that cites a transcript, so many links away, and the spans it names."""

    memory_id: str
    hop: int
    spans: tuple[Span, ...]


class Source(msgspec.Struct, frozen=True):
    """The words a memory comes from: spans of a transcript, and what stands there.

    Of a transcript that is cited as a whole, the excerpt is its beginning.
    """

    transcript_id: str
    occurred_at: datetime
    spans: tuple[Span, ...]
    excerpts: tuple[str, ...]
    expired: bool
    erased: bool = False
    """Whether the words were erased: there is no excerpt then."""


class Origin(msgspec.Struct, frozen=True):
    """A memory, the words it comes from, and the memories it rests on: a tree.

    A memory that the tree has in another place already is marked as `repeated` and not unfolded.
    """

    memory: Memory
    relation: str | None
    """The link that leads here; None at the root."""
    expired: bool
    sources: tuple[Source, ...] = ()
    origins: tuple[Origin, ...] = ()
    repeated: bool = False


def memory_of(standing: Standing, content: str | None, outcome: Outcome | None = None) -> Memory:
    """Return what a caller sees of a memory."""
    details = standing.details
    return Memory(
        id=standing.memory_id,
        namespace=standing.namespace,
        agent_id=standing.agent_id,
        title=standing.title,
        content=content,
        kind=standing.kind,
        tier=standing.tier,
        tags=details.tags,
        priority=details.priority,
        confidence=details.confidence,
        source=details.source,
        metadata=None if details.metadata is None else document.decode(details.metadata),
        version=standing.version,
        created_at=time_of(standing.created_at),
        updated_at=time_of(standing.updated_at),
        expires_at=time_of(standing.expires_at),
        event_time=time_of(details.event_time),
        visibility="private" if standing.private else "namespace",
        reflection_depth=standing.depth,
        superseded_by=standing.superseded_by,
        source_uri=details.source_uri,
        citations=details.citations,
        entity_id=details.entity_id,
        confidence_source=details.confidence_source,
        access_count=standing.access_count,
        last_accessed_at=time_of(standing.last_accessed_at),
        retracted=standing.retracted,
        reason=standing.reason,
        outcome=outcome,
    )


def time_of(micros: int | None) -> datetime | None:
    """Return an instant, if there is one."""
    return None if micros is None else to_datetime(micros)
