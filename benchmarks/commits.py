"""Durable commits a second: one committer, threads, asyncio tasks."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from statistics import mean, median

import memoranda
from benchmarks.limits import synced_appends
from memoranda import Store

VALUE = {"text": "x" * 300, "n": 1, "list": [1, 2, 3]}
KEYS = 50
TURNS = 40


def one(path: Path | str, seconds: float) -> float:
    with memoranda.open(path) as store:
        agent = store.bind(agent_id="a")
        _fill(agent)
        return _rate(agent, seconds)


def one_beside_appends(path: Path, seconds: float) -> tuple[float, float]:
    """Return durable commits a second of one committer, and bare appends, in many short turns.

    What a disk does in a second changes more from one moment to the next than what is measured
    here, so each turn is compared with the appends right before and right behind it. The ratio of
    the two figures is the one in the middle of those.
    """
    turn = seconds / (2 * TURNS)
    with memoranda.open(path) as store:
        agent = store.bind(agent_id="a")
        _fill(agent)
        ratios, limits = [], [synced_appends(path.parent, turn)]
        for _ in range(TURNS):
            ours = _rate(agent, turn)
            limits.append(synced_appends(path.parent, turn))
            ratios.append(ours / mean(limits[-2:]))
    limit = median(limits)
    return median(ratios) * limit, limit


def _fill(agent: Store) -> None:
    for number in range(KEYS):
        agent.write(key=f"k{number}", value=VALUE)


def _rate(agent: Store, seconds: float) -> float:
    done, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        agent.write(key=f"k{done % KEYS}", value=VALUE)
        done += 1
    return done / passed


def threads(path: Path | str, seconds: float, count: int = 32, *, has_keys: bool = False) -> float:
    """Measure threads; with `has_keys`, the keys are there before."""
    done = [0] * count
    with memoranda.open(path) as store:
        if has_keys:
            _add_keys(store, count)
        end = time.perf_counter() + seconds

        def work(number: int) -> None:
            agent = store.bind(agent_id=f"a{number}")
            while time.perf_counter() < end:
                agent.write(key=f"k{done[number] % KEYS}", value=VALUE)
                done[number] += 1

        start = time.perf_counter()
        workers = [threading.Thread(target=work, args=(number,)) for number in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        passed = time.perf_counter() - start
    return sum(done) / passed


def _add_keys(store: Store, agents: int) -> None:
    for number in range(agents):
        with store.bind(agent_id=f"a{number}").begin_transaction() as transaction:
            for key in range(KEYS):
                transaction.write(key=f"k{key}", value=VALUE)


def tasks(path: Path | str, seconds: float, count: int = 32, *, has_keys: bool = False) -> float:
    """Measure asyncio tasks; with `has_keys`, the keys are there before, and known to the store."""
    return asyncio.run(_tasks(path, seconds, count, has_keys=has_keys))


async def _tasks(path: Path | str, seconds: float, count: int, *, has_keys: bool) -> float:
    done = [0] * count
    async with await memoranda.open_async(path) as store:
        for number in range(count if has_keys else 0):
            agent = store.bind(agent_id=f"a{number}")
            async with agent.begin_transaction() as transaction:
                for key in range(KEYS):
                    transaction.write(key=f"k{key}", value=VALUE)
        end = time.perf_counter() + seconds

        async def work(number: int) -> None:
            agent = store.bind(agent_id=f"a{number}")
            while time.perf_counter() < end:
                await agent.write(key=f"k{done[number] % KEYS}", value=VALUE)
                done[number] += 1

        start = time.perf_counter()
        await asyncio.gather(*(work(number) for number in range(count)))
        passed = time.perf_counter() - start
    return sum(done) / passed
