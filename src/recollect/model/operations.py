"""The vocabulary of the log: every operation that can ever stand in it.

An operation here is *resolved*: versions, ids and times are decided, and applying it needs nothing
from outside. Its stored form is a msgpack array that begins with the operation's number. A number
is never reused and its fields never change; a new layout gets a new number, so every log that was
ever written can be read. New fields at the end, with a default, are the one exception.
"""

from __future__ import annotations

import enum
from typing import ClassVar

import msgspec

from recollect.model import document
from recollect.model.memory import Content, Depth, Details, Expiry, Span
from recollect.model.refs import KeyRef
from recollect.model.scope import Scope


class OperationType(enum.Enum):
    """The kinds of operation, as replay names them."""

    WRITE = "write"
    DELETE = "delete"
    EPOCH = "epoch"
    REMEMBER = "remember"
    UPDATE = "update"
    RETRACT = "retract"
    TOUCH = "touch"
    LINK = "link"
    UNLINK = "unlink"
    TRANSCRIPT = "transcript"
    CITE = "cite"
    NOTIFY = "notify"
    RESOLVE = "resolve"
    CONFIGURE = "configure"
    ERASED = "erased"


class Operation(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What all operations have: an owner, an address, a plain JSON value and a version."""

    type: ClassVar[OperationType]
    address: ClassVar[str] = ""
    """What `key` is, with fields to fill in, where it is not a field itself."""
    told: ClassVar[tuple[str, ...]] = ()
    """The fields that `value` tells, where it has no form of its own."""

    namespace: str
    agent_id: str

    @property
    def key(self) -> str:
        """The address: a state key, or what another kind of operation is about."""
        return self.address.format(self)

    @property
    def version(self) -> int:
        """Which version of what is at the address the operation made."""
        return 0

    @property
    def private(self) -> bool:
        """Whether it is about something that no other agent is shown."""
        return False

    @property
    def scope(self) -> Scope:
        """Whose operation it is."""
        return Scope(self.namespace, self.agent_id)

    def __repr__(self) -> str:
        address = ", ".join((repr(self.key), f"version={self.version}", f"value={self.value!r}"))
        return f"{self.type.value}({address}, scope={self.namespace}:{self.agent_id})"

    @property
    def value(self) -> document.Document | None:
        """The operation's content as plain JSON, decoded anew at each touch."""
        return {name: getattr(self, name) for name in self.told} or None

    @property
    def blob(self) -> bytes | None:
        """The hash of content that is kept beside the log, if it has any."""
        return None


class Write(Operation, frozen=True, tag=1, gc=False):
    """A state key takes a value."""

    type = OperationType.WRITE

    key: str
    version: int
    encoded: bytes
    because: tuple[KeyRef, ...] = ()

    @property
    def value(self) -> document.Document:
        """The value written."""
        return document.decode(self.encoded)


class Delete(Operation, frozen=True, tag=2, gc=False):
    """A state key loses its value; the deletion has a version of its own."""

    type = OperationType.DELETE

    key: str
    version: int


class Epoch(Operation, frozen=True, tag=3, gc=False):
    """The log begins, or goes on in another place: a copy, a restored backup, a fork.

    It stands in the first event written there, in the engine's own scope.
    """

    type = OperationType.EPOCH
    address = "epoch:{0.version}"
    told = ("epoch_id", "cause", "origin")

    version: int
    epoch_id: str
    cause: str
    origin: str | None = None


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
    """Words are kept as they were said; the text itself is kept beside the log."""

    type = OperationType.TRANSCRIPT
    address = "transcript:{0.transcript_id}"

    transcript_id: str
    blob: bytes
    size: int
    occurred_at: int | None
    expiry: Expiry

    @property
    def value(self) -> document.Document:
        """The text's hash and size, and when it was said."""
        return {"hash": self.blob.hex(), "size": self.size, "occurred_at": self.occurred_at}


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


class Erased(Operation, frozen=True, tag=0, gc=False):
    """What is left of an operation whose content was forgotten: its hash, so the chain holds."""

    type = OperationType.ERASED

    leaf: bytes


_OfState = Write | Delete
_OfMemories = Remember | Revise | Retract | Touch | AddLink | CloseLink | Notify | Resolve
_OfTranscripts = KeepTranscript | Cite
AnyOperation = _OfState | _OfMemories | _OfTranscripts | Configure | Epoch | Erased
"""Every operation; where a decoder or a type checker needs the whole list."""

ENGINE_SCOPE = Scope("_log", "_engine")
"""The scope of the log's own operations."""


def _shown_identity(operation: Remember | Revise) -> document.Document:
    return {"kind": operation.kind, "tier": operation.tier, "title": operation.title}
