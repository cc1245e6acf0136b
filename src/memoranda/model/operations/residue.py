"""What stays of operations that were summed up, where something rests on what they had led to.

They stand in no event of their own, only inside an `Erased` operation. What they say is salted, as
the erasure that left them here has a hash of it, and they may be erased themselves.
"""

from __future__ import annotations

from memoranda.model import document
from memoranda.model.graph_operations import Name
from memoranda.model.memory import Details, Expiry
from memoranda.model.memory_operations import Retract, Revise, Touch
from memoranda.model.operation import Operation, OperationType


class Begun(Operation, frozen=True, tag=40, gc=False):
    """A memory began; what it said first has been replaced since."""

    type = OperationType.REMEMBER
    address = "memory:{0.memory_id}"
    told = ("kind", "tier", "title")

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
        """The first one."""
        return 1


class Carried(Operation, frozen=True, tag=41, gc=False):
    """What a memory had come to: all that is said of it beside its content."""

    type = OperationType.UPDATE
    address = "memory:{0.memory_id}"
    told = ("kind", "tier", "title", "retracted", "reason", "access_count")

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
    """What else was said of it, where that was said here and still holds."""


class Mentioned(Operation, frozen=True, tag=42, gc=False):
    """Names came up for the first time, in something that was taken back since."""

    type = OperationType.ERASED

    names: tuple[Name, ...]
    salt: bytes


class Continued(Operation, frozen=True, tag=44, gc=False):
    """What a memory had come to with an operation, where operations before that are gone.

    The operation says what it said, but for content and details that were replaced since; the
    numbers are those of the memory after it.
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
        """The memory."""
        return self.base.memory_id

    @property
    def private(self) -> bool:
        """Whether no other agent is shown the memory."""
        return self.base.private

    @property
    def version(self) -> int:
        """The memory's version."""
        return self.base.version

    @property
    def value(self) -> document.Document | None:
        """What the operation said, and how often the memory was of use."""
        return (self.base.value or {}) | {"access_count": self.access_count}
