"""Long replays: as little memory as short ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


def test_replay_takes_the_same_memory_for_any_length(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    write_events(path, 100_000)
    short, long = peak_kib(path, 10_000), peak_kib(path, 100_000)
    assert long - short < 5 * 1024, f"{short} KiB at 10 k events, {long} KiB at 100 k"
