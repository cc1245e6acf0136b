"""Provenance: the memories and transcripts that a memory rests on, and its dependents."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from operator import attrgetter

import msgspec

from memoranda.log.compaction import horizon
from memoranda.log.read.as_of import AsOf
from memoranda.memory import snapshots, transcripts
from memoranda.memory.records import Anchor, DependentRecord, Origin, Source, memory_of
from memoranda.memory.snapshots import MemorySnapshot, text_of
from memoranda.memory.transcripts import TranscriptInfo, excerpts_of, plain_spans
from memoranda.model.memory import DERIVED_FROM, REFLECTION, REFLECTS_ON, Span
from memoranda.storage.port import Reader, Row

_log = logging.getLogger("memoranda.memory")
_EXCERPT_BYTES = 4096
"""Excerpt of a transcript that is cited as a whole, in bytes: about a page of text."""


class VisitedMemory(msgspec.Struct, frozen=True):
    """A memory on a walk along links, with its distance from the root."""

    memory_id: str
    hop: int
    namespace: str
    agent_id: str
    private: bool
    kind: str
    retracted: bool
    expires_at: int | None
    via: str | None = None

    @property
    def forgotten(self) -> bool:
        """Whether it was erased: only its id and its owner remain."""
        return not self.kind

    def visible_to(self, viewer: str) -> bool:
        """Say whether the viewer may see it."""
        return not self.private or self.agent_id == viewer

    def expired(self, now: int) -> bool:
        """Say whether its lifetime has ended."""
        return self.expires_at is not None and self.expires_at <= now


class ReplayedTranscript(msgspec.Struct, frozen=True):
    """A transcript that a walk found, with the nearest memory that cites it and all anchors."""

    transcript: TranscriptInfo
    memory_id: str
    spans: tuple[Span, ...]
    anchors: tuple[Anchor, ...]
    expired: bool
    retracted: bool


def replay_transcripts(
    reader: Reader, memory_id: str, depth: int | None, as_of: AsOf, viewer: str
) -> list[ReplayedTranscript]:
    """Return the transcripts that a memory rests on, in the order of their times.

    A reflection also rests on those of the memories it reflects on, up to `depth` links away. Each
    hop takes one query, and one more query reads all citations.
    """
    root = _visit(reader, memory_id, as_of.commit, viewer)
    if root is None:
        return []
    visited = [root]
    if root.kind == REFLECTION:
        visited = walk(reader, root, "walk_from", depth, as_of.commit, viewer)
    return sorted(
        _collect(reader, visited, as_of),
        key=lambda replayed: (replayed.transcript.instant, replayed.transcript.id),
    )


def _collect(
    reader: Reader, memories: Sequence[VisitedMemory], as_of: AsOf
) -> list[ReplayedTranscript]:
    """Return each transcript once, with the first memory on the walk that cites it."""
    citations: dict[str, dict[int, list[Span]]] = {}
    infos: dict[int, TranscriptInfo | None] = {}
    ids = [memory.memory_id for memory in memories if not memory.forgotten]
    for memory_id, number, span, row in transcripts.citations_of(reader, ids, as_of.commit):
        citations.setdefault(memory_id, {}).setdefault(number, []).append(span)
        infos[number] = None if row[0] is None else TranscriptInfo(*row)
    anchors: dict[str, list[Anchor]] = {}
    first: dict[str, tuple[TranscriptInfo, VisitedMemory]] = {}
    for memory in memories:
        for number, spans in citations.get(memory.memory_id, {}).items():
            info = infos[number]
            if info is None or info.erased:
                _log.warning(
                    "memory %s cites a transcript that is no longer stored", memory.memory_id
                )
                continue
            plain = plain_spans(spans, info.original_size)
            first.setdefault(info.id, (info, memory))
            anchors.setdefault(info.id, []).append(Anchor(memory.memory_id, memory.hop, plain))
    return [
        _replayed(*first[transcript_id], citing, as_of.now)
        for transcript_id, citing in anchors.items()
    ]


def _replayed(
    transcript: TranscriptInfo, first: VisitedMemory, anchors: list[Anchor], now: int
) -> ReplayedTranscript:
    return ReplayedTranscript(
        transcript=transcript,
        memory_id=first.memory_id,
        spans=anchors[0].spans,
        anchors=tuple(anchors),
        expired=transcript.expired(now) or first.expired(now),
        retracted=first.retracted,
    )


def walk(
    reader: Reader,
    root: VisitedMemory,
    query: str,
    depth: int | None,
    at: int,
    viewer: str,
    relation: str = REFLECTS_ON,
) -> list[VisitedMemory]:
    """Walk along links breadth first, neighbours by id; return each memory once, root first.

    A memory that the viewer may not see is neither returned nor walked through.
    """
    visited = {root.memory_id: root}
    frontier = [root.memory_id]
    hop = 0
    while frontier and (depth is None or hop < depth):
        hop += 1
        ends: dict[str, list[VisitedMemory]] = {}
        rows = reader.rows(query, memory_ids=frontier, relation=relation, at=at)
        horizon.check(reader, (row[2] for row in rows), at)
        for row in rows:
            ends.setdefault(row[0], []).append(_visited(row[1:], hop, row[0]))
        following = []
        for source in frontier:
            for end in sorted(ends.get(source, ()), key=_memory_id):
                if end.memory_id not in visited and end.visible_to(viewer):
                    visited[end.memory_id] = end
                    following.append(end.memory_id)
        frontier = following
    return list(visited.values())


def _visit(reader: Reader, memory_id: str, at: int, viewer: str) -> VisitedMemory | None:
    row = reader.row("memory_brief", memory_id=memory_id, at=at)
    horizon.check(reader, (row[2],) if row else (), at)
    visited = _visited(row[1:], 0, None) if row else None
    return visited if visited is not None and visited.visible_to(viewer) else None


def _visited(row: Row, hop: int, via: str | None) -> VisitedMemory:
    memory_id, namespace, agent_id, private, kind, retracted, expires_at = row
    return VisitedMemory(
        memory_id,
        hop,
        namespace,
        agent_id,
        bool(private),
        kind,
        bool(retracted),
        expires_at,
        via,
    )


def dependents(
    reader: Reader, memory_id: str, depth: int | None, at: int, viewer: str
) -> list[DependentRecord]:
    """Return the memories that reflect on a memory, directly or not, by distance, then by id."""
    root = _visit(reader, memory_id, at, viewer)
    if root is None:
        return []
    _, *visited = walk(reader, root, "walk_to", depth, at, viewer)
    return [
        DependentRecord(memory.memory_id, memory.namespace, memory.agent_id, memory.hop)
        for memory in sorted(visited, key=lambda memory: (memory.hop, memory.memory_id))
    ]


_memory_id = attrgetter("memory_id")


class _Branch(msgspec.Struct, frozen=True):
    """One occurrence of a memory in a tree of origins."""

    memory_id: str
    relation: str
    repeated: bool


def origins(reader: Reader, memory_id: str, as_of: AsOf, viewer: str) -> Origin | None:
    """Return the tree of memories and transcripts that a memory rests on."""
    root = _visit(reader, memory_id, as_of.commit, viewer)
    if root is None or root.forgotten:
        return None
    branches = _branches(reader, root, as_of.commit, viewer)
    memories = snapshots.find(reader, branches, as_of.commit, viewer=viewer)
    readable_ids = [name for name in branches if not memories[name].forgotten]
    sources = _sources(reader, readable_ids, as_of)
    built: dict[str, Origin] = {}
    for name in reversed(branches):  # children come after their parent, so they are built first
        memory = memories[name]
        built[name] = Origin(
            memory=memory_of(memory, text_of(reader, memory)),
            relation=None,
            expired=memory.expired(as_of.now),
            sources=sources.get(name, ()),
            origins=tuple(_child(branch, memories, built, as_of) for branch in branches[name]),
        )
    return built[memory_id]


def _branches(
    reader: Reader, root: VisitedMemory, at: int, viewer: str
) -> dict[str, list[_Branch]]:
    """Return the children of each memory, breadth first; a memory has children only once."""
    branches: dict[str, list[_Branch]] = {root.memory_id: []}
    frontier = [root.memory_id]
    while frontier:
        ends = [
            (row[0], _visited(row[1:], 0, row[0]), relation)
            for relation in (REFLECTS_ON, DERIVED_FROM)
            for row in reader.rows("walk_from", memory_ids=frontier, relation=relation, at=at)
        ]
        order = {memory_id: index for index, memory_id in enumerate(frontier)}
        ends.sort(key=lambda edge: (order[edge[0]], edge[2], edge[1].memory_id))
        frontier = []
        for source, end, relation in ends:
            if end.visible_to(viewer):
                repeated = end.memory_id in branches
                branches[source].append(_Branch(end.memory_id, relation, repeated))
                if not repeated:
                    branches[end.memory_id] = []
                    frontier.append(end.memory_id)
    return branches


def _child(
    branch: _Branch, memories: dict[str, MemorySnapshot], built: dict[str, Origin], as_of: AsOf
) -> Origin:
    if not branch.repeated:
        return msgspec.structs.replace(built[branch.memory_id], relation=branch.relation)
    memory = memories[branch.memory_id]
    return Origin(
        memory=memory_of(memory, None),
        relation=branch.relation,
        expired=memory.expired(as_of.now),
        repeated=True,
    )


def _sources(
    reader: Reader, memory_ids: Sequence[str], as_of: AsOf
) -> dict[str, tuple[Source, ...]]:
    """Return the cited transcripts of each memory; each text is read once."""
    spans: dict[int, dict[str, list[Span]]] = {}
    infos: dict[int, TranscriptInfo] = {}
    for memory_id, number, span, row in transcripts.citations_of(reader, memory_ids, as_of.commit):
        if row[0] is not None:
            spans.setdefault(number, {}).setdefault(memory_id, []).append(span)
            infos[number] = TranscriptInfo(*row)
    by_memory: dict[str, list[tuple[TranscriptInfo, Source]]] = {}
    for number, info in infos.items():
        text = b"" if info.erased else transcripts.load(reader, info)
        for memory_id, raw in spans[number].items():
            plain = plain_spans(raw, info.original_size)
            by_memory.setdefault(memory_id, []).append((info, _source(info, plain, text, as_of)))
    return {
        memory_id: tuple(
            source for _, source in sorted(pairs, key=lambda pair: (pair[0].instant, pair[0].id))
        )
        for memory_id, pairs in by_memory.items()
    }


def _source(info: TranscriptInfo, spans: tuple[Span, ...], text: bytes, as_of: AsOf) -> Source:
    if info.erased:
        excerpts: tuple[str, ...] = ()
    elif spans:
        excerpts = excerpts_of(text, spans)
    else:
        excerpts = (text[:_EXCERPT_BYTES].decode(errors="ignore"),)
    return Source(
        transcript_id=info.id,
        occurred_at=info.occurred_at or info.created_at,
        spans=spans,
        excerpts=excerpts,
        expired=info.expired(as_of.now),
        erased=info.erased,
    )
