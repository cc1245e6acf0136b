"""Recall at 100,000 memories, beside a bare full-text query and one product of vectors."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import memoranda
from benchmarks.limits import bare_connection
from memoranda import Store
from memoranda.search.recall import _POOL_CANDIDATES
from memoranda.search.text.tokenizer import query_terms
from tests.cores import core_of

MEMORIES = 100_000
BATCH_SIZE = 1_000
"""How many go into one transaction."""
QUERIES = 40
VOCABULARY = 20_000
LENGTH = 12


def texts(count: int, *, seed: int = 1) -> Iterator[str]:
    """Yield made-up sentences whose words are about as unevenly common as those of a language."""
    chance = random.Random(seed)
    words = [f"w{number:x}" for number in range(VOCABULARY)]
    weights = [1 / (rank + 10) for rank in range(VOCABULARY)]
    bounds = list(_summed(weights))
    for _ in range(count):
        yield " ".join(chance.choices(words, cum_weights=bounds, k=LENGTH))


def _summed(weights: list[float]) -> Iterator[float]:
    whole = 0.0
    for weight in weights:
        whole += weight
        yield whole


def fill(path: Path, count: int = MEMORIES) -> None:
    """Make many memories in one namespace, with words and vectors indexed."""
    with memoranda.open(path, durability="relaxed", embedder="wordllama") as store:
        agent = store.bind(agent_id="a")
        reports = texts(count)
        for _ in range(0, count, BATCH_SIZE):
            with agent.begin_transaction() as transaction:
                for _ in range(min(BATCH_SIZE, count)):
                    transaction.remember(next(reports))
        store.reindex()


def queries(count: int = QUERIES) -> list[str]:
    """Return questions of a few words each."""
    return [" ".join(text.split()[:6]) for text in texts(count, seed=2)]


def hybrid(path: Path) -> tuple[float, float]:
    """Return the median seconds of recall, and of a bare query for words and all vectors."""
    calls = queries()
    with memoranda.open(path, create=False, embedder="wordllama") as store:
        agent = store.bind(agent_id="a")
        agent.recall(calls[0])  # what is remembered between searches is read by the first
        bare = Bare(path, store)
        ours, limit = [], []
        for query in calls:  # in turns, so that a busy moment of the machine falls on both
            limit.append(_seconds(lambda: bare.search(query)))  # noqa: B023
            ours.append(_seconds(lambda: agent.recall(query)))  # noqa: B023
        bare.close()
    return median(ours), median(limit)


def one_word(path: Path) -> tuple[float, float]:
    """Return the median seconds of recall by one word, and of a bare query with the same rows."""
    calls = [word for query in queries() if query_terms(word := query.split()[0])]
    with memoranda.open(path, create=False, embedder=None) as store:
        agent = store.bind(agent_id="a")
        agent.recall(calls[0])
        bare = Bare(path, store)
        ours, limit = [], []
        for query in calls:
            limit.append(_seconds(lambda: bare.search_word(query)))  # noqa: B023
            ours.append(_seconds(lambda: agent.recall(query)))  # noqa: B023
        bare.close()
    return median(ours), median(limit)


class Bare:
    """The same rows without an engine around them."""

    def __init__(self, path: Path, store: Store) -> None:
        import numpy as np

        self._np = np
        self._database = bare_connection(path)
        rows: Any = self._database.execute("SELECT content FROM vector ORDER BY passage").fetchall()
        stored = b"".join(row[0] for row in rows)
        self._vectors = np.frombuffer(stored, "<f2").reshape(len(rows), -1).astype(np.float32)
        ((self._shelf,),) = self._database.execute("SELECT id FROM shelf WHERE size > 0")
        self._embedder: Any = core_of(store).vectors.embedder

    def search(self, query: str) -> int:
        """Return how many were found: by words, and by one product of all vectors with one."""
        target = " OR ".join(f'"{self._shelf}.{term}"' for term in query_terms(query))
        rows = self._database.execute(
            "SELECT rowid FROM words WHERE words MATCH ? "
            "ORDER BY bm25(words, 1.0, 0.5, 0.3) LIMIT 10",
            (target,),
        ).fetchall()
        sought = self._np.asarray(self._embedder.embed([query], query=True))[0]
        scores = self._vectors @ sought
        best = self._np.argpartition(scores, len(scores) - 10)[-10:]
        return len(rows) + len(best)

    def search_word(self, query: str) -> int:
        """Return how many rows were read: documents by a word, and the states of their memories."""
        (term,) = query_terms(query)
        rows = self._database.execute(
            "SELECT rowid FROM words WHERE words MATCH ? "
            "ORDER BY bm25(words, 1.0, 0.5, 0.3) LIMIT ?",
            (f'"{self._shelf}.{term}"', _POOL_CANDIDATES),
        ).fetchall()
        ids = str([row[0] for row in rows])
        states = self._database.execute(
            "SELECT passage.*, memory.*, memory_state.* FROM passage "
            "JOIN memory ON memory.memory_id = passage.source "
            "JOIN memory_state ON memory_state.memory = memory.id "
            "WHERE passage.id IN (SELECT value FROM json_each(?))",
            (ids,),
        ).fetchall()
        return len(rows) + len(states)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
