"""What `make test` and `make test-slow` run of a test that is long, or has many cases: a part.

- `make test` runs a few cases of each test, or all with the marker `every_case`. `make test-slow`
  runs the others.
- Of the contract, `make test-slow` runs all cases on the kinds of stores that `make test` opens,
  and one case of each test on every other kind. Of campaigns it runs a fourth.
- `make test-slow WHOLE=1` leaves nothing out. So does a run that does not choose by `-m`.

Which cases are run depends on their names only, so that two runs do the same.
"""

from __future__ import annotations

import os
import random
from collections.abc import Container, Iterable
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings

IS_WHOLE = bool(os.environ.get("MEMORANDA_TEST_WHOLE"))
"""Whether campaigns are run in full."""
SHARE = 1 if IS_WHOLE else 4
"""One of so many cases of a campaign is tried."""
QUICK_CASES = 4
"""Of the cases of a test, `make test` runs so many."""


def some(count: int) -> int:
    """Return how many of so many cases of a campaign to try."""
    return max(count // SHARE, 1)


def some_of(cases: range) -> range:
    """Return cases of a campaign, evenly spread; by chance, other ones in another run."""
    return cases[random.randrange(SHARE) :: SHARE]


def only(quick: Container[object], values: Iterable[object]) -> list[Any]:
    """Return parameters, all of them marked as slow but those that are quick."""
    return [
        pytest.param(value, marks=() if value in quick else pytest.mark.slow) for value in values
    ]


def often(test: Any, examples: int, *strategies: Any, **named: Any) -> Any:
    """Return a slow test that tries many examples of what a quick one tries few of, or a part."""
    many = settings(
        max_examples=some(examples), deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    tried: Any = given(*strategies, **named)(test.hypothesis.inner_test)  # type: ignore[no-untyped-call]
    return pytest.mark.slow(many(tried))


def sample(cases: list[pytest.Function], markers: str) -> list[pytest.Function]:
    """Return the cases of a test that a run of these markers collects."""
    if any(case.get_closest_marker("every_case") for case in cases):
        return cases
    quick = sorted((case for case in cases if not _is_slow(case)), key=rank)
    if markers == "not slow":
        return [case for case in cases if case in quick[:QUICK_CASES]]
    for case in quick[QUICK_CASES:]:
        case.add_marker("slow")
    return cases


def rank(case: pytest.Function) -> int:
    """Return a number that spreads the cases of a test evenly over all of its parameters."""
    return crc32(case.name.encode())


def _is_slow(case: pytest.Function) -> bool:
    return case.get_closest_marker("slow") is not None
