"""Random histories with forgetting and compaction: buckets count what a replay shows."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from memoranda import (
    ALL_NAMESPACES,
    Compacted,
    OperationType,
    Store,
    TimelineBucket,
)
from memoranda.log.read import block_sums, kind_counts, scope_index, timeline_buckets
from memoranda.testing import FixedClock, memory_store
from tests.property.forgetful import AGENTS, SPACES, History
from tests.quick import only, some

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""A seed does not shrink."""
SEEDS = st.integers(min_value=0, max_value=2**32)


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=2, deadline=None, phases=PHASES)
def test_buckets_count_what_a_replay_shows(seed: int) -> None:
    check(seed, rounds=3, deeds=40)


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=some(30), deadline=None, phases=PHASES)
def test_buckets_count_what_a_replay_shows_often(seed: int) -> None:
    check(seed, rounds=5, deeds=80)


@pytest.mark.slow
@pytest.mark.parametrize("commits", only([2], [1, 2, 5]))
def test_blocks_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch, commits: int) -> None:
    for module in (block_sums, kind_counts, scope_index, timeline_buckets):
        monkeypatch.setattr(module, "BLOCK_COMMITS", commits)
    check(commits, rounds=3, deeds=40)


def check(seed: int, *, rounds: int, deeds: int) -> None:
    """Do and forget things, now and then compact a namespace, and compare each time."""
    random, clock = Random(seed), FixedClock()
    with memory_store(clock=clock) as store:
        history = History(store, random)
        for _ in range(rounds):
            for _ in range(deeds):
                clock.advance(random.choice((0, 0.5, 60)))
                if random.random() < 0.1:
                    work_in_several(store, random)
                else:
                    history.step()
            if random.random() < 0.7:
                history.forget()
            if random.random() < 0.5:
                head = store.stats().commits
                namespace = random.choice(SPACES)
                with suppress(Compacted):  # a horizon never goes back
                    store.compact(
                        namespace=namespace, before=random.randrange(1, head), confirm=True
                    )
            compare(store, random)
        store.verify(deep=True)


def work_in_several(store: Store, random: Random) -> None:
    """Commit operations of one agent in several namespaces at once, private ones among them."""
    agent_id = random.choice(AGENTS)
    with store.bind(agent_id=agent_id).begin_transaction() as tx:
        for _ in range(random.choice((2, 3, 20))):
            namespace = random.choice(SPACES)
            if random.random() < 0.5:
                tx.write(namespace=namespace, key=f"several-{random.random()}", value={})
            else:
                tx.remember("several", namespace=namespace, visibility="private")


def compare(store: Store, random: Random) -> None:
    """Compare the buckets of every scope with a replay, for every kind of viewer."""
    for viewer in (None, AGENTS[0], AGENTS[1]):
        handle = store if viewer is None else store.bind(agent_id=viewer)
        for agent_id in AGENTS:
            for namespace in (*SPACES, ALL_NAMESPACES):
                scope = {"agent_id": agent_id, "namespace": namespace}
                for bounds in ({}, some_bounds(store, random)):
                    buckets = random.choice((1, 2, 7, 100, 2_000))
                    compare_one(handle, scope, bounds, buckets)


def some_bounds(store: Store, random: Random) -> dict[str, Any]:
    """Return a time that a part of the log lies in; either end may be open."""
    events = [event.committed_at for event in store.replay(agent_id=AGENTS[0])]
    events += [datetime.fromisoformat("2026-01-01T00:10:00+00:00")]
    times = sorted(
        random.choice(events) + timedelta(seconds=random.choice((-1, 0, 9))) for _ in "ab"
    )
    bounds = dict(zip(("from_timestamp", "to_timestamp"), times, strict=True))
    return {name: bounds[name] for name in bounds if random.random() < 0.8}


def compare_one(store: Store, scope: dict[str, Any], bounds: dict[str, Any], number: int) -> None:
    try:
        events = list(store.replay(**scope, **bounds))
    except Compacted:
        with pytest.raises(Compacted):
            store.timeline_buckets(**scope, **bounds, buckets=number)
        return
    buckets = store.timeline_buckets(**scope, **bounds, buckets=number)
    if not buckets:
        assert not events
        return
    check_times(buckets, bounds, [event.committed_at for event in events])
    operations = [Counter[OperationType]() for _ in buckets]
    numbers = [0] * len(buckets)
    starts = [bucket.start for bucket in buckets]
    for event in events:
        place = bisect_right(starts, event.committed_at) - 1
        operations[place].update(operation.type for operation in event.operations)
        numbers[place] += 1
    assert [bucket.counts for bucket in buckets] == operations, (scope, bounds)
    assert [bucket.events for bucket in buckets] == numbers, (scope, bounds)


def check_times(
    buckets: list[TimelineBucket], bounds: dict[str, datetime], times: list[datetime]
) -> None:
    """Check that the buckets are equal parts of the time that was asked about."""
    microsecond = timedelta(microseconds=1)
    assert buckets[0].start == bounds.get("from_timestamp", times[0] if times else None)
    assert buckets[-1].end == bounds.get("to_timestamp", times[-1] + microsecond if times else None)
    lengths = [bucket.end - bucket.start for bucket in buckets]
    assert min(lengths) >= microsecond
    assert max(lengths) - min(lengths) <= microsecond
    assert [bucket.end for bucket in buckets[:-1]] == [bucket.start for bucket in buckets[1:]]
