"""Operations on state keys, and epochs of the log."""

from __future__ import annotations

import msgspec

from memoranda.model import document
from memoranda.model.operations.base import Operation, OperationType
from memoranda.model.refs import Ref


class Write(Operation, frozen=True, tag=1, gc=False):
    """A write of a value to a state key."""

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
    """A deletion of a state key's value, with a version of its own."""

    type = OperationType.DELETE

    key: str
    version: int


class Ancestor(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A log that a fork comes from, and the last of its events that the fork has."""

    log_id: str
    commit_ts: int
    hash: bytes
    """The hash of that event; empty if an older fork had it and this one does not."""
    epoch: bytes
    """The leaf of the ancestor's first epoch, which the fork replaced by its own."""


class Epoch(Operation, frozen=True, tag=3, gc=False):
    """The start of the log, or of its continuation in another file: a copy, a backup or a fork.

    It is in the first event that is written there, in the engine's own scope.
    """

    type = OperationType.EPOCH
    address = "epoch:{0.version}"
    value_fields = ("epoch_id", "cause", "origin")

    version: int
    epoch_id: str
    cause: str
    origin: str | None = None
    lineage: tuple[Ancestor, ...] = ()
    """The ancestors of a fork, oldest first."""
