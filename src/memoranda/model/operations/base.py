"""What every operation of the log is, whatever it is about."""

from __future__ import annotations

import enum
from typing import ClassVar

import msgspec

from memoranda.model import document
from memoranda.model.scope import Scope


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
    ASSERT = "assert"
    END = "end"
    WITHDRAW = "withdraw"
    CARDINALITY = "cardinality"
    ALIAS = "alias"
    MERGE = "merge"
    ERASED = "erased"
    ERASE = "erase"
    SUMMARY = "summary"
    TRUST = "trust"
    RETIRE = "retire"
    REFUSED = "refused"


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
