"""Recall: from a query to hits, in one snapshot.

Full-text search, vector search and entity matching each find candidates. These are filtered,
scored, judged by their texts, and ranked as one pool. If the pool has fewer distinct hits than
requested, a further round takes more candidates from each search, and ranks the new ones behind the
others.

The number of requested hits only says where to stop: neither the size of a pool nor the order in it
depends on it, so the first hits are the same, however many are requested.

Nothing is written, and no lock is taken: unindexed documents are found by scanning the queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from memoranda.graph.lookup import TimeSlice
from memoranda.log.compaction import horizon
from memoranda.memory import transcripts
from memoranda.memory.transcripts import TranscriptInfo
from memoranda.model.intervals import NEWEST
from memoranda.model.memory import Span
from memoranda.search import results
from memoranda.search.index import unindexed as index_unindexed
from memoranda.search.index.documents import DocumentInfo
from memoranda.search.index.partitions import (
    FACT,
    MEMORY,
    PASSAGE,
    Partition,
    Visibility,
    visible_partitions,
)
from memoranda.search.index.unindexed import UnindexedDocuments
from memoranda.search.query import SearchQuery
from memoranda.search.ranking import (
    bm25,
    dedupe,
    entity_match,
    filters,
    fusion,
    speakers,
    withdrawn,
)
from memoranda.search.ranking.bm25 import ScoredDocument
from memoranda.search.ranking.candidates import Candidate, Key
from memoranda.search.ranking.dedupe import DistinctCandidates
from memoranda.search.ranking.diversity import diversify
from memoranda.search.ranking.entity_match import EntityFacts, GraphScope
from memoranda.search.ranking.fusion import Scale
from memoranda.search.ranking.judgement import judge
from memoranda.search.ranking.question import PREFERENCE_WORDS, read_question
from memoranda.search.ranking.trace import SearchTrace
from memoranda.search.results import Hit
from memoranda.search.text import language as index_language
from memoranda.search.text.transcript_chunks import ChunkCache, ChunkLoader
from memoranda.storage.port import Reader

_POOL_CANDIDATES: Final = 64
"""Candidates of each search in the first round, for the usual ten or twenty hits."""
_DATED_CANDIDATES: Final = 256
"""The same for a question about a date: most candidates are from another time."""
_MIN_POOL: Final = 64
"""Candidates that a pool has after the filters, if there are so many."""
_MAX_CANDIDATES: Final = 20_000
"""Candidates of each search in the last round: worse ones have little to do with the query."""
_GROWTH_FACTOR: Final = 4
"""Factor of the candidates from one round to the next."""
_NO_TERMS: Final[frozenset[str]] = frozenset()


class VectorQuery(Protocol):
    """A query that searches vectors."""

    @property
    def similarity_threshold(self) -> float:
        """The least cosine of a hit that is found by its vector alone."""
        ...

    def search(
        self,
        reader: Reader,
        partitions: Sequence[Partition],
        *,
        limit: int,
        as_of_commit: int | None,
        unindexed: UnindexedDocuments,
        also: Sequence[DocumentInfo],
    ) -> list[ScoredDocument] | None:
        """Return the nearest documents, then the scores of `also`; None: there are no vectors."""
        ...


def recall(
    reader: Reader,
    query: SearchQuery,
    vectors: VectorQuery,
    cache: ChunkCache | None = None,
    trace: SearchTrace | None = None,
) -> list[Hit]:
    """Return the best hits, best first; what happens to each candidate is noted in a trace."""
    if query.as_of_commit is not None:
        horizon.check(reader, query.namespaces, query.as_of_commit)
    candidates = _Search(reader, query, vectors, cache, trace).best(query.request.k)
    if trace is not None:
        trace.best = candidates
    return results.build_hits(reader, query, candidates, cache)


class _Search:
    """One query, and what stays the same in each round."""

    def __init__(
        self,
        reader: Reader,
        query: SearchQuery,
        vectors: VectorQuery,
        cache: ChunkCache | None,
        trace: SearchTrace | None,
    ) -> None:
        self._reader = reader
        self._query = query
        self._vectors = vectors
        self._cache = cache
        self._trace = trace
        request, as_of_commit = query.request, query.as_of_commit
        visibility = Visibility(
            query.namespaces,
            request.viewer,
            frozenset(request.kinds.hits),
            past=as_of_commit is not None,
        )
        self._partitions = visible_partitions(reader, visibility)
        self._language = index_language.read(reader)
        terms = bm25.query_terms(self._language, query.namespaces, self._partitions, request.text)
        self._question = read_question(request.text, query.valid_at, self._stems)
        hints: list[str] = []
        if self._question.wants_advice:
            hints = [term for term in self._stems(PREFERENCE_WORDS) if term not in terms]
        self._searched_terms = frozenset((*terms, *hints))
        self._unindexed = index_unindexed.scan(
            reader,
            visibility,
            terms=[*terms, *hints],
            language=self._language,
            as_of=NEWEST if as_of_commit is None else as_of_commit,
            cache=cache,
        )
        self._term_search = bm25.TermSearch(
            reader, self._partitions, terms, self._unindexed, hints=hints
        )
        self._entity_facts = self._match_entities()
        self._limit = _DATED_CANDIDATES if self._question.window else _POOL_CANDIDATES
        """Candidates of each search in this round."""
        self._exhausted = False
        """Whether a higher limit cannot find more."""
        self._ranked_keys: set[Key] = set()
        """The candidates of earlier rounds."""
        self._scale: Scale | None = None
        self._citations: dict[str, list[tuple[TranscriptInfo, Span]]] = {}
        self._citing: set[str] = set()
        """The memories that cite anything, be it visible or not."""

    def _stems(self, text: str) -> list[str]:
        """Return the terms of a text in the languages of the searched namespaces."""
        return self._language.query_terms(text, self._query.namespaces)

    def best(self, k: int) -> list[Candidate]:
        """Return the best candidates: the first `k` of an order that does not depend on `k`."""
        min_score = self._query.request.min_score
        distinct = DistinctCandidates()
        while True:
            ranked = self._rank(self._next_pool(), distinct.candidates)
            if self._trace is not None:
                self._trace.ranked += ranked
            for candidate in ranked:
                if len(distinct.candidates) == k or candidate.score < min_score:
                    return distinct.candidates
                if self._trace is not None:
                    self._trace.examined.append(candidate)
                distinct.add(candidate)
            if len(distinct.candidates) == k or self._is_last_round:
                return distinct.candidates
            self._limit *= _GROWTH_FACTOR

    @property
    def _is_last_round(self) -> bool:
        return self._exhausted or self._limit >= _MAX_CANDIDATES

    def _next_pool(self) -> list[Candidate]:
        """Return the accepted candidates of this round that earlier rounds did not have.

        Filters may leave few: then the round takes more from each search.
        """
        while True:
            new = [
                candidate
                for candidate in self._find_candidates(min(self._limit, _MAX_CANDIDATES))
                if candidate.key not in self._ranked_keys
            ]
            accepted = filters.filter_candidates(
                self._reader, self._query, new, self._entity_facts.facts
            )
            accepted = [c for c in accepted if c.key not in self._ranked_keys]
            standing = withdrawn.filter_withdrawn(self._reader, self._query, accepted)
            self._load_citations(standing)
            self._load_texts(standing)
            self._note_indexed(standing)
            pool = filters.filter_loaded(self._query.request, standing)
            if len(pool) >= _MIN_POOL or self._is_last_round:
                if self._trace is not None:
                    threshold = self._vectors.similarity_threshold
                    self._trace.note_round(new, accepted, standing, pool, threshold)
                self._ranked_keys.update(candidate.key for candidate in (*new, *pool))
                return pool
            self._limit *= _GROWTH_FACTOR

    def _rank(self, pool: list[Candidate], better: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates of a round, best first; those of earlier rounds are better."""
        question = self._question
        pool = dedupe.merge_quotations(pool, self._citations, better)
        if self._scale is None:
            threshold = self._vectors.similarity_threshold
            self._scale = Scale.of(pool, self._term_search.total_idf, threshold)
        fusion.fuse(pool, self._query.valid_at, self._scale, self._searched_terms)
        judge(pool, question)
        ranked = fusion.rescore(pool)
        if not question.is_about_the_past:
            ranked = fusion.prefer_newer(ranked, question.terms)
        if question.wants_all:
            ranked = diversify(ranked)
        if better:
            fusion.put_behind(ranked, better[-1].score)
        return ranked

    def _find_candidates(self, limit: int) -> Iterable[Candidate]:
        """Return the candidates of all searches, each once."""
        as_of_commit = self._query.as_of_commit
        candidates: dict[Key, Candidate] = {}
        by_terms = self._term_search.best(limit, as_of_commit)
        for scored in by_terms:
            self._candidate(candidates, scored.document).lexical = scored.score
        self._add_entity_matches(candidates)
        by_vector = self._vectors.search(
            self._reader,
            self._partitions,
            limit=limit,
            as_of_commit=as_of_commit,
            unindexed=self._unindexed,
            also=[scored.document for scored in by_terms],
        )
        threshold = self._vectors.similarity_threshold
        for scored in by_vector or ():
            if scored.score >= threshold or _key(scored.document) in candidates:
                self._candidate(candidates, scored.document).cosine = scored.score
        has_more_vectors = (
            by_vector is not None
            and len(by_vector) >= limit
            and by_vector[limit - 1].score >= threshold
        )
        self._exhausted = len(by_terms) < limit and not has_more_vectors
        return candidates.values()

    def _candidate(self, candidates: dict[Key, Candidate], document: DocumentInfo) -> Candidate:
        key = _key(document)
        candidate = candidates.get(key)
        if candidate is None:
            language = self._language.of(document.partition.namespace)
            candidate = candidates[key] = Candidate(key, document, language)
        elif candidate.document is None:
            candidate.document = document
        return candidate

    def _match_entities(self) -> EntityFacts:
        query, request = self._query, self._query.request
        if FACT not in request.kinds.hits and MEMORY not in request.kinds.hits:
            return EntityFacts()
        time = TimeSlice(query.as_of_commit, query.valid_at, request.include_superseded)
        namespaces = tuple(sorted(query.namespaces))
        scope = GraphScope(namespaces, request.agent_id, request.viewer)
        return entity_match.facts_near_entities(self._reader, request.text, scope, time)

    def _add_entity_matches(self, candidates: dict[Key, Candidate]) -> None:
        kinds = self._query.request.kinds.hits
        matches = self._entity_facts
        for kind, weights in ((FACT, matches.weights), (MEMORY, matches.source_weights())):
            for candidate_id, weight in weights.items() if kind in kinds else ():
                key = (kind, candidate_id, 0)
                candidate = Candidate(key, language=self._language.language)
                candidates.setdefault(key, candidate).graph = weight

    def _load_citations(self, pool: Sequence[Candidate]) -> None:
        """Load what memories cite, and note the transcripts that each candidate is from."""
        memory_ids = [
            candidate.id
            for candidate in pool
            if candidate.kind == MEMORY and candidate.id not in self._citations
        ]
        commit = self._query.commit
        rows = transcripts.citations_of(self._reader, memory_ids, commit) if memory_ids else ()
        for memory_id, _, span, row in rows:
            self._citing.add(memory_id)
            info = None if row[0] is None else TranscriptInfo(*row)
            if info is not None and info.namespace in self._query.namespaces:
                self._citations.setdefault(memory_id, []).append((info, span))
        for candidate in pool:
            if candidate.kind == PASSAGE:
                candidate.transcripts = (candidate.id,)
            elif candidate.kind == MEMORY and candidate.id in self._citations:
                ids = (info.id for info, _ in self._citations[candidate.id])
                candidate.transcripts = tuple(dict.fromkeys(ids))

    def _note_indexed(self, pool: Sequence[Candidate]) -> None:
        """Note what the index knows of the texts of memories, so that few of them are tokenized.

        A document has the tokens of what its memory cites too, and before it is restemmed, those of
        another language: then the index says nothing of the text itself.
        """
        if self._language.is_restemming:
            return
        common_terms = self._term_search.common_terms
        for candidate in pool:
            document = candidate.document
            if candidate.kind != MEMORY or candidate.id in self._citing:
                continue
            if document is not None and document.length:
                found_by = common_terms if candidate.lexical else _NO_TERMS
                candidate.set_indexed(found_by, document.length)

    def _load_texts(self, pool: Sequence[Candidate]) -> None:
        """Load the texts, times and speakers of passages.

        Those who said what the others cite are loaded only if the question is about a speaker.
        """
        passages = [candidate for candidate in pool if candidate.kind == PASSAGE]
        loader = ChunkLoader(self._reader, self._cache)
        results.load_contexts(self._reader, passages, self._cache)
        speakers.set_message_fields(loader, passages)
        if self._question.roles or self._query.request.speaker is not None:
            speakers.load_speakers(loader, pool, self._citations)


def _key(document: DocumentInfo) -> Key:
    return document.partition.kind, document.source, document.start
