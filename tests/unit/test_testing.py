"""What users test their agents with."""

from __future__ import annotations

import asyncio

from memoranda import Store
from memoranda.testing import FixedClock, FixedIds, memory_store, memory_store_async, same_behaviour


def use(store: Store) -> Store:
    agent = store.bind(agent_id="a")
    agent.write(key="k", value={"x": 1})
    with agent.begin_transaction() as transaction:
        transaction.delete(key="k")
        transaction.write(key="j", value={"x": 2})
    return agent


def test_the_same_calls_give_the_same_log() -> None:
    one, other = use(memory_store()), use(memory_store())
    assert list(one.replay()) == list(other.replay())
    assert one.verify() == other.verify()


def test_other_ids_or_times_give_another_log_but_the_same_behaviour() -> None:
    one = use(memory_store())
    for other in (
        use(memory_store(ids=FixedIds("another"))),
        use(memory_store(clock=FixedClock(5))),
    ):
        assert list(one.replay()) != list(other.replay())
        assert same_behaviour(one.replay(), other.replay())


def test_a_difference_says_where_it_is() -> None:
    one, other = use(memory_store()), use(memory_store())
    other.write(key="k", value={"x": 3})
    result = same_behaviour(one.replay(), other.replay())
    assert not result
    assert (
        result.difference == "event 3: nothing more in the first, WRITE 'k' {'x': 3} in the second"
    )
    one.write(key="k", value={"x": 4})
    assert "{'x': 4} in the first" in (
        same_behaviour(one.replay(), other.replay()).difference or ""
    )


def test_how_operations_are_grouped_is_behaviour() -> None:
    one, other = memory_store().bind(agent_id="a"), memory_store().bind(agent_id="a")
    with one.begin_transaction() as transaction:
        transaction.write(key="k", value={})
        transaction.write(key="j", value={})
    other.write(key="k", value={})
    other.write(key="j", value={})
    assert not same_behaviour(one.replay(), other.replay())


def test_the_asynchronous_store_gives_the_same_log() -> None:
    async def head() -> str:
        async with await memory_store_async() as store:
            agent = store.bind(agent_id="a")
            await agent.write(key="k", value={"x": 1})
            async with agent.begin_transaction() as transaction:
                await transaction.delete(key="k")
                await transaction.write(key="j", value={"x": 2})
            return (await store.verify()).head_hash

    assert asyncio.run(head()) == use(memory_store()).verify().head_hash
