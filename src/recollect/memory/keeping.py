"""Keeping memories through a compaction: as they were at the horizon, and where something rests.

Of a memory's rows those stay that can still be asked for, together with the operations that made
them. Where operations before such a row go, the last of them leaves the numbers that the memory had
come to, and those that gave it its version and its title leave that they did: what was said stays
where it was said, so it can be proven, and every row that stays comes out as it was.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from recollect.log.retaining import Keeper, Retained
from recollect.model import codec
from recollect.model.erasure import Place
from recollect.model.ids import IdSource
from recollect.model.memory import Details
from recollect.model.operations import (
    AnyOperation,
    Begun,
    Carried,
    Continued,
    Remember,
    Retract,
    Revise,
    Touch,
)
from recollect.storage.port import Row

_SALT_BYTES = 16
_SETTLING = (
    "memory_rely_on_current",
    "memory_rely_on_linked",
    "memory_retain_first_of_version",
    "memory_retain_last_of_version",
    "memory_retain_expiry",
    "memory_retain_details",
    "memory_retain_content",
)


class _Going:
    """Rows of a memory that go: the last one, and those that gave it its version and its title."""

    def __init__(self) -> None:
        self._last: Row | None = None
        self._version: Row | None = None
        self._title: Row | None = None

    def take(self, row: Row, *, is_new: bool) -> None:
        """Take the next row that goes; a new version that is not retracted has a title."""
        self._last = row
        if is_new:
            self._version = row
            if not row[11]:
                self._title = row

    def needed(self, following: Row | None) -> list[Row]:
        """Return the rows that must leave something before one that stays.

        A version that follows has a title itself, unless it is one that was taken back.
        """
        if following is not None and not following[11]:
            rows: tuple[Row | None, ...] = (self._last,)
        elif following is not None:
            rows = (self._title, self._last)
        else:
            rows = (self._title, self._version, self._last)
        return [*{row[3:5]: row for row in rows if row is not None}.values()]


class MemoryKeeper(Keeper):
    """Keeps what each memory was at the horizon, and the versions that something rests on.

    Links, citations, notices and transcripts name ids and stay: they can still be asked for.
    """

    kinds = (Remember, Revise, Retract, Touch, Begun, Carried, Continued)

    def __init__(self, notes: Retained, ids: IdSource) -> None:
        self._notes = notes
        self._ids = ids

    def settle(self) -> None:
        """Find the rows that stay, and what has to be left before them."""
        notes = self._notes
        which = {"namespace": notes.namespace, "horizon": notes.horizon}
        for query in _SETTLING:
            notes.writer.run(query, **which)
        for place, rest in self._carried(notes.writer.stream("memory_rows_up_to", **which)):
            notes.carry(place, rest)

    def left_of(self, place: Place, operation: AnyOperation, /) -> AnyOperation | None:
        """Return all of it, what a memory had come to by then, or nothing."""
        if self._notes.keeps(place):
            return operation
        carried = self._notes.carried(place)
        detailed = isinstance(carried, Carried) and carried.details is not None
        if isinstance(operation, Remember):
            operation = self._begun(operation)
        if isinstance(operation, Begun):
            title = None if carried is None else operation.title
            return self._reduced(operation, title=title, detailed=detailed)
        if isinstance(operation, Carried) and carried is not None:
            return self._reduced(operation, title=operation.title, detailed=detailed)
        if not isinstance(operation, Revise | Retract | Touch | Continued) or carried is None:
            return None
        assert isinstance(carried, Carried), "nothing else is noted"
        return _continued(operation, carried, detailed=detailed)

    def _reduced(
        self, left: Begun | Carried, *, title: str | None, detailed: bool
    ) -> Begun | Carried:
        """Return what is left with no more than is needed; no salt is left of what was more."""
        reduced = replace(left, title=title, details=left.details if detailed else None)
        return left if reduced == left else replace(reduced, salt=self._ids.entropy(_SALT_BYTES))

    def _begun(self, operation: Remember) -> Begun:
        return Begun(
            operation.namespace,
            operation.agent_id,
            operation.memory_id,
            operation.private,
            operation.kind,
            operation.tier,
            operation.title,
            operation.expiry,
            self._ids.entropy(_SALT_BYTES),
            operation.details,
        )

    def _carried(self, rows: Iterator[Row]) -> Iterator[tuple[Place, Carried]]:
        """Yield what operations that go leave before each row that stays.

        Rows that follow from links and decisions have neither a new version nor one more access:
        those operations stay, and need only what was there before them.
        """
        last: Row | None = None
        going = _Going()
        for row in rows:
            if last is None or last[0] != row[0]:
                last, going = None, _Going()
            is_new = last is None or last[6] != row[6]
            if row[17] == 0:  # what it leaves says all that is needed of those before it
                yield self._carry(row, codec.decode_details(row[18]))
                going = _Going()
            elif row[17]:
                for left in going.needed(row if is_new else None):
                    yield self._carry(left)
                going = _Going()
            elif is_new or (last is not None and last[15] != row[15]):
                going.take(row, is_new=is_new)
            last = row

    def _carry(self, row: Row, details: Details | None = None) -> tuple[Place, Carried]:
        memory_id, agent_id, private, commit_ts, position, namespace, version, updated_at = row[:8]
        kind, tier, title, retracted, reason, expires_at, depth, count, accessed = row[8:17]
        return (commit_ts, position), Carried(
            namespace,
            agent_id,
            memory_id,
            bool(private),
            version,
            updated_at,
            kind,
            tier,
            title,
            bool(retracted),
            reason,
            expires_at,
            depth,
            count,
            accessed,
            self._ids.entropy(_SALT_BYTES),
            details,
        )


def _continued(
    operation: Revise | Retract | Touch | Continued, carried: Carried, *, detailed: bool
) -> Continued:
    """Return what an operation leaves: what it said and is still needed, and the numbers then."""
    base = operation.base if isinstance(operation, Continued) else operation
    known = operation if isinstance(operation, Continued) else None
    without_content = known is not None and known.without_content
    without_details = known is not None and known.without_details
    if isinstance(base, Revise):
        without_content = without_content or base.content is not None
        without_details = without_details or (base.details is not None and not detailed)
        base = replace(base, content=None, details=base.details if detailed else None)
    return Continued(
        operation.namespace,
        operation.agent_id,
        base,
        carried.expires_at,
        carried.depth,
        carried.access_count,
        carried.last_accessed_at,
        without_content,
        without_details,
    )
