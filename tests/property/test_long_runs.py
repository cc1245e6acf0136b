"""The same random use of a store, for longer."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.property.test_store_machine import StoreMachine


class LongRuns(StoreMachine):
    """Many more and longer runs than every change can wait for."""


@pytest.mark.slow
class TestLongRuns(LongRuns.TestCase):  # type: ignore[name-defined,misc]
    settings = settings(
        max_examples=600,
        stateful_step_count=80,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
