"""What a longer log costs: commit latency and replay per event, by the number of events."""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median

import recollect
from benchmarks.commits import VALUE


def commit_seconds(path: Path, commits: int = 300) -> float:
    """Return the median time of one durable commit, once the disk is done with the log itself."""
    os.sync()
    with recollect.open(path, create=False) as store:
        agent = store.bind(agent_id="a1")
        agent.write(key="k1", value=VALUE)
        times = []
        for number in range(commits):
            start = time.perf_counter()
            agent.write(key=f"k{number % 50}", value=VALUE)
            times.append(time.perf_counter() - start)
    return median(times)


def replay_seconds(path: Path, events: int = 100) -> float:
    """Return the time per event of replaying one agent's first events, the best of several."""
    with recollect.open(path, create=False) as store:
        agent = store.bind(agent_id="a1")
        through = [event.commit_ts for event in agent.replay()][events - 1]
        times = []
        for _ in range(20):
            start = time.perf_counter()
            count = sum(1 for _ in agent.replay(through_commit=through))
            times.append((time.perf_counter() - start) / count)
    return min(times)
