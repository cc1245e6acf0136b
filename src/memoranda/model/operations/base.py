"""The base of all operations of the log."""

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
    """An operation: an owner, an address, a plain JSON value and a version."""

    type: ClassVar[OperationType]
    address: ClassVar[str] = ""
    """The format of `key`, for an operation without a field of that name."""
    value_fields: ClassVar[tuple[str, ...]] = ()
    """The fields of `value`, for an operation that does not override it."""

    namespace: str
    agent_id: str

    @property
    def key(self) -> str:
        """The address: a state key, or an id with its type, such as `memory:…`."""
        return self.address.format(self)

    @property
    def version(self) -> int:
        """The version that the operation made at its address."""
        return 0

    @property
    def private(self) -> bool:
        """Whether its target is visible to its own agent only."""
        return False

    @property
    def scope(self) -> Scope:
        """The namespace and agent of the operation."""
        return Scope(self.namespace, self.agent_id)

    def __repr__(self) -> str:
        address = ", ".join((repr(self.key), f"version={self.version}", f"value={self.value!r}"))
        return f"{self.type.value}({address}, scope={self.namespace}:{self.agent_id})"

    @property
    def value(self) -> document.Document | None:
        """The operation's content as plain JSON; it is decoded at each access."""
        return {name: getattr(self, name) for name in self.value_fields} or None

    @property
    def blob(self) -> bytes | None:
        """The hash of a blob beside the log, if the operation has one."""
        return None
