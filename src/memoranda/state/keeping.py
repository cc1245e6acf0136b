"""Keeping state through a compaction: last versions of keys, and those that something rests on."""

from __future__ import annotations

from memoranda.log.retaining import Keeper, Retained
from memoranda.model.erasure import Place
from memoranda.model.operations import AnyOperation, Delete, Write
from memoranda.model.refs import KeyRef
from memoranda.storage.port import Reader


class StateKeeper(Keeper):
    """Keeps what a key was at the horizon, and what the values that stay were written because of.

    A value rests on what was there before it. So when the log is looked at from its end, all that
    could rest on a version has been seen before the version itself.
    """

    kinds = (Write, Delete)

    def __init__(self, notes: Retained) -> None:
        self._notes = notes

    def look(self, reader: Reader, place: Place, operation: AnyOperation, /) -> None:
        """Note what a value that stays was written because of."""
        if not isinstance(operation, Write) or not operation.because:
            return
        if not self._notes.covers(place, operation) or self._stays(reader, place, operation):
            for ref in operation.because:
                self._notes.rely(ref)

    def left_of(
        self, reader: Reader, place: Place, operation: AnyOperation, /
    ) -> AnyOperation | None:
        """Return all of it, or nothing."""
        assert isinstance(operation, (Write, Delete)), "nothing else is decided on here"
        return operation if self._stays(reader, place, operation) else None

    def _stays(self, reader: Reader, place: Place, operation: Write | Delete) -> bool:
        notes, scope = self._notes, operation.scope
        ref = KeyRef(operation.key, operation.version, scope.agent_id, scope.namespace)
        if notes.is_relied_on(ref):
            return True
        last = reader.row(
            "state_place_at",
            agent_id=scope.agent_id,
            namespace=scope.namespace,
            key=operation.key,
            at=notes.horizon,
        )
        return last is None or (last[0], last[2]) == place
