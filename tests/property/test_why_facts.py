"""Values that rest on facts: at every commit, what is stale is what the timelines say."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memoranda import Fact, FactRef, Store
from memoranda.testing import FixedClock, memory_store
from tests.quick import often

BEGIN = datetime(2025, 12, 28, tzinfo=UTC)
"""Some days before the clock's own, so that ends lie on both sides of now."""
Step = tuple[str, int, int]
STEPS = st.tuples(
    st.sampled_from(("assert", "assert", "end", "retract", "rely", "rely", "supersede", "wait")),
    st.integers(0, 7),
    st.integers(0, 3),
)


@dataclass
class World:
    store: Store
    clock: FixedClock
    asserted: list[str] = field(default_factory=list)
    retracted: set[str] = field(default_factory=set)
    sources: dict[str, str] = field(default_factory=dict)
    """By assertion, the memory it comes from."""
    superseded: dict[str, int] = field(default_factory=dict)
    relied: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By key, the assertion it rests on and the commit that says so."""

    def take(self, step: Step) -> None:
        what, day, which = step
        at = BEGIN + timedelta(days=day)
        standing = [item for item in self.asserted if item not in self.retracted]
        if what == "assert":
            ground = self.store.remember(f"note {len(self.asserted)}").id
            fact = self.store.assert_fact(
                subject="Ann",
                relation="works at",
                object=f"o{which % 3}",
                valid_from=at,
                valid_to=at + timedelta(days=1 + day % 4) if which >= 2 else None,
                source=ground,
            )
            assert fact.assertion_id is not None
            self.asserted.append(fact.assertion_id)
            self.sources[fact.assertion_id] = ground
        elif what == "end":
            self.store.end_fact(subject="Ann", relation="works at", at=at, allow_unknown=True)
        elif what == "wait":
            self.clock.advance(86_400)
        elif standing:
            self._about(what, standing[day % len(standing)])

    def _about(self, what: str, assertion_id: str) -> None:
        if what == "retract":
            self.retracted.add(assertion_id)
            self.store.retract_fact(assertion_id=assertion_id)
        elif what == "rely":
            key = f"k{len(self.relied)}"
            ref = FactRef(assertion_id)
            self.relied[key] = (
                assertion_id,
                self.store.write(key=key, value={}, because=[ref]).commit_ts,
            )
        elif self.sources[assertion_id] not in self.superseded:
            old, new = self.sources[assertion_id], self.store.remember("better").id
            self.store.supersede(old=old, new=new)
            self.superseded[old] = self.store.stats().commits

    def is_stale(self, key: str, at: int, times: dict[int, datetime]) -> bool:
        """Say it by what the timeline was when it was relied on, and what it is."""
        assertion_id, relied_at = self.relied[key]
        then, now = (self._fact(assertion_id, reference) for reference in (relied_at, at))
        assert then is not None
        if now is None:
            return True
        for other in now.assertions:
            if self.superseded.get(self.sources[other], at + 1) <= at:
                return True
        if now.valid_to is None:
            return False
        if then.valid_to is None or now.valid_to < then.valid_to:
            return True
        return times[relied_at] < now.valid_to <= times[at]

    def _fact(self, assertion_id: str, known: int) -> Fact | None:
        """Return the fact of an assertion, which goes on as long as what overlaps says the same."""
        facts = self.store.timeline(subject="Ann", relation="works at", known_at=known)
        own = next((fact for fact in facts if assertion_id in fact.assertions), None)
        if own is None:
            return None
        same = [fact for fact in facts if fact.object == own.object]
        end, grows = own.valid_to, True
        while end is not None and grows:
            ends = [end, *(fact.valid_to for fact in same if fact.valid_from < end)]
            latest = None if None in ends else max(item for item in ends if item is not None)
            end, grows = latest, latest != end
        return replace(own, valid_to=end)


TAKEN = st.lists(STEPS, min_size=3, max_size=14)
KINDS = st.sampled_from(("single", "multi"))


@settings(max_examples=10, deadline=None)
@given(steps=TAKEN, kind=KINDS)
def test_a_value_is_stale_when_its_fact_is_and_not_before(steps: list[Step], kind: str) -> None:
    clock = FixedClock()
    with memory_store(clock=clock) as opened:
        store = opened.bind(agent_id="a")
        store.set_cardinality(relation="works at", cardinality=kind)
        world = World(store, clock)
        for step in steps:
            world.take(step)
        times = {event.commit_ts: event.committed_at for event in store.replay()}
        for key, (_, relied_at) in world.relied.items():
            for at in range(relied_at, store.stats().commits + 1):
                expected = world.is_stale(key, at, times)
                assert store.why(key, at=at).is_stale == expected, (key, at)


test_a_value_is_stale_often = often(
    test_a_value_is_stale_when_its_fact_is_and_not_before, 60, steps=TAKEN, kind=KINDS
)
