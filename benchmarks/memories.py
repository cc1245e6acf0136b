"""Memories: ingesting them, listing them, and replaying the words that a belief is made of."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import msgspec

import memoranda
from benchmarks.limits import bare_connection
from benchmarks.reads import alternate
from memoranda import Memory, Store
from memoranda.model.intervals import NEWEST
from memoranda.sdk.open import load_queries
from memoranda.storage.sqlite.connection import Connection

MEMORIES = 10_000
BATCH_SIZE = 100
"""How many go into one transaction."""
CHAIN, FAN, TRANSCRIPTS = 10, 1_000, 5_000
WORDS = "what somebody said at some length about a thing that matters to them, " * 4


def ingest(folder: Path) -> tuple[float, float]:
    """Return memories a second, each with a link and a span, and state writes of the same size."""
    ours, plain = [], []
    for turn in range(3):  # in turns, so that a busy moment of the machine falls on both
        plain.append(_write_states(folder / f"states-{turn}.db"))
        ours.append(_write_memories(folder / f"memories-{turn}.db"))
    return sorted(ours)[1], sorted(plain)[1]


def _write_states(path: Path) -> float:
    with memoranda.open(path) as store:
        agent = store.bind(agent_id="a")

        def write() -> None:
            for first in range(0, MEMORIES, BATCH_SIZE):
                with agent.begin_transaction() as transaction:
                    for number in range(first, first + BATCH_SIZE):
                        transaction.write(
                            key=f"memory/{number}",
                            value={"content": WORDS, "tags": ["a", "b"], "kind": "observation"},
                        )

        return _rate(write)


def _write_memories(path: Path) -> float:
    with memoranda.open(path) as store:
        agent = store.bind(agent_id="a")
        words = agent.store_transcript(WORDS * 50).id

        def write() -> None:
            for first in range(0, MEMORIES, BATCH_SIZE):
                with agent.begin_transaction() as transaction:
                    last = None
                    for number in range(first, first + BATCH_SIZE):
                        span = (number % 1000, number % 1000 + 60)
                        memory = transaction.remember(
                            WORDS, tags=["a", "b"], transcript=words, spans=[span]
                        )
                        if last is not None:
                            transaction.link(source=memory, target=last, relation="related_to")
                        last = memory

        return _rate(write)


def _rate(write: Callable[[], None]) -> float:
    start = time.perf_counter()
    write()
    return MEMORIES / (time.perf_counter() - start)


def fill_union(path: Path) -> str:
    """Make a chain of reflections on a fan of memories with transcripts; return its top."""
    with memoranda.open(path, durability="relaxed") as store:
        agent = store.bind(agent_id="a")
        agent.configure(max_reflection_depth=2 * CHAIN)
        ids = []
        for _ in range(FAN // BATCH_SIZE):
            with agent.begin_transaction() as transaction:
                for _ in range(BATCH_SIZE):
                    memory = transaction.remember("seen")
                    ids.append(memory)
                    for _ in range(TRANSCRIPTS // FAN):
                        words = transaction.store_transcript(WORDS)
                        transaction.link_transcript(memory_id=memory, transcript_id=words)
        top = agent.reflect("fan", on=ids).id
        for _ in range(CHAIN):
            top = agent.reflect("chain", on=[top]).id
    return top


def union(path: Path, top: str, seconds: float) -> tuple[float, float]:
    """Return transcripts a second of the union replay, and of bare queries for the same rows."""
    queries = load_queries()
    database = bare_connection(path)

    def bare() -> int:
        ids = [row[0] for row in database.execute("SELECT json_group_array(memory_id) FROM memory")]
        target = {"memory_ids": ids[0], "at": NEWEST}
        walk = {**target, "relation": "reflects_on"}
        database.execute(queries["walk_from"], walk).fetchall()
        return len(database.execute(queries["citations_of_memories"], target).fetchall())

    with memoranda.open(path, create=False) as store:
        agent = store.bind(agent_id="a")
        figures = alternate(lambda: len(agent.replay_transcripts(top)), bare, seconds)
    database.close()
    return figures


def union_queries(path: Path, top: str) -> tuple[int, int]:
    """Return how many queries a union replay makes, and how many hops there are.

    The indexer reads in a thread of its own; its queries do not count.
    """
    queries = 0
    plain = Connection.rows
    caller = threading.get_ident()

    def counting(self: Connection, query: str, /, **values: object) -> list[tuple[object, ...]]:
        nonlocal queries
        queries += threading.get_ident() == caller
        return plain(self, query, **values)  # type: ignore[arg-type]

    with (
        memoranda.open(path, create=False) as store,
        mock.patch.object(Connection, "rows", counting),
    ):
        assert len(store.bind(agent_id="a").replay_transcripts(top)) == TRANSCRIPTS
    return queries, CHAIN + 3  # the chain, the fan, what lies below it; and all citations at once


def fill_list(path: Path) -> None:
    """Make many memories in one namespace."""
    with memoranda.open(path, durability="relaxed") as store:
        agent = store.bind(agent_id="a")
        for first in range(0, MEMORIES, BATCH_SIZE):
            with agent.begin_transaction() as transaction:
                for number in range(first, first + BATCH_SIZE):
                    transaction.remember(
                        WORDS,
                        kind="claim" if number % 2 else "event",
                        tags=["tenth"] if number % 10 == 0 else [],
                        metadata={"n": number % 7, "ticket": number // 10},
                    )


def listed(path: Path, seconds: float, filtered: str) -> tuple[float, float]:
    """Return memories looked at a second, and rows of the bare queries for all of them."""
    queries = load_queries()
    database = bare_connection(path)
    bounds: dict[str, object] = {
        "namespace": "default", "children": "default/", "end": "default0", "with_inboxes": 0,
        "after_namespace": "", "after": 0, "at": NEWEST, "now": 0, "viewer": "a",
        "agent_id": None, "kind": None, "tier": None, "limit": MEMORIES,
        "created_after": None, "created_before": None,
    }  # fmt: skip

    def bare() -> int:
        rows = database.execute(queries["memory_page"], bounds).fetchall()
        states = msgspec.json.encode([row[0] for row in rows]).decode()
        target = {"items": states, "at": NEWEST, "viewer": "a", "content": 0}
        return len(database.execute(queries["memory_states"], target).fetchall())

    with memoranda.open(path, create=False) as store:
        agent = store.bind(agent_id="a")

        def ours() -> int:
            rows = sum(1 for _ in _list(agent, filtered))
            assert rows in (MEMORIES, MEMORIES // 2, MEMORIES // 10, 10)
            return MEMORIES

        figures = alternate(ours, bare, seconds)
    database.close()
    return figures


def _list(agent: Store, filtered: str) -> Iterator[Memory]:
    if filtered == "kind":
        return agent.list_memories(kind="claim")
    if filtered == "metadata":
        return agent.list_memories(metadata={"ticket": 7})
    return agent.list_memories(tags=["tenth"]) if filtered == "tags" else agent.list_memories()
