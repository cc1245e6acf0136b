"""Fusion: one score from what the words, the vectors and the graph say, and from what is known.

Why something was found is added up. What is known of it beside that only multiplies, and narrowly:
no priority makes an answer of what does not answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memoranda.graph.records import Fact
from memoranda.memory.standing import Standing
from memoranda.search.candidates import Candidate
from memoranda.search.hits import ADDED, score_of

VECTOR: Final = 0.8
"""What a cosine of 1 adds, where the best text adds 1."""
GRAPH: Final = 0.3
"""What it adds to be a fact about all that a query names."""
_AGED: Final = 0.9
"""What is left, in the end, of what was said long ago."""
_HALF_LIFE: Final = 180 * 24 * 3600 * 1_000_000
_A_PRIORITY: Final = 0.02
_USUAL_PRIORITY: Final = 5
_UNSURE: Final = 0.8
"""What is left of what nobody is sure of at all."""
_TIERS: Final = {"short": 0.96, "mid": 0.98, "long": 1.0}
_SUPERSEDED: Final = 0.5


def fuse(candidates: Sequence[Candidate], now: int) -> None:
    """Give each candidate its parts and its score, as of an instant; the best text counts 1."""
    best = max((each.lexical for each in candidates), default=0.0) or 1.0
    for each in candidates:
        each.parts = dict(
            zip(
                ADDED,
                (each.lexical / best, VECTOR * max(each.cosine, 0.0), GRAPH * each.graph),
                strict=True,
            )
        )
        each.parts |= _known(each, now)
        each.score = score_of(each.parts)


def _known(candidate: Candidate, now: int) -> dict[str, float]:
    """Return what the score is multiplied by."""
    about, priority, tier, confidence = candidate.about, _USUAL_PRIORITY, "long", 1.0
    if isinstance(about, Standing):
        priority, tier = about.details.priority, about.tier
        confidence = about.details.confidence
    elif isinstance(about, Fact):
        confidence = about.confidence
    return {
        "recency": recency(now - candidate.time),
        "priority": 1 + _A_PRIORITY * (priority - _USUAL_PRIORITY),
        "confidence": _UNSURE + (1 - _UNSURE) * confidence,
        "tier": _TIERS[tier],
        "superseded": _SUPERSEDED if candidate.superseded else 1.0,
        "newer": 1.0,
    }


def recency(age: int) -> float:
    """Return what an age in microseconds leaves of a score: half of what can go in half a year."""
    return float(_AGED + (1 - _AGED) * 0.5 ** (max(age, 0) / _HALF_LIFE))
