"""What `make test` and `make test-slow` run of a test that is long: a part.

`make test-slow` runs all tests, but of campaigns a fourth; with `WHOLE=1` it runs all of them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Container, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

IS_WHOLE = bool(os.environ.get("MEMORANDA_TEST_WHOLE"))
"""Whether campaigns are run in full."""
SHARE = 1 if IS_WHOLE else 4
"""One of so many cases of a campaign is tried."""


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
    """Return a slow test that tries many examples of what a quick one tries few of."""
    many = settings(
        max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    tried: Any = given(*strategies, **named)(test.hypothesis.inner_test)  # type: ignore[no-untyped-call]
    return pytest.mark.slow(many(tried))
