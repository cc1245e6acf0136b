"""Spread the answers to a list or a count over transcripts, instead of repeating one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Final

from memoranda.search.ranking.candidates import Candidate

REPEATED_FACTOR: Final = 0.9
"""Factor for each better hit of the same transcript."""
MAX_REPEATS: Final = 3
"""Better hits that count, so that a conversation on the topic can still have several hits."""


def diversify(ranked: Sequence[Candidate]) -> list[Candidate]:
    """Return ranked candidates again, those of a transcript that has better ones further down.

    A candidate is taken only if its factor is that of the candidates taken so far; factors only
    fall, so the result is in the order of the scores.
    """
    counts: Counter[str] = Counter()
    queue = [(candidate.rank(), number) for number, candidate in enumerate(ranked)]
    heapify(queue)
    result: list[Candidate] = []
    while queue:
        _, number = heappop(queue)
        candidate = ranked[number]
        repeats = max((counts[transcript] for transcript in candidate.transcripts), default=0)
        factor = REPEATED_FACTOR ** min(repeats, MAX_REPEATS)
        if factor < candidate.parts.diversity:
            candidate.parts.diversity = factor
            candidate.score = candidate.parts.score()
            heappush(queue, (candidate.rank(), number))
            continue
        counts.update(candidate.transcripts)
        result.append(candidate)
    return result
