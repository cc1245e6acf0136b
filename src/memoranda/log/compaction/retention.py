"""Retention: what a compaction notes of what has to stay, in memory and outside the write lock.

Once a horizon is set, nothing can come to rest on what was replaced before it: a reference to such
a version raises `Compacted`. So what is noted then stays true while others write.
"""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.model.erasure import Place
from memoranda.model.operations import AnyOperation, Assert, End, Write
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, Ref
from memoranda.storage.port import Engine, Reader

Decision = tuple[Place, AnyOperation, AnyOperation | None]
"""An operation at its place, and what is left of it: all of it, something else, or nothing."""


class Retained:
    """The notes of one compaction of a namespace, up to its horizon."""

    def __init__(self, namespace: str, horizon: int) -> None:
        self.namespace = namespace
        self.horizon = horizon
        self._keys: set[KeyRef] = set()
        self._versions: dict[str, set[int]] = {}
        self.facts: set[str] = set()
        """The assertions that something that stays rests on."""

    def covers(self, place: Place, operation: AnyOperation) -> bool:
        """Say whether an operation is one of those that are compacted."""
        return operation.namespace == self.namespace and place[0] <= self.horizon

    def rely(self, ref: Ref) -> None:
        """Note that something that stays rests on this."""
        if isinstance(ref, MemoryRef):
            self._versions.setdefault(ref.memory_id, set()).add(ref.version or 0)
        elif isinstance(ref, FactRef):
            self.facts.add(ref.assertion_id)
        elif ref.namespace == self.namespace:
            self._keys.add(ref)

    def is_relied_on(self, ref: KeyRef) -> bool:
        """Say whether something that stays rests on a version of a key."""
        return ref in self._keys

    def versions_of(self, memory_id: str) -> Iterable[int]:
        """Return the versions of a memory that something that stays rests on."""
        return self._versions.get(memory_id, ())


class Keeper:
    """Says for one view what has to stay of the operations that are compacted."""

    kinds: tuple[type, ...] = ()
    """The kinds of operation it decides on; of all others everything stays."""

    def look(self, reader: Reader, place: Place, operation: AnyOperation, /) -> None:
        """Note what an operation rests on, if it stays; it is shown each of the log, newest first.

        Whatever can rest on something stands behind it in the log.
        """

    def settle(self, engine: Engine, /) -> None:
        """Find out what stays, in short reads, once all of the log was looked at."""

    def pass_by(self, place: Place, operation: AnyOperation, /) -> None:
        """Take note of an operation up to the horizon, newest first, before it is decided on."""

    def left_of(
        self, reader: Reader, place: Place, operation: AnyOperation, /
    ) -> AnyOperation | None:
        """Return what is left of an operation: all of it, something in its place, or nothing."""
        raise NotImplementedError(f"nothing is decided on {operation!r} at {place}")

    def along_with(self, reader: Reader, operation: AnyOperation, /) -> Iterable[Decision]:  # noqa: ARG002
        """Return what has to go in the same commit as an operation that goes."""
        return ()


def rests_on(operation: AnyOperation) -> Iterable[Ref]:
    """Return what an operation says that it rests on."""
    if isinstance(operation, Write):
        return operation.because
    if isinstance(operation, (Assert, End)) and isinstance(operation.source, MemoryRef):
        return (operation.source,)
    return ()
