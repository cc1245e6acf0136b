"""Explain a search: the candidates of each search, and the reasons why filters dropped some.

Only what the viewer may see is named: a candidate that is private to others, erased, or unknown at
the requested moment appears nowhere, and is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from memoranda.graph import lookup
from memoranda.graph.lookup import TimeSlice
from memoranda.graph.records import Fact
from memoranda.memory import snapshots, transcripts
from memoranda.memory.snapshots import MemorySnapshot
from memoranda.model.clock import to_micros
from memoranda.model.intervals import OPEN_END
from memoranda.search import results
from memoranda.search.index.partitions import FACT, MEMORY, PASSAGE
from memoranda.search.query import SearchQuery
from memoranda.search.ranking import filters
from memoranda.search.ranking.candidates import Candidate
from memoranda.search.ranking.trace import SearchTrace
from memoranda.search.recall import VectorQuery, recall
from memoranda.search.results import Hit
from memoranda.search.text.transcript_chunks import ChunkCache
from memoranda.storage.port import Reader

MAX_DROPPED: Final = 100
"""Dropped candidates that an explanation lists: the best of them by their words."""
Reason = tuple[str, str | None]
"""Why a candidate was dropped, and the id of what took its place."""
Explained = tuple[Candidate, Reason]


class DroppedCandidate(msgspec.Struct, frozen=True):
    """A candidate that a search found and that is not among the hits."""

    id: str
    """As of a `Hit`."""
    kind: str
    """`memory`, `fact` or `passage`."""
    text: str
    reason: str
    """`superseded`, `retracted`, `expired`, `ended` (a fact that no longer held), `later` (it had
    not happened yet), `withdrawn` (a passage: nothing that was drawn from it stands), `agent`,
    `kind`, `tags`, `time`, `speaker` (it is not what was asked for), `duplicate` (a hit says the
    same), or `score` (below the least score)."""
    by: str | None = None
    """The id of what supersedes it, or of the hit that says the same."""


class RecallExplanation(msgspec.Struct, frozen=True):
    """How the hits of a query came about."""

    hits: tuple[Hit, ...]
    found_by: Mapping[str, int]
    """How many candidates the search of words (`text`), of vectors (`vector`) and of the graph
    around named entities (`graph`) found; several may find the same one."""
    candidates: int
    """What they found, each candidate once."""
    accepted: int
    """Candidates that passed all filters; those that are no hits ranked lower, or say the same."""
    dropped: tuple[DroppedCandidate, ...]
    """What filters dropped, up to a hundred, the best match of words first."""


def explain(
    reader: Reader, query: SearchQuery, vectors: VectorQuery, cache: ChunkCache | None = None
) -> RecallExplanation:
    """Search as `recall` does, and list the dropped candidates."""
    trace = SearchTrace()
    hits = recall(reader, query, vectors, cache, trace)
    return RecallExplanation(
        hits=tuple(hits),
        found_by=dict(trace.counts),
        candidates=len(trace.candidates),
        accepted=len(trace.accepted),
        dropped=tuple(_dropped(reader, query, trace, cache)),
    )


def _dropped(
    reader: Reader, query: SearchQuery, trace: SearchTrace, cache: ChunkCache | None
) -> Iterator[DroppedCandidate]:
    """Yield what was dropped, with its reason, each fact once."""
    reasons = [*_filtered(reader, query, trace), *_outranked(query, trace)]
    reasons.sort(key=lambda pair: _by_words(pair[0]))
    del reasons[MAX_DROPPED:]
    results.load_contexts(reader, [candidate for candidate, _ in reasons], cache)
    keys = {candidate.key for candidate in trace.accepted}
    for candidate, (reason, by) in reasons:
        is_merged = candidate.kind == FACT and reason not in _RANKED and candidate.key in keys
        if not is_merged:  # another assertion of the same fact
            keys.add(candidate.key)
            yield DroppedCandidate(candidate.id, candidate.kind, candidate.text, reason, by)


def _by_words(candidate: Candidate) -> tuple[float, float, str, int]:
    return -candidate.lexical, -candidate.cosine, candidate.id, candidate.start


def _without(candidates: Sequence[Candidate], excluded: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates that are not among others: the same objects, whatever their ids."""
    identities = {id(candidate) for candidate in excluded}
    return [candidate for candidate in candidates if id(candidate) not in identities]


# Candidates that passed the filters.

_DUPLICATE: Final = "duplicate"
_SCORE: Final = "score"
_RANKED: Final = frozenset((_DUPLICATE, _SCORE))


def _outranked(query: SearchQuery, trace: SearchTrace) -> Iterator[Explained]:
    """Yield accepted candidates that a hit stands for, or that score too low."""
    originals = {name: item.id for item in trace.accepted for name in item.duplicates}
    hits = {hit.id for hit in trace.best}
    cited = _without(trace.accepted, trace.ranked)
    for candidate in (*cited, *_without(trace.examined, trace.best)):
        original = originals.get(candidate.id)
        if original is not None and original not in hits:  # what stands for it has a duplicate too
            original = originals.get(original)
        if original is not None:
            yield candidate, (_DUPLICATE, original)
    for candidate in _without(trace.ranked, trace.examined):
        if candidate.score < query.request.min_score:
            yield candidate, (_SCORE, None)


# Candidates that a filter dropped.


def _filtered(reader: Reader, query: SearchQuery, trace: SearchTrace) -> Iterator[Explained]:
    unfit = sorted(_without(trace.candidates, trace.looked_up), key=_by_words)[:MAX_DROPPED]
    by_kind = {
        kind: [item for item in unfit if item.kind == kind] for kind in (MEMORY, FACT, PASSAGE)
    }
    yield from _memories(reader, query, by_kind[MEMORY])
    yield from _facts(reader, query, by_kind[FACT])
    yield from _passages(reader, query, by_kind[PASSAGE])
    for candidate in _without(trace.looked_up, trace.standing):
        yield candidate, ("withdrawn", None)
    for candidate in _without(trace.standing, trace.accepted):
        is_in_time = filters.is_in_time(query.request, candidate)
        yield candidate, ("speaker" if is_in_time else "time", None)


def _memories(
    reader: Reader, query: SearchQuery, candidates: Sequence[Candidate]
) -> Iterator[Explained]:
    ids = [candidate.id for candidate in candidates]
    viewer, within = query.request.viewer, query.namespaces
    memories = (
        snapshots.find(reader, ids, query.commit, viewer=viewer, within=within) if ids else {}
    )
    newer = filters.superseding_memories(reader, query, ids)
    for candidate in candidates:
        memory = memories.get(candidate.id)
        if memory is None or memory.forgotten:
            continue
        candidate.record = memory
        candidate.load_text = partial(snapshots.text_of, reader, memory)
        yield candidate, _memory_reason(query, memory, newer.get(candidate.id))


def _memory_reason(
    query: SearchQuery, memory: MemorySnapshot, newer: MemorySnapshot | None
) -> Reason:
    request = query.request
    if memory.retracted:
        return "retracted", None
    if memory.expired(query.now) and not request.include_expired:
        return "expired", None
    if newer is not None and not request.include_superseded:
        return "superseded", newer.memory_id
    if request.agent_id not in (None, memory.agent_id):
        return "agent", None
    if request.kinds.memories is not None and memory.kind not in request.kinds.memories:
        return "kind", None
    return ("tags" if filters.is_dated_by(memory, query) else "later"), None


def _facts(
    reader: Reader, query: SearchQuery, candidates: Sequence[Candidate]
) -> Iterator[Explained]:
    ids = {candidate.id for candidate in candidates}
    always = TimeSlice(query.as_of_commit, OPEN_END, include_ended=True)
    viewer = query.request.viewer
    facts = lookup.facts_by_assertion(reader, ids, always, viewer) if ids else {}
    for candidate in candidates:
        fact = facts.get(candidate.id)
        if fact is None or fact.namespace not in query.namespaces:
            continue
        candidate.rename(fact.ref.assertion_id)
        candidate.load_text = partial(filters.fact_sentence, fact)
        yield candidate, (_fact_reason(query, fact), None)


def _fact_reason(query: SearchQuery, fact: Fact) -> str:
    request = query.request
    if request.tags or request.metadata:
        return "tags"
    if request.agent_id is not None and fact.agent_id not in (None, request.agent_id):
        return "agent"
    return "later" if to_micros("valid_from", fact.valid_from) > query.valid_at else "ended"


def _passages(
    reader: Reader, query: SearchQuery, candidates: Sequence[Candidate]
) -> Iterator[Explained]:
    request = query.request
    ids = {candidate.id for candidate in candidates}
    infos = transcripts.find(reader, ids, query.commit, within=query.namespaces) if ids else {}
    for candidate in candidates:
        info = infos.get(candidate.id)
        if info is None or info.erased:
            continue
        if request.tags or request.metadata:
            reason = "tags"
        else:
            is_of_agent = request.agent_id in (None, info.agent_id)
            reason = "later" if is_of_agent else "agent"
        candidate.record = info
        yield candidate, (reason, None)
