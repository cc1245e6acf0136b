"""Random use of memories, compared step by step with a model that is too simple to be wrong."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import memoranda
from memoranda import ALL_NAMESPACES, MemorandaError, Memory, Store, Transaction
from memoranda.testing import FixedClock, FixedIds
from tests.property.memory_model import Belief, Edge, Step, World, take_all
from tests.property.model import Refused

AGENTS = ("a", "b")
NAMESPACES = ("n", "n/sub")
NAMES = (
    *("remember", "reflect", "reflect", "update", "retract", "touch"),
    *("link", "link", "unlink", "relink", "relink", "supersede", "supersede"),
)
RELATIONS = (
    "reflects_on",
    "reflects_on",
    "reflects_on",
    "supersedes",
    "derived_from",
    "contradicts",
    "related_to",
)
LONG = "é" * 5000

agents = st.sampled_from(AGENTS)
numbers = st.integers(0, 10**6)
steps = st.builds(
    Step,
    name=st.sampled_from(NAMES),
    agent=agents,
    first=numbers,
    second=numbers,
    namespace=st.sampled_from(NAMESPACES),
    private=st.sampled_from([False] * 7 + [True]),
    title=st.sampled_from([None, None, "t", "u"]),
    content=st.sampled_from(["x", "y", LONG]),
    kind=st.sampled_from([None, "reflection", "reflection"]),
    relation=st.sampled_from(RELATIONS),
)


class MemoryMachine(RuleBasedStateMachine):
    """Drives a store on disk and the model with the same steps."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memoranda-"))
        self.ids_made = FixedIds()
        self.clock = FixedClock()
        self.worlds = [World()]
        self.ids: list[str] = []
        self.start()

    @property
    def world(self) -> World:
        return self.worlds[-1]

    def start(self) -> None:
        self.store = memoranda.open(
            self.folder / "store.db", clock=self.clock, ids=self.ids_made, durability="relaxed"
        )

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    # Writing

    def perform(self, handle: Store | Transaction, world: World, step: Step) -> None:
        """Do to a store, or in a transaction, what a step says; `world` is the one it meets."""
        name, by, count = world.doing(step), step.agent, max(len(world.beliefs), 1)
        first, second = step.first % count, step.second % count
        where: dict[str, Any] = {"agent_id": by, "namespace": step.namespace}
        visibility = "private" if step.private else "namespace"
        if name == "remember":
            kind: dict[str, Any] = {} if step.kind is None else {"kind": step.kind}
            memory = handle.remember(
                step.content, title=step.title, visibility=visibility, **where, **kind
            )
            self.note(memory)
        elif name == "reflect":
            on = [self.ids[first], self.ids[second]]
            self.note(handle.reflect(step.content, on=on, visibility=visibility, **where))
        elif name == "update":
            handle.update_memory(
                self.ids[first], agent_id=by, content=step.content, title=step.title
            )
        elif name == "retract":
            handle.retract_memory(self.ids[first], agent_id=by)
        elif name == "touch":
            handle.touch(self.ids[first], agent_id=by)
        elif name == "unlink":
            handle.unlink(**self.named(world.links[step.first % len(world.links)]), agent_id=by)
        elif name == "relink":
            handle.link(**self.named(world.linked[step.first % len(world.linked)]), agent_id=by)
        elif name == "supersede":
            handle.supersede(old=self.ids[first], new=self.ids[second], agent_id=by)
        else:
            handle.link(**self.named((first, step.relation, second)), agent_id=by)

    def note(self, made: Memory | str) -> None:
        """Number a memory, unless it was there before."""
        memory_id = made if isinstance(made, str) else made.id
        if memory_id not in self.ids:
            self.ids.append(memory_id)

    def named(self, edge: Edge) -> dict[str, str]:
        source, relation, target = edge
        return {"source": self.ids[source], "relation": relation, "target": self.ids[target]}

    def pass_refusals(self) -> None:
        """Take note of the commits in which something was only refused."""
        reference = len(self.worlds) - 1
        for event in self.store.replay(
            agent_id="_engine", namespace="_audit", after_commit=reference
        ):
            assert event.commit_ts == len(self.worlds)
            self.worlds.append(self.world)

    def reach(self, after: World) -> None:
        self.pass_refusals()
        if after != self.world:
            self.worlds.append(after)

    @rule(taken=st.lists(steps, min_size=4, max_size=8))
    def act(self, taken: list[Step]) -> None:
        """Several steps, each on its own: many are refused, and links meet only where many hold."""
        for step in taken:
            self.act_once(step)

    def act_once(self, step: Step) -> None:
        after, refused, _ = take_all(self.world, [step])
        if refused:
            count = len(self.ids)
            with pytest.raises(MemorandaError) as caught:
                self.perform(self.store, self.world, step)
            assert type(caught.value).__name__ == refused
            del self.ids[count:]
        else:
            self.perform(self.store, self.world, step)
        self.reach(after)

    @rule(taken=st.lists(steps, min_size=2, max_size=5))
    def act_together(self, taken: list[Step]) -> None:
        """All steps in one transaction happen, or none."""
        after, refused, reached = take_all(self.world, taken)
        if not refused:
            self.perform_together(taken)
        else:
            count = len(self.ids)
            with pytest.raises(MemorandaError) as caught:
                self.perform_together(taken[:reached])
            assert type(caught.value).__name__ == refused
            del self.ids[count:]
        self.reach(after)

    def perform_together(self, taken: list[Step]) -> None:
        world = self.world
        with self.store.begin_transaction() as transaction:
            for place, step in enumerate(taken):
                self.perform(transaction, world, step)
                if place + 1 < len(taken):
                    world = world.take(step)

    @precondition(lambda self: self.world.notices)
    @rule(which=numbers, agent=agents, decision=st.sampled_from(["keep", "retract"]))
    def resolve(self, which: int, agent: str, decision: str) -> None:
        warrant, _ = self.world.notices[which % len(self.world.notices)]
        owner = self.world.beliefs[warrant[0]].agent
        target = tuple(self.ids[number] for number in warrant)
        (notice,) = (
            invalidation.id
            for invalidation in self.store.invalidations(agent_id=owner, status="all")
            if invalidation.kind == "reflection_invalidation"
            and (
                invalidation.dependent_id,
                invalidation.invalidated_id,
                invalidation.invalidating_id,
            )
            == target
        )
        refused, after = "", self.world
        try:
            after = self.world.resolve(warrant, decision, agent)
        except Refused as error:
            refused = str(error)
        if not refused:
            self.store.resolve_invalidation(notice, decision=decision, agent_id=agent)
        else:
            with pytest.raises(MemorandaError) as caught:
                self.store.resolve_invalidation(notice, decision=decision, agent_id=agent)
            assert type(caught.value).__name__ == refused
        self.reach(after)

    # What must change nothing

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.start()
        self.pass_refusals()

    @rule()
    def rebuild(self) -> None:
        result = self.store.rebuild()
        assert result.identical
        assert result.events == len(self.worlds) - 1

    # Reading

    def same(self, memory: Memory | None, world: World, number: int) -> None:
        belief = world.beliefs[number]
        assert memory is not None
        assert memory.reflection_depth == world.depth(number)
        assert as_belief(memory) == belief

    @rule(which=numbers, viewer=agents)
    def read_everything(self, which: int, viewer: str) -> None:
        """Now, and at a past commit."""
        self.read_at(self.world, None, viewer)
        commit = which % len(self.worlds)
        self.read_at(self.worlds[commit], commit, viewer)

    def read_at(self, world: World, at: int | None, viewer: str) -> None:
        store = self.store.bind(agent_id=viewer)
        memories = list(store.list_memories(namespace=ALL_NAMESPACES, content=True, at=at))
        output = world.visible(viewer)
        assert [self.ids.index(memory.id) for memory in memories] == output
        for number, memory in zip(output, memories, strict=True):
            self.same(memory, world, number)
        for number in range(len(self.ids)):
            read = store.get_memory(self.ids[number], at=at)
            assert (read is not None) == (number in output)
            self.read_links(world, number, at, viewer)
        self.read_notices(world, at, viewer)

    def read_links(self, world: World, number: int, at: int | None, viewer: str) -> None:
        result = self.store.links(self.ids[number], at=at, agent_id=viewer)
        assert [(link.source, link.relation, link.target) for link in result] == [
            (self.ids[source], relation, self.ids[target])
            for source, relation, target in world.links
            if number in (source, target) and visible_both(world, source, target, viewer)
        ]

    def read_notices(self, world: World, at: int | None, viewer: str) -> None:
        result = self.store.invalidations(at=at, agent_id=viewer, status="all")
        assert sorted(
            (item.dependent_id, item.invalidated_id, item.invalidating_id, item.decision or "")
            for item in result
            if item.kind == "reflection_invalidation"
        ) == sorted(
            (self.ids[dependent], self.ids[old], self.ids[new], decision or "")
            for (dependent, old, new), decision in world.notices
            if world.beliefs[dependent].agent == viewer
        )

    @precondition(lambda self: self.ids)
    @rule(which=numbers, viewer=agents, title=st.sampled_from(["t", "u"]))
    def read_one(self, which: int, viewer: str, title: str) -> None:
        """By its title, and through all its versions."""
        for namespace in NAMESPACES:
            read = self.store.get_memory(title=title, agent_id=viewer, namespace=namespace)
            titled = (self.world.titled((namespace, key, title)) for key in (viewer, ""))
            standing = [
                number
                for number in titled  # its own, and then that of the namespace
                if number is not None and not self.world.beliefs[number].retracted
            ]
            if not standing:
                assert read is None
            else:
                self.same(read, self.world, standing[0])
        number = which % len(self.ids)
        lives = [world.beliefs[number] for world in self.worlds if number < len(world.beliefs)]
        history = list(self.store.memory_history(self.ids[number], agent_id=lives[0].agent))
        assert [memory.version for memory in history] == list(range(1, lives[-1].version + 1))
        last = {life.version: life for life in lives}
        for memory in history:
            if memory.version in last:  # several can be made in one commit
                # touches are no versions, and one before the next version may be unseen here
                life = replace(last[memory.version], touched=memory.access_count)
                assert as_belief(memory) == life

    @invariant()
    def nothing_was_added_or_lost(self) -> None:
        self.pass_refusals()
        stats = self.store.stats()
        assert stats.commits == len(self.worlds) - 1
        assert stats.memories == sum(not belief.retracted for belief in self.world.beliefs)
        open_count = sum(item is None for _, item in self.world.notices)
        assert stats.open_notices >= open_count, "and those of other kinds"


def visible_both(world: World, source: int, target: int, viewer: str) -> bool:
    ends = (world.beliefs[source], world.beliefs[target])
    return all(not end.private or end.agent == viewer for end in ends)


def as_belief(memory: Memory) -> Belief:
    """Return a memory as the model would say it."""
    assert memory.content is not None
    return Belief(
        memory.agent_id,
        memory.namespace,
        memory.visibility == "private",
        memory.title,
        memory.content,
        memory.kind,
        memory.version,
        memory.retracted,
        memory.access_count,
    )


TestMemoryMachine = MemoryMachine.TestCase
TestMemoryMachine.settings = settings(
    max_examples=15,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
