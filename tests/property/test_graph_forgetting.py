"""Random histories of facts whose sources are forgotten: the oracle never heard what they said."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from memoranda import NotFound
from memoranda.graph.entities import normal_name
from tests.property.graph_oracle import Assertion, End, Mark, Naming, Retraction, _meaning
from tests.property.test_graph_machine import NAMES, SOURCES, GraphMachine, shown


class ForgettingMachine(GraphMachine):
    """Says what the machine of all histories says, and forgets where some of it came from."""

    @rule(name=st.sampled_from(SOURCES), whole=st.booleans())
    def forget(self, *, name: str, whole: bool) -> None:
        """Forget what a memory is the source of, or the memory with it; another takes its place."""
        (memory_id,) = [item for item, reference in self.sources.items() if reference == name]
        if whole:
            self.store.forget(memory_id=memory_id, reason="asked to")
            del self.sources[memory_id]
            self.sources[self.store.remember(name).id] = name
        elif any(self.came_from(step, name) for step in self.oracle.steps):
            self.store.forget(facts_from=memory_id, reason="asked to")
        else:
            return
        self.unsay(
            {
                step.id
                for step in self.oracle.steps
                if isinstance(step, Mark) and self.came_from(step, name)
            }
        )
        self.derive_again()

    @rule(which=st.integers(0, 10**6))
    def forget_fact(self, *, which: int) -> None:
        """Forget one assertion, or one end."""
        if self.said:
            target = self.said[which % len(self.said)]
            self.store.forget(fact=target, reason="asked to")
            self.unsay({target})
            self.derive_again()

    @rule(name=st.sampled_from(NAMES))
    def forget_entity(self, *, name: str) -> None:
        """Forget all that a name means, with all that was said of it."""
        names, key = self.oracle.names(), normal_name(name)
        heard = self.oracle.heard_of()
        if key not in heard:
            with pytest.raises(NotFound):
                self.store.forget(entity=name)
            return
        self.store.forget(entity=name, reason="asked to")
        target = _meaning(names, key)
        going = {item for item in heard if _meaning(names, item) == target}
        self.oracle.steps = [
            step
            for step in self.oracle.steps
            if not (isinstance(step, Naming) and going & {step.name, step.means})
        ]
        self.unsay(
            {
                step.id
                for step in self.oracle.steps
                if isinstance(step, Mark) and going & {step.subject, step.object}
            }
        )
        self.derive_again()
        assert self.oracle.heard_of().isdisjoint(going)

    def derive_again(self) -> None:
        """Let the oracle's past be as if it had never heard what is forgotten."""
        self.oracle.begin(self.store.stats().commits)
        self.histories[self.oracle.commit] = []
        for known_at in self.histories:
            edges = [edge for value in self.oracle.timelines(known_at).values() for edge in value]
            self.histories[known_at] = sorted(shown(edges), key=repr)
        assert self.store.verify().commits == self.oracle.commit

    def unsay(self, gone: set[str]) -> None:
        """Take what was said under these ids out of the oracle's steps."""
        self.said = [item for item in self.said if item not in gone]
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
    max_examples=8,
    stateful_step_count=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
