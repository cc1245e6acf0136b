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
from recollect.model.refs import KeyRef
from recollect.model.scope import Scope


class OperationType(enum.Enum):
    """The kinds of operation, as replay names them."""

    WRITE = "write"
    DELETE = "delete"
    EPOCH = "epoch"
    ERASED = "erased"


class Operation(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What all operations have: an owner, an address, a plain JSON value and a version."""

    type: ClassVar[OperationType]

    namespace: str
    agent_id: str

    @property
    def key(self) -> str:
        """The address: a state key, or what another kind of operation is about."""
        return ""

    @property
    def version(self) -> int:
        """Which version of what is at the address the operation made."""
        return 0

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

    version: int
    epoch_id: str
    cause: str
    origin: str | None = None

    @property
    def key(self) -> str:
        """The address: epochs are numbered."""
        return f"epoch:{self.version}"

    @property
    def value(self) -> document.Document:
        """What is known of the epoch."""
        return {"epoch_id": self.epoch_id, "cause": self.cause, "origin": self.origin}


class Erased(Operation, frozen=True, tag=0, gc=False):
    """What is left of an operation whose content was forgotten: its hash, so the chain holds."""

    type = OperationType.ERASED

    leaf: bytes


AnyOperation = Write | Delete | Epoch | Erased
"""Every operation; where a decoder or a type checker needs the whole list."""

ENGINE_SCOPE = Scope("_log", "_engine")
"""The scope of the log's own operations."""
