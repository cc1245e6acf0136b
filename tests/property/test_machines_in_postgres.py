"""The machines of state, subscriptions, memories and bitemporal facts on stores in PostgreSQL."""

from __future__ import annotations

import pytest
from hypothesis import settings

import memoranda
from tests.postgres_server import new_store_url
from tests.property.test_graph_forgetting import ForgettingMachine
from tests.property.test_graph_machine import GraphMachine, TestGraphMachine
from tests.property.test_memory_machine import MemoryMachine
from tests.property.test_store_machine import StoreMachine
from tests.property.test_subscription_machine import SubscriptionMachine

FEW = settings(TestGraphMachine.settings, max_examples=4, stateful_step_count=20)


class StoreMachineInPostgres(StoreMachine):
    """State, transactions and replay."""

    def start(self) -> None:
        url = new_store_url(self.folder, name=self.folder.name)
        self.store = memoranda.open(url, clock=self.clock, ids=self.ids, durability="relaxed")


class MemoryMachineInPostgres(MemoryMachine):
    """Memories, links and notices."""

    def start(self) -> None:
        url = new_store_url(self.folder, name=self.folder.name)
        self.store = memoranda.open(url, clock=self.clock, ids=self.ids_made, durability="relaxed")


class GraphMachineInPostgres(GraphMachine):
    """Bitemporal facts."""

    def start(self) -> None:
        url = new_store_url(self.folder, name=self.folder.name)
        opened = memoranda.open(url, clock=self.clock, ids=self.ids, durability="relaxed")
        self.store = opened.bind(agent_id="a")


class ForgettingMachineInPostgres(GraphMachineInPostgres, ForgettingMachine):
    """Bitemporal facts whose sources are forgotten."""


class SubscriptionMachineInPostgres(SubscriptionMachine, StoreMachineInPostgres):
    """Subscriptions, cursors and replay."""


del TestGraphMachine  # it is collected in its own module

TestStoreMachineInPostgres = pytest.mark.slow(StoreMachineInPostgres.TestCase)
TestMemoryMachineInPostgres = pytest.mark.slow(MemoryMachineInPostgres.TestCase)
TestGraphMachineInPostgres = pytest.mark.slow(GraphMachineInPostgres.TestCase)
TestForgettingMachineInPostgres = pytest.mark.slow(ForgettingMachineInPostgres.TestCase)
TestSubscriptionMachineInPostgres = pytest.mark.slow(SubscriptionMachineInPostgres.TestCase)
TestStoreMachineInPostgres.settings = FEW
TestMemoryMachineInPostgres.settings = FEW
TestGraphMachineInPostgres.settings = settings(FEW, stateful_step_count=8)
TestForgettingMachineInPostgres.settings = settings(FEW, stateful_step_count=6)
TestSubscriptionMachineInPostgres.settings = FEW
