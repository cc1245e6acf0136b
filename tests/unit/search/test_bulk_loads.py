"""A bulk load is indexed while it loads, so that the first search finds a short queue."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda import AsyncStore, Store
from memoranda.search import background_worker
from memoranda.search.background_worker import LARGE_COMMIT
from memoranda.search.index import background_indexer, indexer
from tests.cores import core_of
from tests.patience import HANG_SECONDS
from tests.unit.search.stores import eventually

COMMITS, SIZE = 12, LARGE_COMMIT
BURST, SHORT = 2 * SIZE, 300
"""After the load the queue is short, or no longer than a burst if the indexer had caught up."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture(autouse=True)
def wait_for_the_indexer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a caller wait for as long as it takes, so that no machine is too slow."""
    monkeypatch.setattr(background_worker, "BURST_DOCUMENTS", BURST)
    monkeypatch.setattr(background_worker, "SHORT_BACKLOG", SHORT)
    monkeypatch.setattr(background_worker, "_SECONDS_PER_DOCUMENT", HANG_SECONDS)
    monkeypatch.setattr(background_indexer, "WRITE_WAIT_SECONDS", HANG_SECONDS)


def queued(store: Store | AsyncStore) -> int:
    with core_of(store).engine.reading() as reader:
        return indexer.backlog_documents(reader)


def facts() -> list[dict[str, str]]:
    return [
        {"subject": f"s{number}", "relation": "knows", "object": f"o{number}"}
        for number in range(COMMITS * SIZE)
    ]


@pytest.mark.slow
def test_large_transactions_wait_for_the_indexer(path: Path) -> None:
    with memoranda.open(path, durability="relaxed", embedder=None) as store:
        agent = store.bind(agent_id="a")
        for number in range(COMMITS):
            with agent.begin_transaction() as transaction:
                for position in range(SIZE):
                    transaction.remember(f"note{number}x{position} about bees")
        assert queued(store) <= BURST
        assert len(agent.recall("note7x3")) == 1
        eventually(lambda: core_of(store).background_indexer.estimate_backlog() == 0)


@pytest.mark.slow
def test_asserting_many_facts_waits_for_the_indexer(path: Path) -> None:
    with memoranda.open(path, durability="relaxed", embedder=None) as store:
        store.bind(agent_id="a").assert_facts(facts(), batch=SIZE)
        assert queued(store) <= BURST


@pytest.mark.slow
def test_asynchronous_calls_wait_for_the_indexer(path: Path) -> None:
    async def load() -> int:
        async with await memoranda.open_async(path, durability="relaxed", embedder=None) as store:
            await store.bind(agent_id="a").assert_facts(facts(), batch=SIZE)
            return queued(store)

    assert asyncio.run(load()) <= BURST


def test_keys_and_small_commits_do_not_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with memoranda.open(path, durability="relaxed", embedder=None) as store:
        agent, background = store.bind(agent_id="a"), core_of(store).background_indexer
        monkeypatch.setattr(background, "estimate_backlog", lambda: 10**9)
        monkeypatch.setattr(background._bulk_pauses, "_backlog", lambda: 10**9)
        monkeypatch.setattr(background._bulk_pauses, "_is_indexing", lambda: True)
        with agent.begin_transaction() as transaction:
            for number in range(2 * SIZE):
                transaction.write(key=f"k{number}", value={"n": number})
        agent.remember("one note")


def test_a_burst_of_large_commits_goes_before_the_indexer(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_worker.BackgroundWorker, "wake", lambda _: None)
    with memoranda.open(path, durability="relaxed", embedder=None) as store:
        agent, background = store.bind(agent_id="a"), core_of(store).background_indexer
        agent.assert_facts(facts()[:SIZE], batch=SIZE)
        assert background._commits == 1, "the indexer pauses for it as for a small one"
        background._bulk_pauses.is_behind = True
        agent.assert_facts(facts()[SIZE : 2 * SIZE], batch=SIZE)
        assert background._commits == 1, "its caller waits for the indexer instead"


def test_what_an_earlier_process_left_counts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memoranda.search.index.background_indexer.WAKE_THRESHOLD", 10**9)
        with memoranda.open(path, durability="relaxed", embedder=None) as store:
            store.bind(agent_id="a").assert_facts(facts()[: 3 * SIZE], batch=SIZE)
            assert core_of(store).background_indexer.estimate_backlog() == queued(store) == 3 * SIZE
    monkeypatch.setattr(background_worker.BackgroundWorker, "wake", lambda _: None)
    with memoranda.open(path, embedder=None) as store:
        assert core_of(store).background_indexer.estimate_backlog() == 3 * SIZE
        store.bind(agent_id="a").remember("one note")
        assert core_of(store).background_indexer.estimate_backlog() == 3 * SIZE + 1
        store.reindex()
        assert core_of(store).background_indexer.estimate_backlog() == 0


class Asked(dict[int, int]):
    """Large commits whose oldest is asked for by its caller while the leader looks for it."""

    def __iter__(self) -> Iterator[int]:
        commits = [*self.keys()]
        self.pop(min(commits))
        return iter(commits)


def test_a_caller_may_ask_while_the_leader_forgets(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoranda.search.index.view._MAX_LARGE_COMMITS", 1)
    with memoranda.open(path, durability="relaxed", embedder=None) as store:
        view = core_of(store).background_indexer._view
        view.large_commits = Asked({0: SIZE})
        store.bind(agent_id="a").assert_facts(facts()[:SIZE], batch=SIZE)
        assert store.stats().facts == SIZE
