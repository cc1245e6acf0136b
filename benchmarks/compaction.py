"""How long a compaction lets others wait: `python benchmarks/compaction.py 1000000`.

It fills a new store with that many events, then compacts it while another thread writes, and says
how long the write lock was held at most, and how long a write took at most.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path

import memoranda
from memoranda import Store
from memoranda.log.slices import Plan, Slice, Step

KEYS = 1000
MEMORIES = 200


def fill(store: Store, events: int) -> None:
    """Write keys over and over, and touch and change some memories."""
    agent = store.bind(agent_id="a")
    memories = [agent.remember(f"memory {each}", title=f"t{each}") for each in range(MEMORIES)]
    for number in range(events - MEMORIES):
        memory = memories[number // 10 % MEMORIES]
        if number % 10 == 0:
            agent.touch(memory.id)
        elif number % 50 == 1:
            agent.update_memory(memory.id, content=f"memory {number}")
        elif number % 50 == 2:
            fact = agent.assert_fact(subject=f"s{number}", relation="is", object="there")
            agent.retract_fact(assertion_id=fact.assertion_id)
        else:
            agent.write(key=f"k{number % KEYS}", value={"n": number, "text": "x" * 50})


class Writing(threading.Thread):
    """Somebody who writes all the while, and notes how long each write took."""

    def __init__(self, store: Store) -> None:
        super().__init__(daemon=True)
        self._agent = store.bind(agent_id="b", namespace="elsewhere")
        self._ended = threading.Event()
        self.waits: list[float] = []

    def run(self) -> None:
        """Write until it is ended."""
        while not self._ended.wait(0.005):
            begun = time.perf_counter()
            self._agent.write(key="k", value={})
            self.waits.append(time.perf_counter() - begun)

    def end(self) -> None:
        """Stop, and wait for that."""
        self._ended.set()
        self.join()


def measure(store: Store) -> None:
    """Compact all there is, and print what that took."""
    holds: list[float] = []
    writer = store._core.committer._writer  # noqa: SLF001
    carry_out = writer.carry_out

    def noted(plan: Plan, part: Slice) -> Step:
        step = carry_out(plan, part)
        holds.append(step.seconds)
        return step

    writer.carry_out = noted  # type: ignore[method-assign]
    writing = Writing(store)
    writing.start()
    begun = time.perf_counter()
    done = store.bind(agent_id="a").compact(before=store.stats().commits, confirm=True, purge=False)
    whole = time.perf_counter() - begun
    writing.end()
    holds.sort()
    writing.waits.sort()
    print(f"erased {done.erased:,}, kept {done.kept:,}, in {whole:.1f} s and {len(holds)} slices")
    print(f"held the lock: {_told(holds)}, {sum(holds):.1f} s in all")
    print(f"a write took: {_told(writing.waits)}, of {len(writing.waits):,}")


def _told(times: list[float]) -> str:
    most, late = times[-1], times[int(len(times) * 0.99)]
    middle = times[len(times) // 2]
    return f"{middle * 1000:.0f} ms, {late * 1000:.0f} ms of 99 %, {most * 1000:.0f} ms at most"


def main(events: int) -> None:
    """Fill a store and measure."""
    with (
        tempfile.TemporaryDirectory() as folder,
        memoranda.open(Path(folder) / "store.db", durability="relaxed") as store,
    ):
        begun = time.perf_counter()
        fill(store, events)
        print(f"filled with {events:,} events in {time.perf_counter() - begun:.0f} s", flush=True)
        measure(store)
        begun = time.perf_counter()
        store.verify()
        print(f"verified in {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
