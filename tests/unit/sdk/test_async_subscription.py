"""Subscriptions under asyncio: cancellation, many at once, and loops that are gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import AsyncSubscription
from memoranda.log.read.wakeup import POLL_SECONDS, Signal
from memoranda.sdk.local.async_calls import AsyncLocalCalls
from memoranda.sdk.local.feed import LocalFeed
from tests.cores import core_of
from tests.patience import HANG_SECONDS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, HANG_SECONDS))


async def following(subscription: AsyncSubscription, commits: list[int]) -> None:
    async for event in subscription:
        commits.append(event.commit_ts)  # noqa: PERF401


def test_cancelling_ends_it_at_once_and_it_can_go_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "memoranda.sdk.local.feed.LocalFeed.poll_seconds", 2 * HANG_SECONDS
    )  # none ends by itself

    async def work() -> None:
        async with await memoranda.open_async(path, durability="relaxed") as store:
            agent = store.bind(agent_id="a")
            subscription = agent.subscribe()
            result: list[int] = []
            task = asyncio.create_task(following(subscription, result))
            await agent.write(key="k", value={})
            while result != [1] or not core_of(store).signal._watchers:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await agent.write(key="k", value={})
            assert (await anext(subscription)).commit_ts == 2
            assert result == [1]
            assert core_of(store).signal._watchers == {}

    run(work())


def test_cancelling_while_a_page_is_fetched_loses_nothing(path: Path) -> None:
    async def work() -> None:
        async with await memoranda.open_async(path, durability="relaxed") as store:
            agent = store.bind(agent_id="a")
            for _ in range(300):
                await agent.write(key="k", value={})
            result: list[int] = []
            subscription = agent.subscribe(after_commit=0)
            while len(result) < 300:
                task = asyncio.create_task(anext(subscription))
                for _ in range(len(result) % 5):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    result.append((await task).commit_ts)
                except asyncio.CancelledError:
                    event = await anext(subscription)
                    result.append(event.commit_ts)
            assert result == [*range(1, 301)]

    run(work())


def test_a_page_that_arrives_after_the_cancellation_is_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with await memoranda.open_async(path, durability="relaxed") as store:
            agent = store.bind(agent_id="a")
            await agent.write(key="k", value={})
            subscription = agent.subscribe(after_commit=0)
            assert isinstance(subscription._feed, LocalFeed)
            feed = await asyncio.to_thread(subscription._feed.open)
            fetch = feed.next_page

            def slow() -> list[memoranda.ReplayEvent]:
                time.sleep(0.2)
                return fetch()

            monkeypatch.setattr(feed, "next_page", slow)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await anext(subscription)
            assert (await anext(subscription)).commit_ts == 1

    run(work())


def test_many_idle_ones_leave_room_for_other_calls(path: Path) -> None:
    async def work() -> None:
        async with await memoranda.open_async(path, durability="relaxed") as store:
            result: list[int] = []
            tasks = [
                asyncio.create_task(following(store.subscribe(agent_id=f"idle{number}"), result))
                for number in range(50)
            ]
            while len(core_of(store).signal._watchers) < 50:
                await asyncio.sleep(0.01)
            for number in range(100):
                await store.write(agent_id="busy", key="k", value={"n": number})
                await store.get_state(agent_id="busy", key="k")
            assert result == []
            for number in range(50):
                await store.write(agent_id=f"idle{number}", key="k", value={})
            while len(result) < 50:
                await asyncio.sleep(0.01)
            assert sorted(result) == [*range(101, 151)]
            await store.close()
            await asyncio.gather(*tasks)

    run(work())


def test_waiting_takes_no_thread(path: Path) -> None:
    async def work() -> None:
        executor = ThreadPoolExecutor(1)
        asyncio.get_running_loop().set_default_executor(executor)
        async with await memoranda.open_async(path, durability="relaxed") as store:
            result: list[int] = []
            tasks = [
                asyncio.create_task(following(store.subscribe(agent_id="a"), result))
                for _ in range(5)
            ]
            await asyncio.sleep(0.1)
            await store.write(agent_id="a", key="k", value={})
            while len(result) < 5:
                await asyncio.sleep(0.01)
            await store.close()
            await asyncio.gather(*tasks)

    run(work())


def test_idle_ones_look_at_the_log_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []
    look = LocalFeed.poll

    def counted(feed: LocalFeed) -> None:
        looks.append(feed)
        look(feed)

    async def work() -> None:
        monkeypatch.setattr(LocalFeed, "poll", counted)
        async with await memoranda.open_async(path, durability="relaxed") as store:
            await store.write(agent_id="a", key="k", value={})
            tasks = [
                asyncio.create_task(following(store.subscribe(agent_id="a"), [])) for _ in range(20)
            ]
            start = time.monotonic()
            while len(looks) < 5:
                await asyncio.sleep(0.01)
            assert len(looks) <= (time.monotonic() - start) / POLL_SECONDS + 2
            await store.close()
            await asyncio.gather(*tasks)

    run(work())


def carrier() -> AsyncLocalCalls:
    with memoranda.open(":memory:", embedder=None) as store:
        return AsyncLocalCalls(core_of(store))


def test_a_loop_that_was_left_behind_does_not_stop_a_commit() -> None:
    signal = Signal()
    waiting = carrier().wait(signal, 0, 60)
    loop = asyncio.new_event_loop()
    task = loop.create_task(waiting)
    loop.run_until_complete(asyncio.sleep(0.05))
    assert signal._watchers
    loop.close()
    signal.notify()
    assert signal.count == 1
    waiting.close()
    assert not task.done()


def test_a_signal_between_looking_and_waiting_is_not_missed() -> None:
    async def work() -> None:
        signal = Signal()
        observations = signal.count
        signal.notify()
        await carrier().wait(signal, observations, 60)

    run(work())
