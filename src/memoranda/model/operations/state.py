"""The vocabulary of the log, where it speaks of state keys and of where the log itself lives."""

from __future__ import annotations

import msgspec

from memoranda.model import document
from memoranda.model.operation import Operation, OperationType
from memoranda.model.refs import Ref


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


class Ancestor(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A log that a fork comes from: which one, and how far the fork has its events."""

    log_id: str
    commit_ts: int
    hash: bytes
    """The hash of its last event that the fork has; empty if only an older fork knew it."""
    epoch: bytes
    """The leaf of the epoch in its first event, where the fork has an epoch of its own."""


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
    lineage: tuple[Ancestor, ...] = ()
    """The logs that a fork comes from, the oldest first."""
