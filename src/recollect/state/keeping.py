"""Keeping state through a compaction: last versions of keys, and those that something rests on."""

from __future__ import annotations

from recollect.log.retaining import Keeper, Retained
from recollect.model.erasure import Place
from recollect.model.operations import AnyOperation, Delete, Write
from recollect.model.refs import KeyRef


class StateKeeper(Keeper):
    """Keeps what a key was at the horizon, and what the values that stay were written because of.

    A value rests on what was there before it. So when the log is looked at from its end, all that
    could rest on a version has been seen before the version itself.
    """

    kinds = (Write, Delete)

    def __init__(self, notes: Retained) -> None:
        self._notes = notes

    def look(self, place: Place, operation: AnyOperation, /) -> None:
        """Note what stays, and what that rests on."""
        if not isinstance(operation, (Write, Delete)):
            return
        if self._notes.covers(place, operation):
            if not self._stays(place, operation):
                return
            self._notes.keep(place)
        for ref in operation.because if isinstance(operation, Write) else ():
            self._notes.rely(ref)

    def left_of(self, place: Place, operation: AnyOperation, /) -> AnyOperation | None:
        """Return all of it, or nothing."""
        return operation if self._notes.keeps(place) else None

    def _stays(self, place: Place, operation: Write | Delete) -> bool:
        notes, scope = self._notes, operation.scope
        last = notes.writer.row(
            "state_place_at",
            agent_id=scope.agent_id,
            namespace=scope.namespace,
            key=operation.key,
            at=notes.horizon,
        )
        if last is not None and (last[0], last[2]) == place:
            return True
        ref = KeyRef(operation.key, operation.version, scope.agent_id, scope.namespace)
        return notes.is_relied_on(ref)
