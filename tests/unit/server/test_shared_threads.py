"""Many stores in one process: few threads, few file handles, and no store waits for another."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from memoranda.calls.grant import EVERYTHING
from memoranda.calls.key_writes import Write
from memoranda.calls.keys import GetState
from memoranda.calls.memory_writes import Remember
from memoranda.calls.recall import Recall
from memoranda.errors import Unavailable
from memoranda.log.commit.group_commit import MAX_BATCH_COMMITS, MAX_SHARED_BATCH_COMMITS
from memoranda.sdk.lanes import shared_sizes
from memoranda.search.index import background_indexer
from memoranda.search.index.background_indexer import BackgroundIndexer
from memoranda.server.stores import OpenStore, StoreOptions, StoreSet
from memoranda.storage.sqlite.engine import SqliteEngine
from tests.embedders import Hashing
from tests.patience import HANG_SECONDS, wait_until

OPTIONS: dict[str, Any] = {"embedder": None, "durability": "relaxed", "idle_seconds": HANG_SECONDS}
FILES = Path("/proc/self/fd")


def run(work: Callable[[StoreSet], Awaitable[None]], folder: Path, **options: Any) -> None:
    async def main() -> None:
        stores = StoreSet.in_folder(folder, StoreOptions(**OPTIONS | options))
        try:
            async with asyncio.timeout(HANG_SECONDS):
                await work(stores)
        finally:
            await stores.close(0)

    asyncio.run(main())


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if "memoranda" in thread.name}


async def commit(store: OpenStore, key: str = "k") -> None:
    await store.calls(EVERYTHING).write(Write("a", "default", key, {"n": 1}))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


@pytest.mark.slow
def test_threads_and_handles_are_bounded_with_fifty_stores(tmp_path: Path) -> None:
    names, others = [f"s{number}" for number in range(50)], threads()

    async def work(stores: StoreSet) -> None:
        await asyncio.gather(*map(stores.create, names))
        before = len(os.listdir(FILES)) if FILES.exists() else 0  # noqa: PTH208

        async def use(name: str) -> None:
            async with stores.use(name) as store:
                calls = store.calls(EVERYTHING)
                await commit(store)
                await calls.write(Remember("a", "default", "a note on clouds"))
                reads = [calls.ask(GetState("a", "default", "k")) for _ in range(8)]
                assert None not in await asyncio.gather(*reads)
                clouds = Recall(query="clouds", agent_id="a", namespace="default")
                assert len(await calls.ask(clouds)) == 1

        await asyncio.gather(*map(use, names))
        assert stores.open_count == 50
        lanes = sum(size.threads for size in shared_sizes(2).values())
        assert len(threads() - others) <= lanes + 8 + 16 + 2, "openers, committers, and two workers"
        if before:
            handles = len(os.listdir(FILES)) - before  # noqa: PTH208
            assert handles <= 50 * 10, "six each, and more where calls came at once"

    run(work, tmp_path)
    wait_until(lambda: threads() <= others)


def test_connections_left_from_many_calls_at_once_are_closed(tmp_path: Path) -> None:
    async def work(stores: StoreSet) -> None:
        await stores.create("a")
        async with stores.use("a") as store:
            engine = store.core.engine
            assert isinstance(engine, SqliteEngine)
            with ExitStack() as stack:
                for _ in range(5):
                    stack.enter_context(engine.reading())
                lent = stack.enter_context(engine.reading())
                await stores.trim()
                assert lent.row("any_table") is not None, "what is in use stays"
            assert len(engine._idle) == 6
            await commit(store)
            await stores.trim()
            assert len(engine._idle) == 1
            await commit(store, "k2")
            assert await store.calls(EVERYTHING).ask(GetState("a", "default", "k2")) is not None

    run(work, tmp_path)


def test_one_indexer_fills_the_indexes_of_all_and_survives_a_failing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_indexer, "WAKE_THRESHOLD", 4)
    plain = BackgroundIndexer._index_part
    broken: list[BackgroundIndexer] = []
    indexers: set[int] = set()

    def index_part(indexer: BackgroundIndexer) -> bool:
        indexers.add(threading.get_ident())
        if indexer in broken:
            raise Unavailable("as if its disk did not answer")
        return plain(indexer)

    monkeypatch.setattr(BackgroundIndexer, "_index_part", index_part)
    names = ["broken", "a", "b", "c"]

    async def work(stores: StoreSet) -> None:
        open_stores: list[OpenStore] = []
        for name in names:
            await stores.create(name)
            open_stores.append(await stores.use(name).__aenter__())
        broken.append(open_stores[0].core.background_indexer)

        def backlog(store: OpenStore) -> int:
            return store.core.background_indexer.estimate_backlog()

        for number in range(8):
            for store in open_stores:
                call = Remember("a", "default", f"note {number}")
                await store.calls(EVERYTHING).write(call)
        failing, *others = open_stores
        await until(lambda: not any(map(backlog, others)))
        assert backlog(failing) == 8
        assert isinstance(failing.core.background_indexer.failure, Unavailable)
        assert [store.core.background_indexer.failure for store in others] == [None] * 3

    run(work, tmp_path)
    assert len(indexers) == 1


def test_one_embedder_serves_all(tmp_path: Path) -> None:
    model = Hashing()
    used: set[str] = set()
    model.before = lambda _: used.add(threading.current_thread().name)

    async def work(stores: StoreSet) -> None:
        open_stores = []
        for name in ("a", "b", "c"):
            await stores.create(name)
            open_stores.append(await stores.use(name).__aenter__())
        for store in open_stores:
            await store.calls(EVERYTHING).write(Remember("a", "default", "about clouds"))
            store.core.background_indexer._wake()

        def vectors(store: OpenStore) -> int:
            with store.core.engine.reading() as reader:
                return store.core.vectors.stats(reader).count

        await until(lambda: [vectors(store) for store in open_stores] == [1, 1, 1])
        assert len({id(store.core.vectors.embedder) for store in open_stores}) == 1

    run(work, tmp_path, embedder=model)
    assert used == {"memoranda-embedder"}


def test_commits_of_one_store_do_not_wait_for_the_flood_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoranda.sdk.shared_threads._LEADERS", 2)

    async def work(stores: StoreSet) -> None:
        await asyncio.gather(*map(stores.create, ("noisy", "quiet")))
        async with stores.use("noisy") as noisy, stores.use("quiet") as quiet:
            go = threading.Event()
            writer = noisy.core.committer._writer
            plain = writer.write

            def hang(requests: Any) -> Any:
                assert go.wait(HANG_SECONDS)
                return plain(requests)

            monkeypatch.setattr(writer, "write", hang)
            flood = [asyncio.create_task(commit(noisy, f"k{number}")) for number in range(100)]
            for number in range(5):
                await commit(quiet, f"k{number}")
            assert not any(task.done() for task in flood)
            go.set()
            await asyncio.gather(*flood)
            assert (noisy.core.head(), quiet.core.head()) == (100, 5)

    run(work, tmp_path)


def test_stores_write_batches_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoranda.sdk.shared_threads._LEADERS", 1)
    assert MAX_SHARED_BATCH_COMMITS < MAX_BATCH_COMMITS
    monkeypatch.setattr("memoranda.log.commit.group_commit.MAX_SHARED_BATCH_COMMITS", 5)
    batches: list[str] = []

    async def work(stores: StoreSet) -> None:
        await asyncio.gather(*map(stores.create, ("noisy", "quiet")))
        async with stores.use("noisy") as noisy, stores.use("quiet") as quiet:
            begun, go = threading.Event(), threading.Event()
            for store in (noisy, quiet):
                writer = store.core.committer._writer

                def write(requests: Any, name: str = store.name, plain: Any = writer.write) -> Any:
                    batches.append(name)
                    begun.set()
                    assert go.wait(HANG_SECONDS)
                    return plain(requests)

                monkeypatch.setattr(writer, "write", write)
            tasks = [asyncio.create_task(commit(noisy, f"k{number}")) for number in range(20)]
            await until(begun.is_set)
            tasks.append(asyncio.create_task(commit(quiet)))
            await until(lambda: len(quiet.core.committer._queue) == 1)
            await asyncio.sleep(0)  # its leader is queued
            go.set()
            await asyncio.gather(*tasks)

    run(work, tmp_path)
    assert batches == ["noisy", "quiet", "noisy", "noisy", "noisy"]
