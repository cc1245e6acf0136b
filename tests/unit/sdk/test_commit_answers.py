"""Answers to commits: made from what was applied; only a retry reads the log and decodes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest

from memoranda import Store, StoreBusy
from memoranda.memory import reads
from memoranda.search.index import background_indexer
from memoranda.testing import memory_store
from tests.work import Work, counted

FACT: dict[str, Any] = {"subject": "Ann", "relation": "lives in", "object": "Oslo"}


@pytest.fixture
def store() -> Iterator[Store]:
    """Return a store with a fact, two memories and a reflection; nothing is indexed."""
    with (
        mock.patch.object(background_indexer, "WAKE_THRESHOLD", sys.maxsize),
        memory_store().bind(agent_id="a") as store,
    ):
        store.assert_fact(**FACT)
        old = store.remember("It rains.", title="old")
        store.remember("It snows.", title="new")
        store.reflect("The weather is bad.", on=[old.id])
        yield store


def memory_id(store: Store, title: str) -> str:
    memory = store.get_memory(title=title)
    assert memory is not None
    return memory.id


def assert_fact(store: Store) -> object:
    return store.assert_fact(**FACT | {"object": "Rome"}, txn_id="t")


def end_fact(store: Store) -> object:
    return store.end_fact(**FACT, txn_id="t")


def retract_fact(store: Store) -> object:
    return store.retract_fact(**FACT, txn_id="t")


def remember(store: Store) -> object:
    return store.remember("It hails.", title="third", txn_id="t")


def revise(store: Store) -> object:
    return store.remember("It hails.", title="old", txn_id="t")


def link(store: Store) -> object:
    source, target = memory_id(store, "new"), memory_id(store, "old")
    return store.link(source=source, target=target, relation="contradicts", txn_id="t")


def supersede(store: Store) -> object:
    old, new = memory_id(store, "old"), memory_id(store, "new")
    return store.supersede(old=old, new=new, txn_id="t")


def store_transcript(store: Store) -> object:
    return store.store_transcript("Ann: I moved to Rome.", txn_id="t").id


Call = Callable[[Store], object]
CALLS = [
    assert_fact,
    end_fact,
    retract_fact,
    remember,
    revise,
    link,
    supersede,
    store_transcript,
]


def work_of(store: Store, call: Call) -> tuple[object, Work]:
    with counted(store) as work:
        answer = call(store)
    return answer, work


@pytest.mark.parametrize("call", CALLS)
def test_a_commit_is_answered_without_the_log_and_a_retry_from_it(store: Store, call: Call) -> None:
    first, fresh = work_of(store, call)
    assert (fresh.decoded, fresh.split, fresh.event_reads) == (0, 0, 0)
    again, retried = work_of(store, call)
    assert again == first
    assert retried.decoded > 0
    assert retried.event_reads > 0


def test_a_certificate_of_a_retry_equals_the_first_one(store: Store) -> None:
    target = memory_id(store, "old")
    first = store.forget(memory_id=target, txn_id="t")
    assert first.operations > 0
    assert store.forget(memory_id=target, txn_id="t") == first
    assert store.certificate(first.erasure_id) == first


def test_a_transaction_that_changes_nothing_made_no_commit(store: Store) -> None:
    head = store.write(key="k", value={}).commit_ts
    answer, work = work_of(store, lambda store: store.remember("It rains.", title="old"))
    assert getattr(answer, "outcome", None) == "unchanged"
    assert (work.decoded, work.event_reads) == (0, 0)
    assert store.write(key="k", value={}).commit_ts == head + 1


def test_a_write_that_cannot_be_answered_is_not_written_again(store: Store) -> None:
    before = len(list(store.list_memories()))
    with (
        mock.patch.object(reads, "committed_memory", side_effect=StoreBusy),
        pytest.raises(StoreBusy) as caught,
    ):
        store.remember("It hails.")
    assert len(list(store.list_memories())) == before + 1
    assert not caught.value.retryable
