"""Memories as of a commit, under what one transaction has decided so far.

Rules read through this, so that each request sees those before it; a transaction's own reads are
answered by the same rules on what it has staged.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from memoranda.memory import standing
from memoranda.memory.notices import Warrant
from memoranda.memory.queries import check_known
from memoranda.memory.requests import TitleKey
from memoranda.memory.settings import KnownSettings, Setting, Settings, fold
from memoranda.memory.standing import Standing
from memoranda.model.memory import SUPERSEDES
from memoranda.storage.port import Reader

Edge = tuple[str, str, str]
"""Source, relation and target of a link."""
Neighbours = dict[str, list[str]]
"""For each memory, those at the other ends of its links, in the order of their ids."""


class NoticeStanding(msgspec.Struct, frozen=True):
    """What a notice is about, and what was decided."""

    dependent: str
    decision: str | None = None
    replacement: str | None = None


class Working:
    """What the rules know."""

    def __init__(self, reader: Reader, at: int, settings: KnownSettings) -> None:
        self.reader = reader
        self._at = at
        self._known_settings = settings
        self._memories: dict[str, Standing] = {}
        self._begun: set[str] = set()
        """Memories that are new: the tables have nothing about them yet, and need not be asked."""
        self._drafted: dict[str, str] = {}
        """By the id that a memory was drafted with: the one it has, which its title may decide."""
        self._titles: dict[TitleKey, str | None] = {}
        self._outgoing: dict[tuple[str, str], dict[str, bool]] = {}
        """By source and relation: the targets of links that were added (true) or closed (false)."""
        self._incoming: dict[tuple[str, str], dict[str, bool]] = {}
        """The same, by target and relation."""
        self._transcripts: set[str] = set()
        self._spans: dict[tuple[str, str], set[tuple[int, int]]] = {}
        self._notices: dict[str, NoticeStanding] = {}
        self._settings: list[Setting] = []

    def memory(self, memory_id: str) -> Standing | None:
        """Return a memory, by its id or the one it was drafted with."""
        memory_id = self._drafted.get(memory_id, memory_id)
        known = self._memories.get(memory_id)
        return standing.find_one(self.reader, memory_id, self._at) if known is None else known

    def check_known(self, memory_id: str, version: int) -> None:
        """Raise `Compacted` if a version of a memory is gone."""
        check_known(self.reader, self._drafted.get(memory_id, memory_id), version)

    def drafted(self, memory_id: str) -> Standing | None:
        """Return a memory that was said under a drafted id, which only its transaction knows."""
        return self.memory(memory_id) if memory_id in self._drafted else None

    def put_drafted(self, drafted: str, memory_id: str) -> None:
        """Let a drafted id mean a memory from here on."""
        self._drafted[drafted] = memory_id

    def memories(self, memory_ids: Iterable[str], *, content: bool = True) -> dict[str, Standing]:
        """Return those of the memories that there are; many are better had without content."""
        wanted = list(memory_ids)
        missing = [memory_id for memory_id in wanted if memory_id not in self._memories]
        found = standing.find(self.reader, missing, self._at, content=content) if missing else {}
        return {each: self._memories[each] for each in wanted if each in self._memories} | found

    def put(self, memory: Standing) -> None:
        """Let a memory be so from here on."""
        self._memories[memory.memory_id] = memory

    def lifetime(self, memory: Standing) -> int | None:
        """Return how long a memory is to last when it is to last as long again.

        That is what its tier has, or, in one that lasts for ever, what it was given itself.
        """
        by_tier = self.settings(memory.namespace).lifetime(memory.tier)
        if by_tier is not None or not memory.ends:
            return by_tier
        if memory.expires_at is None:
            return memory.lifetime
        row = self.reader.row(
            "memory_lifetime", memory_id=memory.memory_id, expires_at=memory.expires_at
        )
        assert row is not None, "its end stands in the row that brought it"
        return int(row[0])

    def begin(self, memory: Standing) -> None:
        """Let there be a new memory from here on."""
        self._begun.add(memory.memory_id)
        self._memories[memory.memory_id] = memory

    def titled(self, key: TitleKey) -> str | None:
        """Return the id of the memory that has a title."""
        if key in self._titles:
            return self._titles[key]
        row = self.reader.row("title_find", **msgspec.structs.asdict(key), at=self._at)
        return str(row[0]) if row else None

    def put_title(self, key: TitleKey, memory_id: str | None) -> None:
        """Let a title be a memory's, or nobody's, from here on."""
        self._titles[key] = memory_id

    def has_link(self, edge: Edge) -> bool:
        """Say whether a link holds."""
        source, relation, target = edge
        decided = self._outgoing.get((source, relation), {})
        if target in decided:
            return decided[target]
        if source in self._begun or target in self._begun:
            return False
        row = self.reader.row(
            "link_find", source=source, relation=relation, target=target, at=self._at
        )
        return row is not None and row[4] is None

    def put_link(self, edge: Edge, *, holds: bool) -> None:
        """Let a link hold, or hold no longer, from here on."""
        source, relation, target = edge
        self._outgoing.setdefault((source, relation), {})[target] = holds
        incoming = self._incoming.setdefault((target, relation), {})
        incoming.pop(source, None)  # so that the last one stands last
        incoming[source] = holds

    def targets(self, sources: Iterable[str], relation: str) -> Neighbours:
        """Return where the links of these memories lead: one query, however many they are."""
        return self._linked("links_from", sources, relation, self._outgoing)

    def sources(self, targets: Iterable[str], relation: str) -> Neighbours:
        """Return from where links lead to these memories: one query, however many they are."""
        return self._linked("links_to", targets, relation, self._incoming)

    def has_sources(self, target: str, relation: str) -> bool:
        """Say whether any link leads to a memory, without counting them."""
        decided = self._incoming.get((target, relation), {})
        if any(decided.values()):
            return True
        if target in self._begun:
            return False
        if decided:  # some were closed, so it matters which there are
            return bool(self.sources((target,), relation)[target])
        row = self.reader.row("link_to_any", target=target, relation=relation, at=self._at)
        return row is not None

    def superseder(self, memory_id: str, viewer: str) -> str | None:
        """Return what superseded a memory last, as far as an agent may see it."""
        decided = self._incoming.get((memory_id, SUPERSEDES), {})
        known = self.memories(decided, content=False)
        for source in reversed(decided):
            if decided[source] and known[source].seen_by(viewer):
                return source
        if memory_id in self._begun:
            return None
        rows = self.reader.rows(
            "links_of", memory_id=memory_id, at=self._at, viewer=viewer, closed=0
        )
        stored = [row[0] for row in rows if row[1:3] == (memory_id, SUPERSEDES)]
        return next((source for source in reversed(stored) if source not in decided), None)

    def _linked(
        self,
        query: str,
        memory_ids: Iterable[str],
        relation: str,
        decided: dict[tuple[str, str], dict[str, bool]],
    ) -> Neighbours:
        found: dict[str, set[str]] = {memory_id: set() for memory_id in memory_ids}
        stored = [memory_id for memory_id in found if memory_id not in self._begun]
        if stored:
            wanted = msgspec.json.encode(stored).decode()
            for own, other in self.reader.rows(
                query, memory_ids=wanted, relation=relation, at=self._at
            ):
                found[own].add(other)
        for own, others in found.items():
            for other, holds in decided.get((own, relation), {}).items():
                (others.add if holds else others.discard)(other)
        return {own: sorted(others) for own, others in found.items()}

    def depths(self, memory_ids: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Return the namespaces and reflection depths of memories."""
        wanted = list(memory_ids)
        stored = [each for each in wanted if each not in self._memories]
        listed = msgspec.json.encode(stored).decode()
        rows = self.reader.rows("memory_depths", memory_ids=listed, at=self._at) if stored else []
        known = [self._memories[each] for each in wanted if each in self._memories]
        return {row[0]: (row[1], row[2]) for row in rows} | {
            each.memory_id: (each.namespace, each.depth) for each in known
        }

    def has_transcript(self, transcript_id: str) -> bool:
        """Say whether there is a transcript."""
        if transcript_id in self._transcripts:
            return True
        row = self.reader.row("transcript_place", transcript_id=transcript_id)
        if row is not None:
            self._transcripts.add(transcript_id)
        return row is not None

    def put_transcript(self, transcript_id: str) -> None:
        """Let there be a transcript from here on."""
        self._transcripts.add(transcript_id)

    def spans(self, memory_id: str, transcript_id: str) -> set[tuple[int, int]]:
        """Return the spans that a memory names of a transcript, to be added to."""
        pair = (memory_id, transcript_id)
        if pair not in self._spans:
            self._spans[pair] = set()
            if memory_id not in self._begun:
                rows = self.reader.rows(
                    "citation_find", memory_id=memory_id, transcript_id=transcript_id
                )
                self._spans[pair].update((first, beyond) for first, beyond in rows)
        return self._spans[pair]

    def untold(self, warrants: Iterable[Warrant]) -> list[Warrant]:
        """Return those for which there was never a notice: one query, however many they are."""
        new = {each.notice_id: each for each in warrants if each.notice_id not in self._notices}
        wanted = msgspec.json.encode(list(new)).decode()
        rows = self.reader.rows("notices_known", notice_ids=wanted) if new else []
        for (notice_id,) in rows:
            del new[notice_id]
        return list(new.values())

    def notice(self, notice_id: str) -> NoticeStanding | None:
        """Return a notice."""
        if notice_id in self._notices:
            return self._notices[notice_id]
        row = self.reader.row("notice_find", memory_id=notice_id)
        return NoticeStanding(*row) if row else None

    def put_notice(self, notice: Standing, dependent: str) -> None:
        """Let somebody have been told."""
        self.begin(notice)
        self._notices[notice.memory_id] = NoticeStanding(dependent)

    def resolve_notice(self, notice_id: str, resolved: NoticeStanding) -> None:
        """Let a notice be closed from here on."""
        self._notices[notice_id] = resolved

    def settings(self, namespace: str) -> Settings:
        """Return what holds in a namespace."""
        if not self._settings:
            return self._known_settings.of(self.reader, namespace)
        return fold([*self._known_settings.rows(self.reader), *self._settings], namespace)

    def own_settings(self, namespace: str) -> dict[str, int | None]:
        """Return what is set in a namespace itself, and not above it."""
        every = [*self._known_settings.rows(self.reader), *self._settings]
        return {each.name: each.value for each in every if each.namespace == namespace}

    def put_settings(self, settings: Iterable[Setting]) -> None:
        """Let these hold from here on."""
        self._settings.extend(settings)
