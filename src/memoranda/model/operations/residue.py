"""Tombstones of erased memories and transcripts, and the residue of compacted operations.

In chain version 1 they are stored inside an `Erased` operation; in version 2 they are computed from
a `Redacted` one. Stored ones are salted: the erasure has a hash of them, which must not confirm a
guess once they are erased themselves.
"""

from __future__ import annotations

from memoranda.model import document
from memoranda.model.memory import Details, Expiry
from memoranda.model.operations.base import Operation, OperationType
from memoranda.model.operations.graph import Name
from memoranda.model.operations.memory import Retract, Revise, Touch

# Tombstones: the ids of erased memories and transcripts, so that references to them resolve.


class MemoryTombstone(Operation, frozen=True, tag=26, gc=False):
    """The tombstone of a memory: its id, for links, depths and notices."""

    type = OperationType.ERASED

    memory_id: str
    private: bool = False


class TranscriptTombstone(Operation, frozen=True, tag=27, gc=False):
    """The tombstone of a transcript: its id, for citations."""

    type = OperationType.ERASED

    transcript_id: str


# The residue of compacted operations that a later operation builds on.


class RememberResidue(Operation, frozen=True, tag=40, gc=False):
    """The creation of a memory whose first content was replaced since."""

    type = OperationType.REMEMBER
    address = "memory:{0.memory_id}"
    value_fields = ("kind", "tier", "title")

    memory_id: str
    private: bool
    kind: str
    tier: str
    title: str | None
    expiry: Expiry
    salt: bytes
    details: Details | None = None

    @property
    def version(self) -> int:
        """Always 1."""
        return 1


class StateResidue(Operation, frozen=True, tag=41, gc=False):
    """The state of a memory without its content, in chain version 1."""

    type = OperationType.UPDATE
    address = "memory:{0.memory_id}"
    value_fields = ("kind", "tier", "title", "retracted", "reason", "access_count")

    memory_id: str
    private: bool
    version: int
    updated_at: int
    kind: str
    tier: str
    title: str | None
    retracted: bool
    reason: str | None
    expires_at: int | None
    depth: int
    access_count: int
    last_accessed_at: int | None
    salt: bytes
    details: Details | None = None
    """The details, if this operation set them and they still apply."""


class NamesResidue(Operation, frozen=True, tag=42, gc=False):
    """The names that an erased statement mentioned first: the order of entities depends on them."""

    type = OperationType.ERASED

    names: tuple[Name, ...]
    salt: bytes
    private: bool = False
    """Whether the statement was private: a shared graph does not have its names."""


class ChangeResidue(Operation, frozen=True, tag=44, gc=False):
    """A change of a memory whose earlier operations are compacted.

    It has the operation, without content and details that were replaced since, and the counters of
    the memory after it.
    """

    type = OperationType.UPDATE
    address = "memory:{0.memory_id}"

    base: Revise | Retract | Touch
    expires_at: int | None
    depth: int
    access_count: int
    last_accessed_at: int | None
    without_content: bool = False
    without_details: bool = False

    @property
    def memory_id(self) -> str:
        """The memory's id."""
        return self.base.memory_id

    @property
    def private(self) -> bool:
        """Whether only its agent may see the memory."""
        return self.base.private

    @property
    def version(self) -> int:
        """The memory's version."""
        return self.base.version

    @property
    def value(self) -> document.Document | None:
        """The value of the operation, and the memory's access count."""
        return (self.base.value or {}) | {"access_count": self.access_count}
