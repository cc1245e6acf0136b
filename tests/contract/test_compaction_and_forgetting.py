"""Compaction and forgetting, one after the other, in either order."""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import Compacted, InvalidInput, Store
from tests.cores import core_of

WORDS = "secret-words"


def grow(store: Store, key: str = "k", times: int = 3) -> None:
    for number in range(times):
        store.write(key=key, value={"n": number})


def checked(store: Store) -> None:
    store.verify()
    assert store.rebuild().identical
    store.verify()


class TestForgettingWhatWasSummedUp:
    def test_a_memory(self, agent: Store) -> None:
        memory = agent.remember(f"{WORDS} one", title=f"{WORDS} title")
        for number in range(3):
            agent.update_memory(memory.id, content=f"{WORDS} {number}", title=f"{WORDS} {number}")
            agent.touch(memory.id)
        other = agent.reflect("rests on it", on=[memory.id])
        agent.compact(before=agent.stats().commits, confirm=True)
        assert holds(agent, WORDS)
        agent.forget(memory_id=memory.id)
        assert agent.get_memory(memory.id) is None
        assert agent.get_memory(title=f"{WORDS} 2") is None
        assert agent.get_memory(other.id) is not None
        checked(agent)
        assert not holds(agent, WORDS)

    def test_a_key(self, agent: Store) -> None:
        agent.write(key=f"{WORDS}-key", value={"w": WORDS})
        agent.write(key=f"{WORDS}-key", value={"w": WORDS, "more": 1})
        grow(agent)
        agent.compact(before=agent.stats().commits, confirm=True)
        agent.forget(key=f"{WORDS}-key")
        assert list(agent.list_keys()) == ["k"]
        checked(agent)
        assert not holds(agent, WORDS)

    def test_facts_from_a_memory(self, agent: Store) -> None:
        memory = agent.remember("heard it")
        agent.assert_fact(subject=WORDS, relation="likes", object="tea", source=memory.ref)
        agent.retract_fact(subject=WORDS, relation="likes", object="tea")
        agent.assert_fact(subject="bob", relation="likes", object=WORDS, source=memory.ref)
        grow(agent)
        agent.compact(before=agent.stats().commits, confirm=True)
        assert [entity.name for entity in agent.entities()] == [WORDS, "tea", "bob"]
        agent.forget(facts_from=memory.id)
        assert agent.facts() == []
        checked(agent)
        assert not holds(agent, WORDS)

    def test_an_agent(self, agent: Store) -> None:
        other = agent.bind(agent_id=f"{WORDS}-agent")
        grow(other)
        grow(agent)
        memory = other.remember("x", title=WORDS)
        other.update_memory(memory.id, content="y")
        other.touch(memory.id)
        other.touch(memory.id)
        agent.compact(before=agent.stats().commits, confirm=True)
        agent.forget(whole_agent=f"{WORDS}-agent")
        checked(agent)
        assert agent.get_state(key="k") is not None
        assert not holds(agent, WORDS)

    def test_a_namespace(self, agent: Store) -> None:
        other = agent.bind(namespace=f"{WORDS}/space")
        grow(other)
        grow(agent)
        agent.compact(namespace=f"{WORDS}/space", before=3, confirm=True)
        agent.compact(before=6, confirm=True)
        with pytest.raises(Compacted):
            other.get_state(key="k", at=1)
        agent.forget(whole_namespace=f"{WORDS}/space")
        assert other.get_state(key="k", at=1) is None
        with pytest.raises(Compacted):
            agent.get_state(key="k", at=5)
        checked(agent)
        assert not holds(agent, WORDS)


class TestSummingUpWhatWasForgotten:
    def test_what_is_left_of_a_memory_stays(self, agent: Store) -> None:
        memory = agent.remember("one", title="t")
        agent.update_memory(memory.id, content="two")
        agent.touch(memory.id)
        other = agent.reflect("rests on it", on=[memory.id])
        agent.forget(memory_id=memory.id)
        grow(agent)
        links = agent.links(other.id)
        agent.compact(before=agent.stats().commits, confirm=True)
        assert agent.links(other.id) == links
        assert agent.get_memory(memory.id) is None
        checked(agent)

    def test_twice_and_in_turns(self, agent: Store) -> None:
        memories = [agent.remember(f"m{number}", title=f"t{number}") for number in range(4)]
        for memory in memories:
            for _ in range(2):
                agent.touch(memory.id)
                agent.update_memory(memory.id, content="new", tags=["t"])
            grow(agent)
            agent.compact(before=agent.stats().commits, confirm=True)
            agent.forget(memory_id=memory.id)
            checked(agent)
        assert list(agent.list_memories()) == []


def holds(store: Store, words: str) -> bool:
    """Say whether words stand in anything that the log or the tables have."""
    result: list[Any] = []
    with core_of(store).engine.reading() as reader:
        for query in (
            "event_page_of_all",
            "state_rows",
            "memory_rows",
            "memory_state_rows",
            "memory_title_rows",
            "graph_node_rows",
            "graph_statement_rows",
            "event_scope_rows",
            "txn_rows",
            "horizon_rows",
        ):
            values = {"after": 0, "through": 10_000, "limit": 10_000} if "page" in query else {}
            result.extend(reader.rows(query, **values))
        for commit_ts, *_ in reader.rows("event_page_of_all", after=0, through=9999, limit=9999):
            result.extend(reader.rows("blobs_of_commit", commit_ts=commit_ts))
    return words.encode() in repr(result).encode()


def test_names_that_came_up_in_an_end_go_with_the_source(agent: Store) -> None:
    source = agent.remember("source words")
    fact = agent.assert_fact(
        subject="Zebrafish",
        relation="suffers from",
        object="Quokkaitis",
        valid_from="2020-01-01T00:00:00Z",
        valid_to="2021-01-01T00:00:00Z",
        source=source.id,
    )
    agent.retract_fact(assertion_id=fact.assertion_id)
    agent.compact(before=agent.stats().commits, confirm=True)
    assert len(list(agent.entities())) == 2
    agent.forget(memory_id=source.id)
    assert list(agent.entities()) == []
    agent.verify(deep=True)
    assert agent.rebuild().identical


def test_a_horizon_must_be_given(agent: Store) -> None:
    with pytest.raises(InvalidInput, match="before"):
        agent.compact(before=None, confirm=True)  # type: ignore[arg-type]
