"""Long calls keep no short one waiting, and a lane that is full says so."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from contextvars import ContextVar
from functools import partial
from pathlib import Path

import pytest

import memoranda
from memoranda import StoreBusy, StoreClosed
from memoranda.calls import maintenance
from memoranda.calls.call import Lane
from memoranda.log.pages import PAGE_ROWS
from memoranda.sdk.async_calls import AsyncListing
from memoranda.sdk.lanes import LanePool, Lanes, LaneSize, shared_sizes, yielding
from memoranda.state.reads import Keys
from tests.patience import HANG_SECONDS, wait_until

KEYS = 2 * PAGE_ROWS + 10
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
            asyncio.create_task(lanes.submit_call("short", partial(go.wait, HANG_SECONDS)))
            for _ in range(2)
        ]
        await asyncio.sleep(0)
        with pytest.raises(StoreBusy, match="2 short calls of this store are waiting"):
            await lanes.submit_call("short", int)
        assert await lanes.submit_call("search", lambda: 7) == 7, "the others have room"
        go.set()
        assert await asyncio.gather(*waiting) == [True, True]
        assert await lanes.submit_call("short", lambda: 8) == 8

    asyncio.run(work())


def test_a_cancelled_call_leaves_its_place_when_its_work_ends() -> None:
    begun, go = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        assert go.wait(HANG_SECONDS)

    async def work() -> None:
        lanes = Lanes(SMALL)
        task = asyncio.create_task(lanes.submit_call("long", hang))
        await asyncio.to_thread(begun.wait, HANG_SECONDS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(StoreBusy):  # its work goes on
            await lanes.submit_call("long", int)
        go.set()
        async with asyncio.timeout(HANG_SECONDS):
            while lanes.count("long"):
                await asyncio.sleep(0.001)
        assert await lanes.submit_call("long", lambda: 1) == 1

    asyncio.run(work())


def test_work_runs_in_the_context_of_its_caller() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="none")

    async def work() -> str:
        variable.set("caller's")
        return await Lanes(SMALL).submit_call("short", variable.get)

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


class TestSharedLanes:
    """Stores that share threads take turns, and none of them uses them all."""

    def test_a_flood_of_one_store_costs_another_one_call(self) -> None:
        order: list[str] = []
        begun, go = threading.Event(), threading.Event()

        def hang() -> None:
            begun.set()
            assert go.wait(HANG_SECONDS)

        async def work() -> None:
            pool = LanePool({"short": LaneSize(threads=1, calls=100)})
            noisy, quiet = Lanes(pool=pool), Lanes(pool=pool)
            first = asyncio.create_task(noisy.submit_call("short", hang))
            await asyncio.to_thread(begun.wait, HANG_SECONDS)
            calls = [noisy.submit_call("short", partial(order.append, "noisy")) for _ in range(50)]
            calls += [quiet.submit_call("short", partial(order.append, "quiet")) for _ in range(2)]
            tasks = [asyncio.create_task(call) for call in calls]
            await asyncio.sleep(0)
            assert (noisy.count("short"), quiet.count("short")) == (51, 2)
            go.set()
            await asyncio.gather(first, *tasks)
            pool.close()

        asyncio.run(work())
        assert order == ["quiet", "noisy", "quiet", *["noisy"] * 49]

    def test_a_store_leaves_threads_to_others(self) -> None:
        go = threading.Event()

        async def work() -> None:
            pool = LanePool({"long": LaneSize(threads=3, calls=10, store_threads=1)})
            stores = [Lanes(pool=pool) for _ in range(3)]
            hanging = [
                asyncio.create_task(store.submit_call("long", partial(go.wait, HANG_SECONDS)))
                for store in stores[:2]
                for _ in range(5)
            ]
            await asyncio.sleep(0)
            assert await stores[2].submit_call("long", lambda: 7) == 7
            assert not any(task.done() for task in hanging)
            go.set()
            assert await asyncio.gather(*hanging) == [True] * 10
            pool.close()

        asyncio.run(work())

    @pytest.mark.parametrize(("processors", "searches"), [(1, 1), (2, 1), (3, 1), (4, 2), (64, 2)])
    def test_searches_of_a_store_leave_processors_to_commits(
        self, processors: int, searches: int
    ) -> None:
        go = threading.Event()

        async def work() -> None:
            pool = LanePool(shared_sizes(processors))
            busy, other = Lanes(pool=pool), Lanes(pool=pool)
            hanging = [
                asyncio.create_task(busy.submit_call("search", partial(go.wait, HANG_SECONDS)))
                for _ in range(5)
            ]
            await asyncio.sleep(0)
            assert await other.submit_call("search", lambda: 7) == 7
            assert pool.loads()["search"].running == searches
            go.set()
            assert await asyncio.gather(*hanging) == [True] * 5
            pool.close()

        asyncio.run(work())

    def test_each_store_has_its_own_bound(self) -> None:
        go = threading.Event()

        async def work() -> None:
            pool = LanePool({"short": LaneSize(threads=2, calls=3, store_threads=1)})
            full, other = Lanes(pool=pool), Lanes(pool=pool)
            waiting = [
                asyncio.create_task(full.submit_call("short", partial(go.wait, HANG_SECONDS)))
                for _ in range(3)
            ]
            await asyncio.sleep(0)
            with pytest.raises(StoreBusy, match="3 short calls of this store"):
                await full.submit_call("short", int)
            assert await other.submit_call("short", lambda: 8) == 8
            go.set()
            await asyncio.gather(*waiting)
            pool.close()

        asyncio.run(work())

    def test_closing_a_store_leaves_the_threads_and_closing_them_ends_what_waits(self) -> None:
        go = threading.Event()

        async def work() -> None:
            pool = LanePool({"short": LaneSize(threads=1, calls=10, store_threads=1)})
            closed, other = Lanes(pool=pool), Lanes(pool=pool)
            closed.close()
            tasks = [
                asyncio.create_task(other.submit_call("short", partial(go.wait, HANG_SECONDS)))
                for _ in range(5)
            ]
            await asyncio.sleep(0)
            pool.close()
            assert await other.submit("short", lambda: 9) == 9, "in a thread of its own"
            go.set()
            assert await asyncio.gather(*tasks) == [True] * 5

        asyncio.run(work())
        wait_until(lambda: not lane_threads())

    def test_errors_reach_their_callers(self) -> None:
        def fail() -> None:
            raise StoreBusy("as if")

        async def work() -> None:
            lanes = Lanes(SMALL)
            with pytest.raises(StoreBusy, match="as if"):
                await lanes.submit_call("short", fail)
            assert lanes.count("short") == 0
            lanes.close()

        asyncio.run(work())


def test_a_long_call_reports_its_progress_and_yields() -> None:
    reports: list[tuple[int, int]] = []
    yielding(lambda done, total: reports.append((done, total)))(1, 2)
    yielding(None)(1, 2)
    assert reports == [(1, 2)]


def test_a_long_call_ends_when_its_caller_is_cancelled(tmp_path: Path) -> None:
    begun, go = threading.Event(), threading.Event()
    steps: list[int] = []

    def wait_at_first(done: int, _: int) -> None:
        steps.append(done)
        begun.set()
        assert go.wait(HANG_SECONDS)

    async def work() -> None:
        async with await memoranda.open_async(tmp_path / "s.db", embedder=None) as store:
            for number in range(20):
                await store.write(agent_id="a", key="k", value={"n": number})
            task = asyncio.create_task(store.verify(deep=True, progress=wait_at_first))
            await asyncio.to_thread(begun.wait, HANG_SECONDS)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            go.set()
            assert (await store.verify(deep=True)).commits == 20, "the next one has its thread"
            assert len(steps) == 1

    asyncio.run(work())


class TestListings:
    async def _fill(self, path: Path) -> memoranda.AsyncStore:
        with memoranda.open(path, embedder=None) as filled, filled.begin_transaction() as staged:
            for number in range(KEYS):
                staged.write(agent_id="a", key=f"k{number:04}", value={})
        opened = await memoranda.open_async(path, embedder=None)
        return opened.bind(agent_id="a")

    def test_whoever_is_cancelled_leaves_the_page_to_the_next(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, go = threading.Event(), threading.Event()
        plain = Keys.next_page

        def hang(pages: Keys) -> list[str]:
            begun.set()
            assert go.wait(HANG_SECONDS)
            return plain(pages)

        async def work() -> None:
            store = await self._fill(tmp_path / "s.db")
            listing = store.list_keys()
            keys = [await anext(listing) for _ in range(PAGE_ROWS)]
            monkeypatch.setattr(Keys, "next_page", hang)
            task = asyncio.ensure_future(anext(listing))
            await asyncio.to_thread(begun.wait, HANG_SECONDS)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            go.set()
            keys += [key async for key in listing]
            assert keys == [f"k{number:04}" for number in range(KEYS)]
            await store.close()

        asyncio.run(work())

    def test_tasks_that_share_one_take_turns(self, tmp_path: Path) -> None:
        async def work() -> None:
            store = await self._fill(tmp_path / "s.db")
            listing = store.list_keys()

            async def drain() -> list[str]:
                return [key async for key in listing]

            first, second = await asyncio.gather(drain(), drain())
            assert sorted([*first, *second]) == [f"k{number:04}" for number in range(KEYS)]
            await store.close()

        asyncio.run(work())

    def test_one_that_has_ended_stays_so(self, tmp_path: Path) -> None:
        async def work() -> None:
            store = await self._fill(tmp_path / "s.db")
            listing = store.agents()
            assert [item.agent_id async for item in listing] == ["a"]
            await store.write(agent_id="z", key="k", value={})
            assert [item async for item in listing] == []
            keys = store.list_keys()
            assert isinstance(keys, AsyncListing)
            async with aclosing(keys):
                assert await anext(keys) == "k0000"
            assert [key async for key in keys] == []
            await store.close()

        asyncio.run(work())


def test_what_has_committed_is_never_refused(tmp_path: Path) -> None:
    async def work() -> None:
        async with await memoranda.open_async(tmp_path / "s.db", embedder=None) as opened:
            store = opened.bind(agent_id="a")
            memories = [await store.remember(f"note {number}") for number in range(40)]
            tasks = [store.forget(memory_id=memory, purge=False) for memory in memories]
            assert len(await asyncio.gather(*tasks)) == 40

    asyncio.run(work())


def test_no_thread_is_left_behind(tmp_path: Path) -> None:
    async def work() -> None:
        async with await memoranda.open_async(tmp_path / "s.db", embedder=None) as store:
            await asyncio.gather(*[store.stats() for _ in range(8)])
            assert any(thread.name.startswith("memoranda-search") for thread in lane_threads())

    asyncio.run(work())
    wait_until(lambda: not lane_threads())


def lane_threads() -> list[threading.Thread]:
    names = tuple(f"memoranda-{lane}_" for lane in SMALL)
    return [thread for thread in threading.enumerate() if thread.name.startswith(names)]
