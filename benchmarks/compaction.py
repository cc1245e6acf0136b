"""How long a compaction lets others wait: `python benchmarks/compaction.py 1000000`.

It fills a new store with that many operations, then compacts it while another thread writes, and
says how long the write lock was held at most, in wall and in processor time, and how long a write
took at most. Beside that it says how long the machine kept a bare loop waiting meanwhile: a hold
whose wall time is as long as that was not the compaction's doing.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path

import memoranda
from memoranda import Store, Transaction
from memoranda.log.compaction.compactor import Plan, Slice, Step
from tests.cores import core_of

KEYS = 1000
MEMORIES = 200
BATCH = 100
"""Operations in one transaction: filling takes a fraction of what single writes would."""
_TICK = 0.001


def fill(store: Store, operations: int, batch: int = BATCH) -> None:
    """Write keys over and over, and touch and change some memories."""
    agent = store.bind(agent_id="a")
    memories = [agent.remember(f"memory {item}", title=f"t{item}").id for item in range(MEMORIES)]
    for first in range(0, operations, batch):
        with agent.begin_transaction() as transaction:
            for number in range(first, min(first + batch, operations)):
                stage(transaction, number, memories[number // 10 % MEMORIES])


def stage(transaction: Transaction, number: int, memory_id: str) -> None:
    """Stage one of what an agent does."""
    if number % 10 == 0:
        transaction.touch(memory_id)
    elif number % 50 == 1:
        transaction.update_memory(memory_id, content=f"memory {number}")
    elif number % 50 == 2:
        assertion_id = transaction.assert_fact(subject=f"s{number}", relation="is", object="there")
        transaction.retract_fact(assertion_id=assertion_id)
    else:
        transaction.write(key=f"k{number % KEYS}", value={"n": number, "text": "x" * 50})


class Beside(threading.Thread):
    """Does something over and over beside a compaction, and notes how long each time took."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._ended = threading.Event()
        self.waits: list[float] = []

    def once(self) -> None:
        """Do it once; a bare loop does nothing."""

    def run(self) -> None:
        """Go on until it is ended."""
        while not self._ended.wait(0.005):
            start = time.perf_counter()
            self.once()
            self.waits.append(time.perf_counter() - start)

    def end(self) -> None:
        """Stop, and wait for that."""
        self._ended.set()
        self.join()


class Writing(Beside):
    """Somebody who writes all the while."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._agent = store.bind(agent_id="b", namespace="elsewhere")

    def once(self) -> None:
        """Write."""
        self._agent.write(key="k", value={})


class Loop(Beside):
    """Sleeps for a moment, and notes by how much too long that was: the machine's own noise."""

    def run(self) -> None:
        """Go on until it is ended."""
        while not self._ended.is_set():
            start = time.perf_counter()
            time.sleep(_TICK)
            self.waits.append(time.perf_counter() - start - _TICK)


def measure(store: Store) -> None:
    """Compact all there is, and print what that took."""
    holds: list[float] = []
    spent: list[float] = []
    writer = core_of(store).committer._writer  # noqa: SLF001
    carry_out = writer.write_slice

    def noted(plan: Plan, part: Slice) -> Step:
        start = time.thread_time()
        step = carry_out(plan, part)
        spent.append(time.thread_time() - start)
        holds.append(step.seconds)
        return step

    writer.write_slice = noted  # type: ignore[method-assign]
    beside = [Writing(store), Loop()]
    for thread in beside:
        thread.start()
    start = time.perf_counter()
    compaction = store.bind(agent_id="a").compact(
        before=store.stats().commits, confirm=True, purge=False
    )
    seconds = time.perf_counter() - start
    for thread in beside:
        thread.end()
    writes, pauses = (thread.waits for thread in beside)
    print(
        f"erased {compaction.erased:,}, kept {compaction.retained:,}, in {seconds:.1f} s "
        f"and {len(holds)} slices"
    )
    print(f"held the lock: {_percentiles(holds)}, {sum(holds):.1f} s in all")
    print(f"of that processor time: {_percentiles(spent)}, {sum(spent):.1f} s in all")
    print(f"a write took: {_percentiles(writes)}, of {len(writes):,}")
    print(f"a bare loop was kept waiting: {_percentiles(pauses)}, of {len(pauses):,}")


def _percentiles(times: list[float]) -> str:
    times = sorted(times)
    longest, late = times[-1], times[int(len(times) * 0.99)]
    middle = times[len(times) // 2]
    return f"{middle * 1000:.0f} ms, {late * 1000:.0f} ms of 99 %, {longest * 1000:.0f} ms at most"


def main(operations: int, batch: int) -> None:
    """Fill a store and measure."""
    with (
        tempfile.TemporaryDirectory() as folder,
        memoranda.open(Path(folder) / "store.db", durability="relaxed") as store,
    ):
        start = time.perf_counter()
        fill(store, operations, batch)
        took = time.perf_counter() - start
        print(f"filled with {operations:,} operations in {took:.0f} s", flush=True)
        measure(store)
        start = time.perf_counter()
        store.verify()
        print(f"verified in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*[*numbers, *(100_000, BATCH)[len(numbers) :]])
