"""Stores with a memory budget: what they cache is bounded, and what they answer is the same."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import memoranda
from memoranda import InvalidInput, MemoryBudget, Store
from memoranda.search.vectors import cache
from memoranda.search.vectors.nearest_neighbors import PartitionVectors
from tests.cores import core_of
from tests.embedders import Hashing
from tests.quick import often
from tests.unit.search.stores import nearest, sources

SPACES = ("default", "other", "other/deeper", "third")
DIMENSION = 64
WORDS = [f"word{number}" for number in range(30)]
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""A seed does not shrink."""


def fill(path: Path, *, seed: int = 0, count: int = 120) -> None:
    """Make a store with memories, facts and transcripts in several namespaces."""
    random = Random(seed)
    with memoranda.open(path, embedder=Hashing(dimension=DIMENSION)) as store:
        with store.bind(agent_id="a").begin_transaction() as tx:
            for number in range(count):
                text = " ".join(random.choices(WORDS, k=4))
                tx.remember(f"{number} {text}", namespace=random.choice(SPACES))
        for namespace in SPACES:
            lines = "\n".join(" ".join(random.choices(WORDS, k=9)) for _ in range(30))
            store.bind(agent_id="a", namespace=namespace).store_transcript(lines)
        store.reindex()


def answers(store: Store) -> list[Any]:
    """Return what recalls answer, in every namespace and in all of them."""
    agent = store.bind(agent_id="a")
    return [
        [(hit.id, hit.text, pytest.approx(hit.score, abs=1e-6)) for hit in hits]
        for query in ("word3 word7", "word11", "what about word20?")
        for namespace in (*SPACES, None)
        for hits in [agent.recall(query, namespace=namespace)]
    ]


def open_with(path: Path, budget: MemoryBudget | int | None) -> Store:
    model = Hashing(dimension=DIMENSION)
    return memoranda.open(path, embedder=model, memory_budget=budget)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("budget") / "store.db"
    fill(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, 1, 4_000, 20_000, 60_000])
def test_recall_answers_the_same_with_a_small_budget(filled: Path, limit: int) -> None:
    with open_with(filled, None) as store:
        reference = answers(store)
        assert 0 < store.stats().cache_bytes < store.stats().cache_limit == 512 * 1024**2
        assert store.stats().cache_evictions == 0
    with open_with(filled, limit) as store:
        assert answers(store) == reference
        assert answers(store) == reference
        stats = store.stats()
        assert stats.cache_limit == limit
        assert stats.cache_bytes <= limit


def test_a_partition_in_pieces_of_any_size(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_with(filled, None) as store:
        reference = [sources(nearest(store, "word5", most=most)) for most in (1, 7, 500)]
        past = sources(nearest(store, "word5", known=store.stats().commits))
    monkeypatch.setattr(cache, "_PAGE_VECTORS", 5)
    with open_with(filled, 0) as store:
        assert [sources(nearest(store, "word5", most=most)) for most in (1, 7, 500)] == reference
        assert sources(nearest(store, "word5", known=store.stats().commits)) == past


def test_two_stores_share_a_budget(tmp_path: Path) -> None:
    budget = MemoryBudget(60_000)
    with ExitStack() as stack:
        paths = [tmp_path / f"{number}.db" for number in range(2)]
        for number, path in enumerate(paths):
            fill(path, seed=number)
        first, second = (stack.enter_context(open_with(path, budget)) for path in paths)
        nearest(first, "word1", namespaces=None)
        used = budget.used
        assert 0 < used == second.stats().cache_bytes
        before = budget.evictions
        nearest(second, "word1", namespaces=None)
        assert budget.used <= budget.limit
        assert budget.evictions > before, "those of the first store make room"
        second.close()
        assert budget.used < budget.limit // 2
        first.close()
        assert budget.used == 0


@pytest.mark.slow
def test_the_look_ups_of_writers_count(tmp_path: Path) -> None:
    budget = MemoryBudget(100_000)
    paths = [tmp_path / f"{number}.db" for number in range(2)]
    with open_with(paths[0], budget) as first, open_with(paths[1], budget) as second:
        for turn in range(2):
            for store in (first, second):
                agent = store.bind(agent_id="a")
                with agent.begin_transaction() as tx:
                    for number in range(300):
                        tx.write(key=f"{number:200}", value={"n": number}, expect_version=turn)
                        tx.assert_fact(subject=f"s{number}", relation="is", object=f"o{number}")
                assert 0 < budget.used <= budget.limit
        assert budget.evictions > 0
        for store in (first, second):
            store.verify(deep=True)
    assert budget.used == 0


@pytest.mark.slow
@settings(max_examples=2, deadline=None, phases=PHASES)
@given(seed=st.integers(0, 2**32))
def test_what_is_used_stays_below_the_limit(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = Random(seed)
    budget = MemoryBudget(random.choice((5_000, 30_000, 100_000)))
    folder = tmp_path_factory.mktemp("stores")
    with ExitStack() as stack:
        stores = []
        for number in range(3):
            fill(folder / f"{number}.db", seed=number, count=random.randrange(10, 60))
            stores.append(stack.enter_context(open_with(folder / f"{number}.db", budget)))
        for turn in range(40):
            agent = random.choice(stores).bind(agent_id="a", namespace=random.choice(SPACES))
            if random.random() < 0.3:
                agent.write(key=f"key{turn}" * random.choice((1, 50)), value={})
                agent.remember(" ".join(random.choices(WORDS, k=4)))
            elif random.random() < 0.1:
                for memory in islice(agent.list_memories(), 1):  # the namespace may have none
                    agent.forget(memory_id=memory)
            else:
                agent.recall(random.choice(WORDS))
            assert budget.used <= budget.limit
    assert budget.used == 0


test_what_is_used_stays_below_the_limit_often = often(
    test_what_is_used_stays_below_the_limit, 50, seed=st.integers(0, 2**32)
)


def test_an_eviction_does_not_disturb_a_search(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_with(filled, None) as store:
        reference = sources(nearest(store, "word5", namespaces=None))
        best = PartitionVectors.best

        def best_after_eviction(self: PartitionVectors, *arguments: Any) -> Any:
            core_of(store).vectors._vector_cache.drop()
            return best(self, *arguments)

        monkeypatch.setattr(PartitionVectors, "best", best_after_eviction)
        for _ in range(2):
            assert sources(nearest(store, "word5", namespaces=None)) == reference


def test_what_is_erased_leaves_the_caches(tmp_path: Path) -> None:
    fill(tmp_path / "store.db")
    for limit in (0, None):
        with open_with(tmp_path / "store.db", limit) as store:
            agent = store.bind(agent_id="a")
            first = agent.recall("word3")[0].id
            agent.forget(memory_id=first)
            assert store.stats().cache_bytes == 0
            assert first not in [hit.id for hit in agent.recall("word3", k=50)]


@pytest.mark.parametrize("budget", [-1, 1.5, "1 GB", True], ids=repr)
def test_other_budgets_are_refused(tmp_path: Path, budget: Any) -> None:
    with pytest.raises(InvalidInput, match="memory_budget"):
        memoranda.open(tmp_path / "store.db", memory_budget=budget)
    assert not (tmp_path / "store.db").exists()
