"""The vocabulary of the log: every operation that can ever stand in it.

An operation here is *resolved*: versions, ids and times are decided, and applying it needs nothing
from outside. Its stored form is a msgpack array that begins with the operation's number. A number
is never reused and its fields never change; a new layout gets a new number, so every log that was
ever written can be read. New fields at the end, with a default, are the one exception.
"""

from __future__ import annotations

from recollect.model import document
from recollect.model.audit_operations import Erase, Refuse, RetireKey, Summary, TrustKey
from recollect.model.carried import Begun, Carried, Mentioned
from recollect.model.graph_operations import (
    Alias,
    Assert,
    Classify,
    End,
    EndFrom,
    Merge,
    Withdraw,
)
from recollect.model.memory_operations import (
    AddLink,
    Cite,
    CloseLink,
    Configure,
    KeepTranscript,
    Notify,
    Remember,
    Resolve,
    Retract,
    Revise,
    Touch,
)
from recollect.model.operation import Operation, OperationType
from recollect.model.refs import Ref
from recollect.model.scope import Scope
from recollect.model.stubs import MemoryStub, TranscriptStub

__all__ = [
    "AUDIT_SCOPE",
    "ENGINE_SCOPE",
    "AddLink",
    "Alias",
    "AnyOperation",
    "Assert",
    "Begun",
    "Carried",
    "Cite",
    "Classify",
    "CloseLink",
    "Configure",
    "Delete",
    "End",
    "EndFrom",
    "Epoch",
    "Erase",
    "Erased",
    "KeepTranscript",
    "MemoryStub",
    "Mentioned",
    "Merge",
    "Notify",
    "Operation",
    "OperationType",
    "Refuse",
    "Remember",
    "Resolve",
    "RetireKey",
    "Retract",
    "Revise",
    "Summary",
    "Touch",
    "TranscriptStub",
    "TrustKey",
    "Withdraw",
    "Write",
    "shown",
    "standing",
]


class Write(Operation, frozen=True, tag=1, gc=False):
    """A state key takes a value."""

    type = OperationType.WRITE

    key: str
    version: int
    encoded: bytes
    because: tuple[Ref, ...] = ()

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


class Erased(Operation, frozen=True, tag=0, gc=False):
    """What is left of an operation whose content was erased: its hash, so the chain holds."""

    type = OperationType.ERASED

    leaf: bytes
    erasure: int = 0
    """The commit that erased it, which vouches for everything that stands here."""
    rest: Rest | None = None
    """What applies in its place: the operation without what was erased, or a stub."""
    salt: bytes = b""
    """Goes when more of it is erased: the hash of what stood here then confirms no guess of it."""


_OfState = Write | Delete
_OfMemories = Remember | Revise | Retract | Touch | AddLink | CloseLink | Notify | Resolve
_OfTranscripts = KeepTranscript | Cite
_OfFacts = Assert | End | EndFrom | Withdraw | Classify | Alias | Merge
_OfTheLog = Epoch | Erase | Summary | TrustKey | RetireKey | Refuse
Stub = MemoryStub | TranscriptStub | Mentioned
_Carried = Begun | Carried
"""What stays of memories and transcripts, inside what is left of an operation."""
_Whole = _OfState | _OfMemories | _OfTranscripts | _OfFacts | Configure | _OfTheLog
Rest = _Whole | Stub | _Carried
"""Everything that can stand in the place of an operation that was erased."""
AnyOperation = _Whole | Stub | _Carried | Erased
"""Every operation; where a decoder or a type checker needs the whole list."""


def standing(operation: AnyOperation) -> AnyOperation:
    """Return what applies at an operation's place: itself, or what is left of it."""
    if isinstance(operation, Erased) and operation.rest is not None:
        return operation.rest
    return operation


def shown(operation: AnyOperation) -> AnyOperation:
    """Return what a reader of the log is shown: what is left, where that is an operation."""
    left = standing(operation)
    return operation if isinstance(left, Stub) else left


ENGINE_SCOPE = Scope("_log", "_engine")
"""The scope of the log's own operations."""

AUDIT_SCOPE = Scope("_audit", "_engine")
"""The scope of refusals, which are in nobody's replay."""
