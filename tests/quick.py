"""What `make test` runs of a test that is long: a part. All of it is slow."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings


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
