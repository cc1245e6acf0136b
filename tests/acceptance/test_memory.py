"""Long replays and subscriptions: as little memory as short ones."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

import recollect
from tests.bulk import write_events

CHILD = """
import resource, sys
import recollect
from itertools import islice
store = recollect.open(sys.argv[1], create=False)
events = {
    "replay": lambda: store.replay(agent_id="a"),
    "subscribe": lambda: store.subscribe(agent_id="a", after_commit=0),
    "everybody": lambda: store.subscribe(agent_id=recollect.ALL_AGENTS, after_commit=0),
}[sys.argv[3]]()
count = sum(1 for event in islice(events, int(sys.argv[2]))
            for operation in event.operations if operation.value)
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "store.db"
    write_events(path, 100_000)
    return path


def peak_kib(path: Path, events: int, way: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(events), way],
        capture_output=True,
        text=True,
        check=True,
    )
    count, peak = map(int, done.stdout.split())
    assert count == events
    return peak


def test_large_events_are_held_a_few_at_a_time() -> None:
    agent = recollect.open(":memory:").bind(agent_id="a")
    for _ in range(60):
        agent.write(key="k", value={"text": "x" * 500_000})
    tracemalloc.start()
    try:
        assert sum(len(event.operations) for event in agent.replay()) == 60
        assert sum(1 for _ in agent.history(key="k")) == 60
        assert sum(1 for _ in agent.subscribe(after_commit=0, timeout=0)) == 60
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * 500_000


def test_replay_takes_the_same_memory_for_any_length(long_log: Path) -> None:
    check_memory(long_log, "replay")


@pytest.mark.parametrize("way", ["subscribe", "everybody"])
def test_a_subscription_takes_the_same_memory_for_any_length(long_log: Path, way: str) -> None:
    check_memory(long_log, way)


def check_memory(path: Path, way: str) -> None:
    short, long = peak_kib(path, 10_000, way), peak_kib(path, 100_000, way)
    assert long - short < 5 * 1024, f"{short} KiB at 10 k events, {long} KiB at 100 k"
