"""Writes under ids of a client's own, which it sends again after a lost connection only."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from memoranda import Store
from memoranda.calls.call import WriteCall
from memoranda.calls.fact_writes import SetCardinality
from memoranda.calls.key_writes import Write
from memoranda.calls.link_writes import Link
from memoranda.calls.memory_writes import Remember
from memoranda.sdk.local.calls import LocalCalls
from memoranda.testing import memory_store
from tests.cores import core_of


def write(store: Store, call: WriteCall[Any], *, is_named: bool = False) -> Any:
    return LocalCalls(core_of(store)).write(call, is_named=is_named)


def test_one_that_is_sent_twice_has_one_effect() -> None:
    with memory_store() as store:
        call = Write("a", "default", "k", {"n": 1}, txn_id="t")
        assert write(store, call) == write(store, call)
        assert core_of(store).head() == 1


@pytest.mark.parametrize("is_named", [True, False])
def test_only_a_named_one_is_recorded_if_it_changes_nothing(*, is_named: bool) -> None:
    with memory_store() as store:
        agent = store.bind(agent_id="a")
        ids = agent.remember("one").id, agent.remember("two").id
        calls = [  # staged as one request, and in a transaction
            Link(*ids, "related_to", "a", txn_id="t"),
            SetCardinality("default", "lives in", "single", "a", txn_id="u"),
            Remember("a", "default", "words", title="Title", txn_id="v"),
        ]
        for call in calls:
            write(store, call)
        for call in calls:
            before = core_of(store).head()
            again = replace(call, txn_id=f"{call.txn_id} again")
            write(store, again, is_named=is_named)
            assert core_of(store).head() == before + is_named, call
