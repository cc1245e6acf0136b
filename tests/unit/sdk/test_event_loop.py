"""An asynchronous store touches its storage in threads, never on the event loop."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import ALL_AGENTS, AsyncStore, AsyncTransaction, TranscriptRef
from memoranda.storage.sqlite.engine import SqliteEngine

ENTRIES = ("reading", "snapshot", "lend", "write", "query", "footprint", "purge")
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
    "explain_recall": lambda store, _: store.explain_recall("where does Ann live?"),
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


WORDS: str = ""
OTHER: str = ""
"""The ids of a transcript and of a second memory; a test sets them."""


async def in_transaction(store: AsyncStore, stage: Callable[[AsyncTransaction], Any]) -> int:
    transaction = store.begin_transaction(txn_id="t")
    result = stage(transaction)
    if inspect.isawaitable(result):
        await result
    return await transaction.commit()


async def subscribed(store: AsyncStore) -> list[int]:
    options: dict[str, Any] = {"after_commit": 0, "cursor": "c", "timeout": 0}
    async with store.subscribe(**options) as subscription:
        events = [event async for event in subscription]
        await subscription.ack(events[-1])
    return [event.commit_ts for event in events]


WRITES: dict[str, Callable[[AsyncStore, str], Any]] = {
    "write": lambda store, _: store.write(key="k", value={}),
    "write once": lambda store, _: store.write(key="k", value={}, txn_id="t"),
    "write because of words": lambda store, _: store.write(
        key="k", value={}, because=TranscriptRef(WORDS, ((0, 3),))
    ),
    "delete": lambda store, _: store.delete(key="k"),
    "remember": lambda store, _: store.remember("more"),
    "remember by title": lambda store, _: store.remember("more", title="t"),
    "remember words": lambda store, _: store.remember("more", transcript=WORDS, spans=[(0, 3)]),
    "reflect": lambda store, memory: store.reflect("thought", on=[memory]),
    "update_memory": lambda store, memory: store.update_memory(memory, content="other"),
    "retract_memory": lambda store, memory: store.retract_memory(memory),
    "touch": lambda store, memory: store.touch(memory),
    "promote": lambda store, memory: store.promote(memory),
    "configure": lambda store, _: store.configure(max_reflection_depth=2),
    "share facts": lambda store, _: store.configure(facts="shared"),
    "link": lambda store, memory: store.link(source=memory, target=OTHER, relation="related_to"),
    "supersede": lambda store, memory: store.supersede(old=memory, new=OTHER),
    "store_transcript": lambda store, _: store.store_transcript("words"),
    "link_transcript": lambda store, _: store.link_transcript(
        memory_id=OTHER, transcript_id=WORDS, spans=[(0, 3)]
    ),
    "assert_fact": lambda store, memory: store.assert_fact(
        subject="a", relation="r", object="b", source=memory, valid_to="2030"
    ),
    "assert_facts": lambda store, _: store.assert_facts(
        [{"subject": "a", "relation": "r", "object": "b"}]
    ),
    "end_fact": lambda store, _: store.end_fact(subject="Ann", relation="lives in"),
    "retract_fact": lambda store, _: store.retract_fact(subject="Ann", relation="lives in"),
    "set_cardinality": lambda store, _: store.set_cardinality(relation="r", cardinality="single"),
    "alias": lambda store, _: store.alias(entity="Ann", alias="Anna"),
    "merge_entities": lambda store, _: store.merge_entities(source="Ann", into="Bonn"),
    "forget": lambda store, memory: store.forget(memory_id=memory),
    "forget, previewed": lambda store, memory: store.forget(memory_id=memory, dry_run=True),
    "sweep": lambda store, _: store.sweep(),
    "compact": lambda store, _: store.compact(before=1),
    "import_chat": lambda store, _: store.import_chat("Ann: hello", extractor="rules"),
    "subscribe": lambda store, _: subscribed(store),
    "a staged write": lambda store, _: in_transaction(
        store, lambda transaction: transaction.write(key="k", value={})
    ),
    "a staged title": lambda store, _: in_transaction(
        store, lambda transaction: transaction.remember("more", title="t")
    ),
    "a staged quotation": lambda store, _: in_transaction(
        store,
        lambda transaction: transaction.remember("more", transcript=WORDS, spans=[(0, 3)]),
    ),
    "a staged fact": lambda store, memory: in_transaction(
        store,
        lambda transaction: transaction.assert_fact(
            subject="a", relation="r", object="b", source=memory, valid_to="2030"
        ),
    ),
    "a read in a transaction": lambda store, _: in_transaction(
        store, lambda transaction: transaction.get_state(key="k")
    ),
}


@pytest.mark.parametrize("call", [*READS, *WRITES])
def test_nothing_touches_storage_on_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    with memoranda.open(tmp_path / "s.db", embedder=None) as filled:
        agent = filled.bind(agent_id="a")
        words = agent.store_transcript("Ann: I live in Bonn.")
        memory = agent.remember("Ann lives in Bonn", title="t", transcript=words)
        other = agent.remember("Ann lives in Oslo")
        agent.assert_fact(subject="Ann", relation="lives in", object="Bonn", source=memory)
        agent.write(key="k", value={"n": 1}, because=memory)
    monkeypatch.setattr(sys.modules[__name__], "WORDS", words.id)
    monkeypatch.setattr(sys.modules[__name__], "OTHER", other.id)
    threads: list[int] = []

    async def work() -> Any:
        async with await memoranda.open_async(tmp_path / "s.db", embedder=None) as opened:
            with monkeypatch.context() as patch:
                for name in ENTRIES:
                    patch.setattr(SqliteEngine, name, noting(getattr(SqliteEngine, name), threads))
                answer = {**READS, **WRITES}[call](opened.bind(agent_id="a"), memory.id)
                if isinstance(answer, AsyncIterator):
                    return [item async for item in answer]
                return await answer

    asyncio.run(work())
    assert threads, "it was read or written somewhere"
    assert threading.get_ident() not in threads


def test_binding_a_signer_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signer = memoranda.create_signer(tmp_path / "a.key", name="a.example")
    threads: list[int] = []

    async def work() -> None:
        async with await memoranda.open_async(tmp_path / "s.db", embedder=None) as opened:
            for name in ENTRIES:
                monkeypatch.setattr(
                    SqliteEngine, name, noting(getattr(SqliteEngine, name), threads)
                )
            opened.bind(agent_id="a", signer=signer)
            assert not threads

    asyncio.run(work())


def noting(method: Callable[..., Any], threads: list[int]) -> Callable[..., Any]:
    def noted(*args: Any, **kwargs: Any) -> Any:
        threads.append(threading.get_ident())
        return method(*args, **kwargs)

    return noted
