"""Search results: hits, their scores and their provenance."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final

import msgspec

from memoranda.graph.records import Fact
from memoranda.memory import snapshots, transcripts
from memoranda.memory.records import Memory, memory_of
from memoranda.memory.snapshots import MemorySnapshot
from memoranda.memory.transcripts import TranscriptInfo, plain_spans
from memoranda.model.clock import to_datetime
from memoranda.model.memory import Span
from memoranda.model.refs import Evidence, FactRef, MemoryRef, TranscriptRef
from memoranda.search.conflicts import conflicting_facts
from memoranda.search.index import documents
from memoranda.search.index.partitions import FACT, MEMORY, PASSAGE
from memoranda.search.query import SearchQuery
from memoranda.search.ranking.candidates import Candidate
from memoranda.search.text.transcript_chunks import ChunkCache
from memoranda.storage.port import Reader

WITHDRAWN: Final = "superseded: nothing that was drawn from it stands"
"""What is said of a passage whose part `superseded` is below 1."""


class Hit(msgspec.Struct, frozen=True):
    """A search result.

    Its score is `(text + vector + graph + conversation)` times all other numbers in `parts`,
    such as `recency`, `information` and `date`.
    """

    id: str
    """The id of the memory, of the fact's first assertion, or of the transcript."""
    kind: str
    """`memory`, `fact` or `passage`."""
    text: str
    score: float
    parts: Mapping[str, float]
    memory: Memory | None
    """The memory, if it is one."""
    provenance: tuple[Evidence, ...]
    """What supports it: `TranscriptRef`s with their spans, and `MemoryRef`s."""
    fact: Fact | None = None
    """The fact, if it is one."""
    context: tuple[str, str] = ("", "")
    """The text before and after it in its transcript."""
    duplicates: tuple[str, ...] = ()
    """The ids of candidates that say the same and were removed, the first twenty."""
    time: datetime | None = None
    """When it was said, happened, or began to hold, as far as is known."""
    conflicting: tuple[Fact, ...] = ()
    """What other agents believe instead, if it is a fact that they contradict, the first five."""
    speaker: str | None = None
    """Who said a passage: the name, or else the role, in its messages. None if it has several
    speakers or was stored as text, and for a memory or a fact."""

    @property
    def ref(self) -> MemoryRef | FactRef | TranscriptRef:
        """The reference to the memory, to the fact, or to the passage of the transcript."""
        if self.memory is not None:
            return self.memory.ref
        if self.fact is not None:
            return self.fact.ref
        (passage,) = self.provenance
        return passage


# Turning candidates into hits.

MAX_DUPLICATES: Final = 20
"""Ids of duplicates that a hit lists."""
EvidenceByMemory = Mapping[str, Sequence[Evidence]]


def build_hits(
    reader: Reader,
    query: SearchQuery,
    candidates: Sequence[Candidate],
    cache: ChunkCache | None = None,
) -> list[Hit]:
    """Return candidates as hits, in the same order."""
    load_contexts(reader, candidates, cache)
    memory_ids = [candidate.id for candidate in candidates if candidate.kind == MEMORY]
    evidence = _load_evidence(reader, query, memory_ids)
    facts = [item.record for item in candidates if isinstance(item.record, Fact)]
    conflicting = conflicting_facts(reader, query, facts) if facts else {}
    return [
        _hit(candidate, evidence, conflicting.get(candidate.id, ())) for candidate in candidates
    ]


def load_contexts(
    reader: Reader, candidates: Sequence[Candidate], cache: ChunkCache | None = None
) -> None:
    """Load the texts of passages and the contexts of all candidates, in one read.

    A memory that cites nothing has no context.
    """
    for candidate in candidates:
        if candidate.kind == MEMORY and not candidate.transcripts:
            candidate.context = ("", "")
    pending = [
        (candidate, candidate.document)
        for candidate in candidates
        if candidate.kind != FACT and candidate.context is None and candidate.document
    ]
    if not pending:
        return
    texts = documents.load_texts(reader, [document for _, document in pending], cache)
    for candidate, document in pending:
        text = texts.get(document.key)
        if text is not None:
            candidate.context = (text.before, text.after)
            if candidate.kind == PASSAGE:
                candidate.load_text = text.own.__str__


def _hit(candidate: Candidate, evidence: EvidenceByMemory, conflicting: tuple[Fact, ...]) -> Hit:
    record = candidate.record
    memory = memory_of(record, candidate.text) if isinstance(record, MemorySnapshot) else None
    return Hit(
        id=candidate.id,
        kind=candidate.kind,
        text=candidate.text,
        score=candidate.score,
        parts=msgspec.structs.asdict(candidate.parts),
        memory=memory,
        provenance=_provenance(candidate, evidence),
        fact=record if isinstance(record, Fact) else None,
        context=candidate.context or ("", ""),
        duplicates=_duplicates(candidate),
        time=to_datetime(candidate.time),
        conflicting=conflicting,
        speaker=candidate.message_speaker,
    )


def _duplicates(candidate: Candidate) -> tuple[str, ...]:
    """Return the ids of duplicates; other passages of the same transcript share its id."""
    ids = dict.fromkeys(key for key in candidate.duplicates if key != candidate.id)
    return tuple(islice(ids, MAX_DUPLICATES))


def _provenance(candidate: Candidate, evidence: EvidenceByMemory) -> tuple[Evidence, ...]:
    if isinstance(candidate.record, Fact):
        return candidate.record.sources
    if isinstance(candidate.record, TranscriptInfo):
        document = candidate.document
        assert document is not None, "a passage is found by its document"
        return (TranscriptRef(candidate.id, ((document.start, document.end),)),)
    return tuple(evidence.get(candidate.id, ()))


def _load_evidence(
    reader: Reader, query: SearchQuery, memory_ids: Sequence[str]
) -> EvidenceByMemory:
    """Return what memories cite, reflect on and derive from, as far as the viewer may see it."""
    if not memory_ids:
        return {}
    evidence: dict[str, list[Evidence]] = {}
    spans: dict[tuple[str, str], list[Span]] = {}
    sizes: dict[str, int] = {}
    for memory_id, _, span, row in transcripts.citations_of(reader, memory_ids, query.commit):
        if row[0] is not None:
            spans.setdefault((memory_id, row[0]), []).append(span)
            sizes[row[0]] = TranscriptInfo(*row).original_size
    for (memory_id, transcript_id), cited_spans in spans.items():
        ref = TranscriptRef(transcript_id, plain_spans(cited_spans, sizes[transcript_id]))
        evidence.setdefault(memory_id, []).append(ref)
    links = list(snapshots.evidence_links(reader, memory_ids, query.commit))
    visible = _visible_memories(reader, query, {link.target.memory_id for link in links})
    for link in links:
        if link.target.memory_id in visible:
            evidence.setdefault(link.source, []).append(link.target)
    return evidence


def _visible_memories(reader: Reader, query: SearchQuery, memory_ids: Collection[str]) -> set[str]:
    """Return the memories whose ids the viewer may see, in any namespace.

    Only ids are shown, so the compaction horizons of other namespaces do not matter.
    """
    if not memory_ids:
        return set()
    rows = reader.rows(
        "memories_seen",
        memory_ids=list(memory_ids),
        at=query.commit,
        viewer=query.request.viewer,
    )
    return {row[0] for row in rows}
