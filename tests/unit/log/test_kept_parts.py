"""What is kept of split events, and of which events the index has places: no more than helps."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest

from memoranda import Store
from memoranda.log import pages
from memoranda.log.pages import SplitEventCache
from memoranda.testing import memory_store
from tests.cores import core_of
from tests.work import counted

COUNT = 300
SMALL = pages._MAX_UNCACHED_OPERATIONS


@pytest.fixture
def store() -> Iterator[Store]:
    with memory_store().bind(agent_id="a") as agent:
        agent.write(key="begun", value={})  # the first commit says more than it was asked to
        yield agent


def fill(store: Store, commits: int, count: int = COUNT) -> None:
    for turn in range(commits):
        with store.begin_transaction() as tx:
            for number in range(count):
                tx.write(key=f"k{number:03}", value={"turn": turn})


def kept(store: Store, commits: int) -> list[int]:
    events = SplitEventCache()
    with core_of(store).engine.snapshot() as reader:
        events.refresh(reader)
        for commit_ts in range(2, commits + 2):
            assert events.of(reader, commit_ts).commit_ts == commit_ts
    return list(events._events)


def test_the_last_two_are_kept_whatever_they_weigh(store: Store) -> None:
    fill(store, 5)
    with mock.patch.object(pages, "_MAX_CACHED_BYTES", 1):
        assert kept(store, 5) == [5, 6]
    assert kept(store, 5) == [2, 3, 4, 5, 6]


def test_as_many_are_kept_as_have_few_bytes(store: Store) -> None:
    fill(store, 5)
    with core_of(store).engine.reading() as reader:
        row = reader.row("event_get", commit_ts=2)
    assert row is not None
    with mock.patch.object(pages, "_MAX_CACHED_BYTES", 3 * len(row[-1])):
        assert kept(store, 5) == [4, 5, 6]


def test_small_ones_are_split_again(store: Store) -> None:
    fill(store, 2, SMALL)
    fill(store, 1, SMALL + 1)
    assert kept(store, 3) == [4]


def test_a_difference_of_heavy_transactions_splits_each_once(store: Store) -> None:
    fill(store, 2)
    with mock.patch.object(pages, "_MAX_CACHED_BYTES", 1), counted(store) as work:
        assert sum(1 for _ in store.diff(old=2, new=3)) == COUNT
    assert work.split == 2 * COUNT


@pytest.mark.parametrize(
    ("own", "others", "known"),
    [(1, SMALL, True), (1, SMALL - 1, False), (20, 20, True), (21, 20, False)],
    ids=repr,
)
def test_places_are_known_of_a_small_part_of_a_large_event(
    store: Store, own: int, others: int, *, known: bool
) -> None:
    with store.begin_transaction() as tx:
        for number in range(own):
            tx.write(key=f"k{number}", value={})
        for number in range(others):
            tx.write(agent_id="b", key=f"k{number}", value={})
    with core_of(store).engine.reading() as reader:
        row = reader.row("scope_find", agent_id="a", namespace="default")
        assert row is not None
        page = {"after": 1, "through": 2, "limit": 1}
        ((*_, places, _),) = reader.rows("event_places_of_scope", scope_id=row[0], **page)
    assert (places is not None) == known
