"""Reads of memories and links: by id, by title, as lists, and their histories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from memoranda.errors import Compacted, NotFound
from memoranda.log import pages
from memoranda.log.commit.outcome import CommitResult, Committed
from memoranda.log.compaction import horizon
from memoranda.log.pages import Position, ResumablePages
from memoranda.log.read.as_of import AsOf
from memoranda.memory import snapshots
from memoranda.memory.records import Link, Memory, memory_of, time_of
from memoranda.memory.requests import TitleKey
from memoranda.memory.snapshots import MemorySnapshot, text_of
from memoranda.memory.tables import member_digests
from memoranda.model import document
from memoranda.model.clock import to_datetime
from memoranda.model.operations import (
    AddLink,
    Cite,
    CloseLink,
    Notify,
    NotifyStale,
    Remember,
    RememberResidue,
    Revise,
)
from memoranda.model.receipt import Outcome
from memoranda.model.refs import MemoryRef
from memoranda.storage.port import Engine, Reader, Row

_CONTENT_PAGE_ROWS = 32
"""Rows of a page whose memories come with content: each may be up to the content limit."""
AFTER_ALL_NAMES = "\U0010ffff" * 129
"""A text that sorts after every namespace: it begins with more bytes of the last character than a
namespace may have."""


def get(
    reader: Reader, memory_id: str, as_of: AsOf, viewer: str, version: int | None = None
) -> Memory | None:
    """Return a memory; None if it is retracted or expired, or the viewer may not see it.

    With a `version`, expiry does not matter. Raises `Compacted` if that version was dropped.
    """
    if version is None:
        memory = snapshots.find_one(reader, memory_id, as_of.commit, viewer=viewer)
        hidden = memory is None or memory.hidden(as_of.now)
    else:
        memory = _at_version(reader, memory_id, version, as_of.commit, viewer)
        hidden = memory is None or memory.retracted or memory.forgotten
    return None if memory is None or hidden else memory_of(memory, text_of(reader, memory))


def _at_version(
    reader: Reader, memory_id: str, version: int, at: int, viewer: str
) -> MemorySnapshot | None:
    check_not_compacted(reader, memory_id, version)
    row = reader.row("memory_state_of_version", memory_id=memory_id, version=version, at=at)
    memories = snapshots.load(reader, [row[0]], at, viewer=viewer) if row else []
    return memories[0] if memories else None


def check_not_compacted(reader: Reader, memory_id: str, version: int) -> None:
    """Raise `Compacted` if a version was replaced before the horizon of its namespace."""
    row = reader.row("memory_version_at_horizon", memory_id=memory_id)
    if row is not None and version < row[1]:
        raise Compacted(row[0], f"version {version} of memory {memory_id!r} is gone")


def find_by_title(reader: Reader, key: TitleKey, at: int) -> str | None:
    """Return the id of the memory that had a title at a commit."""
    horizon.check(reader, (key.namespace,), at)
    row = reader.row("title_find", **msgspec.structs.asdict(key), at=at)
    return str(row[0]) if row else None


def get_by_title(
    reader: Reader, keys: Iterable[TitleKey], as_of: AsOf, viewer: str, version: int | None
) -> Memory | None:
    """Return the first memory with one of these titles that `get` returns."""
    for key in keys:
        memory_id = find_by_title(reader, key, as_of.commit)
        memory = None if memory_id is None else get(reader, memory_id, as_of, viewer, version)
        if memory is not None:
            return memory
    return None


def committed_memory(
    reader: Reader, memory_id: str, title_key: TitleKey | None, committed: Committed
) -> Memory:
    """Return a memory as a transaction left it, with the outcome.

    `title_key` is set if the caller remembered by title. The memory is then found in the commit
    itself: this may be a retry, and since then another memory may have taken the title.
    """
    own = committed.is_own(reader)
    commit = horizon.first_readable_commit(reader, committed.commit)
    if title_key is not None:
        subject_id = _subject(reader, committed.result) if own else None
        memory_id = subject_id or find_by_title(reader, title_key, commit) or memory_id
    memory = snapshots.find_one(reader, memory_id, commit, viewer=committed.viewer)
    if memory is None:  # a private memory, written on behalf of another agent
        memory = snapshots.find_one(reader, memory_id, commit)
        assert memory is not None, "the transaction wrote it"
        memory = msgspec.structs.replace(memory, superseded_by=None)
    if memory.forgotten:
        raise NotFound(f"memory {memory_id!r} was forgotten")
    outcome: Outcome = "unchanged"
    if own and memory.state_commit == commit:
        is_new = _committed_at(reader, commit, committed.result) == memory.created_at
        outcome = "deleted" if memory.retracted else "created" if is_new else "updated"
    record = memory_of(memory, text_of(reader, memory))
    return msgspec.structs.replace(record, **committed.answer(reader, outcome))


def _committed_at(reader: Reader, commit: int, result: CommitResult) -> int | None:
    """Return the time of a commit in microseconds, which is that of a result or the horizon's."""
    if result.applied is not None and result.commit_ts == commit:
        return result.applied.committed_at
    row = reader.row("event_time", commit_ts=commit)
    return None if row is None else int(row[0])


def _subject(reader: Reader, result: CommitResult) -> str | None:
    """Return the memory that the first operation of a commit is about, if any."""
    for operation in result.load(reader).operations:
        if isinstance(operation, (Remember, Revise, Cite, RememberResidue)):
            return operation.memory_id
        if isinstance(operation, AddLink):
            return operation.source
    return None


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """The filters of a list of memories. Times are in microseconds."""

    namespace: str | None
    """None: all namespaces."""
    children: bool
    agent_id: str | None
    kind: str | None
    tier: str | None
    tags: frozenset[str]
    metadata: document.Document
    created_after: int | None = None
    """Inclusive."""
    created_before: int | None = None
    """Exclusive."""
    viewer: str

    def bounds(self) -> dict[str, Any]:
        """Return the namespaces as key ranges, for `memory_page`.

        Namespaces below `a` are those from `a/` to before `a0`: 0 is the character after the slash.
        """
        name = self.namespace
        if name is None:
            return {"namespace": "", "children": "", "end": AFTER_ALL_NAMES, "with_inboxes": 0}
        with_inboxes = int(any(part.startswith("_") for part in name.split("/")))
        if not self.children:
            return {
                "namespace": name,
                "children": AFTER_ALL_NAMES,
                "end": f"{name} ",
                "with_inboxes": with_inboxes,
            }
        return {
            "namespace": name,
            "children": f"{name}/",
            "end": f"{name}0",
            "with_inboxes": with_inboxes,
        }

    def accept(self, memory: MemorySnapshot) -> bool:
        """Say whether a memory has all tags and all metadata values of the filter."""
        if not self.tags.issubset(memory.details.tags):
            return False
        if not self.metadata:
            return True
        metadata = document.decode(memory.details.metadata) if memory.details.metadata else {}
        return all(
            name in metadata and document.equal_json({"": metadata[name]}, {"": value})
            for name, value in self.metadata.items()
        )


def check_range(reader: Reader, bounds: dict[str, Any], at: int) -> None:
    """Raise `Compacted` if `at` is before the horizon of a namespace in the range."""
    horizon.check_below(
        reader,
        at,
        namespace=bounds["namespace"],
        children=bounds["children"],
        end=bounds["end"],
    )


class Memories(ResumablePages[Memory]):
    """Reads a list of memories as of a commit, page by page."""

    def __init__(self, engine: Engine, as_of: AsOf, filters: Filters, *, content: bool) -> None:
        self._engine = engine
        self._as_of = as_of
        self._filters = filters
        self._content = content
        self._range = filters.bounds() | {
            "at": as_of.commit,
            "now": as_of.now,
            "viewer": filters.viewer,
            "agent_id": filters.agent_id,
            "kind": filters.kind,
            "tier": filters.tier,
            "created_after": filters.created_after,
            "created_before": filters.created_before,
        }
        self.rows = _CONTENT_PAGE_ROWS if content else pages.PAGE_ROWS
        self._after = ("", 0)
        self._digests = member_digests(filters.metadata)
        """Hashes of the members to look for, the rarest first after the first page."""
        self._is_new = True
        self._is_finished = False

    @property
    def position(self) -> Position:
        """The moment, and the namespace and the number of the last memory."""
        return [self._as_of.commit, self._as_of.now, *self._after]

    @position.setter
    def position(self, position: Position) -> None:
        commit, now, namespace, number = position
        self._as_of = AsOf(commit, now)
        self._range |= {"at": commit, "now": now}
        self._after = (namespace, number)

    def next_page(self) -> list[Memory]:
        """Return the next memories that match; an empty page ends the list."""
        page: list[Memory] = []
        while not page and not self._is_finished:
            page = self._next()
        return page

    def _next(self) -> list[Memory]:
        namespace, number = self._after
        with self._engine.snapshot() as reader:
            check_range(reader, self._filters.bounds(), self._as_of.commit)
            rows = self._rows(reader, namespace, number)
            memories = snapshots.load(
                reader,
                [row[0] for row in rows],
                self._as_of.commit,
                viewer=self._filters.viewer,
                content=self._content,
            )
            matches = [memory for memory in memories if self._filters.accept(memory)]
            page = [
                memory_of(memory, text_of(reader, memory) if self._content else None)
                for memory in matches
            ]
        self._is_new, self._is_finished = False, not rows
        if rows:
            self._after = (rows[-1][1], rows[-1][2])
        return page

    def _rows(self, reader: Reader, namespace: str, number: int) -> list[Row]:
        """Return the next state rows, by the rarest member of metadata if there is one to match."""
        after: dict[str, Any] = {
            "after_namespace": namespace,
            "after": number,
            "limit": self.rows,
        }
        if not self._digests:
            return reader.rows("memory_page", **self._range, **after)
        if self._is_new and len(self._digests) > 1:
            self._digests.sort(key=lambda digest: self._count(reader, digest))
        digest, *other_digests = self._digests
        return reader.rows(
            "memory_page_with_member", **self._range, **after, digest=digest, others=other_digests
        )

    def _count(self, reader: Reader, digest: int) -> int:
        """Count the memories with a member, up to a page: enough to tell the rarest."""
        row = reader.row(
            "memory_member_count",
            digest=digest,
            namespace=self._range["namespace"],
            end=self._range["end"],
            limit=pages.PAGE_ROWS,
        )
        assert row is not None, "a count has a row"
        return int(row[0])


class MemoryHistory(ResumablePages[Memory]):
    """Reads the versions of a memory, oldest first, with retractions, page by page.

    With `from_commit`, the first version is the one that the memory had at that commit.
    """

    rows = _CONTENT_PAGE_ROWS

    def __init__(
        self,
        engine: Engine,
        memory_id: str,
        viewer: str,
        *,
        to_commit: int,
        from_commit: int | None = None,
    ) -> None:
        self._engine = engine
        self._from_commit = from_commit
        self._is_new = True
        self._viewer = viewer
        self._to_commit = to_commit
        self._range: dict[str, Any] = {
            "memory_id": memory_id,
            "to_commit": to_commit,
        }
        self._after = (0, 0)
        self._latest: dict[int, int] = {}
        """Version → its last row so far, for a version that may go on in the next page."""
        self._is_finished = False

    @property
    def position(self) -> Position:
        """The last commit, the place of the last row, and the version that may go on."""
        latest = [[version, row] for version, row in self._latest.items()]
        return [self._to_commit, *self._after, latest]

    @position.setter
    def position(self, position: Position) -> None:
        self._to_commit, commit_ts, place, latest = position
        self._range["to_commit"] = self._to_commit
        self._after, self._latest = (commit_ts, place), dict(latest)
        self._is_new = False

    def next_page(self) -> list[Memory]:
        """Return the next versions; an empty page ends the history."""
        page: list[Memory] = []
        while not page and not self._is_finished:
            page = self._next()
        return page

    def _next(self) -> list[Memory]:
        with self._engine.snapshot() as reader:
            commit, position = self._begin(reader) if self._is_new else self._after
            for version in self._latest:  # a compaction may have run between two pages
                check_not_compacted(reader, self._range["memory_id"], version)
            rows = reader.rows(
                "memory_versions",
                **self._range,
                after=commit,
                after_position=position,
                limit=self.rows,
            )
            last_rows = self._latest | {row[0]: row[1] for row in rows}
            self._latest = {rows[-1][0]: last_rows.pop(rows[-1][0])} if rows else {}
            states = list(last_rows.values())
            memories = snapshots.load(reader, states, self._to_commit, viewer=self._viewer)
            page = [
                memory_of(memory, text_of(reader, memory))
                for memory in memories
                if not memory.forgotten
            ]
        self._is_finished = not rows
        self._is_new = False
        if rows:
            self._after = (rows[-1][2], rows[-1][3])
        return page

    def _begin(self, reader: Reader) -> tuple[int, int]:
        """Return the log position before the first row to read; raise `Compacted` if it is gone."""
        memory_id, from_commit = self._range["memory_id"], self._from_commit
        if from_commit is None:
            check_not_compacted(reader, memory_id, 1)
            return 0, 0
        snapshots.find_one(reader, memory_id, from_commit)  # only to check the horizon
        row = reader.row("memory_version_start", memory_id=memory_id, at=from_commit)
        return (row[0], row[1] - 1) if row else (0, 0)


# Reads of links between memories.


def links_of(
    reader: Reader,
    memory_id: str,
    at: int,
    viewer: str,
    *,
    relation: str | None,
    include_closed: bool,
) -> list[Link]:
    """Return the links of a memory, oldest first, if the viewer may see both ends."""
    if snapshots.find_one(reader, memory_id, at, viewer=viewer) is None:
        return []
    rows = reader.rows(
        "links_of", memory_id=memory_id, at=at, viewer=viewer, include_closed=int(include_closed)
    )
    return [_link(row) for row in rows if relation in (None, row[2])]


def committed_link(reader: Reader, edge: tuple[str, str, str], committed: Committed) -> Link:
    """Return a link as a transaction left it, with the dependents that got a notice."""
    source, relation, target = edge
    row = reader.row(
        "link_find", source=source, relation=relation, target=target, at=committed.commit
    )
    if row is None:  # a retry, after a compaction dropped the link
        raise NotFound(f"link {relation} from {source!r} to {target!r} is no longer in the log")
    link, notified = _link(row), tuple[str, ...]()
    outcome: Outcome = "unchanged"
    for operation in committed.own_operations(reader):
        if isinstance(operation, (AddLink, CloseLink)) and edge == (
            operation.source,
            operation.relation,
            operation.target,
        ):
            outcome = "created" if isinstance(operation, AddLink) else "deleted"
    if committed.is_own(reader):
        notified = _notified(reader, committed.result, link, committed.viewer)
    answer = committed.answer(reader, outcome)
    return msgspec.structs.replace(link, notified=notified, **answer)


def _notified(reader: Reader, result: CommitResult, link: Link, viewer: str) -> tuple[str, ...]:
    """Return the visible dependents with a notice because of a link of either kind.

    The link is the superseding one, or the reflecting one if that came last.
    """
    dependent_ids: dict[str, None] = {}
    for operation in result.load(reader).operations:
        if isinstance(operation, Notify):
            dependent_id, invalidated_id = operation.dependent_id, operation.invalidated_id
        elif (
            isinstance(operation, NotifyStale)
            and isinstance(operation.dependent, MemoryRef)
            and isinstance(operation.evidence, MemoryRef)
        ):
            dependent_id = operation.dependent.memory_id
            invalidated_id = operation.evidence.memory_id
        else:
            continue
        if invalidated_id == link.target and link.source in (
            operation.invalidating_id,
            dependent_id,
        ):
            dependent_ids[dependent_id] = None
    at = horizon.first_readable_commit(reader, result.commit_ts)
    visible = snapshots.find(reader, dependent_ids, at, viewer=viewer)
    return tuple(memory_id for memory_id in dependent_ids if memory_id in visible)


def _link(row: Row) -> Link:
    return Link(row[0], row[1], row[2], to_datetime(row[3]), time_of(row[4]))
