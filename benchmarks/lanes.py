"""Reads of an asynchronous store beside its long calls."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import memoranda
from memoranda import AsyncStore

EVENTS = 50_000
"""Enough for one verification to take longer than all reads."""
READS = 3_000
VERIFICATIONS = 6


def reads_beside_verifications(path: Path) -> tuple[float, float]:
    """Return the p99 of `get_state` in seconds: beside deep verifications, and alone."""
    return asyncio.run(_measure(path))


async def _measure(path: Path) -> tuple[float, float]:
    async with await memoranda.open_async(path, create=False, embedder=None) as opened:
        store = opened.bind(agent_id="a")
        await _p99(store)
        alone = await _p99(store)
        verifications = [
            asyncio.create_task(opened.verify(deep=True)) for _ in range(VERIFICATIONS)
        ]
        await asyncio.sleep(0.1)  # until the first one reads
        beside = await _p99(store)
        assert not all(task.done() for task in verifications), "there was nothing beside the reads"
        await asyncio.gather(*verifications)
    return beside, alone


async def _p99(store: AsyncStore) -> float:
    times = []
    for _ in range(READS):
        start = time.perf_counter()
        await store.get_state(key="k1")
        times.append(time.perf_counter() - start)
    return sorted(times)[READS * 99 // 100]
