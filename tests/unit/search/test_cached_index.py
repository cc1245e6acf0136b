"""What a search caches of the index is that of its snapshot, whoever has changed the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda import ALL_NAMESPACES, Store
from memoranda.testing import FixedClock

QUERIES = ("bees", "Bienen", "what does Ann like?", "honey for the bees of Ann")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def open_store(path: Path) -> Callable[[], Store]:
    """Return what opens the store; time stands still, so that equal reads have equal scores."""

    def opened() -> Store:
        return memoranda.open(path, durability="relaxed", embedder=None, clock=FixedClock())

    return opened


@pytest.fixture
def writer(open_store: Callable[[], Store]) -> Iterator[Store]:
    with open_store() as store:
        agent = store.bind(agent_id="a1", namespace="team")
        with agent.begin_transaction() as transaction:
            for number in range(40):
                transaction.remember(f"note {number} on bees and honey")
        agent.reindex()
        yield agent


def answers(store: Store) -> list[object]:
    """Return what is found, with all its parts."""
    agent = store.bind(agent_id="a1", namespace="team")
    return [
        agent.recall(query, namespace=namespace)
        for query in QUERIES
        for namespace in ("team", "team/below", ALL_NAMESPACES)
    ]


def remember(agent: Store) -> None:
    agent.remember("bees sleep")


def remember_below(agent: Store) -> None:
    agent.remember("bees below", namespace="team/below")


def remember_privately(agent: Store) -> None:
    agent.remember("bees of my own", visibility="private")


def index(agent: Store) -> None:
    agent.remember("bees wake up")
    agent.reindex()


def forget(agent: Store) -> None:
    agent.forget(memory_id=agent.recall("bees", kinds=["memory"])[0].id)


def supersede(agent: Store) -> None:
    old, new = agent.recall("bees", kinds=["memory"])[:2]
    agent.supersede(old=old.id, new=new.id)


def reflect(agent: Store) -> None:
    agent.reflect("bees like honey", on=agent.recall("honey", kinds=["memory"])[:2])


def assert_fact(agent: Store) -> None:
    agent.assert_fact(subject="Ann", relation="likes", object="bees")


def share_facts(agent: Store) -> None:
    agent.assert_fact(subject="Ann", relation="likes", object="wax", agent_id="b1")
    agent.configure(facts="shared")


def cite(agent: Store) -> None:
    text = agent.store_transcript("Ann: I like honey\nBen: and the bees")
    agent.remember("Ann likes honey", transcript=text.id, spans=[text.find("I like honey")])


def change_language(agent: Store) -> None:
    agent.remember("Die Biene ist im Garten")
    agent.reindex(language="german", namespace="team")


def rename_language(agent: Store) -> None:
    agent.reindex(language="german", text=False)


CHANGES = (
    remember,
    remember_below,
    remember_privately,
    index,
    forget,
    supersede,
    reflect,
    assert_fact,
    share_facts,
    cite,
    change_language,
    rename_language,
)


@pytest.mark.slow
def test_a_warm_reader_finds_what_a_new_one_finds(
    writer: Store, open_store: Callable[[], Store]
) -> None:
    with open_store() as warm:
        before = answers(warm)
        for change in CHANGES:
            change(writer)
            after = answers(warm)
            with open_store() as fresh:
                assert after == answers(fresh), change.__name__
            assert answers(warm) == after, "the second time, from what is cached"
        assert answers(warm) != before
