"""Provenance: which memories and which words a belief is made of, and what rests on it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from memoranda.log import horizons
from memoranda.log.moments import Asked
from memoranda.memory import standing, transcripts
from memoranda.memory.records import Anchor, DependentRecord, Memory, Origin, Source, memory_of
from memoranda.memory.standing import Standing, text_of
from memoranda.memory.transcripts import TranscriptInfo, excerpts_of, plain_spans
from memoranda.model.memory import DERIVED_FROM, REFLECTION, REFLECTS_ON, Span
from memoranda.storage.port import Reader, Row

_log = logging.getLogger("memoranda.memory")
_EXCERPT_BYTES = 4096
"""How much of a transcript is quoted that is cited as a whole."""


class Visited(msgspec.Struct, frozen=True):
    """A memory met on a walk, so many links away, and from where it was met first."""

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
        """Whether nothing is left of it but that there was one."""
        return not self.kind

    def seen_by(self, viewer: str) -> bool:
        """Say whether an agent may see it."""
        return not self.private or self.agent_id == viewer

    def expired(self, now: int) -> bool:
        """Say whether its time is over."""
        return self.expires_at is not None and self.expires_at <= now


class Replayed(msgspec.Struct, frozen=True):
    """A transcript that a walk led to: where it was met first, and all who cite it."""

    transcript: TranscriptInfo
    memory_id: str
    spans: tuple[Span, ...]
    anchors: tuple[Anchor, ...]
    expired: bool
    retracted: bool


def replay_transcripts(
    reader: Reader, memory_id: str, depth: int | None, asked: Asked, viewer: str
) -> list[Replayed]:
    """Return the transcripts that a memory is made of, in the order in which they were said.

    Only a reflection has more than its own. Each hop is one query, and so are all citations.
    """
    root = _visit(reader, memory_id, asked.commit, viewer)
    if root is None:
        return []
    walked = [root]
    if root.kind == REFLECTION:
        walked = walk(reader, root, "walk_from", depth, asked.commit, viewer)
    return sorted(
        _collect(reader, walked, asked),
        key=lambda each: (each.transcript.instant, each.transcript.id),
    )


def _collect(reader: Reader, walked: Sequence[Visited], asked: Asked) -> list[Replayed]:
    """Return each transcript once, anchored at the first of the memories that cites it."""
    citations: dict[str, dict[int, list[Span]]] = {}
    rows: dict[int, Row] = {}
    ids = [each.memory_id for each in walked if not each.forgotten]
    for memory_id, number, span, row in transcripts.cited_by(reader, ids, asked.commit):
        citations.setdefault(memory_id, {}).setdefault(number, []).append(span)
        rows[number] = row
    anchors: dict[int, list[Anchor]] = {}
    first: dict[int, Visited] = {}
    for visited in walked:
        for number, spans in citations.get(visited.memory_id, {}).items():
            if rows[number][0] is None or not rows[number][9]:
                _log.warning("a transcript that %s cites is gone", visited.memory_id)
                continue
            plain = plain_spans(spans, rows[number][8])
            first.setdefault(number, visited)
            anchors.setdefault(number, []).append(Anchor(visited.memory_id, visited.hop, plain))
    return [
        _replayed(TranscriptInfo(*rows[number]), first[number], found, asked.now)
        for number, found in anchors.items()
    ]


def _replayed(
    transcript: TranscriptInfo, first: Visited, anchors: list[Anchor], now: int
) -> Replayed:
    return Replayed(
        transcript=transcript,
        memory_id=first.memory_id,
        spans=anchors[0].spans,
        anchors=tuple(anchors),
        expired=transcript.expired(now) or first.expired(now),
        retracted=first.retracted,
    )


def walk(
    reader: Reader,
    root: Visited,
    query: str,
    depth: int | None,
    at: int,
    viewer: str,
    relation: str = REFLECTS_ON,
) -> list[Visited]:
    """Return what links lead to, breadth first, ends in the order of their ids, each once.

    What an agent may not see is not there for it: neither met nor walked through.
    """
    met = {root.memory_id: root}
    frontier = [root.memory_id]
    hop = 0
    while frontier and (depth is None or hop < depth):
        hop += 1
        ends: dict[str, list[Visited]] = {}
        listed = msgspec.json.encode(frontier).decode()
        rows = reader.rows(query, memory_ids=listed, relation=relation, at=at)
        horizons.check(reader, (row[2] for row in rows), at)
        for row in rows:
            ends.setdefault(row[0], []).append(_visited(row[1:], hop, row[0]))
        following = []
        for here in frontier:
            for end in sorted(ends.get(here, ()), key=lambda each: each.memory_id):
                if end.memory_id not in met and end.seen_by(viewer):
                    met[end.memory_id] = end
                    following.append(end.memory_id)
        frontier = following
    return list(met.values())


def _visit(reader: Reader, memory_id: str, at: int, viewer: str) -> Visited | None:
    row = reader.row("memory_brief", memory_id=memory_id, at=at)
    horizons.check(reader, (row[2],) if row else (), at)
    visited = _visited(row[1:], 0, None) if row else None
    return visited if visited is not None and visited.seen_by(viewer) else None


def _visited(row: Row, hop: int, via: str | None) -> Visited:
    memory_id, namespace, agent_id, private, kind, retracted, expires_at = row
    return Visited(
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
    """Return the memories that reflect on a memory, the nearest first, then by id."""
    root = _visit(reader, memory_id, at, viewer)
    if root is None:
        return []
    _, *found = walk(reader, root, "walk_to", depth, at, viewer)
    return [
        DependentRecord(each.memory_id, each.namespace, each.agent_id, each.hop)
        for each in sorted(found, key=lambda each: (each.hop, each.memory_id))
    ]


class _Branch(msgspec.Struct, frozen=True):
    """One mention of a memory in a tree of origins."""

    memory_id: str
    relation: str
    repeated: bool


def origins(reader: Reader, memory_id: str, asked: Asked, viewer: str) -> Origin | None:
    """Return the tree of everything a memory rests on: memories, and the words they come from."""
    root = _visit(reader, memory_id, asked.commit, viewer)
    if root is None or root.forgotten:
        return None
    branches = _branches(reader, root, asked.commit, viewer)
    standings = standing.find(reader, branches, asked.commit, viewer=viewer)
    told = [each for each in branches if not standings[each].forgotten]
    sources = _sources(reader, told, asked)
    built: dict[str, Origin] = {}
    for each in reversed(branches):  # what a memory rests on was met after it
        under = [_mention(branch, standings, built, asked) for branch in branches[each]]
        built[each] = Origin(
            memory=_shown(reader, standings[each]),
            relation=None,
            expired=standings[each].expired(asked.now),
            sources=sources.get(each, ()),
            origins=tuple(under),
        )
    return built[memory_id]


def _branches(reader: Reader, root: Visited, at: int, viewer: str) -> dict[str, list[_Branch]]:
    """Return what each memory rests on, breadth first; one met before is only mentioned."""
    found: dict[str, list[_Branch]] = {root.memory_id: []}
    frontier = [root.memory_id]
    while frontier:
        listed = msgspec.json.encode(frontier).decode()
        ends = [
            (row[0], _visited(row[1:], 0, row[0]), relation)
            for relation in (REFLECTS_ON, DERIVED_FROM)
            for row in reader.rows("walk_from", memory_ids=listed, relation=relation, at=at)
        ]
        place = {memory_id: index for index, memory_id in enumerate(frontier)}
        ends.sort(key=lambda each: (place[each[0]], each[2], each[1].memory_id))
        frontier = []
        for source, end, relation in ends:
            if end.seen_by(viewer):
                repeated = end.memory_id in found
                found[source].append(_Branch(end.memory_id, relation, repeated))
                if not repeated:
                    found[end.memory_id] = []
                    frontier.append(end.memory_id)
    return found


def _mention(
    branch: _Branch, standings: dict[str, Standing], built: dict[str, Origin], asked: Asked
) -> Origin:
    if not branch.repeated:
        return msgspec.structs.replace(built[branch.memory_id], relation=branch.relation)
    found = standings[branch.memory_id]
    return Origin(
        memory=memory_of(found, None),
        relation=branch.relation,
        expired=found.expired(asked.now),
        repeated=True,
    )


def _shown(reader: Reader, found: Standing) -> Memory:
    return memory_of(found, text_of(reader, found))


def _sources(
    reader: Reader, memory_ids: Sequence[str], asked: Asked
) -> dict[str, tuple[Source, ...]]:
    """Return the words that each of these memories comes from; each text is read once."""
    spans: dict[int, dict[str, list[Span]]] = {}
    infos: dict[int, TranscriptInfo] = {}
    for memory_id, number, span, row in transcripts.cited_by(reader, memory_ids, asked.commit):
        if row[0] is not None:
            spans.setdefault(number, {}).setdefault(memory_id, []).append(span)
            infos[number] = TranscriptInfo(*row)
    found: dict[str, list[tuple[TranscriptInfo, Source]]] = {}
    for number, info in infos.items():
        text = b"" if info.erased else transcripts.load(reader, info)
        for memory_id, raw in spans[number].items():
            plain = plain_spans(raw, info.original_size)
            found.setdefault(memory_id, []).append((info, _source(info, plain, text, asked)))
    return {
        memory_id: tuple(
            source for _, source in sorted(pairs, key=lambda pair: (pair[0].instant, pair[0].id))
        )
        for memory_id, pairs in found.items()
    }


def _source(info: TranscriptInfo, spans: tuple[Span, ...], text: bytes, asked: Asked) -> Source:
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
        expired=info.expired(asked.now),
        erased=info.erased,
    )
