"""Retaining: what a compaction notes of what has to stay, in tables that are empty at its end."""

from __future__ import annotations

import msgspec

from recollect.model import codec
from recollect.model.erasure import Place
from recollect.model.operations import AnyOperation, Carried
from recollect.model.refs import FactRef, KeyRef, MemoryRef, Ref
from recollect.storage.port import Writer

_KEY, _MEMORY, _FACT = "key", "memory", "fact"
_COMMIT = -1
"""Stands for a whole commit, where a position stands for an operation."""


class Retained:
    """The notes of one compaction of a namespace, up to its horizon."""

    def __init__(self, writer: Writer, namespace: str, horizon: int) -> None:
        self.writer = writer
        self.namespace = namespace
        self.horizon = horizon

    def covers(self, place: Place, operation: AnyOperation) -> bool:
        """Say whether an operation is one of those that are summed up."""
        return operation.namespace == self.namespace and place[0] <= self.horizon

    def rely(self, ref: Ref) -> None:
        """Note that something that stays rests on this."""
        if isinstance(ref, MemoryRef):
            self._rely(_MEMORY, ref.memory_id, ref.version)
        elif isinstance(ref, FactRef):
            self._rely(_FACT, ref.assertion_id, 0)
        elif ref.namespace == self.namespace:
            self._rely(_KEY, _named(ref), ref.version)

    def _rely(self, kind: str, name: str, version: int | None) -> None:
        self.writer.run("relied_add", kind=kind, name=name, version=version or 0)

    def is_relied_on(self, ref: KeyRef) -> bool:
        """Say whether something that stays rests on a version of a key."""
        values = {"kind": _KEY, "name": _named(ref), "version": ref.version}
        return self.writer.row("relied_find", **values) is not None

    def keep(self, place: Place) -> None:
        """Note that an operation stays as it is."""
        self.writer.put("retained_add", *place)

    def keeps(self, place: Place) -> bool:
        """Say whether an operation stays as it is."""
        return self.writer.row("retained_find", commit_ts=place[0], position=place[1]) is not None

    def look_again(self, commit_ts: int) -> None:
        """Note that a commit has operations that are summed up."""
        self.writer.put("retained_add", commit_ts, _COMMIT)

    def carry(self, place: Place, rest: Carried) -> None:
        """Note what is to be left in the place of an operation."""
        self.writer.put("carried_add", *place, codec.encode(rest))

    def carried(self, place: Place) -> AnyOperation | None:
        """Return what is to be left in the place of an operation, if anything is."""
        row = self.writer.row("carried_find", commit_ts=place[0], position=place[1])
        return None if row is None else codec.decode_operation(row[0])

    def clear(self) -> None:
        """Leave no notes behind."""
        for query in ("relied_clear", "retained_clear", "carried_clear"):
            self.writer.run(query)


class Keeper:
    """Says for one view what has to stay of the operations that are summed up."""

    kinds: tuple[type, ...] = ()
    """The kinds of operation it decides on; of all others everything stays."""

    def look(self, place: Place, operation: AnyOperation, /) -> None:
        """Look at an operation; it is shown each one of the log, the newest first."""

    def settle(self) -> None:
        """Find out what stays, once all of the log was looked at."""

    def left_of(self, place: Place, operation: AnyOperation, /) -> AnyOperation | None:
        """Return what is left of an operation: all of it, something in its place, or nothing."""
        raise NotImplementedError(f"nothing is decided on {operation!r} at {place}")


def _named(ref: KeyRef) -> str:
    return msgspec.json.encode([ref.agent_id, ref.key]).decode()
