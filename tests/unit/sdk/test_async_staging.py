"""Staging in an asynchronous transaction: it can be awaited, and is not lost if it is not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import AsyncStore, InvalidInput, TransactionClosed
from memoranda.sdk.async_staging import Stagings


def run(path: Path, work: Callable[[AsyncStore], Awaitable[None]]) -> None:
    async def main() -> None:
        async with await memoranda.open_async(path / "s.db", embedder=None) as store:
            await work(store.bind(agent_id="a"))

    asyncio.run(main())


def test_what_is_not_awaited_is_staged(tmp_path: Path) -> None:
    async def work(store: AsyncStore) -> None:
        await store.remember("before", title="t")
        async with store.begin_transaction() as transaction:
            transaction.write(key="first", value={"n": 1})
            transaction.remember("after", title="t")  # it looks the title up, in a thread
            transaction.write(key="first", value={"n": 2})
        memory = await store.get_memory(title="t")
        record = await store.get_state(key="first")
        assert memory is not None
        assert record is not None
        assert (memory.content, record.value, record.version) == ("after", {"n": 2}, 2)

    run(tmp_path, work)


def test_it_is_staged_in_the_order_of_the_calls(tmp_path: Path) -> None:
    async def work(store: AsyncStore) -> None:
        async with store.begin_transaction() as transaction:
            for number in range(50):
                transaction.remember(f"memory {number}", title=f"t{number % 5}")
                transaction.write(key="n", value={"n": number})
        (event,) = [event async for event in store.replay()]
        keys = [part.value["n"] for part in event.operations if part.key == "n" and part.value]
        assert keys == list(range(50))

    run(tmp_path, work)


def test_it_is_staged_with_the_arguments_of_the_call(tmp_path: Path) -> None:
    async def work(store: AsyncStore) -> None:
        document: dict[str, Any] = {"n": 1, "list": [1]}
        async with store.begin_transaction() as transaction:
            transaction.remember("content", title="t", metadata=document)
            transaction.write(key="k", value=document)
            document["n"] = 2
            document["list"].append(2)
        memory, record = await store.get_memory(title="t"), await store.get_state(key="k")
        assert memory is not None
        assert record is not None
        assert memory.metadata == record.value == {"n": 1, "list": [1]}

    run(tmp_path, work)


def test_the_next_read_waits_for_it(tmp_path: Path) -> None:
    async def work(store: AsyncStore) -> None:
        async with store.begin_transaction() as transaction:
            transaction.remember("content", title="t")
            memory = await transaction.get_memory(title="t")
            assert memory is not None
            assert memory.content == "content"

    run(tmp_path, work)


def test_tasks_that_share_a_transaction_wait_for_it_together(tmp_path: Path) -> None:
    async def work(store: AsyncStore) -> None:
        async with store.begin_transaction() as transaction:
            for number in range(5):
                transaction.remember("content", title=f"t{number}")
            reads = [transaction.get_memory(title=f"t{number}") for number in range(5)]
            assert None not in await asyncio.gather(*reads)
        assert len([memory async for memory in store.list_memories()]) == 5

    run(tmp_path, work)


def test_awaiting_it_gives_the_id(tmp_path: Path) -> None:
    async def work(store: AsyncStore) -> None:
        async with store.begin_transaction() as transaction:
            plain = await transaction.remember("one")
            titled = await transaction.remember("two", title="t")
        for memory_id in (plain, titled):
            assert await store.get_memory(memory_id) is not None

    run(tmp_path, work)


def test_an_error_that_nobody_awaits_is_raised_by_the_commit(tmp_path: Path) -> None:
    async def work(store: AsyncStore) -> None:
        transaction = store.begin_transaction()
        transaction.write(key="k", value={})
        transaction.remember("x" * 10, title="t" * 1000)
        with pytest.raises(InvalidInput, match="title: has 1000 characters"):
            await transaction.commit()
        assert await store.get_state(key="k") is None

    run(tmp_path, work)


def test_an_error_that_was_awaited_is_not_raised_again(tmp_path: Path) -> None:
    async def work(store: AsyncStore) -> None:
        async with store.begin_transaction() as transaction:
            with pytest.raises(InvalidInput):
                await transaction.remember("x", title="t" * 1000)
            await transaction.write(key="k", value={})
        assert await store.get_state(key="k") is not None

    run(tmp_path, work)


def test_an_error_that_came_after_a_timeout_is_raised_by_the_commit(tmp_path: Path) -> None:
    async def work(store: AsyncStore) -> None:
        transaction = await store.begin_transaction()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await transaction.remember("x", title="t" * 1000)
        with pytest.raises(InvalidInput, match="title: has 1000 characters"):
            await transaction.commit()

    run(tmp_path, work)


def test_staging_after_the_commit_is_refused_at_once(tmp_path: Path) -> None:
    async def work(store: AsyncStore) -> None:
        async with store.begin_transaction() as transaction:
            await transaction.commit()
            with pytest.raises(TransactionClosed):
                transaction.remember("content", title="t")

    run(tmp_path, work)


def test_a_long_transaction_does_not_hold_what_it_has_staged(tmp_path: Path) -> None:
    async def work(store: AsyncStore) -> None:
        async with store.begin_transaction() as transaction:
            for number in range(20):
                await transaction.remember("content", title=f"t{number}")
            assert len(Stagings.of(transaction._transaction)._tasks) == 1

    run(tmp_path, work)


def test_it_begins_where_it_is_awaited(tmp_path: Path) -> None:
    async def work(store: AsyncStore) -> None:
        await store.write(key="k", value={"n": 1})
        transaction = await store.begin_transaction()
        await store.write(key="k", value={"n": 2})
        record = await transaction.get_state(key="k")
        assert record is not None
        assert record.value == {"n": 1}

    run(tmp_path, work)


def test_a_subscription_that_is_awaited_misses_nothing(tmp_path: Path) -> None:
    async def work(store: AsyncStore) -> None:
        subscription = await store.subscribe(timeout=5)
        await store.write(key="k", value={})
        assert (await anext(subscription)).commit_ts == 1

    run(tmp_path, work)
