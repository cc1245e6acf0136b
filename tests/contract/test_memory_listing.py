"""Listing memories: contents, what superseded them, and metadata found through an index."""

from __future__ import annotations

import random
from typing import Any

import pytest

from memoranda import ALL_NAMESPACES, Store
from memoranda.testing import FixedClock

VALUES = (1, 1.0, True, None, "1", "", [1], {"a": 1}, 2**53)


def titles(store: Store, **options: Any) -> list[str | None]:
    return [memory.title for memory in store.list_memories(**options)]


def test_contents_when_asked_and_who_superseded(agent: Store) -> None:
    old, new = agent.remember("old words"), agent.remember("new words")
    agent.supersede(old=old.id, new=new.id)
    listed = list(agent.list_memories(content=True))
    assert [(memory.content, memory.superseded_by) for memory in listed] == [
        ("old words", new.id),
        ("new words", None),
    ]
    assert [memory.content for memory in agent.list_memories()] == [None, None]


def test_a_superseder_that_is_private_to_another_agent(store: Store) -> None:
    ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
    old, new = bob.remember("old"), bob.remember("new", visibility="private")
    bob.supersede(old=old.id, new=new.id)
    assert [memory.superseded_by for memory in ann.list_memories()] == [None]
    assert [memory.superseded_by for memory in bob.list_memories()] == [new.id, None]


@pytest.mark.parametrize("value", VALUES)
def test_metadata_matches_equal_json_only(agent: Store, value: Any) -> None:
    for number, item in enumerate(VALUES):
        agent.remember("m", title=str(number), metadata={"k": item, "n": number})
    agent.remember("m", title="without")
    matches = [str(n) for n, item in enumerate(VALUES) if repr(item) == repr(value)]
    assert titles(agent, metadata={"k": value}) == matches
    assert titles(agent, metadata={"other": value}) == []
    assert titles(agent, metadata={"k": value, "n": -1}) == []
    assert titles(agent, metadata={"n": int(matches[0]), "k": value}) == matches


def test_metadata_of_the_version_at_that_commit(agent: Store) -> None:
    memory = agent.remember("m", title="t", metadata={"state": "open", "who": "ann"})
    before = agent.stats().commits
    agent.update_memory(memory.id, metadata={"state": "done"})
    assert titles(agent, metadata={"state": "open"}) == []
    assert titles(agent, metadata={"state": "done"}) == ["t"]
    assert titles(agent, metadata={"state": "open"}, at=before) == ["t"]
    agent.update_memory(memory.id, content="other words")
    assert titles(agent, metadata={"state": "done"}) == ["t"]


@pytest.mark.slow
def test_metadata_beside_the_other_filters(store: Store, clock: FixedClock) -> None:
    rand = random.Random(1)
    for number in range(600):  # more than a page
        store.remember(
            "m",
            title=str(number),
            agent_id=rand.choice(["ann", "bob"]),
            namespace=rand.choice(["default", "default/a", "other", "defaults"]),
            visibility=rand.choice(["namespace", "namespace", "private"]),
            kind=rand.choice(["claim", "event"]),
            tags=rand.sample(["x", "y"], rand.randint(0, 2)),
            metadata={"n": number % 3, "m": number % 2, "all": "same"},
            ttl=rand.choice([None, None, 60]),
        )
    clock.step(61)
    ann = store.bind(agent_id="ann")
    choices: tuple[dict[str, Any], ...] = (
        {},
        {"children": False},
        {"namespace": ALL_NAMESPACES},
        {"namespace": "other", "kind": "claim"},
        {"tags": ["x"], "agent_id": "bob"},
    )
    for options in choices:
        everything = list(ann.list_memories(**options))
        for wanted in ({"n": 1}, {"all": "same", "n": 2, "m": 1}):
            expected = [
                memory.id
                for memory in everything
                if memory.metadata is not None and wanted.items() <= memory.metadata.items()
            ]
            listed = [memory.id for memory in ann.list_memories(**options, metadata=wanted)]
            assert expected
            assert listed == expected


class TestErasure:
    def test_forgotten_metadata_leaves_no_trace(self, agent: Store) -> None:
        one = agent.remember("m", metadata={"secret": 1})
        agent.remember("m", title="two", metadata={"secret": 1})
        agent.forget(memory_id=one.id)
        assert titles(agent, metadata={"secret": 1}) == ["two"]
        assert agent.verify(deep=True).rows
        assert agent.rebuild().identical

    def test_a_whole_namespace_is_renamed(self, store: Store) -> None:
        store.remember("m", agent_id="ann", namespace="secret", metadata={"k": 1})
        store.remember("m", agent_id="ann", namespace="other", metadata={"k": 1})
        store.forget(whole_namespace="secret")
        assert store.verify(deep=True).rows
        rest = store.bind(agent_id="ann").list_memories(namespace=ALL_NAMESPACES, metadata={"k": 1})
        assert [memory.namespace for memory in rest] == ["other"]

    def test_compaction_drops_the_metadata_of_dropped_versions(self, agent: Store) -> None:
        memory = agent.remember("m", title="t", metadata={"n": 0, "same": 1})
        for number in range(1, 6):
            agent.update_memory(memory.id, metadata={"n": number, "same": 1})
        agent.compact(before=agent.stats().commits, confirm=True)
        assert titles(agent, metadata={"n": 5, "same": 1}) == ["t"]
        assert agent.verify(deep=True).rows
        assert agent.rebuild().identical
