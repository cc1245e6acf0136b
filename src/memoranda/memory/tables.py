"""The rows of memories: their numbers, their states, their titles and their tombstones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from operator import itemgetter
from typing import Any

import msgspec

from memoranda.errors import Corruption
from memoranda.log import pages
from memoranda.model import codec, document
from memoranda.model.bounded_cache import BoundedCache
from memoranda.model.memory import Content, Details
from memoranda.model.operations import (
    AddLink,
    AnyOperation,
    ChangeResidue,
    Cite,
    CloseLink,
    MemoryTombstone,
    Notify,
    NotifyStale,
    Remember,
    RememberResidue,
    Resolve,
    Retract,
    Revise,
    StateResidue,
    Touch,
    TranscriptTombstone,
)
from memoranda.model.refs import MemoryRef
from memoranda.storage.memory_budget import MemoryBudget
from memoranda.storage.port import Reader, Row, WriteBuffer, Writer

# Row numbers: the integer keys of memories and transcripts in the tables.

_MAX_CACHED_NUMBERS = 20_000
"""Entries of each cache. An entry takes about 200 bytes, so both caches stay below 10 MB."""


class RowNumbers:
    """Assigns and caches the row numbers of one table, which never change after their commit."""

    def __init__(self, find: str, find_last: str, budget: MemoryBudget | None = None) -> None:
        """Name the queries that find the number of an id, and the highest number."""
        self._find = find
        self._find_last = find_last
        share = None if budget is None else budget.share()
        self._numbers: BoundedCache[str, int] = BoundedCache(_MAX_CACHED_NUMBERS, share)
        self._last: int | None = None
        """The highest number; None if it is not known yet."""

    def assign(self, rows: WriteBuffer, row_id: str) -> int:
        """Assign the next number to a new row."""
        if self._last is None:
            row = rows.flush().find(self._find_last)
            assert row is not None, "an aggregate returns a row"
            self._last = int(row[0])
        number = self._last + 1
        self.put(row_id, number)
        return number

    def of(self, rows: WriteBuffer, row_id: str) -> int:
        """Return the number of a row."""
        number = self._numbers.get(row_id)
        if number is None:
            number = self.look_up(rows.flush(), row_id)
            if number is None:
                raise Corruption(f"the log uses {row_id!r} before it creates it")
        return number

    def look_up(self, reader: Reader, row_id: str) -> int | None:
        """Return the number of a row; None if there is none."""
        number = self._numbers.get(row_id)
        if number is None:
            row = reader.find(self._find, row_id)
            if row is None:
                return None
            number = int(row[0])
            self.put(row_id, number)
        return number

    def look_up_all(self, reader: Reader, row_ids: Sequence[str]) -> None:
        """Cache the numbers of rows that are there, so that `look_up` need not read them."""
        for chunk in pages.chunks([(row_id,) for row_id in row_ids]):
            for (row_id,), rows in zip(chunk, reader.rows_each(self._find, chunk), strict=True):
                for (number,) in rows:
                    self.put(row_id, int(number))

    def look_up_or_assign(self, rows: WriteBuffer, row_id: str) -> int:
        """Return the number of a row, or assign one if there is none yet."""
        number = self.look_up(rows.flush(), row_id)
        return self.assign(rows, row_id) if number is None else number

    def put(self, row_id: str, number: int) -> None:
        """Cache the number of a row."""
        if self._last is not None and number > self._last:
            self._last = number
        self._numbers[row_id] = number

    def forget(self) -> None:
        """Empty the cache: a number may belong to a commit that was rolled back."""
        self._numbers.clear()
        self._last = None


def named_memories(operation: AnyOperation) -> Iterator[str]:
    """Yield the ids of memories whose numbers an operation needs, besides those it changes."""
    if isinstance(operation, (AddLink, CloseLink)):
        yield from (operation.source, operation.target)
    elif isinstance(operation, Cite):
        yield operation.memory_id
    elif isinstance(operation, Notify):
        yield from (operation.dependent_id, operation.invalidated_id, operation.invalidating_id)
    elif isinstance(operation, NotifyStale):
        refs = (operation.dependent, operation.evidence)
        yield from (ref.memory_id for ref in refs if isinstance(ref, MemoryRef))
        if operation.invalidating_id is not None:
            yield operation.invalidating_id


def changed_memories(operation: AnyOperation) -> Iterator[str]:
    """Yield the ids of memories whose last state an operation changes."""
    if isinstance(operation, (Revise, Retract, Touch, Resolve, StateResidue, ChangeResidue)):
        yield operation.memory_id
    elif isinstance(operation, (AddLink, CloseLink)):
        yield from (change.memory_id for change in operation.depths)


# State rows: one for each operation that changes a memory. A new row starts as a copy of the last
# one, without its details and content: it points to the row that has them.

Values = dict[str, Any]
"""Columns of a state row, by name."""


class OperationStamp(msgspec.Struct, frozen=True, gc=False):
    """The position of an operation in the log, and the commit's time in microseconds."""

    commit_ts: int
    position: int
    time: int


_STATE_COLUMNS = (
    "id",
    "version",
    "updated_at",
    "kind",
    "tier",
    "title",
    "retracted",
    "reason",
    "expires_at",
    "depth",
    "access_count",
    "last_accessed_at",
    "details_in",
    "content_in",
)
"""The columns of `memory_last_state`, in its order."""
_RESIDUE_FIELDS = frozenset(StateResidue.__struct_fields__)
_FIRST_VERSION = 1
"""The version of a new memory."""
_NOT_RETRACTED = (0, None)
"""`retracted` and `reason` of a new memory."""
_NO_ACCESS = (0, 0, None)
"""`depth`, `access_count` and `last_accessed_at` of a new memory."""
_OWN_DETAILS_AND_CONTENT = (None, None)
"""`details_in` and `content_in` of a row that has both itself."""
_NO_CONTENT = (None, None, None)
"""`digest`, `size` and `content` of a row whose content was erased."""
_EMPTY_VALUES: Values = {"details": None, "digest": None, "size": None, "content": None}
_columns = itemgetter(*_STATE_COLUMNS[1:], *_EMPTY_VALUES)
"""Returns the values of a row in the order of `memory_state_add`."""


def last_state(writer: Writer, memory: int) -> Values:
    """Return the values for a memory's next row, before the operation changes them.

    They equal the newest row, except that details and content become pointers to their rows.
    """
    row = writer.row("memory_last_state", memory=memory)
    assert row is not None, "every memory has a state"
    state: Values = dict(zip(_STATE_COLUMNS, row, strict=True))
    own = state.pop("id")
    state["details_in"] = state["details_in"] or own
    state["content_in"] = state["content_in"] or own
    return state | _EMPTY_VALUES


def details_of(details: Details) -> Values:
    """Return the columns of a row with new details."""
    return {"details_in": None, "details": codec.encode(details)}


def content_of(content: Content) -> Values:
    """Return the columns of a row with new content."""
    digest, size, text = _content_columns(content)
    return {"content_in": None, "digest": digest, "size": size, "content": text}


def _content_columns(content: Content) -> tuple[bytes | None, int | None, str | None]:
    return content.digest, content.size if content.digest else None, content.text


def state_residue_values(operation: StateResidue) -> Values:
    """Return the columns that a state residue sets."""
    values = {name: getattr(operation, name) for name in _STATE_COLUMNS if name in _RESIDUE_FIELDS}
    if operation.details is not None:
        values |= details_of(operation.details)
    return values | {"retracted": int(operation.retracted)}


def revision_values(operation: Revise, stamp: OperationStamp, last: Values) -> Values:
    """Return the columns that a revision changes."""
    state: Values = {
        "version": operation.version,
        "updated_at": stamp.time,
        "kind": operation.kind,
        "tier": operation.tier,
        "title": operation.title,
        "retracted": 0,
        "reason": None,
    }
    if operation.expiry is not None:
        state["expires_at"] = operation.expiry.end(stamp.time, last["expires_at"])
    if operation.details is not None:
        state |= details_of(operation.details)
    if operation.content is not None:
        state |= content_of(operation.content)
    return state


def retraction_values(operation: Retract, stamp: OperationStamp) -> Values:
    """Return the columns that a retraction changes."""
    return {
        "version": operation.version,
        "updated_at": stamp.time,
        "retracted": 1,
        "reason": operation.reason,
    }


def change_residue_values(operation: ChangeResidue, stamp: OperationStamp, last: Values) -> Values:
    """Return the columns that the residue of a change sets."""
    state: Values = {}
    if isinstance(operation.base, Revise):
        state = revision_values(operation.base, stamp, last)
    elif isinstance(operation.base, Retract):
        state = retraction_values(operation.base, stamp)
    if operation.without_details:
        state |= details_of(Details())
    if operation.without_content:
        state |= {"content_in": None, "digest": None, "size": None, "content": None}
    return state | {
        "expires_at": operation.expires_at,
        "depth": operation.depth,
        "access_count": operation.access_count,
        "last_accessed_at": operation.last_accessed_at,
    }


def add_state(writer: Writer, stamp: OperationStamp, memory: int, state: Values) -> None:
    """Add a memory's next state row."""
    values = _columns(state)
    writer.put("memory_state_add", memory, stamp.commit_ts, stamp.position, *values)
    for digest in _digests_of(state["details"]):
        writer.put("memory_member_add_of", digest, memory)


def add_first_state(
    rows: WriteBuffer, stamp: OperationStamp, memory: int, operation: Remember | RememberResidue
) -> None:
    """Add a memory's first state row, and its title."""
    content = (
        _NO_CONTENT
        if isinstance(operation, RememberResidue)
        else _content_columns(operation.content)
    )
    rows.add(
        "memory_state_add",
        memory,
        stamp.commit_ts,
        stamp.position,
        _FIRST_VERSION,
        stamp.time,
        operation.kind,
        operation.tier,
        operation.title,
        *_NOT_RETRACTED,
        operation.expiry.end(stamp.time, None),
        *_NO_ACCESS,
        *_OWN_DETAILS_AND_CONTENT,
        codec.encode(operation.details or Details()),
        *content,
    )
    metadata = None if operation.details is None else operation.details.metadata
    if metadata is not None:
        for digest in member_digests(document.decode(metadata)):
            rows.add("memory_member_add", digest, operation.namespace, memory)
    if operation.title is not None:
        add_title(rows.flush(), stamp, memory, operation.title)


def add_title(writer: Writer, stamp: OperationStamp, memory: int, title: str) -> None:
    """Add an open interval in which a title belongs to a memory."""
    writer.run(
        "title_add",
        title=title,
        commit_ts=stamp.commit_ts,
        position=stamp.position,
        memory=memory,
    )


def move_title(
    writer: Writer, stamp: OperationStamp, memory: int, old: str | None, new: str | None
) -> None:
    """Close the interval of the old title and open one for the new, if they differ."""
    if old == new:
        return
    if old is not None:
        writer.run("title_close", title=old, memory=memory, commit_ts=stamp.commit_ts)
    if new is not None:
        add_title(writer, stamp, memory, new)


# Members: an index of metadata. It is a superset: a memory is also found by the metadata of an
# older version that is still stored, so that reads of the past can use it.


def member_digests(metadata: document.Document) -> list[int]:
    """Return a hash of each member's name and value; equal JSON has equal hashes."""
    return [
        int.from_bytes(sha256(document.canonical([name, value])).digest()[:8], signed=True)
        for name, value in metadata.items()
    ]


def _digests_of(details: bytes | None) -> list[int]:
    metadata = None if details is None else codec.decode_details(details).metadata
    return [] if metadata is None else member_digests(document.decode(metadata))


class MemberIndex:
    """Keeps the members of some memories while their state rows are changed by an erasure."""

    def __init__(self, writer: Writer, memory_ids: Sequence[str]) -> None:
        self._writer = writer
        self._memory_ids = memory_ids
        self._before = self._rows()

    def _rows(self) -> set[Row]:
        return {
            (digest, namespace, memory)
            for chunk in pages.chunks([(memory_id,) for memory_id in self._memory_ids])
            for rows in self._writer.rows_each("memory_stored_details", chunk)
            for namespace, memory, details in rows
            for digest in _digests_of(details)
        }

    def clear(self) -> None:
        """Delete all members, before the memories' operations are applied again."""
        self._writer.put_all("memory_member_drop", sorted(self._before))

    def update(self) -> None:
        """Delete the members that no stored version has any more."""
        self._writer.put_all("memory_member_drop", sorted(self._before - self._rows()))


# Tombstones: the rows of memories and transcripts that were forgotten. Links and citations still
# refer to them.

NO_DIGEST = b""
"""The digest of a transcript whose text was erased."""


def put_tombstone(
    rows: WriteBuffer, stamp: OperationStamp, tombstone: MemoryTombstone, numbers: RowNumbers
) -> None:
    """Put a memory without content, kind and details; one that is there keeps its number."""
    memory = numbers.look_up_or_assign(rows, tombstone.memory_id)
    writer = rows.flush()
    writer.put(
        "memory_tombstone_put",
        memory,
        tombstone.memory_id,
        tombstone.namespace,
        tombstone.agent_id,
        int(tombstone.private),
        stamp.commit_ts,
        stamp.time,
    )
    state: Values = {
        "version": 1,
        "updated_at": stamp.time,
        "kind": "",
        "tier": "",
        "title": None,
        "retracted": 0,
        "reason": None,
        "expires_at": None,
        "depth": 0,
        "access_count": 0,
        "last_accessed_at": None,
    }
    state |= details_of(Details()) | content_of(Content(""))
    add_state(writer, stamp, memory, state)


def restore_owner(writer: Writer, operation: Remember | RememberResidue) -> None:
    """Set a memory's owner to the one in its first operation."""
    writer.put("memory_set_owner", operation.namespace, operation.agent_id, operation.memory_id)


def put_transcript_tombstone(
    rows: WriteBuffer, stamp: OperationStamp, tombstone: TranscriptTombstone, numbers: RowNumbers
) -> None:
    """Put a transcript without text; one that is there keeps its number."""
    number = numbers.look_up_or_assign(rows, tombstone.transcript_id)
    rows.flush().put(
        "transcript_tombstone_put",
        number,
        tombstone.transcript_id,
        tombstone.namespace,
        tombstone.agent_id,
        stamp.commit_ts,
        stamp.position,
        stamp.time,
        NO_DIGEST,
    )
