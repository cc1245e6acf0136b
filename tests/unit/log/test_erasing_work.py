"""What forgetting costs: it grows with what is forgotten, and not with the log around it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest

import memoranda
from memoranda import FactRef, KeyRef, Signer, Store
from memoranda.log.erasure.log_search import LogSearch
from memoranda.model.ids import is_derived_id
from memoranda.search.index import background_indexer
from memoranda.storage.sqlite.engine import SqliteEngine
from tests.bulk import write_events
from tests.cores import core_of
from tests.quick import only
from tests.work import Work, counted, grows_with

FEW, MANY = 300, 3_000
"""Events of other agents in the log."""
OWN = 10
"""Memories of the agent that is forgotten."""
KEY_NEEDLE = msgspec.msgpack.encode(KeyRef("ground", 1, "ann", "team"))
"""A reference to a key in the encoded operations of an event."""


@pytest.fixture(autouse=True)
def _no_indexing() -> Iterator[None]:
    """Indexing is not what is counted."""
    with mock.patch.object(background_indexer, "WAKE_THRESHOLD", sys.maxsize):
        yield


def remember(store: Store, count: int) -> None:
    """Let an agent remember something and learn a fact from it, again and again."""
    for number in range(count):
        memory = store.remember(f"memory {number}", title=f"title {number}")
        store.assert_fact(subject=f"s{number}", relation="is", object="o", source=memory.id)


def work_of(path: Path, events: int, forget: Callable[[Store], object], own: int = OWN) -> Work:
    """Count the work of forgetting, with some events of others in the log."""
    write_events(path, events, agents=7)
    with memoranda.open(path, durability="relaxed") as opened:
        store = opened.bind(agent_id="ann")
        remember(store, own)
        with counted(opened) as work:
            forget(store)
        opened.verify(deep=True)
    return work


def forget_ann(store: Store) -> None:
    store.forget(whole_agent="ann", purge=False)


@pytest.mark.slow
def test_forgetting_an_agent_grows_with_its_events_alone(tmp_path: Path) -> None:
    few = work_of(tmp_path / "few.db", FEW, forget_ann)
    many = work_of(tmp_path / "many.db", MANY, forget_ann)
    assert many.decoded == few.decoded
    assert many.steps < few.steps * 1.1
    more = work_of(tmp_path / "more.db", FEW, forget_ann, OWN * 5)
    assert more.steps > few.steps * 3
    assert grows_with(few.steps, more.steps, 5)


def cited_store(path: Path, events: int) -> Store:
    """Return a store in which another agent's old values cite what an agent wrote."""
    write_events(path, events, agents=7)
    opened = memoranda.open(path, durability="relaxed")
    ann = opened.bind(agent_id="ann", namespace="team")
    remember(ann, OWN)
    ann.write(key="ground", value={"n": 1})
    fact = ann.assert_fact(subject="ground", relation="is", object="soft", txn_id="stated")
    assert fact.assertion_id is not None
    assert is_derived_id(fact.assertion_id)
    transcript = ann.store_transcript("ground was said", txn_id="told")
    memory = ann.remember("of the ground", title="cites", txn_id="cites")
    ann.link_transcript(memory_id=memory.id, transcript_id=transcript.id)
    other = opened.bind(agent_id="a1")
    key = KeyRef("ground", agent_id="ann", namespace="team")
    for number in range(3):  # values that cite it, all of which are replaced since
        other.write(key="rests", value={}, because=[key, FactRef(fact.assertion_id)])
        other.write(key="rests", value={"n": number})
    return opened


def forget_fact(store: Store) -> None:
    (fact,) = store.facts(subject="ground")
    store.forget(fact=fact.assertions[0], purge=False)


def forget_transcript(store: Store) -> None:
    (transcript,) = store.list_transcripts()
    store.forget(transcript_id=transcript.id, derived=True, purge=False)


FORGETTING: dict[str, tuple[Callable[[Store], object], bytes]] = {
    "agent": (forget_ann, b"ann"),
    "namespace": (lambda store: store.forget(whole_namespace="team", purge=False), b"team"),
    "namespaces": (
        lambda store: store.forget(whole_namespace="team", children=True, purge=False),
        b"team",
    ),
    "key": (lambda store: store.forget(key="ground", purge=False), KEY_NEEDLE),
    "fact": (forget_fact, b"soft"),
    "transcript": (forget_transcript, b"of the ground"),
}
"""How each is forgotten, and bytes that the log has no more then."""


@pytest.mark.parametrize("target", only(["agent", "memory"], FORGETTING))
def test_references_are_found_by_an_index(tmp_path: Path, target: str) -> None:
    forget, needle = FORGETTING[target]
    results = []
    for events in (FEW, MANY):
        with cited_store(tmp_path / f"{events}.db", events) as opened:
            with counted(opened) as work:
                forget(opened.bind(agent_id="ann", namespace="team"))
            opened.verify(deep=True)
            with core_of(opened).engine.snapshot() as reader:
                assert reader.rows("events_with", needle=needle, after=0, through=2**62) == []
        results.append(work)
    few, many = results
    assert many.decoded == few.decoded
    assert many.steps < few.steps * 1.1


def steps_of_forgetting(path: Path, agent_id: str) -> tuple[int, int]:
    """Return the steps that forgetting an agent took in all, and at most under the write lock."""
    under_lock: list[int] = []
    with memoranda.open(path) as opened, counted(opened) as work:
        write = SqliteEngine.write

        def counted_write(self: SqliteEngine, *arguments: Any, **options: Any) -> Any:
            before = work.steps
            result = write(self, *arguments, **options)
            under_lock.append(work.steps - before)
            return result

        with mock.patch.object(SqliteEngine, "write", counted_write):
            opened.forget(whole_agent=agent_id, purge=False)
    return work.steps, max(under_lock)


def test_the_log_is_searched_before_the_lock(tmp_path: Path) -> None:
    """Only for the name of handles without an agent, whose commits are in no index."""
    results = []
    for events in (FEW, MANY):
        path = tmp_path / f"{events}.db"
        write_events(path, events, agents=7)
        with memoranda.open(path) as opened:
            opened.write(agent_id="bob", key="k", value={})
        results.append(steps_of_forgetting(path, "local"))
    (few, few_under_lock), (many, many_under_lock) = results
    assert many > few + (MANY - FEW)
    assert many_under_lock < few_under_lock * 1.1


def test_what_is_committed_after_the_search_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    with memoranda.open(path) as opened, memoranda.open(path) as other:
        opened.write(agent_id="ann", key="k", value={})
        close = LogSearch.close

        def write_and_close(self: LogSearch) -> None:
            close(self)
            other.write(agent_id="bob", key="late", value={})

        monkeypatch.setattr(LogSearch, "close", write_and_close)
        opened.forget(whole_agent="local")
        monkeypatch.undo()
        (event,) = opened.replay(agent_id="bob")
        assert event.actor != "local"
        opened.verify(deep=True)


def test_nothing_of_a_batch_that_may_be_rolled_back_is_remembered(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "store.db") as opened:
        opened.write(agent_id="ann", key="k", value={})
        search = LogSearch(is_open=True)
        with core_of(opened).engine.snapshot() as reader:
            before = search.commits_with(reader, b"ann")
            search.close()
        opened.write(agent_id="ann", key="k", value={})
        with core_of(opened).engine.snapshot() as reader:
            for _ in range(2):
                assert search.commits_with(reader, b"ann") == [*before, before[-1] + 1]
                assert search._results[b"ann"][1] == before


def test_the_name_of_handles_without_an_agent(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "store.db") as opened:
        opened.write(agent_id="bob", key="k", value={})  # the actor is local
        opened.write(agent_id="local", key="k", value={})
        opened.forget(whole_agent="local")
        assert {event.actor for event in opened.replay(agent_id="bob")}.isdisjoint({"local"})
        opened.verify(deep=True)


def test_every_place_of_an_agents_name_is_found_by_the_index(tmp_path: Path) -> None:
    """What others did to it and with it, where it acted in others' scopes, and its keys."""
    name, path = "quixotical", tmp_path / "store.db"
    with memoranda.open(path) as opened:
        agent, bob = opened.bind(agent_id=name), opened.bind(agent_id="bob")
        bob.trust_key(Signer("a.key", b"a" * 32), agent_id=name)
        old = bob.remember("old", kind="reflection")
        resting = bob.reflect("resting", on=[old.id])
        agent.supersede(old=old.id, new=agent.remember("new", kind="reflection").id)
        for notice in bob.invalidations():
            agent.resolve_invalidation(notice.id, decision="keep")
        with pytest.raises(memoranda.LinkCycle):
            agent.link(source=old.id, target=resting.id, relation="reflects_on")
        agent.forget(memory_id=resting.id)
        agent.configure(max_reflection_depth=4)
        with bob.begin_transaction() as transaction:
            transaction.remember("of another", agent_id=name)
        assert core_of(opened).engine.path == path
        agent.write(key="ground", value={})
        for value in ({}, {"n": 1}):  # the first value of the two is replaced
            bob.write(key="rests", value=value, because=[KeyRef("ground", agent_id=name)])
        opened.forget(whole_agent=name)
        opened.verify(deep=True)
        for file in path.parent.glob("store.db*"):
            assert name.encode() not in file.read_bytes()
