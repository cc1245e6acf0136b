"""Contests: of memories that answer the same question, the newer one comes first.

Two memories contest a place if both have the same of the query's words, and either have most of
what the shorter one says in common and score about as well (`Alice lives in Paris`, and later
`Alice lives in Berlin now`), or are worded alike, the most common words counted (`Ann Lee is CEO of
Acme`, `Bo Ray is CEO of Acme`), or are short, have all that anything has of the query's words, and
score nearly the same (`Lee drives a red Toyota`, `Lee drives a blue Tesla`). The scores of a group
stay the same; the newest gets the highest, and so on, and how much a score was changed by that is
the part `newer` of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Final

from memoranda.search.candidates import Candidate
from memoranda.search.hits import score_of
from memoranda.search.shelves import MEMORY

CLOSE: Final = 0.5
"""The least of two scores, as a part of the other, at which they are about as good."""
ALIKE: Final = 0.6
"""How much of the shorter text has to stand in the longer one; all but a word of it is enough.
Where the most common words count, it is how much of the longer text both have."""
NEARLY: Final = 0.85
"""The least of two scores, as a part of the other, at which they are nearly the same."""
SHORT: Final = 12
"""How many words a short text has."""
MOST_GROUPS: Final = 64
"""With how many, at most, of those that are not contested so far something is compared."""


def settle(ranked: Sequence[Candidate], terms: frozenset[str]) -> list[Candidate]:
    """Return candidates in order, those that contest a place by their times, given a query's words.

    They are given in the order of their scores, and so they are returned.
    """
    memories = [each for each in ranked if each.kind == MEMORY and not each.superseded]
    there = terms.intersection(*[chain.from_iterable(each.words for each in memories)])
    matching: dict[tuple[str, frozenset[str]], list[list[Candidate]]] = {}
    for each in memories:
        matched = each.words & terms
        groups = matching.setdefault((each.place, matched), [])
        whole = matched == there
        best = islice(groups, MOST_GROUPS)
        group = next((found for found in best if _contest(found[0], each, whole=whole)), None)
        if group is None:
            groups.append([each])
        else:
            group.append(each)
    for group in chain.from_iterable(matching.values()):
        _share(group)
    return sorted(ranked, key=Candidate.rank)


def _contest(first: Candidate, other: Candidate, *, whole: bool) -> bool:
    """Say whether two candidates with the same words of the query answer the same question.

    `whole`: these are all of the query's words that were found anywhere.
    """
    sizes = len(first.words), len(other.words)
    shorter, longer = min(sizes), max(sizes)
    if whole and longer <= SHORT and other.score >= NEARLY * first.score:
        return True
    if other.score < CLOSE * first.score:
        return False
    enough = max(min(ALIKE * shorter, shorter - 1), 1)
    return len(first.words & other.words) >= enough or _worded_alike(first, other)


def _worded_alike(first: Candidate, other: Candidate) -> bool:
    """Say whether two texts are one sentence about different things, common words counted."""
    sizes = len(first.vocabulary), len(other.vocabulary)
    longer = max(sizes)
    return (
        min(sizes) >= ALIKE * longer and len(first.vocabulary & other.vocabulary) >= ALIKE * longer
    )


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
