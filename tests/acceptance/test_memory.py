"""Long replays: as little memory as short ones."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import recollect
from tests.bulk import write_events

CHILD = """
import resource, sys
import recollect
store = recollect.open(sys.argv[1], create=False)
count = sum(1 for event in store.replay(agent_id="a", through_commit=int(sys.argv[2]))
            for operation in event.operations if operation.value)
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_kib(path: Path, events: int) -> int:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(events)],
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
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * 500_000


def test_replay_takes_the_same_memory_for_any_length(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    write_events(path, 100_000)
    short, long = peak_kib(path, 10_000), peak_kib(path, 100_000)
    assert long - short < 5 * 1024, f"{short} KiB at 10 k events, {long} KiB at 100 k"
