"""Notices and `why` agree: random beliefs, random changes, and an oracle that asks `why`.

After every commit the oracle asks `why`, as its owner, about each belief that stands, and notes the
evidence directly below it that an event made stale. The notices are exactly what it ever noted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest

from memoranda import (
    FactRef,
    InvalidInput,
    KeyRef,
    LinkCycle,
    MemoryRef,
    NotFound,
    ReflectionTooDeep,
    Store,
)
from memoranda.testing import FixedClock, FixedIds, memory_store

AGENTS = ("ann", "bob")
RELATIONS = ("lives in", "knows")
NAMES = ("Sue", "Tom", "Una")
REFUSED = (InvalidInput, NotFound, LinkCycle, ReflectionTooDeep)
_BY_TIME = ("expired", "ended on")
_WORDS = {
    "superseded": "superseded",
    "revised": "revised",
    "retracted": "retracted",
    "key": "overwritten",
    "deleted": "deleted",
    "closed": "closed",
}
"""The first word of a mark of `why` → what a notice calls it."""

Pair = tuple[Any, Any, str]
"""A belief, its evidence, and what happened."""


class Beliefs:
    """A store with random beliefs, and the oracle's notes."""

    def __init__(self, store: Store, clock: FixedClock, seed: int) -> None:
        self.store = store
        self.clock = clock
        self.random = random.Random(seed)
        self.memories: list[str] = []
        self.sources: dict[str, MemoryRef] = {}
        """The source of each assertion that has one."""
        self.expected: set[Pair] = set()

    def step(self) -> None:
        """Commit one to three random changes, or none if one is refused; then ask the oracle."""
        actions: list[Callable[[Any], None]] = [
            *(self.write,) * 4,
            self.delete,
            *(self.remember,) * 2,
            *(self.link,) * 3,
            *(self.supersede,) * 2,
            self.unlink,
            self.retract_memory,
            self.revise,
            *(self.assert_fact,) * 4,
            *(self.end_fact,) * 2,
            self.retract_fact,
            self.classify,
            self.merge,
        ]
        known = dict(self.sources), list(self.memories)
        self.clock.step(self.random.choice([1, 3600, 24 * 3600]))
        try:
            with self.store.begin_transaction() as tx:
                for _ in range(self.random.choice([1, 1, 2, 3])):
                    self.random.choice(actions)(tx)
        except REFUSED:
            self.sources, self.memories = known
        self.expected |= set(self.stale())

    # What an agent may do.

    def agent(self) -> str:
        return self.random.choice(AGENTS)

    def memory(self) -> str:
        return self.random.choice(self.memories)

    def time(self) -> datetime:
        day = timedelta(days=self.random.randint(-9, 9))
        return datetime.fromisoformat("2026-01-05T00:00:00+00:00") + day

    def reference(self) -> Any:
        kind = self.random.choice(["memory", "key", "fact", "fact"])
        if kind == "memory":
            return MemoryRef(self.memory(), self.random.choice([None, None, 1]))
        if kind == "key":
            version = self.random.choice([None, None, 1])
            return KeyRef(self.random.choice("xyz"), version, self.agent(), "default")
        facts = self.store.facts(agent_id=self.agent(), include_closed=True)
        if not facts:
            raise NotFound("no fact yet")
        return FactRef(self.random.choice(self.random.choice(facts).assertions))

    def write(self, tx: Any) -> None:
        because = [self.reference() for _ in range(self.random.randint(0, 2))]
        key = self.random.choice("xyz")
        tx.write(agent_id=self.agent(), key=key, value={}, because=because)

    def delete(self, tx: Any) -> None:
        tx.delete(agent_id=self.agent(), key=self.random.choice("xyz"))

    def remember(self, tx: Any) -> None:
        kind = self.random.choice(["observation", "reflection"])
        visibility = self.random.choice(["namespace", "namespace", "private"])
        options = {"kind": kind, "visibility": visibility, "agent_id": self.agent()}
        self.memories.append(tx.remember(content="words", **options))

    def link(self, tx: Any) -> None:
        relation = self.random.choice(["derived_from", "reflects_on"])
        tx.link(
            source=self.memory(), target=self.memory(), relation=relation, agent_id=self.agent()
        )

    def supersede(self, tx: Any) -> None:
        tx.supersede(old=self.memory(), new=self.memory(), agent_id=self.agent())

    def unlink(self, tx: Any) -> None:
        viewer = self.agent()
        links = self.store.links(self.memory(), agent_id=viewer)
        if links:
            link = self.random.choice(links)
            tx.unlink(
                source=link.source, target=link.target, relation=link.relation, agent_id=viewer
            )

    def retract_memory(self, tx: Any) -> None:
        tx.retract_memory(self.memory(), agent_id=self.agent())

    def revise(self, tx: Any) -> None:
        words = str(self.random.random())
        tx.update_memory(self.memory(), content=words, agent_id=self.agent())

    def fact(self) -> dict[str, str]:
        return {
            "subject": self.random.choice(NAMES),
            "relation": self.random.choice(RELATIONS),
            "object": self.random.choice(("Rome", "Oslo", "Lima")),
        }

    def assert_fact(self, tx: Any) -> None:
        options: dict[str, Any] = {"valid_from": self.time()}
        if self.random.random() < 0.3:
            options["valid_to"] = options["valid_from"] + timedelta(days=3)
        if self.random.random() < 0.5:
            options["source"] = MemoryRef(self.memory(), 1)
        assertion_id = tx.assert_fact(agent_id=self.agent(), **self.fact(), **options)
        if "source" in options:
            self.sources[assertion_id] = options["source"]

    def end_fact(self, tx: Any) -> None:
        tx.end_fact(agent_id=self.agent(), at=self.time(), **self.fact())

    def retract_fact(self, tx: Any) -> None:
        agent = self.agent()
        facts = self.store.facts(agent_id=agent, include_closed=True)
        if facts:
            assertion_id = self.random.choice(self.random.choice(facts).assertions)
            tx.retract_fact(assertion_id=assertion_id, agent_id=agent)

    def classify(self, tx: Any) -> None:
        cardinality = self.random.choice(["single", "multi"])
        relation = self.random.choice(RELATIONS)
        tx.set_cardinality(relation=relation, cardinality=cardinality, agent_id=self.agent())

    def merge(self, tx: Any) -> None:
        source, into = self.random.sample(NAMES, 2)
        if self.random.random() < 0.3:
            tx.merge_entities(source=source, into=into, agent_id=self.agent())

    # The oracle.

    def stale(self) -> Iterator[Pair]:
        """Yield the beliefs that stand, and their direct evidence that an event made stale."""
        for agent in AGENTS:
            for name in self.store.list_keys(agent_id=agent):
                reason = self.store.why(name, agent_id=agent)
                yield from self._marks(reason.ref, agent, reason.because)
            facts = self.store.facts(agent_id=agent, include_closed=True)
            for assertion_id in {name for fact in facts for name in fact.assertions}:
                if assertion_id in self.sources:
                    source = self.sources[assertion_id]
                    with suppress(NotFound):  # a private memory that another agent cited for it
                        evidence = self.store.why(source, agent_id=agent)
                        yield from self._marks(FactRef(assertion_id), agent, [evidence])
        for memory_id in self.memories:
            for agent in AGENTS:
                memory = self.store.get_memory(memory_id, agent_id=agent)
                if memory is not None and memory.agent_id == agent and not self._newer(memory_id):
                    reason = self.store.why(MemoryRef(memory_id), agent_id=agent)
                    yield from self._marks(MemoryRef(memory_id), agent, reason.because)

    def _newer(self, memory_id: str) -> list[str]:
        """Return the memories that supersede one, as anybody sees them."""
        return [
            link.source
            for agent in AGENTS
            for link in self.store.links(memory_id, relation="supersedes", agent_id=agent)
            if link.target == memory_id
        ]

    def _marks(self, belief: Any, agent: str, reasons: Any) -> Iterator[Pair]:
        for evidence in reasons:
            for mark in evidence.stale:
                if mark.startswith(_BY_TIME):
                    continue
                change = _WORDS[mark.split()[0].rstrip(":")]
                if change == "superseded":
                    # Whoever supersedes what it rests on knows.
                    links = self.store.links(
                        evidence.ref.memory_id, relation="supersedes", agent_id=agent
                    )
                    newer = {link.source for link in links if link.target == evidence.ref.memory_id}
                    if newer == {getattr(belief, "memory_id", None)}:
                        continue
                yield belief, _without_version(evidence.ref), change

    def check(self) -> None:
        """Compare the notices with what was ever stale.

        Those between reflections have a rule of their own, which may tell more.
        """
        notices = [
            (notice.dependent, _without_version(notice.evidence), notice.change, notice.kind)
            for agent in AGENTS
            for notice in self.store.bind(agent_id=agent).invalidations(status="all")
        ]
        own = {notice[:3] for notice in notices if notice[3] == "reflection_invalidation"}
        stale = {notice[:3] for notice in notices if notice[3] != "reflection_invalidation"}
        assert stale - own == self.expected - own


def _without_version(ref: Any) -> Any:
    """Return a memory without its version: the notices of reflections have none."""
    return MemoryRef(ref.memory_id) if isinstance(ref, MemoryRef) else ref


@pytest.mark.parametrize("seed", range(12))
def test_notices_are_what_why_calls_stale(seed: int) -> None:
    clock = FixedClock()
    with memory_store(clock=clock, ids=FixedIds()) as store:
        beliefs = Beliefs(store, clock, seed)
        store.set_cardinality(relation=RELATIONS[0], cardinality="single", agent_id=AGENTS[0])
        for agent in AGENTS:
            beliefs.memories.append(store.remember("words", agent_id=agent).id)
        for _ in range(40):
            beliefs.step()
            beliefs.check()
        current = {
            store.why(name, agent_id=agent).ref
            for agent in AGENTS
            for name in store.list_keys(agent_id=agent)
        }
        for agent in AGENTS:
            for notice in store.bind(agent_id=agent).invalidations():
                assert notice.kind != "stale_key" or notice.dependent in current
        assert beliefs.expected
        assert store.verify(deep=True).rows
