"""The vocabulary of the log, where it speaks of memories, transcripts and settings."""

from __future__ import annotations

from memoranda.model import document
from memoranda.model.memory import Content, Depth, Details, Expiry, Span
from memoranda.model.operation import Operation, OperationType


class Remember(Operation, frozen=True, tag=4, gc=False):
    """A memory begins."""

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
        """The first one."""
        return 1

    @property
    def blob(self) -> bytes | None:
        """The content's hash, if it is long."""
        return self.content.digest

    @property
    def value(self) -> document.Document:
        """Everything said of the memory; a long content by its hash."""
        shown = _shown_identity(self) | self.content.shown() | self.details.shown()
        return shown | {"visibility": "private" if self.private else "namespace"}


class Revise(Operation, frozen=True, tag=5, gc=False):
    """A memory takes a new version; what is None among the last three is as it was."""

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
        """What the version says anew."""
        shown = _shown_identity(self)
        if self.content is not None:
            shown |= self.content.shown()
        return shown if self.details is None else shown | self.details.shown()


class Retract(Operation, frozen=True, tag=6, gc=False):
    """A memory is taken back: it was said in error."""

    type = OperationType.RETRACT
    address = "memory:{0.memory_id}"
    told = ("reason",)

    memory_id: str
    version: int
    reason: str | None = None
    private: bool = False


class Touch(Operation, frozen=True, tag=7, gc=False):
    """A memory was of use: it is counted, and lasts as long again."""

    type = OperationType.TOUCH
    address = "memory:{0.memory_id}"
    told = ("lifetime",)

    memory_id: str
    version: int
    lifetime: int | None
    private: bool = False


class AddLink(Operation, frozen=True, tag=8, gc=False):
    """A link between memories begins to hold; with it the depths that follow from it."""

    type = OperationType.LINK
    address = "link:{0.source}|{0.relation}|{0.target}"
    told = ("source", "target", "relation")

    source: str
    target: str
    relation: str
    depths: tuple[Depth, ...] = ()
    private: bool = False


class CloseLink(Operation, frozen=True, tag=9, gc=False):
    """A link between memories holds no longer; with it the depths that follow from that."""

    type = OperationType.UNLINK
    address = "link:{0.source}|{0.relation}|{0.target}"
    told = ("source", "target", "relation")

    source: str
    target: str
    relation: str
    depths: tuple[Depth, ...] = ()
    private: bool = False


class KeepTranscript(Operation, frozen=True, tag=10, gc=False):
    """Words are kept as they were said, a text or messages as JSON, beside the log."""

    type = OperationType.TRANSCRIPT
    address = "transcript:{0.transcript_id}"

    transcript_id: str
    blob: bytes
    size: int
    occurred_at: int | None
    expiry: Expiry
    form: int = 0
    """0: what is kept is the text; else it is messages, and this is how they become text."""
    text_size: int = 0
    """How many bytes the text has that messages become."""

    @property
    def value(self) -> document.Document:
        """The hash and the size of what is kept, when it was said, and its form if it has one."""
        shown: document.Document = {
            "hash": self.blob.hex(),
            "size": self.size,
            "occurred_at": self.occurred_at,
        }
        return shown if not self.form else shown | {"form": f"messages/{self.form}"}


class Cite(Operation, frozen=True, tag=11, gc=False):
    """A memory names the words it comes from; no spans: the whole transcript."""

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
    """Somebody is told that what a memory of theirs reflects on was superseded: a memory itself.

    Its words follow from these ids and the commit's time, and are written by who applies it.
    """

    type = OperationType.NOTIFY
    address = "memory:{0.memory_id}"
    told = ("dependent_id", "invalidated_id", "invalidating_id", "by")

    memory_id: str
    dependent_id: str
    invalidated_id: str
    invalidating_id: str
    by: str
    private: bool = False

    @property
    def version(self) -> int:
        """The only one."""
        return 1


class Resolve(Operation, frozen=True, tag=13, gc=False):
    """A notice is closed with a decision; what follows from that stands behind it."""

    type = OperationType.RESOLVE
    address = "memory:{0.memory_id}"
    told = ("decision", "note", "replacement")

    memory_id: str
    decision: str
    by: str
    expiry: Expiry
    note: str | None = None
    replacement: str | None = None
    private: bool = False


class Configure(Operation, frozen=True, tag=14, gc=False):
    """Settings of a namespace, and of those below it that do not set their own."""

    type = OperationType.CONFIGURE
    address = "settings:{0.namespace}"
    told = ("settings",)

    settings: dict[str, int | None]
    """Those that change; lifetimes are in microseconds, None for ever."""


def _shown_identity(operation: Remember | Revise) -> document.Document:
    return {"kind": operation.kind, "tier": operation.tier, "title": operation.title}
