"""The vocabulary of the log: every operation that an event can have.

An operation is *resolved*: its versions, ids and times are decided, and applying it needs no other
input. Its stored form is a msgpack array that begins with the operation's tag. A tag is never
reused and its fields never change; a new layout gets a new tag, so that every log ever written can
be read. New fields at the end, with a default, are the only exception.
"""

from __future__ import annotations

from typing import cast

from memoranda.model.operations.audit import Erase, Refuse, RetireKey, Summary, TrustKey
from memoranda.model.operations.base import Operation, OperationType
from memoranda.model.operations.graph import (
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
from memoranda.model.operations.memory import (
    AddLink,
    Cite,
    CloseLink,
    Configure,
    KeepTranscript,
    Notify,
    NotifyStale,
    Remember,
    Resolve,
    Retract,
    Revise,
    Touch,
)
from memoranda.model.operations.redacted import Redacted
from memoranda.model.operations.residue import (
    ChangeResidue,
    MemoryTombstone,
    NamesResidue,
    RememberResidue,
    StateResidue,
    TranscriptTombstone,
)
from memoranda.model.operations.state import Ancestor, Delete, Epoch, Write
from memoranda.model.scope import Scope

__all__ = [
    "AUDIT_SCOPE",
    "ENGINE_SCOPE",
    "AddLink",
    "Alias",
    "Ancestor",
    "AnyOperation",
    "Assert",
    "AssertPrivately",
    "ChangeResidue",
    "Cite",
    "Classify",
    "CloseLink",
    "Configure",
    "Delete",
    "End",
    "EndFrom",
    "EndPrivately",
    "Epoch",
    "Erase",
    "Erased",
    "ErasedOperation",
    "KeepTranscript",
    "MemoryTombstone",
    "Merge",
    "NamesResidue",
    "Notify",
    "NotifyStale",
    "Operation",
    "OperationType",
    "Redacted",
    "Refuse",
    "Remember",
    "RememberResidue",
    "Resolve",
    "RetireKey",
    "Retract",
    "Revise",
    "StateResidue",
    "Summary",
    "Touch",
    "TranscriptTombstone",
    "TrustKey",
    "Withdraw",
    "WithdrawPrivately",
    "Write",
    "effective_operation",
    "is_restated",
    "is_unproven",
    "visible_operation",
]


class Erased(Operation, frozen=True, tag=0, gc=False):
    """An erased operation in an event of chain version 1.

    It has the leaf hash, so the chain holds; nothing proves that the residue was in the operation.
    """

    type = OperationType.ERASED

    leaf: bytes
    erasure: int = 0
    """The commit that erased it, whose `Erase` operation has a digest over this."""
    residue: Residue | None = None
    """The operation that applies in its place, without the erased content, or a tombstone."""
    salt: bytes = b""
    """Dropped when more is erased, so that an older hash of this cannot confirm a guess."""


_StateOperation = Write | Delete
_NoticeOperation = Notify | NotifyStale | Resolve
_MemoryOperation = Remember | Revise | Retract | Touch | AddLink | CloseLink | _NoticeOperation
_TranscriptOperation = KeepTranscript | Cite
_Private = AssertPrivately | EndPrivately | WithdrawPrivately
_FactOperation = Assert | End | EndFrom | Withdraw | Classify | Alias | Merge | _Private
_LogOperation = Epoch | Erase | Summary | TrustKey | RetireKey | Refuse
Tombstone = MemoryTombstone | TranscriptTombstone | NamesResidue
_CompactionResidue = RememberResidue | StateResidue | ChangeResidue
"""The residue of operations that a compaction erased."""
_CompleteOperation = (
    _StateOperation
    | _MemoryOperation
    | _TranscriptOperation
    | _FactOperation
    | Configure
    | _LogOperation
)
Residue = _CompleteOperation | Tombstone | _CompactionResidue
"""Every operation that can apply in place of an erased one."""
ErasedOperation = Erased | Redacted
"""An erased operation, in an event of chain version 1 or 2."""
AnyOperation = _CompleteOperation | Tombstone | _CompactionResidue | ErasedOperation
"""Every operation, for decoders and type checkers."""


def effective_operation(operation: AnyOperation) -> AnyOperation:
    """Return the operation that applies: itself, or the residue of an erased one."""
    kind = type(operation)  # faster than isinstance, for every operation that is read
    if kind is Redacted or kind is Erased:
        residue = cast("Residue | None", cast("ErasedOperation", operation).residue)
        return operation if residue is None else residue
    return operation


def is_restated(operation: AnyOperation) -> bool:
    """Say whether an erased operation's residue has values that its slots do not prove."""
    if isinstance(operation, Redacted):
        return bool(operation.numbers)
    return is_unproven(operation)


def is_unproven(operation: AnyOperation) -> bool:
    """Say whether an erased operation's residue opens no commitment, as in chain version 1."""
    return isinstance(operation, Erased) and operation.residue is not None


def visible_operation(operation: AnyOperation) -> AnyOperation:
    """Return the operation that a reader of the log sees: the residue, unless it is a tombstone."""
    effective = effective_operation(operation)
    return operation if isinstance(effective, Tombstone) else effective


ENGINE_SCOPE = Scope("_log", "_engine")
"""The scope of the log's own operations."""

AUDIT_SCOPE = Scope("_audit", "_engine")
"""The scope of refusals, which no replay includes by default."""
