"""How long forgetting and purging let others wait: `python benchmarks/erasing.py 10000`.

It fills a new store with that many memories, and with keys, facts and transcripts (10,000: about
50 MB), forgets some of each, purges the file, and says for how long the write lock was held, in
processor and in wall time, without the wait for the lock. Wall time has the sync of the disk and,
on a busy machine, the time of others.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median
from typing import Any
from unittest import mock

import memoranda
from memoranda import Store
from memoranda.search.index import indexer
from memoranda.storage.sqlite.engine import SqliteEngine
from tests.cores import core_of

AGENTS = 4
BATCH = 10
"""Memories of one agent in a row, half of which are the source of a fact."""
EACH = 10
"""How many of each kind are forgotten."""
_SYLLABLES = ("ka", "lo", "mi", "ter", "van", "sil", "bro", "que", "nat", "or", "den", "ris", "tol")
_WORDS = [f"{a}{b}{c}" for a in _SYLLABLES for b in _SYLLABLES for c in ("", "s", "ing")]

Hold = tuple[float, float]
"""Seconds of processor and of wall time under the write lock."""


def fill(store: Store, count: int) -> dict[str, list[str]]:
    """Fill a store, and return some ids of what is in it, by their kind."""
    random = Random(0)
    names: dict[str, list[str]] = {"plain": [], "source": [], "fact": [], "transcript": []}

    def text(words: int) -> str:
        return " ".join(random.choices(_WORDS, k=words))

    for first in range(0, count, BATCH):
        agent = store.bind(agent_id=f"a{first // BATCH % AGENTS}")
        for number in range(first, first + BATCH):
            memory = agent.remember(text(60), title=f"title {number}")
            names["plain" if number % 2 else "source"].append(memory.id)
            if number % 2:
                agent.write(key=f"k{number}", value={"v": text(20)})
                continue
            subject, object_ = (f"{random.choice(_WORDS)}{random.randrange(60)}" for _ in "so")
            fact = agent.assert_fact(
                subject=subject, relation="knows", object=object_, source=memory.id
            )
            names["fact"].append(fact.assertion_id or "")
        if first % (5 * BATCH) == 0:
            names["transcript"].append(agent.store_transcript(text(800)).id)
    indexer.fill(core_of(store).engine)
    return names


@contextmanager
def holds_of(name: str) -> Iterator[list[Hold]]:
    """Note how long this thread holds the write lock in each call of a method of the engine.

    The first thing that the engine does under the lock is `_make_ready`.
    """
    holds: list[Hold] = []
    begins: list[Hold] = []
    caller = threading.get_ident()
    method, make_ready = getattr(SqliteEngine, name), SqliteEngine._make_ready  # noqa: SLF001

    def begin(self: SqliteEngine) -> None:
        if threading.get_ident() == caller:
            begins.append((time.thread_time(), time.perf_counter()))
        make_ready(self)

    def timed(self: SqliteEngine, *arguments: Any, **options: Any) -> Any:
        try:
            return method(self, *arguments, **options)
        finally:
            if threading.get_ident() == caller:
                cpu, wall = begins.pop()
                holds.append((time.thread_time() - cpu, time.perf_counter() - wall))

    with (
        mock.patch.object(SqliteEngine, name, timed),
        mock.patch.object(SqliteEngine, "_make_ready", begin),
    ):
        yield holds


def measure(store: Store, names: dict[str, list[str]]) -> dict[str, list[Hold]]:
    """Forget some of each kind and one agent, purge, and return the holds of the write lock."""
    middle = len(names["transcript"]) // 2
    targets: dict[str, list[dict[str, str]]] = {
        "memory": [{"memory_id": item} for item in names["plain"][middle:][:EACH]],
        "memory with a fact": [{"memory_id": item} for item in names["source"][middle:][:EACH]],
        "fact": [{"fact": item} for item in names["fact"][-EACH:]],
        "transcript": [{"transcript_id": item} for item in names["transcript"][middle:][:EACH]],
        "key": [{"key": f"k{number}"} for number in (*range(1, BATCH, 2), *range(41, 51, 2))],
        "agent": [{"whole_agent": f"a{AGENTS - 1}"}],
    }
    results: dict[str, list[Hold]] = {}
    agent = store.bind(agent_id="a0")
    for kind, arguments in targets.items():
        with holds_of("write") as holds:
            for options in arguments:
                agent.forget(**options, purge=False)  # type: ignore[arg-type]
        results[kind] = sorted(holds)[-len(arguments) :]
    with holds_of("_purge_step") as holds:
        store.purge()
    results["purge, a step"] = holds
    return results


def main(count: int) -> None:
    """Fill a store, measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with memoranda.open(path, durability="relaxed") as store:
            names = fill(store, count)
        with memoranda.open(path) as store:
            print(f"{store.stats().data_bytes / 1e6:.0f} MB, {store.stats().commits:,} commits")
            print(f"{'ms: median, most':20}{'processor':>16}{'wall':>16}")
            for kind, holds in measure(store, names).items():
                columns = [
                    [1000 * value for value in column] for column in zip(*holds, strict=True)
                ]
                cpu, wall = (f"{median(column):8.1f}{max(column):8.1f}" for column in columns)
                print(f"{kind:20}{cpu}{wall}")


if __name__ == "__main__":
    main(*[int(number) for number in sys.argv[1:]] or [10_000])
