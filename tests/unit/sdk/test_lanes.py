"""Long calls keep no short one waiting, and a lane that is full says so."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from functools import partial
from pathlib import Path

import pytest

import memoranda
from memoranda import StoreBusy, StoreClosed
from memoranda.calls import maintenance
from memoranda.calls.call import Lane
from memoranda.sdk.lanes import Lanes, LaneSize, yielding
from tests.patience import HANG_SECONDS

SMALL: dict[Lane, LaneSize] = {
    "short": LaneSize(threads=1, calls=2),
    "search": LaneSize(threads=1, calls=1),
    "long": LaneSize(threads=1, calls=1),
}


def test_reads_do_not_wait_for_verifications(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        begun.set()
        assert go.wait(HANG_SECONDS)
        raise StoreBusy("as if")

    monkeypatch.setattr(maintenance, "verify_store", hang)

    async def work() -> None:
        async with await memoranda.open_async(tmp_path / "s.db", embedder=None) as opened:
            store = opened.bind(agent_id="a")
            await store.write(key="k", value={"n": 1})
            verifications = [asyncio.create_task(store.verify(deep=True)) for _ in range(6)]
            await asyncio.to_thread(begun.wait, HANG_SECONDS)
            for _ in range(20):
                record = await store.get_state(key="k")
                assert record is not None
            await store.write(key="k", value={"n": 2})
            assert [record.key async for record in store.scan_prefix(prefix="")] == ["k"]
            assert not any(task.done() for task in verifications)
            go.set()
            results = await asyncio.gather(*verifications, return_exceptions=True)
            assert {type(result) for result in results} == {StoreBusy}

    asyncio.run(work())


def test_a_full_lane_refuses_and_has_room_again() -> None:
    go = threading.Event()

    async def work() -> None:
        lanes = Lanes(SMALL)
        waiting = [
            asyncio.create_task(lanes.submit("short", partial(go.wait, HANG_SECONDS)))
            for _ in range(2)
        ]
        await asyncio.sleep(0)
        with pytest.raises(StoreBusy, match="2 short calls of this process are waiting"):
            await lanes.submit("short", int)
        assert await lanes.submit("search", lambda: 7) == 7, "the others have room"
        go.set()
        assert await asyncio.gather(*waiting) == [True, True]
        assert await lanes.submit("short", lambda: 8) == 8

    asyncio.run(work())


def test_a_cancelled_call_leaves_its_place_when_its_work_ends() -> None:
    begun, go = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        assert go.wait(HANG_SECONDS)

    async def work() -> None:
        lanes = Lanes(SMALL)
        task = asyncio.create_task(lanes.submit("long", hang))
        await asyncio.to_thread(begun.wait, HANG_SECONDS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(StoreBusy):  # its work goes on
            await lanes.submit("long", int)
        go.set()
        async with asyncio.timeout(HANG_SECONDS):
            while lanes._calls["long"]:
                await asyncio.sleep(0.001)
        assert await lanes.submit("long", lambda: 1) == 1

    asyncio.run(work())


def test_work_runs_in_the_context_of_its_caller() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="none")

    async def work() -> str:
        variable.set("caller's")
        return await Lanes(SMALL).submit("short", variable.get)

    assert asyncio.run(work()) == "caller's"


def test_a_store_closes_while_its_lanes_are_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        begun.set()
        assert go.wait(HANG_SECONDS)
        raise StoreClosed

    monkeypatch.setattr(maintenance, "verify_store", hang)

    async def work() -> None:
        store = await memoranda.open_async(tmp_path / "s.db", embedder=None)
        task = asyncio.create_task(store.verify())
        await asyncio.to_thread(begun.wait, HANG_SECONDS)
        await store.close()
        go.set()
        with pytest.raises(StoreClosed):
            await task
        with pytest.raises(StoreClosed):
            await store.get_state(agent_id="a", key="k")

    asyncio.run(work())


def test_a_long_call_reports_its_progress_and_yields() -> None:
    reports: list[tuple[int, int]] = []
    yielding(lambda done, total: reports.append((done, total)))(1, 2)
    yielding(None)(1, 2)
    assert reports == [(1, 2)]
