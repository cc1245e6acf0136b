"""The vocabulary of the log: every operation that can ever stand in it.

An operation here is *resolved*: versions, ids and times are decided, and applying it needs nothing
from outside. Its stored form is a msgpack array that begins with the operation's number. A number
is never reused and its fields never change; a new layout gets a new number, so every log that was
ever written can be read. New fields at the end, with a default, are the one exception.
"""

from __future__ import annotations

from typing import cast

from memoranda.model.audit_operations import Erase, Refuse, RetireKey, Summary, TrustKey
from memoranda.model.carried import Begun, Carried, Continued, Mentioned
from memoranda.model.graph_operations import (
    Alias,
    Assert,
    AssertPrivately,
    Classify,
    End,
    EndFrom,
    EndPrivately,
    Merge,
    Withdraw,
    WithdrawPrivately,
)
from memoranda.model.memory_operations import (
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
from memoranda.model.operation import Operation, OperationType
from memoranda.model.redacted import Redacted
from memoranda.model.scope import Scope
from memoranda.model.state_operations import Ancestor, Delete, Epoch, Write
from memoranda.model.stubs import MemoryStub, TranscriptStub

__all__ = [
    "AUDIT_SCOPE",
    "ENGINE_SCOPE",
    "AddLink",
    "Alias",
    "Ancestor",
    "AnyOperation",
    "Assert",
    "AssertPrivately",
    "Begun",
    "Carried",
    "Cite",
    "Classify",
    "CloseLink",
    "Configure",
    "Continued",
    "Delete",
    "End",
    "EndFrom",
    "EndPrivately",
    "Epoch",
    "Erase",
    "Erased",
    "ErasedOperation",
    "KeepTranscript",
    "MemoryStub",
    "Mentioned",
    "Merge",
    "Notify",
    "Operation",
    "OperationType",
    "Redacted",
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
    "WithdrawPrivately",
    "Write",
    "is_restated",
    "is_unproven",
    "shown",
    "standing",
]


class Erased(Operation, frozen=True, tag=0, gc=False):
    """What is left of an operation whose content was erased, in an event of chain version 1.

    Its hash is there, so the chain holds; nothing proves that `rest` is what the operation said.
    """

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
_Private = AssertPrivately | EndPrivately | WithdrawPrivately
_OfFacts = Assert | End | EndFrom | Withdraw | Classify | Alias | Merge | _Private
_OfTheLog = Epoch | Erase | Summary | TrustKey | RetireKey | Refuse
Stub = MemoryStub | TranscriptStub | Mentioned
_Carried = Begun | Carried | Continued
"""What stays of memories and transcripts, inside what is left of an operation."""
_Whole = _OfState | _OfMemories | _OfTranscripts | _OfFacts | Configure | _OfTheLog
Rest = _Whole | Stub | _Carried
"""Everything that can stand in the place of an operation that was erased."""
ErasedOperation = Erased | Redacted
"""What stands where something was erased: in an event of chain version 1, and of version 2."""
AnyOperation = _Whole | Stub | _Carried | ErasedOperation
"""Every operation; where a decoder or a type checker needs the whole list."""


def standing(operation: AnyOperation) -> AnyOperation:
    """Return what applies at an operation's place: itself, or what is left of it."""
    kind = type(operation)  # asked of each that is read, and so in the way that costs least
    if kind is Redacted or kind is Erased:
        left = cast("Rest | None", cast("ErasedOperation", operation).rest)
        return operation if left is None else left
    return operation


def is_restated(operation: AnyOperation) -> bool:
    """Say whether something applies in an operation's place that its fields do not prove."""
    if isinstance(operation, Redacted):
        return bool(operation.numbers)
    return is_unproven(operation)


def is_unproven(operation: AnyOperation) -> bool:
    """Say whether what applies in an operation's place opens no commitment: chain version 1."""
    return isinstance(operation, Erased) and operation.rest is not None


def shown(operation: AnyOperation) -> AnyOperation:
    """Return what a reader of the log is shown: what is left, where that is an operation."""
    left = standing(operation)
    return operation if isinstance(left, Stub) else left


ENGINE_SCOPE = Scope("_log", "_engine")
"""The scope of the log's own operations."""

AUDIT_SCOPE = Scope("_audit", "_engine")
"""The scope of refusals, which are in nobody's replay."""
