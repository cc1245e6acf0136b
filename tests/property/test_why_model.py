"""Random histories of reasons: at every commit, what is stale is what a plain model says."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import KeyRef, LinkCycle, Memory, MemoryRef, NotFound, Reason, Store
from memoranda.model.refs import Ref
from memoranda.testing import FixedClock, memory_store
from tests.quick import often

KEYS = ("a", "b", "c")
NAMES = (
    *("write", "write", "write", "delete", "remember", "remember", "reflect", "reflect"),
    *("revise", "retract", "return", "supersede", "derive", "unlink", "expiring", "wait"),
)


@dataclass
class Belief:
    version: int = 1
    retracted: bool = False
    expires_at: datetime | None = None
    superseders: set[str] = field(default_factory=set)
    links: dict[tuple[str, str], MemoryRef] = field(default_factory=dict)


@dataclass
class World:
    """What holds after a commit, in dictionaries."""

    keys: dict[str, list[tuple[bool, tuple[Ref, ...]]]] = field(default_factory=dict)
    beliefs: dict[str, Belief] = field(default_factory=dict)
    time: datetime | None = None

    def doubtful(self, ref: Ref) -> bool:
        if isinstance(ref, KeyRef):
            return ref.version != len(self.keys[ref.key])
        assert isinstance(ref, MemoryRef)
        belief = self.beliefs[ref.memory_id]
        assert self.time is not None
        expired = belief.expires_at is not None and belief.expires_at <= self.time
        return bool(
            belief.superseders or belief.retracted or expired or belief.version != ref.version
        )

    def grounds(self, ref: Ref) -> list[Ref]:
        if isinstance(ref, KeyRef):
            assert ref.version is not None
            return list(self.keys[ref.key][ref.version - 1][1])
        assert isinstance(ref, MemoryRef)
        return list(self.beliefs[ref.memory_id].links.values())

    def stale(self, ref: Ref, *, earlier: bool = False) -> bool:
        """Say whether it or anything it rests on is in doubt.

        A key that goes on from its own earlier value does not doubt that. Two relations may lead
        around in a circle.
        """
        reached, waiting = {(ref, earlier)}, [(ref, earlier)]
        while waiting:
            here = waiting.pop()[0]
            following = {
                (ground, self.goes_on(here, ground)) for ground in self.grounds(here)
            } - reached
            reached |= following
            waiting.extend(following)
        return any(self.doubtful(ground) for ground, replaced in reached if not replaced)

    def goes_on(self, ref: Ref, ground: Ref) -> bool:
        return isinstance(ref, KeyRef) and isinstance(ground, KeyRef) and ref.key == ground.key

    def live(self) -> list[KeyRef]:
        return [
            KeyRef(key, len(versions), "a", "default")
            for key, versions in sorted(self.keys.items())
            if versions[-1][0]
        ]


class History:
    """Does each step to a store and to the model."""

    def __init__(self) -> None:
        self.clock = FixedClock()
        self.store: Store = memory_store(clock=self.clock).bind(agent_id="a")
        self.world = World()
        self.worlds: list[World] = []

    def take(self, name: str, picks: list[int]) -> None:
        step: Callable[[list[int]], None] = getattr(self, f"step_{name}")
        step(picks)
        reference, commits = len(self.worlds), self.store.stats().commits
        assert commits <= reference + 1
        if commits > reference:
            self.world.time = self.time_of(reference)
            self.worlds.append(deepcopy(self.world))

    def time_of(self, known: int) -> datetime:
        """Return when the next commit was made, by the agent or to note what was refused."""
        where: tuple[dict[str, Any], ...] = ({}, {"agent_id": "_engine", "namespace": "_audit"})
        (event,) = (
            event for item in where for event in self.store.replay(after_commit=known, **item)
        )
        return event.committed_at

    def some(self, pick: int, *, current: bool = True) -> str | None:
        """Pick a memory; one that is current can be acted on."""
        beliefs = self.world.beliefs
        ids = [belief for belief in beliefs if not (current and beliefs[belief].retracted)]
        return sorted(ids)[pick % len(ids)] if ids else None

    def step_write(self, picks: list[int]) -> None:
        """Write a key because of a few things, some of them as they once were."""
        refs: list[Ref] = []
        for pick in picks[1:]:
            other = KEYS[pick % 3]
            memory = self.some(pick // 3)
            if pick % 2 and memory is not None:
                newest = self.world.beliefs[memory].version
                refs.append(MemoryRef(memory, newest - pick % newest))
            elif versions := self.world.keys.get(other):
                refs.append(KeyRef(other, 1 + pick % len(versions), "a", "default"))
        key = KEYS[picks[0] % 3]
        self.store.write(key=key, value={}, because=refs)
        self.world.keys.setdefault(key, []).append((True, tuple(refs)))

    def step_delete(self, picks: list[int]) -> None:
        key = KEYS[picks[0] % 3]
        self.store.delete(key=key)
        self.world.keys.setdefault(key, []).append((False, ()))

    def _made(self, memory: Memory) -> None:
        self.world.beliefs[memory.id] = Belief(expires_at=memory.expires_at)

    def step_remember(self, picks: list[int]) -> None:
        self._made(self.store.remember("x", title=f"t{len(self.world.beliefs)}"))

    def step_expiring(self, picks: list[int]) -> None:
        self._made(self.store.remember("x", ttl=1 + picks[0] % 5))

    def step_wait(self, picks: list[int]) -> None:
        self.clock.advance(1 + picks[0] % 3)

    def step_reflect(self, picks: list[int]) -> None:
        targets = {item for pick in picks if (item := self.some(pick, current=False))}
        if targets:
            reflection = self.store.reflect("r", on=sorted(targets))
            self._made(reflection)
            for target in targets:
                self._linked(reflection.id, "reflects_on", target)

    def _linked(self, source: str, relation: str, target: str) -> None:
        links = self.world.beliefs[source].links
        version = self.world.beliefs[target].version
        links.setdefault((relation, target), MemoryRef(target, version))

    def step_derive(self, picks: list[int]) -> None:
        source, target = (self.some(pick, current=False) for pick in picks[:2])
        if source is not None and target is not None:
            try:
                self.store.link(source=source, target=target, relation="derived_from")
            except LinkCycle:
                return
            self._linked(source, "derived_from", target)

    def step_unlink(self, picks: list[int]) -> None:
        links = [(item, *link) for item, b in self.world.beliefs.items() for link in b.links]
        if links:
            source, relation, target = sorted(links)[picks[0] % len(links)]
            self.store.unlink(source=source, target=target, relation=relation)
            del self.world.beliefs[source].links[relation, target]

    def step_revise(self, picks: list[int]) -> None:
        memory = self.some(picks[0])
        if memory is not None:
            belief = self.world.beliefs[memory]
            instance = self.store.update_memory(memory, content=f"x{belief.version}")
            belief.version, belief.expires_at = belief.version + 1, instance.expires_at

    def step_retract(self, picks: list[int]) -> None:
        memory = self.some(picks[0])
        if memory is not None:
            self.store.retract_memory(memory)
            belief = self.world.beliefs[memory]
            belief.version, belief.retracted = belief.version + 1, True

    def step_return(self, picks: list[int]) -> None:
        """Say again what was retracted."""
        memory = self.some(picks[0], current=False)
        belief = self.world.beliefs.get(memory or "")
        if memory is None or belief is None or not belief.retracted:
            return
        title = next(iter(self.store.memory_history(memory))).title
        if title is not None:
            self.store.remember("x again", title=title)
            belief.version, belief.retracted = belief.version + 1, False

    def step_supersede(self, picks: list[int]) -> None:
        old, new = (self.some(pick, current=False) for pick in picks[:2])
        if old is not None and new is not None:
            try:
                self.store.supersede(old=old, new=new)
            except LinkCycle:
                return
            self.world.beliefs[old].superseders.add(new)


def check(store: Store, world: World, at: int) -> None:
    """Compare every key and every memory as of a commit, and all they rest on."""
    stale: list[KeyRef] = []
    for ref in world.live():
        reason = store.why(KeyRef(ref.key), at=at)
        assert reason.ref == ref
        check_tree(reason, world)
        stale.extend([ref] if reason.is_stale else [])
    assert [stale_key.ref for stale_key in store.stale_keys(at=at)] == stale
    for memory_id, belief in world.beliefs.items():
        reason = store.why(MemoryRef(memory_id), at=at)
        assert reason.ref == MemoryRef(memory_id, belief.version)
        check_tree(reason, world)


def check_tree(root: Reason, world: World) -> None:
    waiting: list[tuple[Reason, bool]] = [(root, False)]
    while waiting:
        reason, earlier = waiting.pop()
        ref = reason.ref
        assert ref is not None
        assert isinstance(ref, KeyRef | MemoryRef)
        assert reason.believed is (earlier or not world.doubtful(ref))
        assert reason.is_stale is world.stale(ref, earlier=earlier)
        if not reason.repeated:
            refs = [item.ref for item in reason.because]
            assert sorted(map(repr, refs)) == sorted(map(repr, world.grounds(ref)))
        for item in reason.because:
            assert isinstance(item.ref, KeyRef | MemoryRef)
            waiting.append((item, world.goes_on(ref, item.ref)))


def check_future(store: Store, world: World, later: World, at: int) -> None:
    """What came to be later is not there yet."""
    for memory_id in later.beliefs.keys() - world.beliefs.keys():
        try:
            store.why(MemoryRef(memory_id), at=at)
        except NotFound:
            continue
        raise AssertionError(memory_id)


steps = st.tuples(st.sampled_from(NAMES), st.lists(st.integers(0, 1000), min_size=2, max_size=4))


@settings(max_examples=40, deadline=None)
@given(st.lists(steps, min_size=1, max_size=25))
def test_staleness_is_what_a_plain_model_says(taken: list[tuple[str, list[int]]]) -> None:
    history = History()
    with history.store as store:
        store.configure(max_reflection_depth=50)
        (event,) = store.replay()
        history.world.time = event.committed_at
        history.worlds.append(deepcopy(history.world))
        for name, picks in taken:
            history.take(name, picks)
        for at, world in enumerate(history.worlds, start=1):
            check(store, world, at)
            check_future(store, world, history.world, at)


test_staleness_is_what_a_plain_model_says_often = often(
    test_staleness_is_what_a_plain_model_says, 300, st.lists(steps, min_size=1, max_size=25)
)
