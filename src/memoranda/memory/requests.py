"""What can be asked of memories in a transaction: requests to stage and reads to track.

`by` is who acts: the agent whose eyes count for what may be seen.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from memoranda.model.memory import Content, Details, Span
from memoranda.model.scope import Scope


class RememberMemory(msgspec.Struct, frozen=True, array_like=True, tag=11, gc=False):
    """Begin a memory, or give the one with its title a new version."""

    scope: Scope
    memory_id: str
    """The id it has if it is new."""
    kind: str | None
    tier: str | None
    title: str | None
    private: bool
    content: Content
    details: Details
    ttl: int | None
    update: bool
    """Whether a memory that has the title already is updated; else that is an error."""


class MemoryChanges(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is to be different; what is not set stays as it is."""

    kind: str | msgspec.UnsetType = msgspec.UNSET
    tier: str | msgspec.UnsetType = msgspec.UNSET
    title: str | msgspec.UnsetType | None = msgspec.UNSET
    content: Content | msgspec.UnsetType = msgspec.UNSET
    ttl: int | msgspec.UnsetType | None = msgspec.UNSET
    tags: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    priority: int | msgspec.UnsetType = msgspec.UNSET
    confidence: float | msgspec.UnsetType = msgspec.UNSET
    source: str | msgspec.UnsetType = msgspec.UNSET
    metadata: bytes | msgspec.UnsetType | None = msgspec.UNSET
    event_time: int | msgspec.UnsetType | None = msgspec.UNSET
    source_uri: str | msgspec.UnsetType | None = msgspec.UNSET
    citations: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    entity_id: str | msgspec.UnsetType | None = msgspec.UNSET
    confidence_source: str | msgspec.UnsetType | None = msgspec.UNSET


class ReviseMemory(msgspec.Struct, frozen=True, array_like=True, tag=12, gc=False):
    """Change some of what is said of a memory."""

    identity: ClassVar = ("memory_id",)

    by: str
    memory_id: str
    changes: MemoryChanges
    expect_version: int | None = None


class RetractMemory(msgspec.Struct, frozen=True, array_like=True, tag=13, gc=False):
    """Take a memory back."""

    identity: ClassVar = ("memory_id",)

    by: str
    memory_id: str
    reason: str | None


class TouchMemory(msgspec.Struct, frozen=True, array_like=True, tag=14, gc=False):
    """Count a use of a memory."""

    identity: ClassVar = ("memory_id",)

    by: str
    memory_id: str


class PromoteMemory(msgspec.Struct, frozen=True, array_like=True, tag=15, gc=False):
    """Let a memory last longer."""

    identity: ClassVar = ("memory_id",)

    by: str
    memory_id: str
    tier: str


class LinkMemories(msgspec.Struct, frozen=True, array_like=True, tag=16, gc=False):
    """Link one memory to another."""

    identity: ClassVar = ("source", "target", "relation")

    by: str
    source: str
    target: str
    relation: str


class UnlinkMemories(msgspec.Struct, frozen=True, array_like=True, tag=17, gc=False):
    """Close a link."""

    identity: ClassVar = ("source", "target", "relation")

    by: str
    source: str
    target: str
    relation: str


class StoreTranscript(msgspec.Struct, frozen=True, array_like=True, tag=18, gc=False):
    """Keep words as they were said."""

    stays_in_scope: ClassVar = True

    scope: Scope
    transcript_id: str
    digest: bytes
    size: int
    occurred_at: int | None
    ttl: int | None


class StoreMessages(StoreTranscript, frozen=True, array_like=True, tag=22, gc=False):
    """Keep messages as they were given; the hash and the size are of their JSON."""

    form: int
    text_size: int


class CiteTranscript(msgspec.Struct, frozen=True, array_like=True, tag=19, gc=False):
    """Name the words a memory comes from."""

    identity: ClassVar = ("memory_id", "transcript_id")

    by: str
    memory_id: str
    transcript_id: str
    spans: tuple[Span, ...]


class ResolveNotice(msgspec.Struct, frozen=True, array_like=True, tag=20, gc=False):
    """Decide what becomes of a memory whose ground was superseded."""

    identity: ClassVar = ("notice_id", "decision", "replacement")

    by: str
    notice_id: str
    decision: str
    note: str | None
    replacement: str | None


class ChangeSettings(msgspec.Struct, frozen=True, array_like=True, tag=21, gc=False):
    """Set how long things last and how deep reflections go, in a namespace and below."""

    scope: Scope
    settings: dict[str, int | None]


MemoryRequest = (
    RememberMemory
    | ReviseMemory
    | RetractMemory
    | TouchMemory
    | PromoteMemory
    | LinkMemories
    | UnlinkMemories
    | StoreTranscript
    | StoreMessages
    | CiteTranscript
    | ResolveNotice
    | ChangeSettings
)


class TitleKey(msgspec.Struct, frozen=True):
    """Where a title is an identity: in a namespace, or for one agent there (the owner)."""

    namespace: str
    owner: str
    title: str

    @classmethod
    def of(cls, scope: Scope, title: str, *, private: bool) -> TitleKey:
        """Return the key of a title a scope gives to a memory."""
        return cls(scope.namespace, scope.agent_id if private else "", title)

    def __str__(self) -> str:
        return f"the memory titled {self.title!r} in {self.namespace!r}"


class MemoryRead(msgspec.Struct, frozen=True):
    """A memory was read by its id."""

    memory_id: str

    def __str__(self) -> str:
        return f"memory {self.memory_id!r}"


class LinksRead(msgspec.Struct, frozen=True):
    """The links of a memory were read, and so was the absence of others."""

    memory_id: str

    def __str__(self) -> str:
        return f"a link of memory {self.memory_id!r}"
