"""Reading memories: by id, by title, as lists, and with their histories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from memoranda.errors import Compacted, NotFound
from memoranda.log import horizons, pages
from memoranda.log.moments import Asked
from memoranda.memory import standing
from memoranda.memory.committed import Committed, operations_of
from memoranda.memory.records import Memory, memory_of
from memoranda.memory.requests import TitleKey
from memoranda.memory.standing import Standing, text_of
from memoranda.model import document
from memoranda.model.operations import AddLink, Begun, Cite, Remember, Revise
from memoranda.storage.port import Engine, Reader

_WITH_CONTENT = 32
"""How many memories a page has at most when each may bring a long content."""
BEYOND_NAMES = b""
"""Sorts behind every name of a namespace: bytes do behind all text."""


def get(
    reader: Reader, memory_id: str, asked: Asked, viewer: str, version: int | None = None
) -> Memory | None:
    """Return a memory that is neither retracted nor expired; a version is shown in any case."""
    if version is None:
        found = standing.find_one(reader, memory_id, asked.commit, viewer=viewer)
        hidden = found is None or found.hidden(asked.now)
    else:
        found = _at_version(reader, memory_id, version, asked.commit, viewer)
        hidden = found is None or found.retracted or found.forgotten
    return None if found is None or hidden else memory_of(found, text_of(reader, found))


def _at_version(
    reader: Reader, memory_id: str, version: int, at: int, viewer: str
) -> Standing | None:
    check_known(reader, memory_id, version)
    row = reader.row("memory_state_of_version", memory_id=memory_id, version=version, at=at)
    found = standing.load(reader, [row[0]], at, viewer=viewer) if row else []
    return found[0] if found else None


def check_known(reader: Reader, memory_id: str, version: int) -> None:
    """Raise `Compacted` if a version was replaced before its namespace was summed up."""
    row = reader.row("memory_version_at_horizon", memory_id=memory_id)
    if row is not None and version < row[1]:
        raise Compacted(row[0], f"version {version} of memory {memory_id!r} is gone")


def titled(reader: Reader, key: TitleKey, at: int) -> str | None:
    """Return the id of the memory that had a title at a commit."""
    horizons.check(reader, (key.namespace,), at)
    row = reader.row("title_find", **msgspec.structs.asdict(key), at=at)
    return str(row[0]) if row else None


def get_titled(
    reader: Reader, keys: Iterable[TitleKey], asked: Asked, viewer: str, version: int | None
) -> Memory | None:
    """Return the first memory that has one of the titles and is shown."""
    for key in keys:
        memory_id = titled(reader, key, asked.commit)
        found = None if memory_id is None else get(reader, memory_id, asked, viewer, version)
        if found is not None:
            return found
    return None


def written(
    reader: Reader, memory_id: str, remembered: TitleKey | None, committed: Committed
) -> Memory:
    """Return a memory as a transaction left it, and what the transaction did to it.

    Whose title was remembered is asked of the commit: a retry comes when it may have moved.
    """
    own = committed.is_own(reader)
    commit = horizons.known_from(reader, committed.commit)
    if remembered is not None:
        said = _subject(reader, committed.commit) if own else None
        memory_id = said or titled(reader, remembered, commit) or memory_id
    found = standing.find_one(reader, memory_id, commit, viewer=committed.viewer)
    if found is None:  # said on behalf of another agent, who alone sees what became of it
        found = standing.find_one(reader, memory_id, commit)
        assert found is not None, "what was just written is there"
        found = msgspec.structs.replace(found, superseded_by=None)
    if found.forgotten:
        raise NotFound(f"memory {memory_id!r} was forgotten")
    outcome: Any = "unchanged"
    if own and found.state_commit == commit:
        begun = reader.row("event_time", commit_ts=commit) == (found.created_at,)
        outcome = "created" if begun else "updated"
    return memory_of(found, text_of(reader, found), outcome)


def _subject(reader: Reader, commit: int) -> str | None:
    """Return the memory that a call's own commit is about first, if it changed any."""
    for operation in operations_of(reader, commit):
        if isinstance(operation, (Remember, Revise, Cite, Begun)):
            return operation.memory_id
        if isinstance(operation, AddLink):
            return operation.source
    return None


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which memories a list is about."""

    namespace: str | None
    """None: every one."""
    children: bool
    agent_id: str | None
    kind: str | None
    tier: str | None
    tags: frozenset[str]
    metadata: document.Document
    created_after: int | None = None
    """The first microsecond that is meant."""
    created_before: int | None = None
    """The first one that no longer is."""
    viewer: str

    def bounds(self) -> dict[str, Any]:
        """Return the namespaces as a range: names below one begin with it and a slash."""
        name = self.namespace
        if name is None:
            return {"namespace": "", "children": "", "beyond": BEYOND_NAMES, "inboxes": 0}
        inboxes = int(any(part.startswith("_") for part in name.split("/")))
        if not self.children:
            return {
                "namespace": name,
                "children": BEYOND_NAMES,
                "beyond": f"{name} ",
                "inboxes": inboxes,
            }
        return {
            "namespace": name,
            "children": f"{name}/",
            "beyond": f"{name}0",
            "inboxes": inboxes,
        }

    def accept(self, found: Standing) -> bool:
        """Say whether a memory has the tags and the metadata asked for."""
        if not self.tags.issubset(found.details.tags):
            return False
        if not self.metadata:
            return True
        metadata = document.decode(found.details.metadata) if found.details.metadata else {}
        return all(
            name in metadata and document.same({"": metadata[name]}, {"": value})
            for name, value in self.metadata.items()
        )


class Memories:
    """A list of memories as of a moment, a page at a time."""

    def __init__(self, engine: Engine, asked: Asked, filters: Filters, *, content: bool) -> None:
        self._engine = engine
        self._asked = asked
        self._filters = filters
        self._content = content
        self._range = filters.bounds() | {
            "at": asked.commit,
            "now": asked.now,
            "viewer": filters.viewer,
            "agent_id": filters.agent_id,
            "kind": filters.kind,
            "tier": filters.tier,
            "created_after": filters.created_after,
            "created_before": filters.created_before,
            "most": _WITH_CONTENT if content else pages.PAGE_ROWS,
        }
        self._after = ("", 0)
        self._ended = False

    def next_page(self) -> list[Memory]:
        """Return the next memories that fit; a page of which none does is skipped."""
        page: list[Memory] = []
        while not page and not self._ended:
            page = self._next()
        return page

    def _next(self) -> list[Memory]:
        namespace, number = self._after
        with self._engine.snapshot() as reader:
            bounds = self._filters.bounds()
            del bounds["inboxes"]
            horizons.check_below(reader, self._asked.commit, **bounds)
            rows = reader.rows(
                "memory_page", **self._range, after_namespace=namespace, after=number
            )
            found = standing.load(
                reader,
                [row[0] for row in rows],
                self._asked.commit,
                viewer=self._filters.viewer,
                content=self._content,
            )
            fitting = [each for each in found if self._filters.accept(each)]
            page = [
                memory_of(each, text_of(reader, each) if self._content else None)
                for each in fitting
            ]
        self._ended = not rows
        if rows:
            self._after = (rows[-1][1], rows[-1][2])
        return page


class MemoryHistory:
    """Every version of a memory, oldest first, retractions too; or those since a commit."""

    def __init__(
        self, engine: Engine, memory_id: str, viewer: str, *, through: int, since: int | None = None
    ) -> None:
        self._engine = engine
        self._since = since
        self._is_new = True
        self._viewer = viewer
        self._through = through
        self._range: dict[str, Any] = {
            "memory_id": memory_id,
            "through": through,
            "most": _WITH_CONTENT,
        }
        self._after = (0, 0)
        self._latest: dict[int, int] = {}
        """The last row so far of a version that the next page may go on with."""
        self._ended = False

    def next_page(self) -> list[Memory]:
        """Return the next versions; a page within one of them is skipped."""
        page: list[Memory] = []
        while not page and not self._ended:
            page = self._next()
        return page

    def _next(self) -> list[Memory]:
        with self._engine.snapshot() as reader:
            commit, position = self._begin(reader) if self._is_new else self._after
            for version in self._latest:  # it may have been compacted since the page before
                check_known(reader, self._range["memory_id"], version)
            rows = reader.rows(
                "memory_versions", **self._range, after=commit, after_position=position
            )
            known = self._latest | {row[0]: row[1] for row in rows}
            self._latest = {rows[-1][0]: known.pop(rows[-1][0])} if rows else {}
            states = list(known.values())
            found = standing.load(reader, states, self._through, viewer=self._viewer)
            page = [memory_of(each, text_of(reader, each)) for each in found if not each.forgotten]
        self._ended = not rows
        self._is_new = False
        if rows:
            self._after = (rows[-1][2], rows[-1][3])
        return page

    def _begin(self, reader: Reader) -> tuple[int, int]:
        """Return the place behind which the first version stands."""
        memory_id, since = self._range["memory_id"], self._since
        if since is None:
            check_known(reader, memory_id, 1)
            return 0, 0
        standing.find_one(reader, memory_id, since)  # which says if that is not known any more
        row = reader.row("memory_version_begun", memory_id=memory_id, at=since)
        return (row[0], row[1] - 1) if row else (0, 0)
