"""Filter candidates: keep those that may be shown, and mark those that are superseded.

Records are read as of one commit, in a constant number of queries, and every condition is checked
here again: namespace, visibility, retraction, supersession, expiry, and the options of the request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from memoranda.graph import lookup
from memoranda.graph.lookup import TimeSlice
from memoranda.graph.records import Fact
from memoranda.memory import snapshots, transcripts
from memoranda.memory.reads import Filters
from memoranda.memory.snapshots import MemorySnapshot
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.model.clock import to_micros
from memoranda.search.index.partitions import FACT, MEMORY, PASSAGE
from memoranda.search.query import RecallRequest, SearchQuery
from memoranda.search.ranking.candidates import Candidate
from memoranda.storage.port import Reader

# Supersession.
#
# Only a memory that could be a hit itself supersedes a hit: it must be in a searched namespace,
# visible to the viewer, and dated before the instant of the query. So a write elsewhere cannot hide
# a memory here, and the search reveals nothing of memories elsewhere.


def superseding_memories(
    reader: Reader, query: SearchQuery, memory_ids: Collection[str], *, content: bool = False
) -> dict[str, MemorySnapshot]:
    """Return the memories that supersede others, by the ids of these; of several, the last."""
    if not memory_ids:
        return {}
    viewer, commit = query.request.viewer, query.commit
    rows = reader.rows("memory_superseders", memory_ids=list(memory_ids), at=commit, viewer=viewer)
    pairs = [(old, new) for old, new, namespace in rows if namespace in query.namespaces]
    new_ids = {new for _, new in pairs}
    newer = snapshots.find(reader, new_ids, commit, viewer=viewer, content=content)
    return {
        old: newer[new] for old, new in pairs if new in newer and is_dated_by(newer[new], query)
    }


def event_time(memory: MemorySnapshot) -> int:
    """Return when the memory's event happened, or else when it was created."""
    time = memory.details.event_time
    time = memory.created_at if time is None else time
    assert time is not None, "the memory is committed"
    return time


def is_dated_by(memory: MemorySnapshot, query: SearchQuery) -> bool:
    """Say whether the memory's event is no later than the requested instant."""
    return query.request.valid_at is None or event_time(memory) <= query.request.valid_at


# Filters.


def filter_candidates(
    reader: Reader,
    query: SearchQuery,
    candidates: Iterable[Candidate],
    facts: Mapping[str, Fact],
) -> list[Candidate]:
    """Return the candidates that may be shown, with their records.

    `facts` are those that are already read, by their first assertion.
    """
    by_kind: dict[str, list[Candidate]] = {MEMORY: [], FACT: [], PASSAGE: []}
    for candidate in candidates:
        by_kind[candidate.kind].append(candidate)
    accepted = _filter_memories(reader, query, by_kind[MEMORY])
    if not query.request.tags and not query.request.metadata:  # only memories have them
        accepted += _filter_facts(reader, query, by_kind[FACT], facts)
        accepted += _filter_passages(reader, query, by_kind[PASSAGE])
    return accepted


def content_time(memory: MemorySnapshot) -> int:
    """Return when the memory's event happened, or else when its content was last changed.

    Changes of other details do not count: a new tag makes a memory no newer.
    """
    time = memory.details.event_time
    time = memory.content_updated_at if time is None else time
    assert time is not None, "the memory is committed"
    return time


def _filter_memories(
    reader: Reader, query: SearchQuery, candidates: list[Candidate]
) -> list[Candidate]:
    ids = [candidate.id for candidate in candidates]
    viewer, within = query.request.viewer, query.namespaces
    memories = (
        snapshots.find(reader, ids, query.commit, viewer=viewer, within=within) if ids else {}
    )
    memory_filter = _MemoryFilter(query)
    accepted: list[Candidate] = []
    superseded: set[str] = set()
    for candidate in candidates:
        memory = memories.get(candidate.id)
        if memory is not None and memory_filter.accepts(memory):
            candidate.record, candidate.time = memory, content_time(memory)
            if memory.content.digest is None:
                candidate.text = memory.content.text or ""
            else:
                candidate.is_long = True
                candidate.load_text = partial(snapshots.text_of, reader, memory)
            accepted.append(candidate)
            if memory.superseded_by is not None:
                superseded.add(memory.memory_id)
    newer = superseding_memories(reader, query, superseded)
    for candidate in accepted:
        candidate.superseded = candidate.id in newer
    if query.request.include_superseded:
        return accepted
    return [candidate for candidate in accepted if not candidate.superseded]


class _MemoryFilter:
    """The conditions of a query on memories, but for supersession."""

    def __init__(self, query: SearchQuery) -> None:
        self._query = query
        self._request = request = query.request
        self._has_filters = bool(request.tags or request.metadata)
        options = (request.agent_id, request.kinds.memories, request.valid_at)
        self._has_conditions = self._has_filters or options != (None, None, None)
        self._filters = Filters(
            namespace=None,
            children=False,
            agent_id=query.request.agent_id,
            kind=None,
            tier=None,
            tags=query.request.tags,
            metadata=query.request.metadata,
            viewer=query.request.viewer,
        )

    def accepts(self, memory: MemorySnapshot) -> bool:
        """Say whether a memory may be shown, superseded or not."""
        query, request = self._query, self._request
        if memory.forgotten or memory.retracted or not memory.visible_to(request.viewer):
            return False
        if memory.expired(query.now) and not request.include_expired:
            return False
        if memory.namespace not in query.namespaces:
            return False
        return not self._has_conditions or self._fits(memory)

    def _fits(self, memory: MemorySnapshot) -> bool:
        """Say whether a memory is what the request asks for."""
        request = self._request
        if request.agent_id is not None and memory.agent_id != request.agent_id:
            return False
        if request.kinds.memories is not None and memory.kind not in request.kinds.memories:
            return False
        if request.valid_at is not None and not is_dated_by(memory, self._query):
            return False
        return not self._has_filters or self._filters.accept(memory)


def _filter_facts(
    reader: Reader,
    query: SearchQuery,
    candidates: list[Candidate],
    known_facts: Mapping[str, Fact],
) -> list[Candidate]:
    """Return facts, each once, however many of its assertions were found."""
    if not candidates:
        return []
    time = TimeSlice(query.as_of_commit, query.valid_at, query.request.include_superseded)
    missing = {candidate.id for candidate in candidates if candidate.id not in known_facts}
    viewer = query.request.viewer
    facts = {**known_facts, **lookup.facts_by_assertion(reader, missing, time, viewer)}
    accepted: dict[str, Candidate] = {}
    for candidate in candidates:
        fact = facts.get(candidate.id)
        if fact is None or not _is_in_scope(fact, query):
            continue
        first = accepted.setdefault(fact.ref.assertion_id, candidate)
        first.merge(candidate)
        first.rename(fact.ref.assertion_id)
        first.record, first.time = fact, to_micros("valid_from", fact.valid_from)
        end = fact.valid_to
        first.superseded = end is not None and to_micros("valid_to", end) <= query.valid_at
        first.load_text = partial(fact_sentence, fact)
    return list(accepted.values())


def fact_sentence(fact: Fact) -> str:
    """Return a fact as a sentence."""
    return f"{fact.subject} {fact.relation.replace('_', ' ')} {fact.object}"


def _filter_passages(
    reader: Reader, query: SearchQuery, candidates: list[Candidate]
) -> list[Candidate]:
    """Return passages of transcripts that are not erased."""
    ids = {candidate.id for candidate in candidates}
    infos = transcripts.find(reader, ids, query.commit) if ids else {}
    accepted = []
    for candidate in candidates:
        info = infos.get(candidate.id)
        if info is None or info.erased or not _is_in_scope(info, query):
            continue
        if query.request.valid_at is None or info.instant <= query.request.valid_at:
            candidate.record, candidate.time = info, info.instant
            accepted.append(candidate)
    return accepted


def filter_loaded(request: RecallRequest, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates of the requested time and speaker, once these are loaded."""
    if request.speaker is None and request.since is request.until is request.valid_at is None:
        return list(candidates)
    return [
        candidate
        for candidate in candidates
        if is_in_time(request, candidate)
        and (request.speaker is None or request.speaker in candidate.speakers)
    ]


def is_in_time(request: RecallRequest, candidate: Candidate) -> bool:
    """Say whether the event of a candidate is in the requested time, and none of a later time."""
    record = candidate.record
    time = event_time(record) if isinstance(record, MemorySnapshot) else candidate.time
    if candidate.kind == PASSAGE and request.valid_at is not None and time > request.valid_at:
        return False
    if request.since is not None and time < request.since:
        return False
    return request.until is None or time < request.until


def _is_in_scope(record: Fact | TranscriptInfo, query: SearchQuery) -> bool:
    """Say whether a record is of the agent and a namespace of a query; shared facts are of any."""
    agent_id = query.request.agent_id
    is_of_agent = agent_id is None or record.agent_id in (None, agent_id)
    return is_of_agent and record.namespace in query.namespaces
