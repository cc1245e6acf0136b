"""Contests: of memories that answer the same question, the newer one comes first.

Two memories contest a place if both fit the query about as well, by the same of its words, and have
most of what the shorter one says in common: `Alice lives in Paris`, and later `Alice lives in
Berlin now`. The scores of a group stay the same; the newest gets the highest, and so on, and how
much a score was changed by that is the part `newer` of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from recollect.search.candidates import Candidate
from recollect.search.hits import score_of
from recollect.search.shelves import MEMORY

CLOSE: Final = 0.5
"""The least of two scores, as a part of the other, at which they are about as good."""
ALIKE: Final = 0.6
"""How much of the shorter text has to stand in the longer one; all but a word of it is enough."""


def settle(ranked: Sequence[Candidate], terms: frozenset[str]) -> list[Candidate]:
    """Return candidates in order, those that contest a place by their times, given a query's words.

    They are given in the order of their scores, and so they are returned.
    """
    matching: dict[tuple[str, frozenset[str]], list[list[Candidate]]] = {}
    for each in ranked:
        if each.kind == MEMORY and not each.superseded:
            groups = matching.setdefault((each.place, each.words & terms), [])
            group = next((found for found in groups if _contest(found[0], each)), None)
            if group is None:
                groups.append([each])
            else:
                group.append(each)
    for groups in matching.values():
        for group in groups:
            _share(group)
    return sorted(ranked, key=Candidate.rank)


def _contest(first: Candidate, other: Candidate) -> bool:
    """Say whether two candidates that have the same words of the query say much the same."""
    if other.score < CLOSE * first.score:
        return False
    shorter = min(len(first.words), len(other.words))
    enough = max(min(ALIKE * shorter, shorter - 1), 1)
    return len(first.words & other.words) >= enough


def _share(group: Iterable[Candidate]) -> None:
    """Give the highest score of a group to its newest member, and so on."""
    by_score = list(group)
    scores = [each.score for each in by_score]
    by_time = sorted(by_score, key=lambda each: -each.time)
    if by_time == by_score:
        return
    for each, score in zip(by_time, scores, strict=True):
        each.parts["newer"] = score / each.score
        each.score = score_of(each.parts)
