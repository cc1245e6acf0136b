"""Scales: cosines count by where they lie among those of the query."""

from __future__ import annotations

import pytest

from memoranda.search.index.partitions import MEMORY
from memoranda.search.ranking.candidates import Candidate
from memoranda.search.ranking.fusion import MIN_COSINE_SHARE, MIN_COSINES, Scale


def scale(cosines: list[float], threshold: float = 0.2) -> Scale:
    candidates = [Candidate((MEMORY, str(number), 0)) for number in range(len(cosines))]
    for candidate, cosine in zip(candidates, cosines, strict=True):
        candidate.cosine = cosine
    return Scale.of(candidates, total_idf=1.0, threshold=threshold)


def spread(low: float, high: float) -> list[float]:
    return [low + (high - low) * number / MIN_COSINES for number in range(MIN_COSINES + 1)]


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.5), (0.6, 0.85), (0.05, 0.25)])
def test_the_range_of_a_model_does_not_matter(low: float, high: float) -> None:
    measure = scale(spread(low, high))
    assert measure.cosine_share(high) == 1
    assert measure.cosine_share((low + high) / 2) == pytest.approx(0.5)
    assert measure.cosine_share(low) == MIN_COSINE_SHARE


def test_of_few_cosines_the_lowest_may_be_an_answer() -> None:
    measure = scale([0.6, 0.8], threshold=0.2)
    assert measure.cosine_share(0.8) == 1
    assert measure.cosine_share(0.6) == pytest.approx(2 / 3)


def test_a_small_difference_decides_little() -> None:
    measure = scale([0.300 + number / 10_000 for number in range(MIN_COSINES)])
    assert measure.cosine_share(0.300) > 0.9


def test_later_candidates_are_measured_by_the_first() -> None:
    measure = scale(spread(0.4, 0.8))
    assert measure.cosine_share(0.3) == MIN_COSINE_SHARE


@pytest.mark.parametrize("cosine", [0.0, -0.5])
def test_what_has_no_vector_or_an_opposite_one_gets_nothing(cosine: float) -> None:
    assert scale([]).cosine_share(cosine) == 0
    assert scale(spread(0.4, 0.8)).cosine_share(cosine) == 0


def test_one_vector_is_the_best() -> None:
    assert scale([0.3]).cosine_share(0.3) == 1
