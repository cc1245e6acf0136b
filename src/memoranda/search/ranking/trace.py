"""A trace of one search: the candidates of each search, and those that each filter accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memoranda.search.ranking.candidates import Candidate


class SearchTrace:
    """Collects candidates on their way to the hits; only an explanation needs one."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter(text=0, vector=0, graph=0)
        """Candidates of the searches: `text`, `vector` and `graph`."""
        self.candidates: list[Candidate] = []
        """The candidates of the searches."""
        self.looked_up: list[Candidate] = []
        """Those whose records fit the request."""
        self.standing: list[Candidate] = []
        """Those of them that were not taken back."""
        self.accepted: list[Candidate] = []
        """Those of them that are of the requested time and speaker."""
        self.ranked: list[Candidate] = []
        """Those of them that no other one stands for by citing it."""
        self.examined: list[Candidate] = []
        """Those of them that became hits, or say the same as a hit."""
        self.best: list[Candidate] = []
        """The hits; each has the ids of those that it stands for."""

    def note_round(
        self,
        candidates: Sequence[Candidate],
        looked_up: Sequence[Candidate],
        standing: Sequence[Candidate],
        accepted: Sequence[Candidate],
        similarity_threshold: float,
    ) -> None:
        """Note a round of candidates, before their scores are changed."""
        for candidate in candidates:
            self.counts["text"] += candidate.lexical > 0
            self.counts["vector"] += (
                candidate.cosine > 0 and candidate.cosine >= similarity_threshold
            )
            self.counts["graph"] += candidate.graph > 0
        self.candidates += candidates
        self.looked_up += looked_up
        self.standing += standing
        self.accepted += accepted
