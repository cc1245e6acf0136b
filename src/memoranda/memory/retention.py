"""Keeping memories through a compaction: as they were at the horizon, and where something rests.

Of a memory's rows those stay that can still be asked for, together with the operations that made
them. Where operations before such a row go, the last of them leaves the numbers that the memory had
come to, and those that gave it its version and its title leave that they did: what was said stays
where it was said, so it can be proven, and every row that stays comes out as it was. It is decided
from the newest operation to the oldest, and erased in that order: at every moment what stands
before a row is all that led to it, or says as much of that as the row needs.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from msgspec.structs import replace

from memoranda.log import pages
from memoranda.log.retaining import Keeper, Retained
from memoranda.model.erasure import Place
from memoranda.model.ids import IdSource
from memoranda.model.operations import (
    AddLink,
    AnyOperation,
    Begun,
    Carried,
    CloseLink,
    Continued,
    Remember,
    Resolve,
    Retract,
    Revise,
    Touch,
)
from memoranda.storage.port import Engine, Reader, Row

_SALT_BYTES = 16
_ID, _COMMIT, _POSITION, _VERSION, _EXPIRES_AT, _DETAILS_IN, _CONTENT_IN = range(2, 9)
"""The columns of `memory_rows_up_to` behind those that say whose row it is."""


class _Needs(enum.Flag):
    """What a row takes from those before it: nothing of it is said again in the row's operation."""

    NOTHING = 0
    NUMBERS = enum.auto()
    VERSION = enum.auto()
    TITLE = enum.auto()
    """And its kind and its tier."""
    ALL = NUMBERS | VERSION | TITLE


class MemoryKeeper(Keeper):
    """Keeps what each memory was at the horizon, and the versions that something rests on.

    Links, citations, notices and transcripts name ids and stay: they can still be asked for.
    """

    kinds = (Remember, Revise, Retract, Touch, Begun, Carried, Continued)

    def __init__(self, notes: Retained, ids: IdSource) -> None:
        self._notes = notes
        self._ids = ids
        self._several: set[str] = set()
        """The memories that have more than one row up to the horizon: of others all stays."""
        self._whole: set[Place] = set()
        self._details: set[Place] = set()
        """Where the details of rows that stay come from: of these places the content may go."""
        self._needs: dict[str, _Needs] = {}
        """What the next row of a memory, among those that stay, takes from what was before it."""

    def settle(self, engine: Engine, /) -> None:
        """Find the rows that stay."""
        for memory, group in groupby(self._rows(engine), key=itemgetter(0)):
            rows = list(group)
            if len(rows) > 1:
                self._several.add(rows[0][1])
                with engine.reading() as reader:
                    linked = reader.rows(
                        "memory_versions_linked", memory=memory, horizon=self._notes.horizon
                    )
                self._retain(rows, {version for (version,) in linked})

    def _rows(self, engine: Engine) -> Iterator[Row]:
        """Yield the rows of the namespace's memories up to the horizon, read in pages."""
        which = {"horizon": self._notes.horizon, "most": pages.PAGE_ROWS}
        namespace, memory, rows = self._notes.namespace, 0, list[Row]()
        while True:
            with engine.reading() as reader:
                if len(rows) == pages.PAGE_ROWS:  # there may be more of the last memory
                    place = {"after": rows[-1][_COMMIT], "after_position": rows[-1][_POSITION]}
                    rows = reader.rows("memory_rows_behind", memory=memory, **place, **which)
                else:
                    query = "memory_rows_up_to"
                    rows = reader.rows(query, namespace=namespace, after=memory, **which)
                    if not rows:
                        return
            yield from rows
            memory = rows[-1][0] if rows else memory

    def _retain(self, rows: Sequence[Row], linked: set[int]) -> None:
        """Note which rows of one memory stay, given the versions that links lead to."""
        last, by_id = rows[-1], {row[_ID]: row for row in rows}
        relied = {last[_VERSION], *linked, *self._notes.versions_of(last[1])}
        first_of, last_of = dict[int, Row](), dict[int, Row]()
        given: Row | None = None  # where it was given the end it has: how long it lasts follows
        for row in rows:
            first_of.setdefault(row[_VERSION], row)
            last_of[row[_VERSION]] = row
            if given is None and row[_EXPIRES_AT] == last[_EXPIRES_AT] is not None:
                given = row
        stay = [found[each] for found in (first_of, last_of) for each in relied if each in found]
        stay += [] if given is None else [given]
        brought = [by_id[row[_CONTENT_IN]] for row in stay if row[_CONTENT_IN] in by_id]
        self._details |= {_place(by_id[row[_DETAILS_IN]]) for row in stay if row[_DETAILS_IN]}
        self._whole |= {_place(row) for row in (*stay, *brought)}

    def pass_by(self, _: Place, operation: AnyOperation, /) -> None:
        """Note that a row stays which follows from a link, or a decision, and what was before."""
        if isinstance(operation, (AddLink, CloseLink)):
            self._needs.update((depth.memory_id, _Needs.ALL) for depth in operation.depths)
        elif isinstance(operation, Resolve):
            self._needs[operation.memory_id] = _Needs.ALL

    def left_of(
        self, reader: Reader, place: Place, operation: AnyOperation, /
    ) -> AnyOperation | None:
        """Return all of it, what a memory had come to by then, or nothing."""
        assert isinstance(operation, self.kinds), "nothing else is decided on here"
        memory_id, detailed = operation.memory_id, place in self._details
        if memory_id not in self._several or place in self._whole:
            self._needs[memory_id] = _needs_of(operation)
            return operation
        needs = self._needs.get(memory_id, _Needs.ALL)
        if isinstance(operation, Remember):
            operation = self._begun(operation)
        if isinstance(operation, Begun):
            title = operation.title if needs or detailed else None
            return self._reduced(operation, title=title, detailed=detailed)
        if not detailed and not needs & ~_needs_of(operation, left=True):
            return None
        if isinstance(operation, Carried):
            self._needs[memory_id] = _Needs.NOTHING
            return self._reduced(operation, title=operation.title, detailed=detailed)
        assert isinstance(operation, Revise | Retract | Touch | Continued), "all others are done"
        left = _continued(reader, place, operation, detailed=detailed)
        self._needs[memory_id] = _needs_of(left)
        return left

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


def _needs_of(operation: AnyOperation, *, left: bool = False) -> _Needs:
    """Return what an operation's row takes from those before it; `left`: what is left of it."""
    base = operation.base if isinstance(operation, Continued) else operation
    numbers = _Needs.NOTHING if left or isinstance(operation, Continued) else _Needs.NUMBERS
    if isinstance(base, Revise):
        return numbers
    if isinstance(base, Retract):
        return numbers | _Needs.TITLE
    if isinstance(base, Touch):
        return numbers | _Needs.VERSION | _Needs.TITLE
    return _Needs.NOTHING


def _continued(
    reader: Reader,
    place: Place,
    operation: Revise | Retract | Touch | Continued,
    *,
    detailed: bool,
) -> Continued | Revise | Retract | Touch:
    """Return what an operation leaves: what it said and is still needed, and the numbers then."""
    row = reader.row(
        "memory_numbers_at",
        memory_id=operation.memory_id,
        commit_ts=place[0],
        position=place[1],
    )
    if row is None:
        return operation
    base = operation.base if isinstance(operation, Continued) else operation
    known = operation if isinstance(operation, Continued) else None
    without_content = known is not None and known.without_content
    without_details = known is not None and known.without_details
    if isinstance(base, Revise):
        without_content = without_content or base.content is not None
        without_details = without_details or (base.details is not None and not detailed)
        base = replace(base, content=None, details=base.details if detailed else None)
    expires_at, depth, access_count, last_accessed_at = row
    return Continued(
        operation.namespace,
        operation.agent_id,
        base,
        expires_at,
        depth,
        access_count,
        last_accessed_at,
        without_content,
        without_details,
    )


def _place(row: Row) -> Place:
    return row[_COMMIT], row[_POSITION]
