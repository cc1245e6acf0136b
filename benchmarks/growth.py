"""What a longer log costs: commit latency and replay per event, by the number of events."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import memoranda
from benchmarks.commits import VALUE

_TURNS = 5


def measure(logs: Mapping[int, Path]) -> dict[str, dict[int, float]]:
    """Return the seconds of a commit and of replaying an event, in logs of so many events.

    The logs take turns, so that a busy moment of the machine falls on all of them.
    """
    os.sync()  # the disk may still be writing what was written to make them
    commits: dict[int, list[float]] = {events: [] for events in logs}
    replays: dict[int, list[float]] = {events: [] for events in logs}
    for _ in range(_TURNS):
        for events, path in logs.items():
            commits[events].append(_commit_seconds(path))
            replays[events].append(_replay_seconds(path))
    return {
        "commit": {events: median(seconds) for events, seconds in commits.items()},
        "replay an event": {events: min(seconds) for events, seconds in replays.items()},
    }


def _commit_seconds(path: Path, commits: int = 200) -> float:
    """Return the median time of one durable commit."""
    with memoranda.open(path, create=False) as store:
        agent = store.bind(agent_id="a1")
        agent.write(key="k1", value=VALUE)
        times = []
        for number in range(commits):
            start = time.perf_counter()
            agent.write(key=f"k{number % 50}", value=VALUE)
            times.append(time.perf_counter() - start)
    return median(times)


def _replay_seconds(path: Path, events: int = 100) -> float:
    """Return the time per event of replaying one agent's first events, the best of several."""
    with memoranda.open(path, create=False) as store:
        agent = store.bind(agent_id="a1")
        through = [event.commit_ts for event in agent.replay()][events - 1]
        times = []
        for _ in range(20):
            start = time.perf_counter()
            count = sum(1 for _ in agent.replay(through_commit=through))
            times.append((time.perf_counter() - start) / count)
    return min(times)
