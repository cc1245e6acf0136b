"""Long replays and subscriptions: as little memory as short ones."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import memoranda
from memoranda import Store
from tests.bulk import write_events

CHILD = """
import resource, sys
import memoranda
from itertools import islice
store = memoranda.open(sys.argv[1], create=False)
events = {
    "replay": lambda: store.replay(agent_id="a"),
    "subscribe": lambda: store.subscribe(agent_id="a", after_commit=0),
    "everybody": lambda: store.subscribe(agent_id=memoranda.ALL_AGENTS, after_commit=0),
}[sys.argv[3]]()
count = sum(1 for event in islice(events, int(sys.argv[2]))
            for operation in event.operations if operation.value)
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_kib(path: Path, events: int, way: str = "replay") -> int:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(events), way],
        capture_output=True,
        text=True,
        check=True,
    )
    count, peak = map(int, done.stdout.split())
    assert count == events
    return peak


@pytest.mark.parametrize(
    "read",
    [
        lambda agent: agent.replay(),
        lambda agent: agent.history(key="k"),
        lambda agent: agent.subscribe(after_commit=0, timeout=0),
        lambda agent: agent.subscribe(agent_id=memoranda.ALL_AGENTS, after_commit=0, timeout=0),
    ],
    ids=["replay", "history", "subscribe", "subscribe to all"],
)
def test_large_events_are_held_a_few_at_a_time(read: Callable[[Store], Iterable[object]]) -> None:
    agent = memoranda.open(":memory:").bind(agent_id="a")
    for _ in range(60):
        agent.write(key="k", value={"text": "x" * 500_000})
    tracemalloc.start()
    try:
        assert sum(1 for _ in read(agent)) == 60
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * 500_000


@pytest.mark.slow
def test_replay_takes_the_same_memory_for_any_length(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    write_events(path, 100_000)
    short, long = peak_kib(path, 10_000), peak_kib(path, 100_000)
    assert long - short < 5 * 1024, f"{short} KiB at 10 k events, {long} KiB at 100 k"


@pytest.mark.slow
def test_a_subscription_takes_the_same_memory_for_any_length(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    write_events(path, 40_000)
    for way in ("subscribe", "everybody"):
        short, long = peak_kib(path, 4_000, way), peak_kib(path, 40_000, way)
        assert long - short < 2 * 1024, f"{short} KiB at 4 k events, {long} KiB at 40 k"
