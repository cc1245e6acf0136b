"""Operations on memories, links, transcripts, notices and settings."""

from __future__ import annotations

from memoranda.model import document
from memoranda.model.memory import Content, Depth, Details, Expiry, Span
from memoranda.model.operations.base import Operation, OperationType
from memoranda.model.refs import MemoryRef, OperationRef


class Remember(Operation, frozen=True, tag=4, gc=False):
    """The creation of a memory."""

    type = OperationType.REMEMBER
    address = "memory:{0.memory_id}"

    memory_id: str
    kind: str
    tier: str
    title: str | None
    private: bool
    content: Content
    details: Details
    expiry: Expiry

    @property
    def version(self) -> int:
        """Always 1."""
        return 1

    @property
    def blob(self) -> bytes | None:
        """The content's hash, if it is long."""
        return self.content.digest

    @property
    def value(self) -> document.Document:
        """All attributes of the memory; a long content as its hash."""
        fields = _identity_fields(self) | self.content.to_document() | self.details.to_document()
        return fields | {"visibility": "private" if self.private else "namespace"}


class Revise(Operation, frozen=True, tag=5, gc=False):
    """A new version of a memory; content, details and expiry that are None stay unchanged."""

    type = OperationType.UPDATE
    address = "memory:{0.memory_id}"

    memory_id: str
    version: int
    kind: str
    tier: str
    title: str | None
    content: Content | None = None
    details: Details | None = None
    expiry: Expiry | None = None
    private: bool = False

    @property
    def blob(self) -> bytes | None:
        """The new content's hash, if it is long."""
        return None if self.content is None else self.content.digest

    @property
    def value(self) -> document.Document:
        """The attributes that the version changes."""
        fields = _identity_fields(self)
        if self.content is not None:
            fields |= self.content.to_document()
        return fields if self.details is None else fields | self.details.to_document()


class Retract(Operation, frozen=True, tag=6, gc=False):
    """The retraction of a memory that was wrong."""

    type = OperationType.RETRACT
    address = "memory:{0.memory_id}"
    value_fields = ("reason",)

    memory_id: str
    version: int
    reason: str | None = None
    private: bool = False


class Touch(Operation, frozen=True, tag=7, gc=False):
    """An access to a memory: it is counted, and its lifetime starts again."""

    type = OperationType.TOUCH
    address = "memory:{0.memory_id}"
    value_fields = ("lifetime",)

    memory_id: str
    version: int
    lifetime: int | None
    private: bool = False


class AddLink(Operation, frozen=True, tag=8, gc=False):
    """A new link between memories, with the reflection depths that it changes."""

    type = OperationType.LINK
    address = "link:{0.source}|{0.relation}|{0.target}"
    value_fields = ("source", "target", "relation")

    source: str
    target: str
    relation: str
    depths: tuple[Depth, ...] = ()
    private: bool = False


class CloseLink(Operation, frozen=True, tag=9, gc=False):
    """The end of a link between memories, with the reflection depths that it changes."""

    type = OperationType.UNLINK
    address = "link:{0.source}|{0.relation}|{0.target}"
    value_fields = ("source", "target", "relation")

    source: str
    target: str
    relation: str
    depths: tuple[Depth, ...] = ()
    private: bool = False


class KeepTranscript(Operation, frozen=True, tag=10, gc=False):
    """A transcript, text or messages as JSON, whose bytes are in a blob beside the log."""

    type = OperationType.TRANSCRIPT
    address = "transcript:{0.transcript_id}"

    transcript_id: str
    blob: bytes
    size: int
    occurred_at: int | None
    expiry: Expiry
    form: int = 0
    """0 for text; for messages, the number of the rendering that makes text of them."""
    text_size: int = 0
    """The size of the rendered text of messages, in bytes."""

    @property
    def value(self) -> document.Document:
        """The hash and size of the blob, the time of the conversation, and the form of messages."""
        fields: document.Document = {
            "hash": self.blob.hex(),
            "size": self.size,
            "occurred_at": self.occurred_at,
        }
        return fields if not self.form else fields | {"form": f"messages/{self.form}"}


class Cite(Operation, frozen=True, tag=11, gc=False):
    """A citation of a transcript by a memory; without spans, of all of it."""

    type = OperationType.CITE
    address = "citation:{0.memory_id}|{0.transcript_id}"

    memory_id: str
    transcript_id: str
    spans: tuple[Span, ...] = ()
    private: bool = False

    @property
    def value(self) -> document.Document:
        """The spans."""
        return {"spans": [list(span) for span in self.spans]}


class Notify(Operation, frozen=True, tag=12, gc=False):
    """A notice to a memory's owner that a memory it reflects on was superseded.

    A notice is a memory itself. Its text is derived from these ids and the commit's time when the
    operation is applied.
    """

    type = OperationType.NOTIFY
    address = "memory:{0.memory_id}"
    value_fields = ("dependent_id", "invalidated_id", "invalidating_id", "by")

    memory_id: str
    dependent_id: str
    invalidated_id: str
    invalidating_id: str
    by: str
    private: bool = False

    @property
    def version(self) -> int:
        """Always 1."""
        return 1


class NotifyStale(Operation, frozen=True, tag=32, gc=False):
    """A notice that a belief rests on evidence that is no longer what it was.

    As `Notify`, it is a memory whose text follows from these fields and the commit's time.
    """

    type = OperationType.NOTIFY
    address = "memory:{0.memory_id}"

    memory_id: str
    dependent_kind: str
    """`key`, `memory` or `fact`."""
    dependent: MemoryRef | OperationRef
    evidence_kind: str
    evidence: MemoryRef | OperationRef
    change: str
    """What happened to the evidence: one of `CHANGES`."""
    invalidating_id: str | None
    """The memory that supersedes the evidence."""
    by: str
    private: bool = False

    @property
    def version(self) -> int:
        """Always 1."""
        return 1

    @property
    def value(self) -> document.Document:
        """The ids of what the notice is about, and what happened."""
        fields: document.Document = {"change": self.change, "by": self.by}
        fields |= reference_fields("dependent", self.dependent_kind, self.dependent)
        fields |= reference_fields("invalidated", self.evidence_kind, self.evidence)
        return fields | {"invalidating_id": self.invalidating_id}


def reference_fields(name: str, kind: str, ref: MemoryRef | OperationRef) -> document.Document:
    """Return a reference of a notice as plain JSON, with names that begin with `name`."""
    if isinstance(ref, MemoryRef):
        return {f"{name}_kind": kind, f"{name}_id": ref.memory_id}
    return {f"{name}_kind": kind, f"{name}_at": [ref.commit_ts, ref.position]}


class Resolve(Operation, frozen=True, tag=13, gc=False):
    """The decision on a notice; its consequences are the operations after it."""

    type = OperationType.RESOLVE
    address = "memory:{0.memory_id}"
    value_fields = ("decision", "note", "replacement")

    memory_id: str
    decision: str
    by: str
    expiry: Expiry
    note: str | None = None
    replacement: str | None = None
    private: bool = False


class Configure(Operation, frozen=True, tag=14, gc=False):
    """Settings of a namespace and of the namespaces below it that have none of their own."""

    type = OperationType.CONFIGURE
    address = "settings:{0.namespace}"
    value_fields = ("settings",)

    settings: dict[str, int | None]
    """The changed settings; lifetimes are in microseconds, None never expires."""


def _identity_fields(operation: Remember | Revise) -> document.Document:
    return {"kind": operation.kind, "tier": operation.tier, "title": operation.title}
