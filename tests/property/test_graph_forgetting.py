"""Random histories of facts whose sources are forgotten: the oracle never heard what they said."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.property.graph_oracle import Assertion, End, Mark, Retraction
from tests.property.test_graph_machine import SOURCES, GraphMachine, shown


class ForgettingMachine(GraphMachine):
    """Says what the machine of all histories says, and forgets where some of it came from."""

    @rule(name=st.sampled_from(SOURCES), whole=st.booleans())
    def forget(self, *, name: str, whole: bool) -> None:
        """Forget what a memory is the source of, or the memory with it; another takes its place."""
        (memory_id,) = [each for each, known in self.sources.items() if known == name]
        if whole:
            self.store.forget(memory_id=memory_id, reason="asked to")
            del self.sources[memory_id]
            self.sources[self.store.remember(name).id] = name
        elif any(self.came_from(step, name) for step in self.oracle.steps):
            self.store.forget(facts_from=memory_id, reason="asked to")
        else:
            return
        self.unsay(name)
        self.oracle.begin(self.store.stats().commits)
        self.histories[self.oracle.commit] = []
        for known_at in self.histories:
            edges = [edge for each in self.oracle.timelines(known_at).values() for edge in each]
            self.histories[known_at] = sorted(shown(edges), key=repr)
        assert self.store.verify().commits == self.oracle.commit

    def unsay(self, name: str) -> None:
        """Take everything out of the oracle's steps that was said by this source."""
        gone = {
            step.id
            for step in self.oracle.steps
            if isinstance(step, Mark) and self.came_from(step, name)
        }
        self.said = [each for each in self.said if each not in gone]
        self.oracle.steps = [
            step
            for step in self.oracle.steps
            if not (isinstance(step, Mark | Retraction) and step.id in gone)
        ]

    @staticmethod
    def came_from(step: object, name: str) -> bool:
        return isinstance(step, Assertion | End) and step.source == name


TestForgettingMachine = ForgettingMachine.TestCase
TestForgettingMachine.settings = settings(
    max_examples=30,
    stateful_step_count=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
