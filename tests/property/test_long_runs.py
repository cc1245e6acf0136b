"""The same random use of a store, for longer than every change can wait."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.property.test_graph_forgetting import ForgettingMachine
from tests.property.test_graph_machine import GraphMachine, LongTimelinesMachine
from tests.property.test_memory_machine import MemoryMachine
from tests.property.test_store_machine import StoreMachine
from tests.property.test_subscription_machine import SubscriptionMachine
from tests.quick import some


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "examples", "steps"),
    [
        (StoreMachine, 600, 80),
        (MemoryMachine, 200, 40),
        (SubscriptionMachine, 150, 60),
        (GraphMachine, 120, 12),
        (LongTimelinesMachine, 20, 10),
        (ForgettingMachine, 30, 10),
    ],
)
def test_long_runs(machine: type[RuleBasedStateMachine], examples: int, steps: int) -> None:
    longer = settings(
        max_examples=some(examples),
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(machine, settings=longer)
