"""Random use of a store by those who follow it: what they get is what the model has, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from memoranda import ALL_AGENTS, ALL_NAMESPACES, ReplayEvent, Subscription
from tests.property.model import Event, Model
from tests.property.test_store_machine import (
    AGENTS,
    NAMESPACES,
    PREFIXES,
    StoreMachine,
    any_number,
    as_model,
)

CURSORS = ("one", "two")


@dataclass(frozen=True)
class Asked:
    """What a follower asks for."""

    agent: Any
    namespace: Any
    prefix: str
    kind: str | None

    def of(self, model: Model, after: int) -> list[Event]:
        """Return what the model has of it behind a commit."""
        result = []
        for event in model.events[after:]:
            ops = tuple(
                op
                for op in event.ops
                if self.agent in (ALL_AGENTS, op.address[1])
                and self.namespace in (ALL_NAMESPACES, op.address[0])
                and op.address[2].startswith(self.prefix)
                and self.kind in (None, "delete" if op.value is None else "write")
            )
            if ops:
                result.append(Event(event.commit_ts, event.committed_at, event.txn_id, ops))
        return result

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "agent_id": self.agent,
            "namespace": self.namespace,
            "prefix": self.prefix,
            "kinds": self.kind,
        }


@dataclass
class Follower:
    selection: Asked
    subscription: Subscription
    expected: list[Event]
    """What it must get next, of what is committed so far."""
    head: int
    """How far that goes."""
    cursor: str | None = None


questions = st.builds(
    Asked,
    st.sampled_from([*AGENTS, ALL_AGENTS]),
    st.sampled_from([*NAMESPACES, ALL_NAMESPACES]),
    st.sampled_from(PREFIXES),
    st.sampled_from([None, None, "write", "delete"]),
)


class SubscriptionMachine(StoreMachine):
    """Everything a store is put through, with followers beside it."""

    def __init__(self) -> None:
        self.followers: list[Follower] = []
        self.cursors: dict[str, int] = {}
        super().__init__()

    @rule(selection=questions, after=st.one_of(st.none(), st.integers(0, 30)))
    def follow(self, selection: Asked, after: int | None) -> None:
        subscription = self.store.subscribe(**selection.arguments, after_commit=after, timeout=0)
        self.add(selection, subscription, self.model.head if after is None else after)

    @rule(selection=questions, last=st.integers(0, 12))
    def follow_with_the_last(self, selection: Asked, last: int) -> None:
        subscription = self.store.subscribe(**selection.arguments, last=last, timeout=0)
        everything = selection.of(self.model, 0)
        expected = everything[len(everything) - min(last, len(everything)) :]
        self.followers.append(Follower(selection, subscription, expected, self.model.head))

    @rule(selection=questions, name=st.sampled_from(CURSORS), after=st.integers(0, 5))
    def follow_with_a_cursor(self, selection: Asked, name: str, after: int) -> None:
        subscription = self.store.subscribe(
            **selection.arguments, cursor=name, after_commit=after, timeout=0
        )
        begin = self.cursors.get(name, after)
        self.add(selection, subscription, begin)
        self.followers[-1].cursor = name
        self.receive(len(self.followers) - 1, 0)
        self.cursors.setdefault(name, begin)
        assert self.store.cursors() == sorted(self.cursors.items())

    def add(self, selection: Asked, subscription: Subscription, after: int) -> None:
        head = max(after, self.model.head)
        expected = selection.of(self.model, after)
        self.followers = [*self.followers[-3:], Follower(selection, subscription, expected, head)]

    @precondition(lambda self: self.followers)
    @rule(which=any_number, most=st.sampled_from([0, 1, 2, 1000]))
    def receive(self, which: int, most: int) -> None:
        """Read a few events, or all there are; with none, only look."""
        follower = self.followers[which % len(self.followers)]
        follower.expected += follower.selection.of(self.model, follower.head)
        follower.head = max(follower.head, self.model.head)
        result: list[ReplayEvent] = []
        while len(result) < max(most, 1):
            event = next(follower.subscription, None)
            if event is None:
                break
            result.append(event)
        target, follower.expected = (
            follower.expected[: max(most, 1)],
            follower.expected[max(most, 1) :],
        )
        assert [as_model(event) for event in result] == target
        if follower.cursor is not None and result and most:
            follower.subscription.ack(result[-1])
            before = self.cursors[follower.cursor]
            self.cursors[follower.cursor] = max(before, result[-1].commit_ts)
            assert self.store.cursors() == sorted(self.cursors.items())

    def start(self) -> None:
        """Open the store; what followed it before has ended."""
        super().start()
        for follower in self.followers:
            follower.subscription.close()
        self.followers.clear()


TestSubscriptionMachine = SubscriptionMachine.TestCase
TestSubscriptionMachine.settings = settings(
    max_examples=10,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
