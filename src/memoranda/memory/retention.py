"""Compaction of memories: the retention policy, and the erasure from the tables.

Retention rules. Of the rows of a memory up to the horizon these are retained, with the operations
that wrote them:

    1. the first and the last row of the version at the horizon;
    2. the same of each version that a link open at the horizon, or a retained operation, refers to;
    3. the row that set the current expiry, because the lifetime is computed from it;
    4. the rows that hold the content of rows 1 to 3. A row that only holds their details keeps the
       details and loses its content.

A memory with a single row keeps it. Links, citations, notices and transcripts are retained: they
hold ids, and reads after the horizon may ask for them. So are the values and facts that notices
name by their log positions.

Residue. A row also depends on rows before it: a touch repeats neither the version nor the title. So
an operation that is not retained leaves a residue if the next row that stays needs a value from it,
and goes entirely if not. A retained operation is never changed and never moved, so its hash still
proves it, and a rebuild of the tables gives the same rows.

Order. Operations are decided and erased from the newest to the oldest. After each step, the
operations before a row still lead to that row. So a compaction may stop after any slice.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from msgspec.structs import replace

from memoranda.log import pages
from memoranda.log.compaction.retention import RetainedRefs, RetentionPolicy
from memoranda.log.pages import SplitEventCache
from memoranda.log.views import Eraser, RewrittenEvent
from memoranda.memory.notices import resolve_place
from memoranda.memory.tables import MemberIndex
from memoranda.model import codec
from memoranda.model.erasure import LogPosition
from memoranda.model.ids import IdSource
from memoranda.model.memory import Details
from memoranda.model.operations import (
    AddLink,
    AnyOperation,
    ChangeResidue,
    CloseLink,
    NotifyStale,
    Remember,
    RememberResidue,
    Resolve,
    Retract,
    Revise,
    StateResidue,
    Touch,
)
from memoranda.model.refs import OperationRef
from memoranda.storage.port import Engine, Reader, Row, Writer

_SALT_BYTES = 16
"""128 bits: nobody can guess a salt, and so confirm a guess at an erased title."""
_ID, _COMMIT, _POSITION, _VERSION, _EXPIRES_AT, _DETAILS_IN, _CONTENT_IN = range(2, 9)
"""The columns of `memory_rows_up_to` after the memory's number and id."""


class _Needs(enum.Flag):
    """The values that a row takes from earlier rows, because its operation does not have them."""

    NONE = 0
    """Nothing is taken from earlier rows."""
    NUMBERS = enum.auto()
    """Expiry, reflection depth, access count and time of the last access."""
    VERSION = enum.auto()
    TITLE = enum.auto()
    """The title, the kind and the tier."""
    ALL = NUMBERS | VERSION | TITLE


class MemoryRetentionPolicy(RetentionPolicy):
    """Applies the retention rules above to the memories of one namespace."""

    kinds = (Remember, Revise, Retract, Touch, RememberResidue, StateResidue, ChangeResidue)

    def __init__(self, refs: RetainedRefs, ids: IdSource) -> None:
        self._refs = refs
        self._ids = ids
        self._multi_row_ids: set[str] = set()
        """Memories with more than one row up to the horizon; all others are retained."""
        self._retained_places: set[LogPosition] = set()
        self._details_places: set[LogPosition] = set()
        """Operations that hold the details of retained rows; their content may go."""
        self._needs: dict[str, _Needs] = {}
        """Memory id → what the next newer row that stays needs from earlier operations."""

    def mark(self, reader: Reader, _: LogPosition, operation: AnyOperation, /) -> None:
        """Mark the values and facts that a notice is about: the inbox names them."""
        if isinstance(operation, NotifyStale):
            for place in (operation.dependent, operation.evidence):
                ref = isinstance(place, OperationRef) and resolve_place(
                    reader, SplitEventCache(), place
                )
                if ref:
                    self._refs.retain(ref)

    def finish_marking(self, engine: Engine, /) -> None:
        """Find the operations to retain, by the rows that they wrote."""
        for memory, group in groupby(self._rows(engine), key=itemgetter(0)):
            rows = list(group)
            if len(rows) > 1:
                self._multi_row_ids.add(rows[0][1])
                with engine.reading() as reader:
                    linked_versions = reader.rows(
                        "memory_versions_linked", memory=memory, horizon=self._refs.horizon
                    )
                self._retain(rows, {version for (version,) in linked_versions})

    def _rows(self, engine: Engine) -> Iterator[Row]:
        """Yield the rows of the namespace's memories up to the horizon, page by page."""
        bounds = {"horizon": self._refs.horizon, "limit": pages.PAGE_ROWS}
        namespace, memory, rows = self._refs.namespace, 0, list[Row]()
        while True:
            with engine.reading() as reader:
                if len(rows) == pages.PAGE_ROWS:  # the last memory may have more rows
                    place = {"after": rows[-1][_COMMIT], "after_position": rows[-1][_POSITION]}
                    rows = reader.rows("memory_rows_after", memory=memory, **place, **bounds)
                else:
                    query = "memory_rows_up_to"
                    rows = reader.rows(query, namespace=namespace, after=memory, **bounds)
                    if not rows:
                        return
            yield from rows
            memory = rows[-1][0] if rows else memory

    def _retain(self, rows: Sequence[Row], linked: set[int]) -> None:
        """Apply the rules to the rows of one memory; `linked` has the versions of rule 2."""
        last, by_id = rows[-1], {row[_ID]: row for row in rows}
        versions = {last[_VERSION], *linked, *self._refs.versions_of(last[1])}
        first_of, last_of = dict[int, Row](), dict[int, Row]()
        expiry_row: Row | None = None
        for row in rows:
            first_of.setdefault(row[_VERSION], row)
            last_of[row[_VERSION]] = row
            if expiry_row is None and row[_EXPIRES_AT] == last[_EXPIRES_AT] is not None:
                expiry_row = row
        retained = [of[version] for of in (first_of, last_of) for version in versions & of.keys()]
        retained += [] if expiry_row is None else [expiry_row]
        content_rows = [by_id[row[_CONTENT_IN]] for row in retained if row[_CONTENT_IN] in by_id]
        details_rows = [by_id[row[_DETAILS_IN]] for row in retained if row[_DETAILS_IN]]
        self._details_places.update(map(_place, details_rows))
        self._retained_places.update(map(_place, (*retained, *content_rows)))

    def visit(self, _: LogPosition, operation: AnyOperation, /) -> None:
        """Note that a link or a decision wrote a row: it takes all values from earlier rows."""
        if isinstance(operation, (AddLink, CloseLink)):
            self._needs.update((depth.memory_id, _Needs.ALL) for depth in operation.depths)
        elif isinstance(operation, Resolve):
            self._needs[operation.memory_id] = _Needs.ALL

    def residue_of(
        self, reader: Reader, place: LogPosition, operation: AnyOperation, /
    ) -> AnyOperation | None:
        """Return the operation itself if it is retained, its residue, or None if it goes.

        Called from the newest operation to the oldest, so `_needs` is known.
        """
        assert isinstance(operation, self.kinds), "the compactor passes only these kinds"
        memory_id, detailed = operation.memory_id, place in self._details_places
        if memory_id not in self._multi_row_ids or place in self._retained_places:
            self._needs[memory_id] = _needs_of(operation)
            return operation
        needs = self._needs.get(memory_id, _Needs.ALL)
        if isinstance(operation, Remember):
            operation = self._remember_residue(operation)
        if isinstance(operation, RememberResidue):
            title = operation.title if needs or detailed else None
            return self._reduced(operation, title=title, detailed=detailed)
        if not detailed and not needs & ~_needs_of(operation, is_residue=True):
            return None
        if isinstance(operation, StateResidue):
            self._needs[memory_id] = _Needs.NONE
            return self._reduced(operation, title=operation.title, detailed=detailed)
        assert isinstance(operation, Revise | Retract | Touch | ChangeResidue), (
            "others returned above"
        )
        residue = _change_residue(reader, place, operation, detailed=detailed)
        self._needs[memory_id] = _needs_of(residue)
        return residue

    def _reduced(
        self, residue: RememberResidue | StateResidue, *, title: str | None, detailed: bool
    ) -> RememberResidue | StateResidue:
        """Return a residue without the fields that nothing needs.

        It gets a new salt: with the old salt a guess at the dropped fields could be confirmed.
        """
        reduced = replace(residue, title=title, details=residue.details if detailed else None)
        if reduced == residue:
            return residue
        return replace(reduced, salt=self._ids.entropy(_SALT_BYTES))

    def _remember_residue(self, operation: Remember) -> RememberResidue:
        return RememberResidue(
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


def _needs_of(operation: AnyOperation, *, is_residue: bool = False) -> _Needs:
    """Return what the row of an operation, or of its residue, takes from earlier rows."""
    base = operation.base if isinstance(operation, ChangeResidue) else operation
    numbers = _Needs.NONE if is_residue or isinstance(operation, ChangeResidue) else _Needs.NUMBERS
    if isinstance(base, Revise):
        return numbers
    if isinstance(base, Retract):
        return numbers | _Needs.TITLE
    if isinstance(base, Touch):
        return numbers | _Needs.VERSION | _Needs.TITLE
    return _Needs.NONE


def _change_residue(
    reader: Reader,
    place: LogPosition,
    operation: Revise | Retract | Touch | ChangeResidue,
    *,
    detailed: bool,
) -> ChangeResidue | Revise | Retract | Touch:
    """Return the residue of a change: the fields that are needed, and the numbers at that time."""
    row = reader.row(
        "memory_numbers_at",
        memory_id=operation.memory_id,
        commit_ts=place[0],
        position=place[1],
    )
    if row is None:
        return operation
    base = operation.base if isinstance(operation, ChangeResidue) else operation
    residue = operation if isinstance(operation, ChangeResidue) else None
    without_content = residue is not None and residue.without_content
    without_details = residue is not None and residue.without_details
    if isinstance(base, Revise):
        without_content = without_content or base.content is not None
        without_details = without_details or (base.details is not None and not detailed)
        base = replace(base, content=None, details=base.details if detailed else None)
    expires_at, depth, access_count, last_accessed_at = row
    return ChangeResidue(
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


def _place(row: Row) -> LogPosition:
    return row[_COMMIT], row[_POSITION]


# Erasure of compacted operations from the tables, row by row, the newest first.
#
# Invariant: after each row the tables are what a rebuild from the rewritten log would give. So if a
# row goes, the newer rows that point to its details or content point to the row that has the
# previous ones. A residue has the same row as its operation, without the erased fields.

_DETAILS, _CONTENT = 3, 4
"""The columns of `memory_states_after` that point to the row with the details or the content."""
_REDIRECT_QUERY = {_DETAILS: "memory_details_redirect", _CONTENT: "memory_content_redirect"}
_PAGE_ROWS = 8
"""Rows per page when pointers change: few rows in a row share their details or content."""
_COMPACTED_TYPES = (Remember, Revise, Retract, Touch, RememberResidue, StateResidue, ChangeResidue)


class MemoryCompactionEraser(Eraser):
    """Deletes the rows of dropped operations, and reduces the rows of residues."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._changes: list[tuple[LogPosition, str, AnyOperation]] = []
        self._memories_with_metadata: dict[str, None] = {}
        """Memories whose metadata may go, and with it rows of the index of members."""

    def apply_rewrite(self, rewritten: RewrittenEvent, /) -> None:
        """Collect the rewritten operations on memories."""
        for position, before, residue in rewritten.changes():
            if isinstance(before, _COMPACTED_TYPES):
                place = (rewritten.before.commit_ts, position)
                self._changes.append((place, before.memory_id, residue))
                if _has_metadata(before):
                    self._memories_with_metadata[before.memory_id] = None

    def finish(self) -> None:
        """Change the rows of the collected operations, the newest first."""
        newest_first = sorted(self._changes, key=itemgetter(0), reverse=True)
        # An index reads all states of its memory, of which there may be one for each touch.
        index = MemberIndex(self._writer, [*self._memories_with_metadata])
        for place, memory_id, residue in newest_first:
            row = self._writer.row(
                "memory_state_around", memory_id=memory_id, commit_ts=place[0], position=place[1]
            )
            if row is None:
                continue  # the memory was forgotten since
            if isinstance(residue, RememberResidue):
                self._begin(place, row, residue)
            elif isinstance(residue, ChangeResidue):
                self._apply_change_residue(row, residue)
            elif isinstance(residue, StateResidue):
                self._reduce(place, row, residue)
            else:
                self._remove(place, row)
        index.update()

    def _begin(self, place: LogPosition, row: Row, residue: RememberResidue) -> None:
        """Remove the content from a memory's first row, and the title if nothing needs it."""
        number = row[1]
        self._writer.run("memory_state_without_content", id=number, content_in=None)
        details = codec.encode(residue.details or Details())
        self._writer.run("memory_state_details", id=number, details_in=None, details=details)
        if residue.title != row[2]:
            self._writer.run("memory_state_title", id=number, title=residue.title)
            self._undo_title(place, row)

    def _apply_change_residue(self, row: Row, residue: ChangeResidue) -> None:
        """Empty the content and the details that the residue dropped.

        The row keeps its own empty values: the operation did change them.
        """
        if residue.without_content:
            self._writer.run("memory_state_without_content", id=row[1], content_in=None)
        if residue.without_details:
            details = codec.encode(Details())
            self._writer.run("memory_state_details", id=row[1], details_in=None, details=details)

    def _reduce(self, place: LogPosition, row: Row, residue: StateResidue) -> None:
        """Remove the content from a row, and the details if the residue has none."""
        number, last, details_in, content_in = row[1], row[3], row[4], row[5]
        holder = content_in or last
        self._redirect(place, row, _CONTENT, holder)
        self._writer.run("memory_state_without_content", id=number, content_in=holder)
        if residue.details is None:
            holder = details_in or last
            self._redirect(place, row, _DETAILS, holder)
            self._writer.run("memory_state_details", id=number, details_in=holder, details=None)

    def _remove(self, place: LogPosition, row: Row) -> None:
        number, last, details_in, content_in = row[1], row[3], row[4], row[5]
        assert last is not None, "a memory's first operation always leaves a residue"
        self._redirect(place, row, _DETAILS, details_in or last)
        self._redirect(place, row, _CONTENT, content_in or last)
        self._writer.run("memory_state_drop", id=number)
        if row[2] != row[6]:
            self._undo_title(place, row)

    def _redirect(self, place: LogPosition, row: Row, column: int, into: int) -> None:
        """Let the rows that point to a row point to another one.

        They follow the row without a gap, so the walk ends at the first row that points elsewhere.
        """
        memory, number, has_more = row[0], row[1], row[10 if column == _DETAILS else 11]
        while has_more:
            rows = self._writer.rows(
                "memory_states_after",
                memory=memory,
                commit_ts=place[0],
                position=place[1],
                limit=_PAGE_ROWS,
            )
            for next_row in rows:
                if next_row[column] != number:
                    return
                self._writer.run(_REDIRECT_QUERY[column], id=next_row[0], into=into)
                place = (next_row[1], next_row[2])
            has_more = len(rows) == _PAGE_ROWS

    def _undo_title(self, place: LogPosition, row: Row) -> None:
        """Remove a title that an operation gave, as if the operation had not been there.

        The previous title lasts until the next row, which then begins its own title.
        """
        memory, title, before, next_title = row[0], row[2], row[6], row[9]
        next_place = (row[7], row[8])
        until = self._drop_title(memory, title, place)
        if next_title == title:
            self._put_title(memory, title, next_place, until)
        if before is None:
            return
        end: int | None = next_place[0]
        if next_title == before:  # the next row goes back to it: one interval, not two
            end = self._drop_title(memory, before, next_place)
        self._writer.run("title_last_until", **_title_key(memory, before, place), until_commit=end)

    def _drop_title(self, memory: int, title: str | None, place: LogPosition) -> int | None:
        """Delete a title that began at a place, and return the commit at which it ended."""
        if title is None:
            return None
        key = _title_key(memory, title, place)
        row = self._writer.row("title_end", **key)
        assert row is not None, "a title has a row at the place where it began"
        self._writer.run("title_drop", **key)
        return int(row[0])

    def _put_title(
        self, memory: int, title: str | None, place: LogPosition, until: int | None
    ) -> None:
        if title is not None:
            self._writer.run("title_put", **_title_key(memory, title, place), until_commit=until)


def _has_metadata(operation: AnyOperation) -> bool:
    """Return whether an operation set metadata of a memory."""
    changed = operation.base if isinstance(operation, ChangeResidue) else operation
    details: Details | None = getattr(changed, "details", None)
    return details is not None and details.metadata is not None


def _title_key(memory: int, title: str, place: LogPosition) -> dict[str, int | str]:
    """Return the query parameters for a memory's title that began at a place."""
    return {"memory": memory, "title": title, "commit_ts": place[0], "position": place[1]}
