"""The parts of a score: the reasons for which a candidate was found, and factors of their sum."""

from __future__ import annotations

from typing import Final

import msgspec

SCORE_TERMS: Final = ("text", "vector", "graph", "conversation")
"""The parts of a score that are added: the reasons for which a hit was found."""
JUDGED_FACTORS: Final = (
    "information",
    "statement",
    "speaker",
    "date",
    "newer",
    "diversity",
    "round",
)
"""The factors that depend on the question and on the other candidates."""
SCORE_FACTORS: Final = (
    "recency",
    "priority",
    "confidence",
    "tier",
    "superseded",
    *JUDGED_FACTORS,
)
"""The parts that multiply the sum; 1 is neutral."""


class ScoreParts(msgspec.Struct, gc=False):
    """The parts of one score, neutral until they are set, in the order of the names above."""

    text: float = 0.0
    vector: float = 0.0
    graph: float = 0.0
    conversation: float = 0.0
    recency: float = 1.0
    priority: float = 1.0
    confidence: float = 1.0
    tier: float = 1.0
    superseded: float = 1.0
    information: float = 1.0
    statement: float = 1.0
    speaker: float = 1.0
    date: float = 1.0
    newer: float = 1.0
    diversity: float = 1.0
    round: float = 1.0

    def score(self) -> float:
        """Return the score; it is written out, as a search calls this some hundred times."""
        return (self.text + self.vector + self.graph + self.conversation) * (
            self.recency
            * self.priority
            * self.confidence
            * self.tier
            * self.superseded
            * self.information
            * self.statement
            * self.speaker
            * self.date
            * self.newer
            * self.diversity
            * self.round
        )
