"""The overlay of a transaction: its staged changes over the snapshot of a commit.

Rules read memories only through the overlay, so each request sees the effects of the requests
before it in the same transaction. A lookup takes two steps:

    1. the overlay's own dictionaries, which `put_*` and `begin` fill as requests are decided;
    2. the tables as of commit `at`, for everything that the transaction did not change.

The same class serves two readers. At commit the rules run under the write lock with the newest
commit as `at`: what they decide is final. Before that, a transaction's own reads run the same rules
with its start commit as `at`, to show what it has staged so far (see staged_reads.py).

An overlay has no lock of its own: at commit the write lock protects it, and before that it belongs
to the caller of the transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from memoranda.memory import snapshots
from memoranda.memory.notices import NoticeCause, StaleCause
from memoranda.memory.reads import check_not_compacted
from memoranda.memory.requests import TitleKey
from memoranda.memory.settings import Setting, Settings, SettingsCache, fold
from memoranda.memory.snapshots import MemorySnapshot
from memoranda.model.memory import SUPERSEDES
from memoranda.model.refs import OperationRef
from memoranda.storage.port import Reader

Cause = TypeVar("Cause", NoticeCause, StaleCause)
Edge = tuple[str, str, str]
"""Source, relation and target of a link."""
Neighbours = dict[str, list[str]]
"""For each memory, the memories at the other ends of its links, in the order of their ids."""


class NoticeState(msgspec.Struct, frozen=True):
    """The memory, or the key's value or fact, that a notice is about, and the decision."""

    dependent: str | OperationRef
    decision: str | None = None
    replacement: str | None = None


class TransactionOverlay:
    """Combines the staged changes of one transaction with a snapshot."""

    def __init__(self, reader: Reader, at: int, settings: SettingsCache) -> None:
        self.reader = reader
        self._at = at
        self._settings_cache = settings
        self._memories: dict[str, MemorySnapshot] = {}
        self._new_ids: set[str] = set()
        """Memories that this transaction creates: the tables have no rows for them to query."""
        self._ids_of_drafts: dict[str, str] = {}
        """Draft id → memory id. They differ if the title already belongs to a stored memory."""
        self._titles: dict[TitleKey, str | None] = {}
        self._outgoing: dict[tuple[str, str], dict[str, bool]] = {}
        """(source, relation) → target → whether the link was added (true) or closed (false)."""
        self._incoming: dict[tuple[str, str], dict[str, bool]] = {}
        """(target, relation) → source → the same. The latest change of a link is the last entry."""
        self._transcripts: set[str] = set()
        self._spans: dict[tuple[str, str], set[tuple[int, int]]] = {}
        self._notices: dict[str, NoticeState] = {}
        self._settings: list[Setting] = []

    def memory(self, memory_id: str) -> MemorySnapshot | None:
        """Return a memory by its id or its draft id."""
        memory_id = self._ids_of_drafts.get(memory_id, memory_id)
        memory = self._memories.get(memory_id)
        return snapshots.find_one(self.reader, memory_id, self._at) if memory is None else memory

    def check_not_compacted(self, memory_id: str, version: int) -> None:
        """Raise `Compacted` if a compaction dropped a version of a memory."""
        check_not_compacted(self.reader, self._ids_of_drafts.get(memory_id, memory_id), version)

    def find_by_draft_id(self, memory_id: str) -> MemorySnapshot | None:
        """Return a memory that this transaction drafted; None for any other id.

        No other transaction knows a draft id, so having one proves that this one wrote the memory.
        """
        return self.memory(memory_id) if memory_id in self._ids_of_drafts else None

    def put_draft_id(self, draft_id: str, memory_id: str) -> None:
        """Map a draft id to the memory that it stands for."""
        self._ids_of_drafts[draft_id] = memory_id

    def memories(
        self, memory_ids: Iterable[str], *, content: bool = True
    ) -> dict[str, MemorySnapshot]:
        """Return the memories that exist; without `content` their texts are not read."""
        staged, stored_ids = self._split(memory_ids)
        if not stored_ids:
            return staged
        return staged | snapshots.find(self.reader, stored_ids, self._at, content=content)

    def _split(self, memory_ids: Iterable[str]) -> tuple[dict[str, MemorySnapshot], list[str]]:
        """Return the memories that the overlay has, and the ids to look up in the tables."""
        ids = list(memory_ids)
        staged = {name: self._memories[name] for name in ids if name in self._memories}
        return staged, [name for name in ids if name not in staged]

    def put(self, memory: MemorySnapshot) -> None:
        """Stage a memory's new state."""
        self._memories[memory.memory_id] = memory

    def lifetime(self, memory: MemorySnapshot) -> int | None:
        """Return the lifetime, in microseconds, to extend a memory by; None: for ever.

        It is the lifetime of the memory's tier. If the tier has none, it is the memory's own `ttl`,
        computed from the row that set its expiry.
        """
        by_tier = self.settings(memory.namespace).lifetime(memory.tier)
        if by_tier is not None or not memory.has_expiry:
            return by_tier
        if memory.expires_at is None:
            return memory.lifetime
        row = self.reader.row(
            "memory_lifetime", memory_id=memory.memory_id, expires_at=memory.expires_at
        )
        assert row is not None, "some row set the expiry"
        return int(row[0])

    def begin(self, memory: MemorySnapshot) -> None:
        """Stage a new memory."""
        self._new_ids.add(memory.memory_id)
        self._memories[memory.memory_id] = memory

    def find_by_title(self, key: TitleKey) -> str | None:
        """Return the id of the memory that has a title."""
        if key in self._titles:
            return self._titles[key]
        row = self.reader.row("title_find", **msgspec.structs.asdict(key), at=self._at)
        return str(row[0]) if row else None

    def put_title(self, key: TitleKey, memory_id: str | None) -> None:
        """Stage the owner of a title; None frees the title."""
        self._titles[key] = memory_id

    def has_link(self, edge: Edge) -> bool:
        """Say whether a link is open."""
        source, relation, target = edge
        decided = self._outgoing.get((source, relation), {})
        if target in decided:
            return decided[target]
        if source in self._new_ids or target in self._new_ids:
            return False
        row = self.reader.row(
            "link_find", source=source, relation=relation, target=target, at=self._at
        )
        return row is not None and row[4] is None

    def put_link(self, edge: Edge, *, is_open: bool) -> None:
        """Stage a link as open or closed."""
        source, relation, target = edge
        self._outgoing.setdefault((source, relation), {})[target] = is_open
        incoming = self._incoming.setdefault((target, relation), {})
        incoming.pop(source, None)  # a dict keeps the place of an old entry: insert it last again
        incoming[source] = is_open

    def targets(self, sources: Iterable[str], relation: str) -> Neighbours:
        """Return the targets of open links from these memories, with one query."""
        return self._linked("links_from", sources, relation, self._outgoing)

    def sources(self, targets: Iterable[str], relation: str) -> Neighbours:
        """Return the sources of open links to these memories, with one query."""
        return self._linked("links_to", targets, relation, self._incoming)

    def has_sources(self, target: str, relation: str) -> bool:
        """Say whether a memory has an incoming open link; cheaper than listing them."""
        decided = self._incoming.get((target, relation), {})
        if any(decided.values()):
            return True
        if target in self._new_ids:
            return False
        if decided:  # this transaction closed some: the list shows whether any remain
            return bool(self.sources((target,), relation)[target])
        row = self.reader.row("link_exists_to", target=target, relation=relation, at=self._at)
        return row is not None

    def find_superseding(self, memory_id: str, viewer: str) -> str | None:
        """Return the memory that superseded a memory last, of those that the viewer may see."""
        decided = self._incoming.get((memory_id, SUPERSEDES), {})
        sources = self.memories(decided, content=False)
        for source in reversed(decided):
            if decided[source] and sources[source].visible_to(viewer):
                return source
        if memory_id in self._new_ids:
            return None
        rows = self.reader.rows(
            "links_of", memory_id=memory_id, at=self._at, viewer=viewer, include_closed=0
        )
        stored_sources = [row[0] for row in rows if row[1:3] == (memory_id, SUPERSEDES)]
        return next((source for source in reversed(stored_sources) if source not in decided), None)

    def _linked(
        self,
        query: str,
        memory_ids: Iterable[str],
        relation: str,
        decided: dict[tuple[str, str], dict[str, bool]],
    ) -> Neighbours:
        neighbours: dict[str, set[str]] = {memory_id: set() for memory_id in memory_ids}
        stored_ids = [memory_id for memory_id in neighbours if memory_id not in self._new_ids]
        if stored_ids:
            for own, neighbour in self.reader.rows(
                query, memory_ids=stored_ids, relation=relation, at=self._at
            ):
                neighbours[own].add(neighbour)
        for own, ends in neighbours.items():
            for neighbour, is_open in decided.get((own, relation), {}).items():
                (ends.add if is_open else ends.discard)(neighbour)
        return {own: sorted(ends) for own, ends in neighbours.items()}

    def depths(self, memory_ids: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Return the namespace and the reflection depth of each memory."""
        staged, stored_ids = self._split(memory_ids)
        depths = {name: (memory.namespace, memory.depth) for name, memory in staged.items()}
        if stored_ids:
            rows = self.reader.rows("memory_depths", memory_ids=stored_ids, at=self._at)
            depths |= {memory_id: (namespace, depth) for memory_id, namespace, depth in rows}
        return depths

    def has_transcript(self, transcript_id: str) -> bool:
        """Say whether a transcript exists and still has its text."""
        if transcript_id in self._transcripts:
            return True
        row = self.reader.row("transcript_place", transcript_id=transcript_id)
        if row is not None:
            self._transcripts.add(transcript_id)
        return row is not None

    def put_transcript(self, transcript_id: str) -> None:
        """Stage a new transcript."""
        self._transcripts.add(transcript_id)

    def spans(self, memory_id: str, transcript_id: str) -> set[tuple[int, int]]:
        """Return the spans of a transcript that a memory cites; the caller adds new ones to it."""
        pair = (memory_id, transcript_id)
        if pair not in self._spans:
            self._spans[pair] = set()
            if memory_id not in self._new_ids:
                rows = self.reader.rows(
                    "citation_find", memory_id=memory_id, transcript_id=transcript_id
                )
                self._spans[pair].update((start, end) for start, end in rows)
        return self._spans[pair]

    def without_notice(self, causes: Iterable[Cause]) -> list[Cause]:
        """Return the causes that never had a notice, with one query."""
        new = {cause.notice_id: cause for cause in causes if cause.notice_id not in self._notices}
        rows = self.reader.rows("notices_known", notice_ids=list(new)) if new else []
        for (notice_id,) in rows:
            del new[notice_id]
        return list(new.values())

    def notice(self, notice_id: str) -> NoticeState | None:
        """Return the state of a notice; None if the memory is not a notice."""
        if notice_id in self._notices:
            return self._notices[notice_id]
        row = self.reader.row("notice_find", memory_id=notice_id)
        if row is None:
            return None
        memory_id, commit_ts, position, *decision = row
        return NoticeState(memory_id or OperationRef(commit_ts, position), *decision)

    def put_notice(self, notice: MemorySnapshot, dependent: str) -> None:
        """Stage a notice about a dependent memory."""
        self.begin(notice)
        self._notices[notice.memory_id] = NoticeState(dependent)

    def resolve_notice(self, notice_id: str, state: NoticeState) -> None:
        """Stage the decision that closes a notice."""
        self._notices[notice_id] = state

    def settings(self, namespace: str) -> Settings:
        """Return the effective settings of a namespace."""
        if not self._settings:
            return self._settings_cache.of(self.reader, namespace)
        return fold([*self._settings_cache.rows(self.reader), *self._settings], namespace)

    def local_settings(self, namespace: str) -> dict[str, int | None]:
        """Return the settings of a namespace itself, without those of its parents."""
        rows = [*self._settings_cache.rows(self.reader), *self._settings]
        return {row.name: row.value for row in rows if row.namespace == namespace}

    def put_settings(self, settings: Iterable[Setting]) -> None:
        """Stage settings."""
        self._settings.extend(settings)
