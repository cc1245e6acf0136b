"""Random histories of other suites on stores in PostgreSQL, and beside the same in SQLite."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, product
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memoranda
from memoranda import ALL_AGENTS, ALL_NAMESPACES, Store
from memoranda.testing import FixedClock, FixedIds
from tests.leftovers import leftovers
from tests.postgres_server import new_store_url
from tests.property import (
    compaction_twins,
    test_compaction,
    test_forgetting,
    test_recall,
    test_stale_notices,
    test_why_model,
)
from tests.property.compaction_twins import AGENTS, SPACES, Twins
from tests.quick import some, some_of
from tests.searching import fill

pytestmark = pytest.mark.slow
FEW = settings(
    max_examples=some(12),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=test_compaction.PHASES,
)


def open_new(
    folder: str,
    clock: FixedClock | None = None,
    ids: FixedIds | None = None,
    embedder: Any = None,
) -> Store:
    """Open a new store in PostgreSQL as `memory_store` does one in memory."""
    return memoranda.open(
        new_store_url(Path(folder)),
        clock=clock or FixedClock(),
        ids=ids or FixedIds(),
        embedder=embedder,
        durability="relaxed",
    )


@contextmanager
def in_postgres(suite: ModuleType) -> Iterator[None]:
    """Let a suite's stores in memory be in PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="memoranda-") as folder:

        def memory_store(**options: Any) -> Store:
            return open_new(folder, **options)

        with patch.object(suite, "memory_store", memory_store):
            yield


def body(test: Any) -> Any:
    """Return a property without what draws its examples."""
    return test.hypothesis.inner_test


# The suites as they are.


@FEW
@given(test_recall.ACTIONS)
def test_recall_finds_what_is_there_and_nothing_else(actions: list[test_recall.Action]) -> None:
    with in_postgres(test_recall):
        body(test_recall.test_no_scope_appears_in_another_and_the_past_stays)(actions)


@FEW
@given(st.lists(test_why_model.steps, min_size=5, max_size=15))
def test_staleness_is_what_a_plain_model_says(taken: list[tuple[str, list[int]]]) -> None:
    with in_postgres(test_why_model):
        body(test_why_model.test_staleness_is_what_a_plain_model_says)(taken)


@pytest.mark.parametrize("seed", some_of(range(4)))
def test_notices_are_what_why_calls_stale(seed: int) -> None:
    with in_postgres(test_stale_notices):
        test_stale_notices.test_notices_are_what_why_calls_stale(seed)


@pytest.mark.parametrize("seed", some_of(range(4)))
def test_indexes_find_all_that_has_to_be_erased(seed: int) -> None:
    with in_postgres(test_forgetting):
        test_forgetting.test_indexes_find_all_that_a_scan_of_the_log_does(seed)


@pytest.mark.parametrize("seed", some_of(range(4)))
def test_a_compacted_store_answers_as_it_would_have(seed: int) -> None:
    with in_postgres(compaction_twins):
        test_compaction.check(seed, deeds=15)


@pytest.mark.parametrize("seed", some_of(range(4)))
def test_what_is_forgotten_is_in_no_row(tmp_path: Path, seed: int) -> None:
    numbers = count()
    with memoranda.open(new_store_url(tmp_path), durability="relaxed", embedder=None) as store:

        def copy_of_all_rows() -> Path:
            path = tmp_path / f"{next(numbers)}.db"
            store.backup(path)
            return path

        history = test_forgetting.forget_at_random(store, seed, copy_of_all_rows, steps=15)
        assert history.gone
        words = {word.encode() for word in history.gone}
        (index,) = (tmp_path / "index").glob("*.db")
        assert leftovers(index, words) == set()


# Both engines beside each other.


class EngineTwins(Twins):
    """What is done to a store in memory is done to one in PostgreSQL."""

    def __init__(self, seed: int, url: str) -> None:
        super().__init__(seed)
        self.stores[1].close()
        other = memoranda.open(
            url,
            clock=self.clocks[1],
            ids=FixedIds(),
            embedder=None,
            durability="relaxed",
        )
        self.stores = (self.stores[0], other)


QUERIES = (
    *("content", "changed reflection", "together txn-7", "what words did they claim?"),
    *("where does Bob live?", "bobby likes tea", "Rome or Oslo", "nothing of it"),
)


def same_hits(one: Store, other: Store) -> None:
    """Search both, as each agent, in one namespace and in all: hits, ranks and scores are equal."""
    for agent, namespace in product(AGENTS, (SPACES[0], ALL_NAMESPACES)):
        where: Any = {"namespace": namespace}
        for query in QUERIES:
            hits, twins = (
                store.recall(query, k=1000, include_superseded=True, **where)
                for store in (one.bind(agent_id=agent), other.bind(agent_id=agent))
            )
            assert hits == twins, (agent, namespace, query)


@pytest.mark.parametrize("seed", some_of(range(4)))
def test_both_engines_answer_the_same(tmp_path: Path, seed: int) -> None:
    url, file = new_store_url(tmp_path), tmp_path / "copy.db"
    twins, random = EngineTwins(seed, url), Random(seed)
    everything: dict[str, Any] = {"agent_id": ALL_AGENTS, "namespace": ALL_NAMESPACES}
    one, other = twins.stores
    with one:
        with other:
            for steps in (50, 30):
                twins.do(steps)
                same_hits(one, other)  # though nothing, or a part, is indexed
                fill(one)
                fill(other)
            same_hits(one, other)
            test_compaction.compare(one, other, dict.fromkeys(SPACES, 0), random)
            assert list(one.replay(**everything)) == list(other.replay(**everything))
            assert other.verify(deep=True).rows
            assert other.rebuild().identical
        verification = memoranda.copy(url, file)
        (index,) = (tmp_path / "index").glob("*.db")
        index.unlink()
        for place in (url, file):
            clock = FixedClock(twins.clocks[0].now())
            with memoranda.open(place, clock=clock, embedder=None) as again:
                fill(again)
                same_hits(one, again)
                assert again.verify(deep=True).head_hash == verification.head_hash
