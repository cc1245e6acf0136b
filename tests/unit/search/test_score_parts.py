"""The parts of a score: the names that users read are those that the score is made of."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from memoranda.search.ranking.score_parts import SCORE_FACTORS, SCORE_TERMS, ScoreParts

_PARTS = st.lists(
    st.floats(0, 2),
    min_size=len(ScoreParts.__struct_fields__),
    max_size=len(ScoreParts.__struct_fields__),
)


def test_every_part_has_a_name_and_is_neutral_at_first() -> None:
    assert ScoreParts.__struct_fields__ == (*SCORE_TERMS, *SCORE_FACTORS)
    assert msgspec.structs.asdict(ScoreParts()) == {
        **dict.fromkeys(SCORE_TERMS, 0.0),
        **dict.fromkeys(SCORE_FACTORS, 1.0),
    }


@given(_PARTS)
def test_the_score_is_the_sum_times_all_factors(values: list[float]) -> None:
    parts = ScoreParts(*values)
    total, factor = 0.0, 1.0
    for name in SCORE_TERMS:
        total += getattr(parts, name)
    for name in SCORE_FACTORS:
        factor *= getattr(parts, name)
    assert parts.score() == total * factor
