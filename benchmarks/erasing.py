"""How long forgetting and purging let others wait: `python benchmarks/erasing.py 10000`.

It fills a new store with that many memories, and with keys, facts and transcripts (10,000: about
50 MB), forgets some of each, purges the file, and says how long the write lock was held each time,
in processor and in wall time. On a busy machine, the wall time is mostly that of others.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import memoranda
from memoranda import Store
from memoranda.search.index import indexer
from memoranda.storage.sqlite.engine import SqliteEngine

AGENTS = 4
BATCH = 10
"""Memories of one agent in a row, half of which are the source of a fact."""
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
    indexer.fill(store._core.engine)  # noqa: SLF001
    return names


@contextmanager
def holds_of(name: str) -> Iterator[list[Hold]]:
    """Note how long each call of a method of the engine takes."""
    holds: list[Hold] = []
    method = getattr(SqliteEngine, name)

    def timed(self: SqliteEngine, *arguments: Any, **options: Any) -> Any:
        cpu, wall = time.thread_time(), time.perf_counter()
        try:
            return method(self, *arguments, **options)
        finally:
            holds.append((time.thread_time() - cpu, time.perf_counter() - wall))

    setattr(SqliteEngine, name, timed)
    try:
        yield holds
    finally:
        setattr(SqliteEngine, name, method)


def measure(store: Store, names: dict[str, list[str]]) -> dict[str, list[Hold]]:
    """Forget some of each kind and one agent, purge, and return the holds of the write lock."""
    middle = len(names["transcript"]) // 2
    targets: dict[str, list[dict[str, str]]] = {
        "memory": [{"memory_id": item} for item in names["plain"][middle:][:5]],
        "memory with a fact": [{"memory_id": item} for item in names["source"][middle:][:5]],
        "fact": [{"fact": item} for item in names["fact"][-5:]],
        "transcript": [{"transcript_id": item} for item in names["transcript"][middle:][:5]],
        "key": [{"key": f"k{number}"} for number in (1, 3, 5, 7, 9)],
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
            for kind, holds in measure(store, names).items():
                cpu, wall = (max(column) * 1000 for column in zip(*holds, strict=True))
                print(f"{kind:20} {cpu:8.1f} ms of processor time, {wall:8.1f} ms, at most")


if __name__ == "__main__":
    main(*[int(number) for number in sys.argv[1:]] or [10_000])
