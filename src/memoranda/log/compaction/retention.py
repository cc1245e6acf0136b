"""Retention: what a compaction marks as needed, in memory and without the write lock.

Once a horizon is set, nothing can come to rest on a version that was replaced before it: a
reference to such a version raises `Compacted`. So the marks stay valid while others write.
"""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.model.erasure import LogPosition
from memoranda.model.operations import AnyOperation, Assert, End, Write
from memoranda.model.refs import FactRef, KeyRef, MemoryRef, Ref
from memoranda.storage.port import Engine, Reader

Decision = tuple[LogPosition, AnyOperation, AnyOperation | None]
"""A position, the operation there, and its residue; None: nothing remains."""


class RetainedRefs:
    """The references that remaining operations of a namespace have, up to its horizon."""

    def __init__(self, namespace: str, horizon: int) -> None:
        self.namespace = namespace
        self.horizon = horizon
        self._keys: set[KeyRef] = set()
        self._versions: dict[str, set[int]] = {}
        self.facts: set[str] = set()
        """Ids of the assertions that remaining operations rest on."""

    def covers(self, place: LogPosition, operation: AnyOperation) -> bool:
        """Return whether the compaction covers an operation."""
        return operation.namespace == self.namespace and place[0] <= self.horizon

    def retain(self, ref: Ref) -> None:
        """Mark the referent of a remaining operation."""
        if isinstance(ref, MemoryRef):
            self._versions.setdefault(ref.memory_id, set()).add(ref.version or 0)
        elif isinstance(ref, FactRef):
            self.facts.add(ref.assertion_id)
        elif isinstance(ref, KeyRef) and ref.namespace == self.namespace:
            self._keys.add(ref)  # transcripts stay without a mark

    def is_retained(self, ref: KeyRef) -> bool:
        """Return whether a remaining operation rests on a version of a key."""
        return ref in self._keys

    def versions_of(self, memory_id: str) -> Iterable[int]:
        """Return the versions of a memory that remaining operations rest on."""
        return self._versions.get(memory_id, ())


class RetentionPolicy:
    """Decides for one view what remains of the operations that are compacted."""

    kinds: tuple[type, ...] = ()
    """The kinds of operation it decides on; all others stay."""

    def mark(self, reader: Reader, place: LogPosition, operation: AnyOperation, /) -> None:
        """Mark what an operation rests on, if it remains; called for the whole log, newest first.

        An operation can only rest on operations before it in the log.
        """

    def finish_marking(self, engine: Engine, /) -> None:
        """Complete the marks, in short reads, after the whole log was read."""

    def visit(self, place: LogPosition, operation: AnyOperation, /) -> None:
        """Note an operation up to the horizon, newest first, before it is decided on."""

    def residue_of(
        self, reader: Reader, place: LogPosition, operation: AnyOperation, /
    ) -> AnyOperation | None:
        """Return the residue of an operation: the operation itself, another one, or None."""
        raise NotImplementedError(f"no residue is decided for {operation!r} at {place}")

    def erased_with(self, reader: Reader, operation: AnyOperation, /) -> Iterable[Decision]:  # noqa: ARG002
        """Return operations that must be erased in the same commit as an erased one."""
        return ()


def rests_on(operation: AnyOperation) -> Iterable[Ref]:
    """Return the references of an operation."""
    if isinstance(operation, Write):
        return operation.because
    if isinstance(operation, (Assert, End)) and isinstance(operation.source, MemoryRef):
        return (operation.source,)
    return ()
