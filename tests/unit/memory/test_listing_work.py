"""What a list by metadata, and a write that others may rest on, cost."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from unittest import mock

import pytest

from memoranda import KeyRef, Store
from memoranda.search.index import background_indexer
from memoranda.testing import memory_store
from tests.work import counted


@pytest.fixture(autouse=True)
def no_indexing() -> Iterator[None]:
    """Let nothing else work in the store while steps are counted."""
    with mock.patch.object(background_indexer, "WAKE_THRESHOLD", sys.maxsize):
        yield


def listed_steps(count: int) -> int:
    with memory_store().bind(agent_id="a") as agent:
        with agent.begin_transaction() as transaction:
            for number in range(count):
                metadata = {"rare": number < 5, "common": "same", "n": number}
                transaction.remember("m", metadata=metadata)
        with counted(agent) as work:
            wanted = {"common": "same", "rare": True}
            assert len(list(agent.list_memories(metadata=wanted))) == 5
        return work.steps


def test_a_list_by_metadata_follows_its_matches() -> None:
    assert listed_steps(4_000) <= listed_steps(1_000) + 200


def write_steps(agent: Store, key: str) -> int:
    with counted(agent) as work:
        agent.write(key=key, value={"n": 1})
    return work.steps


def test_a_plain_write_does_not_pay_for_what_others_rest_on() -> None:
    with memory_store().bind(agent_id="a") as agent:
        for key in ("plain", "base"):
            agent.write(key=key, value={})
        before = write_steps(agent, "plain")
        for number in range(300):
            agent.write(key=f"k{number}", value={}, because=[KeyRef("base")])
        assert write_steps(agent, "plain") <= before * 1.5


def notice_steps(count: int) -> int:
    with memory_store().bind(agent_id="a") as agent:
        agent.write(key="base", value={})
        agent.write(key="other", value={})
        with agent.begin_transaction() as transaction:
            for number in range(1_000):
                ground = "base" if number < count else "other"
                transaction.write(key=f"k{number}", value={}, because=[KeyRef(ground)])
        steps = write_steps(agent, "base")
        assert len(list(agent.invalidations())) == count
        return steps


def test_a_change_costs_as_much_as_rests_on_it() -> None:
    assert notice_steps(10) * 5 < notice_steps(100) < notice_steps(10) * 15
