"""Reads of an asynchronous store touch its storage in threads, never on the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import ALL_AGENTS, AsyncStore
from memoranda.storage.sqlite.engine import SqliteEngine

ENTRIES = ("reading", "snapshot", "write", "query", "footprint")
"""Methods of the engine by which storage is read or written."""

READS: dict[str, Callable[[AsyncStore, str], Any]] = {
    "get_state": lambda store, _: store.get_state(key="k", at=1),
    "list_keys": lambda store, _: store.list_keys(),
    "scan_prefix": lambda store, _: store.scan_prefix(prefix="", at=1),
    "history": lambda store, _: store.history(key="k", since=1),
    "diff": lambda store, _: store.diff(old=0),
    "replay": lambda store, _: store.replay(after_commit=1),
    "timeline_buckets": lambda store, _: store.timeline_buckets(),
    "cursors": lambda store, _: store.cursors(),
    "get_memory": lambda store, memory: store.get_memory(memory),
    "by title": lambda store, _: store.get_memory(title="t"),
    "memory_history": lambda store, memory: store.memory_history(memory, since=1),
    "list_memories": lambda store, _: store.list_memories(at=2, content=True),
    "links": lambda store, memory: store.links(memory, at=2),
    "dependents": lambda store, memory: store.dependents(memory),
    "invalidations": lambda store, _: store.invalidations(at=2),
    "facts": lambda store, _: store.facts(known_at=2),
    "iter_facts": lambda store, _: store.iter_facts(agent_id=ALL_AGENTS),
    "timeline": lambda store, _: store.timeline(subject="Ann", relation="lives in"),
    "entity": lambda store, _: store.entity("Ann", known_at=3),
    "entities": lambda store, _: store.entities(known_at=3),
    "neighbors": lambda store, _: store.neighbors("Ann"),
    "list_transcripts": lambda store, _: store.list_transcripts(at=2),
    "transcripts_for": lambda store, memory: store.transcripts_for(memory),
    "replay_transcripts": lambda store, memory: store.replay_transcripts(memory),
    "origins": lambda store, memory: store.origins(memory),
    "recall": lambda store, _: store.recall("where does Ann live?", known_at=3),
    "recall_context": lambda store, _: store.recall_context("Ann"),
    "why": lambda store, _: store.why("k"),
    "stale_keys": lambda store, _: store.stale_keys(at=3),
    "audit_events": lambda store, _: store.audit_events(),
    "erasures": lambda store, _: store.erasures(),
    "agents": lambda store, _: store.agents(),
    "namespaces": lambda store, _: store.namespaces(),
    "find_ids": lambda store, _: store.find_ids(""),
    "stats": lambda store, _: store.stats(),
    "sql": lambda store, _: store.sql("SELECT key FROM state"),
    "verify": lambda store, _: store.verify(deep=True),
}


@pytest.mark.parametrize("read", READS)
def test_nothing_reads_on_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    with memoranda.open(tmp_path / "s.db", embedder=None) as filled:
        agent = filled.bind(agent_id="a")
        words = agent.store_transcript("Ann: I live in Bonn.")
        memory = agent.remember("Ann lives in Bonn", title="t", transcript=words)
        agent.assert_fact(subject="Ann", relation="lives in", object="Bonn", source=memory)
        agent.write(key="k", value={"n": 1}, because=memory)
    threads: list[int] = []

    async def work() -> Any:
        async with await memoranda.open_async(tmp_path / "s.db", embedder=None) as opened:
            with monkeypatch.context() as patch:
                for name in ENTRIES:
                    patch.setattr(SqliteEngine, name, noting(getattr(SqliteEngine, name), threads))
                answer = READS[read](opened.bind(agent_id="a"), memory.id)
                if isinstance(answer, AsyncIterator):
                    return [item async for item in answer]
                return await answer

    asyncio.run(work())
    assert threads, "it was read somewhere"
    assert threading.get_ident() not in threads


def noting(method: Callable[..., Any], threads: list[int]) -> Callable[..., Any]:
    def noted(*args: Any, **kwargs: Any) -> Any:
        threads.append(threading.get_ident())
        return method(*args, **kwargs)

    return noted
