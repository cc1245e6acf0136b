"""Links between memories: held once, closed and not deleted, without cycles, at a depth."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from memoranda import (
    InvalidInput,
    LinkCycle,
    Memory,
    NotFound,
    OperationType,
    ReflectionTooDeep,
    Store,
)
from memoranda.testing import FixedClock
from tests.answers import as_read

RELATIONS = ("related_to", "supersedes", "contradicts", "derived_from", "reflects_on")
ACYCLIC = ("reflects_on", "supersedes", "derived_from")


def chain(store: Store, length: int, **fields: Any) -> list[Memory]:
    return [store.remember(f"m{number}", **fields) for number in range(length)]


def depth_of(store: Store, memory: Memory, **at: Any) -> int:
    result = store.get_memory(memory.id, **at)
    assert result is not None
    return result.reflection_depth


class TestLinks:
    @pytest.mark.parametrize("relation", RELATIONS)
    def test_a_link_holds_until_it_is_closed(
        self, agent: Store, clock: FixedClock, relation: str
    ) -> None:
        one, other = chain(agent, 2)
        clock.step(10)
        instance = agent.link(source=one.id, target=other.id, relation=relation)
        assert (instance.source, instance.target, instance.relation) == (one.id, other.id, relation)
        assert (instance.valid_until, instance.notified) == (None, ())
        assert agent.links(one.id) == agent.links(other.id) == [as_read(instance)]
        clock.step(10)
        closed = agent.unlink(source=one.id, target=other.id, relation=relation)
        assert instance.valid_from is not None
        assert closed.valid_until == instance.valid_from + timedelta(seconds=10)
        assert agent.links(one.id) == []
        assert agent.links(one.id, include_closed=True) == [as_read(closed)]
        assert agent.links(one.id, at=3) == [as_read(instance)]

    def test_adding_one_twice_writes_nothing(self, agent: Store) -> None:
        one, other = chain(agent, 2)
        first = agent.link(source=one.id, target=other.id, relation="related_to")
        again = agent.link(source=one.id, target=other.id, relation="related_to")
        assert as_read(again) == as_read(first)
        assert again.outcome == "unchanged"
        assert len(list(agent.replay())) == 3

    def test_one_that_was_closed_can_hold_again(self, agent: Store) -> None:
        one, other = chain(agent, 2)
        for _ in range(2):
            agent.link(source=one.id, target=other.id, relation="related_to")
            agent.unlink(source=one.id, target=other.id, relation="related_to")
        agent.link(source=one.id, target=other.id, relation="related_to")
        assert len(agent.links(one.id)) == 1
        assert len(agent.links(one.id, include_closed=True)) == 3
        assert agent.rebuild().identical

    def test_what_does_not_hold_cannot_be_closed(self, agent: Store) -> None:
        one, other = chain(agent, 2)
        with pytest.raises(NotFound, match="related_to"):
            agent.unlink(source=one.id, target=other.id, relation="related_to")

    def test_both_ends_must_be_there(self, agent: Store) -> None:
        (one,) = chain(agent, 1)
        with pytest.raises(NotFound, match="target"):
            agent.link(source=one.id, target="nobody", relation="related_to")
        with pytest.raises(NotFound, match="source"):
            agent.link(source="nobody", target=one.id, relation="related_to")

    def test_links_lead_across_agents_and_namespaces(self, store: Store) -> None:
        one = store.remember("x", agent_id="a", namespace="here")
        other = store.remember("y", agent_id="b", namespace="there")
        store.link(source=one.id, target=other.id, relation="contradicts", agent_id="c")
        (event,) = store.replay(agent_id="a", namespace="here", kinds=["link"])
        assert event.operations[0].type is OperationType.LINK
        assert [link.target for link in store.links(one.id)] == [other.id]

    def test_one_relation_can_be_asked_for(self, agent: Store) -> None:
        one, other = chain(agent, 2)
        for relation in RELATIONS:
            agent.link(source=one.id, target=other.id, relation=relation)
        assert [link.relation for link in agent.links(one.id)] == list(RELATIONS)
        (only,) = agent.links(other.id, relation="derived_from")
        assert only.relation == "derived_from"

    @pytest.mark.parametrize("relation", ["", "likes", None, 7])
    def test_the_relations_are_these(self, agent: Store, relation: Any) -> None:
        one, other = chain(agent, 2)
        with pytest.raises(InvalidInput, match="relation"):
            agent.link(source=one.id, target=other.id, relation=relation)


class TestCycles:
    @pytest.mark.parametrize("relation", ACYCLIC)
    @pytest.mark.parametrize("length", [1, 2, 3, 6])
    def test_none_can_be_closed(self, agent: Store, relation: str, length: int) -> None:
        agent.configure(max_reflection_depth=100)
        memories = chain(agent, length)
        for source, target in pairwise(memories):
            agent.link(source=source.id, target=target.id, relation=relation)
        ids = [memory.id for memory in memories]
        with pytest.raises(LinkCycle, match=relation) as caught:
            agent.link(source=ids[-1], target=ids[0], relation=relation)
        assert caught.value.path == (ids[-1], *ids)
        assert len(agent.links(ids[-1])) == min(length - 1, 1)

    @pytest.mark.parametrize("relation", ["related_to", "contradicts"])
    def test_other_relations_may_go_both_ways(self, agent: Store, relation: str) -> None:
        one, other = chain(agent, 2)
        agent.link(source=one.id, target=other.id, relation=relation)
        agent.link(source=other.id, target=one.id, relation=relation)
        with pytest.raises(InvalidInput, match="target"):
            agent.link(source=one.id, target=one.id, relation=relation)

    def test_each_relation_is_its_own_graph(self, agent: Store) -> None:
        one, other = chain(agent, 2)
        agent.link(source=one.id, target=other.id, relation="derived_from")
        agent.link(source=other.id, target=one.id, relation="supersedes")
        stored_value = [(link.source, link.relation, link.target) for link in agent.links(one.id)]
        assert stored_value == [
            (one.id, "derived_from", other.id),
            (other.id, "supersedes", one.id),
        ]

    def test_a_closed_link_is_no_part_of_one(self, agent: Store) -> None:
        one, other = chain(agent, 2)
        agent.link(source=one.id, target=other.id, relation="derived_from")
        agent.unlink(source=one.id, target=other.id, relation="derived_from")
        agent.link(source=other.id, target=one.id, relation="derived_from")
        assert [link.source for link in agent.links(one.id)] == [other.id]

    def test_a_cycle_within_one_transaction(self, agent: Store) -> None:
        transaction = agent.begin_transaction()
        ids = [transaction.remember(str(number)) for number in range(3)]
        for source, target in pairwise([*ids, ids[0]]):
            transaction.link(source=source, target=target, relation="derived_from")
        with pytest.raises(LinkCycle):
            transaction.commit()
        assert list(agent.list_memories()) == []

    def test_retracted_and_expired_memories_still_guard(
        self, agent: Store, clock: FixedClock
    ) -> None:
        one, middle, other = chain(agent, 3, ttl=60)
        agent.link(source=one.id, target=middle.id, relation="derived_from")
        agent.link(source=middle.id, target=other.id, relation="derived_from")
        agent.retract_memory(middle.id)
        clock.advance(120)
        with pytest.raises(LinkCycle):
            agent.link(source=other.id, target=one.id, relation="derived_from")


class TestDepth:
    def test_a_reflection_is_one_deeper_than_the_deepest_below(self, agent: Store) -> None:
        ground = agent.remember("x")
        first = agent.reflect("r1", on=[ground.id])
        second = agent.reflect("r2", on=[ground.id, first.id])
        assert (first.kind, first.outcome) == ("reflection", "created")
        assert [depth_of(agent, item) for item in (ground, first, second)] == [0, 1, 2]

    def test_a_reflection_and_its_links_are_one_event(self, agent: Store) -> None:
        ground = agent.remember("x")
        agent.reflect("r", on=[ground.id, ground.id])
        *_, event = agent.replay()
        assert [operation.type.name for operation in event.operations] == ["REMEMBER", "LINK"]

    def test_it_is_kept_right_when_links_come_later_and_go(self, agent: Store) -> None:
        ground, one, two, three = chain(agent, 4)
        agent.link(source=three.id, target=two.id, relation="reflects_on")
        agent.link(source=two.id, target=one.id, relation="reflects_on")
        assert [depth_of(agent, item) for item in (one, two, three)] == [0, 1, 2]
        agent.link(source=one.id, target=ground.id, relation="reflects_on")
        assert [depth_of(agent, item) for item in (one, two, three)] == [1, 2, 3]
        agent.unlink(source=two.id, target=one.id, relation="reflects_on")
        assert [depth_of(agent, item) for item in (one, two, three)] == [1, 0, 1]
        assert [depth_of(agent, item, at=7) for item in (one, two, three)] == [1, 2, 3]
        assert agent.rebuild().identical

    def test_a_second_way_down_keeps_it_deep(self, agent: Store) -> None:
        ground, short, long = chain(agent, 3)
        agent.link(source=long.id, target=short.id, relation="reflects_on")
        agent.link(source=short.id, target=ground.id, relation="reflects_on")
        agent.link(source=long.id, target=ground.id, relation="reflects_on")
        agent.unlink(source=long.id, target=ground.id, relation="reflects_on")
        assert depth_of(agent, long) == 2

    def test_three_deep_is_allowed_unless_said_otherwise(self, agent: Store) -> None:
        top = agent.remember("x")
        for number in range(3):
            top = agent.reflect(f"r{number}", on=[top.id])
        with pytest.raises(ReflectionTooDeep, match="limit is 3") as caught:
            agent.reflect("r4", on=[top.id])
        assert (caught.value.depth, caught.value.limit) == (4, 3)
        agent.configure(max_reflection_depth=4)
        assert agent.reflect("r4", on=[top.id]).reflection_depth == 4

    def test_a_link_far_below_counts_too(self, agent: Store) -> None:
        agent.configure(max_reflection_depth=2)
        ground, one, two = chain(agent, 3)
        agent.link(source=two.id, target=one.id, relation="reflects_on")
        deeper = agent.reflect("r", on=[ground.id])
        with pytest.raises(ReflectionTooDeep, match="depth 3"):
            agent.link(source=one.id, target=deeper.id, relation="reflects_on")
        assert depth_of(agent, two) == 1

    def test_no_depth_forbids_reflections(self, agent: Store) -> None:
        ground = agent.remember("x")
        agent.configure(max_reflection_depth=0)
        with pytest.raises(ReflectionTooDeep):
            agent.reflect("r", on=[ground.id])
        with pytest.raises(ReflectionTooDeep):
            agent.remember("r", kind="reflection")

    @pytest.mark.parametrize("on", [[], "m", None, [""], [7]])
    def test_it_reflects_on_something(self, agent: Store, on: Any) -> None:
        with pytest.raises(InvalidInput, match="on"):
            agent.reflect("r", on=on)
        assert list(agent.replay()) == []

    def test_what_it_reflects_on_must_be_there(self, agent: Store) -> None:
        with pytest.raises(NotFound):
            agent.reflect("r", on=["nobody"])
        assert list(agent.list_memories()) == []


class TestSupersede:
    def test_the_latest_superseder_is_named(self, agent: Store) -> None:
        old, one, two = chain(agent, 3)
        agent.supersede(old=old.id, new=one.id)
        agent.supersede(old=old.id, new=two.id)
        memory = agent.get_memory(old.id)
        assert memory is not None
        assert memory.superseded_by == two.id
        agent.unlink(source=two.id, target=old.id, relation="supersedes")
        again = agent.get_memory(old.id)
        assert again is not None
        assert again.superseded_by == one.id

    def test_dependents_are_found_at_any_distance(self, agent: Store) -> None:
        ground = agent.remember("x")
        one = agent.reflect("1", on=[ground.id])
        two = agent.reflect("2", on=[one.id, ground.id])
        three = agent.reflect("3", on=[two.id])
        agent.link(source=three.id, target=ground.id, relation="related_to")
        near = agent.dependents(ground.id)
        assert [(dependent.id, dependent.hop) for dependent in near] == [(one.id, 1), (two.id, 1)]
        far = agent.dependents(ground.id, depth=None)
        assert [(dependent.id, dependent.hop) for dependent in far] == [
            (one.id, 1),
            (two.id, 1),
            (three.id, 2),
        ]
        assert agent.dependents(ground.id, depth=0) == []
        assert agent.dependents("nobody") == []
        agent.unlink(source=one.id, target=ground.id, relation="reflects_on")
        assert [dependent.id for dependent in agent.dependents(ground.id)] == [two.id]
        assert len(agent.dependents(ground.id, at=4)) == 2
        with pytest.raises(InvalidInput, match="depth"):
            agent.dependents(ground.id, depth=-1)
