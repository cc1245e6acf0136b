"""Fuse the scores of terms, vectors and entities, and let newer memories win.

Two memories answer the same question, that is, they say something of the same subject in the same
relation, if both have the same terms of the query, and one of these holds:

1. They have every term of the query that any memory has, most of the shorter text in common, and
   similar scores: `Alice lives in Paris`, and later `Alice lives in Berlin now`.
2. They are worded alike, stop words included: `Ann Lee is CEO of Acme`, `Bo Ray is CEO of Acme`.
3. They have every term of the query that any memory has, are short, and have nearly equal scores:
   `Lee drives a red Toyota`, `Lee drives a blue Tesla`.

The scores of such a group are redistributed: the newest memory gets the highest, and so on. The
factor by which a score changed is its part `newer`. The name of a speaker is no term of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Final

import msgspec

from memoranda.graph.records import Fact
from memoranda.memory.snapshots import MemorySnapshot
from memoranda.search.index.partitions import MEMORY
from memoranda.search.ranking.candidates import Candidate
from memoranda.search.ranking.score_parts import ScoreParts

# Fusion.
#
# The reasons for which a candidate was found are added. Everything else only multiplies, and by
# factors near 1: a priority must not turn an unrelated memory into an answer.

VECTOR_WEIGHT: Final = 0.6
"""Addend of the best cosine, where a text of average length with every term of the query adds 1;
measured on LoCoMo."""
MIN_COSINE_SPREAD: Final = 0.1
"""Least difference of the best and the worst cosine: a smaller one decides nothing."""
MIN_COSINES: Final = 32
"""Cosines of which the lowest is that of an unrelated text; the worst of few may be an answer."""
MIN_COSINE_SHARE: Final = 0.05
"""Share of the vector's weight that the worst candidate with a vector has."""
CONTEXT_FACTOR: Final = 0.8
"""Factor of terms that stand around a text that has neither one of them nor a vector near the
query's: what is beside the answer is rarely one."""
CONVERSATION_WEIGHT: Final = 0.2
"""Share of the distance to the best candidate of the same transcript by which a score grows: what
is told in one conversation belongs together. Measured on LoCoMo."""
GRAPH_WEIGHT: Final = 0.3
"""Addend of a fact between entities that the query names."""
_MIN_RECENCY: Final = 0.95
"""Factor of a very old candidate: age alone makes no answer worse."""
_HALF_LIFE_MICROS: Final = 180 * 24 * 3600 * 1_000_000
"""Age at which half of the possible decay has happened: 180 days."""
_PRIORITY_STEP: Final = 0.02
"""Change of the factor for each step of priority."""
_DEFAULT_PRIORITY: Final = 5
"""The priority of a memory that names none; its factor is 1."""
_MIN_CONFIDENCE_FACTOR: Final = 0.8
"""Factor of confidence 0."""
_TIER_FACTORS: Final = {"short": 0.96, "mid": 0.98, "long": 1.0}
_SUPERSEDED_FACTOR: Final = 0.5
"""Factor of a superseded memory, where these are asked for."""
_NO_TERMS: Final[frozenset[str]] = frozenset()


class Scale(msgspec.Struct, frozen=True):
    """What the scores of a query are measured by; all of its candidates share it."""

    total_idf: float
    """The BM25 score of a text of average length that has every term of the query once."""
    threshold: float
    """The cosine from which on a text is related to the query."""
    lowest_cosine: float
    highest_cosine: float

    @classmethod
    def of(cls, candidates: Sequence[Candidate], total_idf: float, threshold: float) -> Scale:
        """Measure the first candidates of a query."""
        cosines = [candidate.cosine for candidate in candidates if candidate.cosine > 0]
        lowest, highest = min(cosines, default=0.0), max(cosines, default=0.0)
        if len(cosines) < MIN_COSINES:
            lowest = min(lowest, threshold)
        return cls(total_idf or 1.0, threshold, lowest, highest)

    def cosine_share(self, cosine: float) -> float:
        """Return a cosine as a share of the way from the lowest to the highest."""
        if cosine <= 0:
            return 0.0
        spread = max(self.highest_cosine - self.lowest_cosine, MIN_COSINE_SPREAD)
        return max(1 - (self.highest_cosine - cosine) / spread, MIN_COSINE_SHARE)


def fuse(candidates: Sequence[Candidate], now: int, scale: Scale, terms: frozenset[str]) -> None:
    """Set the parts of each candidate, as of an instant, but for those that are judged.

    `terms` are those that were searched for.
    """
    for candidate in candidates:
        text = candidate.lexical / scale.total_idf
        if candidate.cosine < scale.threshold and _is_beside(candidate, terms):
            text *= CONTEXT_FACTOR
        vector = candidate.cosine and VECTOR_WEIGHT * scale.cosine_share(candidate.cosine)
        candidate.parts = _parts(candidate, now, text, vector)
    _lift_conversations([candidate for candidate in candidates if candidate.transcripts])


def _is_beside(candidate: Candidate, terms: frozenset[str]) -> bool:
    """Say whether a text has none of the terms itself."""
    if candidate.is_long or not candidate.indexed_terms.isdisjoint(terms):
        return False
    return candidate.own_terms.isdisjoint(terms)


def _lift_conversations(candidates: Sequence[Candidate]) -> None:
    """Lift candidates from transcripts towards the best one of the same transcript."""
    best: dict[str, float] = {}
    for candidate in candidates:
        score = _reason(candidate)
        for transcript in candidate.transcripts:
            best[transcript] = max(score, best.get(transcript, 0.0))
    for candidate in candidates:
        lead = max(best[transcript] for transcript in candidate.transcripts)
        distance = max(lead - _reason(candidate), 0.0)
        candidate.parts.conversation = CONVERSATION_WEIGHT * distance


def _reason(candidate: Candidate) -> float:
    return candidate.parts.text + candidate.parts.vector


def rescore(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Compute the scores from the parts, and return the candidates in their order."""
    rescored = list(candidates)
    for candidate in rescored:
        candidate.score = candidate.parts.score()
    return sorted(rescored, key=Candidate.rank)


def put_behind(ranked: Sequence[Candidate], score: float) -> None:
    """Lower the scores of the candidates of a later round, all by one factor, to a score."""
    if ranked and ranked[0].score > score:
        factor = score / ranked[0].score
        for candidate in ranked:
            candidate.parts.round = factor
            # Rounding may turn the order of two nearly equal scores: no score exceeds the last.
            candidate.score = score = min(candidate.parts.score(), score)


def _parts(candidate: Candidate, now: int, text: float, vector: float) -> ScoreParts:
    """Return the reasons of a candidate, and the factors that depend on it alone."""
    record, priority, tier, confidence = candidate.record, _DEFAULT_PRIORITY, "long", 1.0
    if isinstance(record, MemorySnapshot):
        details = record.details
        priority, tier, confidence = details.priority, record.tier, details.confidence
    elif isinstance(record, Fact):
        confidence = record.confidence
    return ScoreParts(
        text,
        vector,
        GRAPH_WEIGHT * candidate.graph,
        recency=recency(now - candidate.time),
        priority=1 + _PRIORITY_STEP * (priority - _DEFAULT_PRIORITY),
        confidence=_MIN_CONFIDENCE_FACTOR + (1 - _MIN_CONFIDENCE_FACTOR) * confidence,
        tier=_TIER_FACTORS[tier],
        superseded=_SUPERSEDED_FACTOR if candidate.superseded else 1.0,
    )


def recency(age: int) -> float:
    """Return the factor of an age in microseconds."""
    decay = 0.5 ** (max(age, 0) / _HALF_LIFE_MICROS)
    return float(_MIN_RECENCY + (1 - _MIN_RECENCY) * decay)


# Preferring the newer of memories that answer the same question.

SIMILAR_SCORE: Final = 0.4
"""Least share of the higher score at which two scores are similar."""
MIN_OVERLAP: Final = 0.6
"""Share of the shorter text's terms that the longer one must have; all but one are enough. For
texts that are worded alike it is the share of the longer text's words that both have."""
EQUAL_SCORE: Final = 0.85
"""Least share of the higher score at which two scores are nearly equal."""
SHORT_TERMS: Final = 12
"""Terms of a short text."""
MAX_COMPARED_GROUPS: Final = 64
"""Groups with the same terms that a memory is compared with: a bound on quadratic work."""


def prefer_newer(ranked: Sequence[Candidate], query_terms: frozenset[str]) -> list[Candidate]:
    """Return candidates in the order of their scores, after newer memories got the higher ones.

    `ranked` is in the order of the scores.
    """
    memories = [candidate for candidate in ranked if _competes(candidate)]
    terms_of = [candidate.stated_terms_among(query_terms) for candidate in memories]
    occurring = _NO_TERMS.union(*terms_of)
    groups_by_terms: dict[tuple[str, frozenset[str]], list[list[Candidate]]] = {}
    for candidate, terms in zip(memories, terms_of, strict=True):
        if not terms:
            continue
        groups = groups_by_terms.setdefault((candidate.namespace, terms), [])
        has_all = len(terms) == len(occurring)
        for group in islice(groups, MAX_COMPARED_GROUPS):
            if _compete(group[0], candidate, has_all=has_all):
                group.append(candidate)
                break
        else:
            groups.append([candidate])
    for group in chain.from_iterable(groups_by_terms.values()):
        _redistribute_scores(group)
    return sorted(ranked, key=Candidate.rank)


def _compete(first: Candidate, second: Candidate, *, has_all: bool) -> bool:
    """Say whether two candidates with the same terms of the query answer the same question.

    `has_all`: these are all terms of the query that occur in any candidate.
    """
    if second.score < SIMILAR_SCORE * first.score:
        return False
    if has_all:
        is_equal = second.score >= EQUAL_SCORE * first.score
        if is_equal and first.max_stated_terms <= SHORT_TERMS >= second.max_stated_terms:
            return True  # both are short by the index: neither is tokenized
        terms, other_terms = first.stated_terms, second.stated_terms
        size, other_size = len(terms), len(other_terms)
        if is_equal and size <= SHORT_TERMS >= other_size:
            return True
        shorter = min(size, other_size)
        if len(terms & other_terms) >= max(min(MIN_OVERLAP * shorter, shorter - 1), 1):
            return True
    return _are_worded_alike(first, second)


def _competes(candidate: Candidate) -> bool:
    """Say whether a candidate can be newer than others: facts have a timeline for that."""
    return candidate.kind == MEMORY and not candidate.superseded and not candidate.is_long


def _are_worded_alike(first: Candidate, second: Candidate) -> bool:
    """Say whether two texts are one sentence about different things, stop words included."""
    words = first.vocabulary
    common = len(words.intersection(second.words))
    # Mostly the first already has too many other words: then those of the second are not counted.
    return common >= MIN_OVERLAP * len(words) and common >= MIN_OVERLAP * len(second.vocabulary)


def _redistribute_scores(group: Iterable[Candidate]) -> None:
    """Give the highest score of a group to its newest member, and so on."""
    by_score = list(group)
    scores = [candidate.score for candidate in by_score]
    by_time = sorted(by_score, key=lambda candidate: -candidate.time)
    if by_time == by_score:
        return
    for candidate, score in zip(by_time, scores, strict=True):
        candidate.parts.newer = score / candidate.score
        candidate.score = candidate.parts.score()
