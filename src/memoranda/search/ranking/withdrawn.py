"""Withdrawn passages: no memory or fact that was drawn from them still stands.

A memory cites spans of a transcript, and a fact can have them as its source. Where all memories
and facts that were drawn from a passage are superseded, ended, retracted or expired, the passage is
no better than these, and is hidden or marked as they are. It stays as it is if nothing was drawn
from it, if anything that stands was, or if a good part of it was not cited.

Only what the viewer may see in the searched namespaces counts, so nobody can suppress a passage
from elsewhere.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from memoranda.graph import lookup
from memoranda.graph.lookup import TimeSlice
from memoranda.memory import snapshots
from memoranda.memory.transcripts import WHOLE_TRANSCRIPT, TranscriptInfo
from memoranda.model import codec
from memoranda.model.memory import Span
from memoranda.model.refs import TranscriptRef
from memoranda.search.index.partitions import PASSAGE
from memoranda.search.query import SearchQuery
from memoranda.search.ranking.candidates import Candidate
from memoranda.search.ranking.dedupe import MIN_QUOTED, is_quoted
from memoranda.search.ranking.filters import is_dated_by, superseding_memories
from memoranda.storage.port import Reader

_STANDS: Final = "stands"
_REPLACED: Final = "replaced"
"""Superseded, ended or retracted: shown if superseded memories are."""
_EXPIRED: Final = "expired"


class _Use(msgspec.Struct, frozen=True):
    """A memory or an assertion that was drawn from a span."""

    id: str
    span: Span


class _Passage(msgspec.Struct):
    """A candidate, and the memories and facts that were drawn from it."""

    candidate: Candidate
    memories: list[_Use]
    facts: list[_Use]

    @property
    def start(self) -> int:
        """Its first byte in the transcript."""
        assert self.candidate.document is not None, "a passage is found by its document"
        return self.candidate.document.start

    @property
    def end(self) -> int:
        """The byte after its last one."""
        assert self.candidate.document is not None, "a passage is found by its document"
        return self.candidate.document.end

    def own_span(self, span: Span) -> Span:
        """Return a span; the whole transcript is one only if the passage is most of it."""
        record = self.candidate.record
        assert isinstance(record, TranscriptInfo), "the filters have looked it up"
        if span != WHOLE_TRANSCRIPT or self.end - self.start < MIN_QUOTED * record.original_size:
            return span
        return (0, record.original_size)


def filter_withdrawn(
    reader: Reader, query: SearchQuery, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """Return the candidates without the passages that are taken back, or with these marked.

    It takes a constant number of queries.
    """
    passages: dict[str, list[_Passage]] = {}
    for candidate in candidates:
        if candidate.kind == PASSAGE:
            passages.setdefault(candidate.id, []).append(_Passage(candidate, [], []))
    if not passages:
        return list(candidates)
    for group in passages.values():
        group.sort(key=lambda passage: passage.start)
    _add_memories(reader, query, passages)
    future = _add_facts(reader, query, passages)
    doubtful = _doubtful_passages(reader, query, passages)
    if not doubtful:
        return list(candidates)
    states = {**_memory_states(reader, query, doubtful), **_fact_states(reader, query, doubtful)}
    states |= dict.fromkeys(future, _STANDS)
    hidden = set()
    for passage in doubtful:
        reasons = _withdrawal(passage, states)
        if query.request.include_superseded and _REPLACED in reasons:
            passage.candidate.superseded = True
        elif reasons:
            hidden.add(passage.candidate.key)
    return [candidate for candidate in candidates if candidate.key not in hidden]


def _add_memories(
    reader: Reader, query: SearchQuery, passages: Mapping[str, Sequence[_Passage]]
) -> None:
    """Add the memories that cite passages."""
    rows = reader.rows(
        "citations_of_transcripts",
        transcript_ids=list(passages),
        at=query.commit,
        viewer=query.request.viewer,
    )
    for transcript_id, memory_id, namespace, *span in rows:
        if namespace in query.namespaces:
            use = _Use(memory_id, (span[0], span[1]))
            for passage in _overlapping(passages[transcript_id], use.span):
                passage.memories.append(use)


def _add_facts(
    reader: Reader, query: SearchQuery, passages: Mapping[str, Sequence[_Passage]]
) -> set[str]:
    """Add the assertions whose source is in a passage; return those that begin to hold later."""
    (any_id, *_) = passages
    # What an encoded reference to a transcript begins with, before the id: all ids are as long.
    header = codec.encode(TranscriptRef(any_id)).partition(any_id.encode())[0]
    rows = reader.rows(
        "assertions_of_transcripts",
        transcript_ids=list(passages),
        header=header,
        at=query.commit,
        viewer=query.request.viewer,
    )
    future: set[str] = set()
    for assertion_id, source, namespace, valid_from, until_commit in rows:
        evidence = codec.decode_evidence(source)
        if namespace not in query.namespaces or not isinstance(evidence, TranscriptRef):
            continue
        for span in evidence.spans or (WHOLE_TRANSCRIPT,):
            for passage in _overlapping(passages[evidence.transcript_id], span):
                passage.facts.append(_Use(assertion_id, span))
        if valid_from > query.valid_at and until_commit > query.commit:
            future.add(assertion_id)
    return future


def _overlapping(group: Sequence[_Passage], span: Span) -> Iterator[_Passage]:
    """Yield the passages of a transcript that overlap a span; they are disjoint and in order."""
    if span == WHOLE_TRANSCRIPT:
        yield from group
        return
    for number in range(bisect_right(group, span[0], key=lambda item: item.end), len(group)):
        if group[number].start >= span[1]:
            return
        yield group[number]


def _doubtful_passages(
    reader: Reader, query: SearchQuery, passages: Mapping[str, Sequence[_Passage]]
) -> list[_Passage]:
    """Return the passages that may be taken back: no memory cites them that surely stands."""
    cited_passages = [
        item for group in passages.values() for item in group if item.memories or item.facts
    ]
    ids = {use.id for passage in cited_passages for use in passage.memories}
    withdrawn: set[str] = set()
    if ids:
        rows = reader.rows(
            "memories_withdrawn", memory_ids=list(ids), at=query.commit, now=query.now
        )
        withdrawn = {row[0] for row in rows}
    if query.request.valid_at is not None:  # a memory that stands may be of a later event
        return cited_passages
    return [
        passage
        for passage in cited_passages
        if all(use.id in withdrawn for use in passage.memories)
    ]


def _memory_states(
    reader: Reader, query: SearchQuery, passages: Iterable[_Passage]
) -> dict[str, str]:
    """Return the state of memories, without those that are no evidence for this query."""
    ids = {use.id for passage in passages for use in passage.memories}
    if not ids:
        return {}
    viewer, commit = query.request.viewer, query.commit
    memories = snapshots.find(
        reader, ids, commit, viewer=viewer, content=False, within=query.namespaces
    )
    superseded = [key for key, memory in memories.items() if memory.superseded_by is not None]
    newer = superseding_memories(reader, query, superseded)
    states: dict[str, str] = {}
    for key, memory in memories.items():
        if memory.forgotten or not is_dated_by(memory, query):
            continue
        if memory.expired(query.now) and not query.request.include_expired:
            states[key] = _EXPIRED
        else:
            states[key] = _REPLACED if memory.retracted or key in newer else _STANDS
    return states


def _fact_states(
    reader: Reader, query: SearchQuery, passages: Iterable[_Passage]
) -> dict[str, str]:
    """Return which assertions support a fact that holds, and which do not."""
    ids = {use.id for passage in passages for use in passage.facts}
    time = TimeSlice(query.as_of_commit, query.valid_at)
    viewer = query.request.viewer
    facts: Collection[str] = lookup.facts_by_assertion(reader, ids, time, viewer) if ids else ()
    return {key: _STANDS if key in facts else _REPLACED for key in ids}


def _withdrawal(passage: _Passage, states: Mapping[str, str]) -> set[str]:
    """Return the common state of everything drawn from a passage; None if the passage stands."""
    uses = [use for use in (*passage.memories, *passage.facts) if use.id in states]
    reasons = {states[use.id] for use in uses}
    spans = [passage.own_span(use.span) for use in uses]
    if _STANDS in reasons or not is_quoted(passage.candidate, spans):
        return set()
    return reasons
