"""Replay and point reads, against the bare query of the same rows with the same decoder."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import memoranda
from benchmarks.limits import bare_connection
from memoranda.model import codec, document
from memoranda.sdk.open import load_queries

AGENTS = 100


def rate(work: Callable[[], int], seconds: float) -> float:
    """Return how many a second `work` does, repeating it for so long."""
    count, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        count += work()
    return count / passed


def replay(path: Path, seconds: float) -> tuple[float, float]:
    """Return events a second of one agent among many: ours, and the bare query's."""
    query = load_queries()["event_places_of_scope"]
    database = bare_connection(path)
    ((scope_id,),) = database.execute("SELECT id FROM scope WHERE agent_id = 'a1'")
    bounds = {"scope_id": scope_id, "after": 0, "through": 10**9, "limit": 10**9}

    def bare() -> int:
        count = 0
        for row in database.execute(query, bounds):
            codec.decode_envelope(row[3])
            codec.decode_operations(row[5])
            count += 1
        return count

    with memoranda.open(path, create=False) as store:
        agent = store.bind(agent_id="a1")

        def ours() -> int:
            return sum(1 for _ in agent.replay())

        figures = alternate(ours, bare, seconds)
    database.close()
    return figures


def point_reads(path: Path, seconds: float) -> tuple[float, float]:
    """Return reads of one key a second: ours, and the bare query's."""
    query = load_queries()["state_get"]
    database = bare_connection(path)
    key = {"agent_id": "a1", "namespace": "default", "key": "k1"}
    batch = 500

    def bare() -> int:
        for _ in range(batch):
            row = database.execute(query, key).fetchone()
            assert row is not None
            document.decode(row[0])
        return batch

    with memoranda.open(path, create=False) as store:
        agent = store.bind(agent_id="a1")

        def ours() -> int:
            for _ in range(batch):
                agent.get_state(key="k1")
            return batch

        figures = alternate(ours, bare, seconds)
    database.close()
    return figures


def buckets(path: Path, number: int, seconds: float) -> tuple[float, float]:
    """Return seconds of CPU to count an agent's operations in buckets: ours, and the bare query's.

    The bare query counts them row by row in the index of scopes, without the stored sums.
    """
    database = bare_connection(path)
    query = (
        "SELECT commit_ts * :number / (SELECT MAX(commit_ts) + 1 FROM event), kinds, COUNT(*)"
        " FROM event_scope WHERE scope_id = (SELECT id FROM scope WHERE agent_id = 'a')"
        " GROUP BY 1, 2"
    )
    with memoranda.open(path, create=False) as store:
        agent = store.bind(agent_id="a")

        def ours() -> object:
            return agent.timeline_buckets(buckets=number)

        def bare() -> object:
            return database.execute(query, {"number": number}).fetchall()

        turns = [(cpu(ours, seconds / 10), cpu(bare, seconds / 10)) for _ in range(5)]
    database.close()
    return median(first for first, _ in turns), median(second for _, second in turns)


def cpu(work: Callable[[], object], seconds: float) -> float:
    """Return the seconds of CPU that `work` takes, repeating it for so long."""
    start, count = time.process_time(), 0
    end = time.perf_counter() + seconds
    while not count or time.perf_counter() < end:
        work()
        count += 1
    return (time.process_time() - start) / count


def alternate(
    ours: Callable[[], int], bare: Callable[[], int], seconds: float
) -> tuple[float, float]:
    """Measure both in turns, so that a busy moment of the machine falls on both."""
    ours(), bare()
    turns = [(rate(ours, seconds / 10), rate(bare, seconds / 10)) for _ in range(5)]
    first, second = (sorted(figures)[2] for figures in zip(*turns, strict=True))
    return first, second
