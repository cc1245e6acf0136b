"""The same random use of a store, for longer than every change can wait."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.property.test_store_machine import StoreMachine


@pytest.mark.slow
def test_long_runs() -> None:
    longer = settings(
        max_examples=600,
        stateful_step_count=80,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(StoreMachine, settings=longer)
