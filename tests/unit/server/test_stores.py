"""The stores of a server: opened once, closed for others, never while they are used."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from memoranda.calls.grant import EVERYTHING
from memoranda.calls.key_writes import Write
from memoranda.calls.keys import GetState
from memoranda.errors import InvalidInput, NotFound, StoreBusy, StoreClosed, Unavailable
from memoranda.sdk import open as sdk_open
from memoranda.server import stores as server_stores
from memoranda.server.stores import OpenStore, StoreOptions, StoreSet
from memoranda.storage.owner_lock import owner_file, read_owner
from tests.patience import HANG_SECONDS

OPTIONS: dict[str, Any] = {"embedder": None, "durability": "relaxed", "idle_seconds": HANG_SECONDS}


def run(work: Callable[[StoreSet], Awaitable[None]], folder: Path, **options: Any) -> None:
    """Run work with the stores of a folder, and close them."""

    async def main() -> None:
        stores = StoreSet.in_folder(folder, StoreOptions(**OPTIONS | options))
        try:
            async with asyncio.timeout(HANG_SECONDS):
                await work(stores)
        finally:
            await stores.close(0)

    asyncio.run(main())


async def write(store: OpenStore, number: int) -> None:
    await store.calls(EVERYTHING).write(Write("a", "default", "k", {"n": number}))


async def read(store: OpenStore) -> object:
    record = await store.calls(EVERYTHING).ask(GetState("a", "default", "k"))
    return None if record is None else record.value["n"]


async def create(stores: StoreSet, *names: str) -> None:
    for name in names:
        await stores.create(name)


def test_stores_are_apart(tmp_path: Path) -> None:
    async def work(stores: StoreSet) -> None:
        await create(stores, "acme", "globex")
        assert await stores.names() == ["acme", "globex"]
        async with stores.use("acme") as acme, stores.use("globex") as globex:
            await write(acme, 1)
            assert (await read(acme), await read(globex)) == (1, None)
            assert acme.core.log_id != globex.core.log_id
            assert acme.core.budget is globex.core.budget

    run(work, tmp_path)


def test_a_store_is_there_again_after_it_was_closed(tmp_path: Path) -> None:
    async def work(stores: StoreSet) -> None:
        await create(stores, "acme")
        async with stores.use("acme") as store:
            await write(store, 1)
        await stores.close_idle()
        assert stores.open_count == 0
        async with stores.use("acme") as again:
            assert again is not store
            assert await read(again) == 1

    run(work, tmp_path, idle_seconds=0)


def test_first_uses_at_once_open_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths: list[Path] = []
    threads: set[threading.Thread] = set()
    plain = sdk_open.open_core

    def open_core(path: Path, **options: Any) -> Any:
        paths.append(path)
        threads.add(threading.current_thread())
        return plain(path, **options)

    monkeypatch.setattr(server_stores, "open_core", open_core)

    async def work(stores: StoreSet) -> None:
        await create(stores, "acme")

        async def use() -> OpenStore:
            async with stores.use("acme") as store:
                return store

        first, *others = await asyncio.gather(*[use() for _ in range(20)])
        assert {id(first)} == {id(store) for store in others}

    run(work, tmp_path)
    assert [path.name for path in paths] == ["acme.db"]
    assert threading.main_thread() not in threads, "the event loop opens nothing itself"


def test_all_who_wait_get_the_error_and_the_next_use_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = sdk_open.open_core
    attempts = 0

    def fail(path: Path, **options: Any) -> Any:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise Unavailable("as if the disk did not answer")
        return plain(path, **options)

    monkeypatch.setattr(server_stores, "open_core", fail)

    async def work(stores: StoreSet) -> None:
        await create(stores, "acme")

        async def use() -> None:
            async with stores.use("acme"):
                pass

        results = await asyncio.gather(*[use() for _ in range(5)], return_exceptions=True)
        assert [type(result) for result in results] == [Unavailable] * 5
        assert (stores.open_count, attempts) == (0, 1)
        assert read_owner(tmp_path / "acme.db") is None
        await use()
        assert attempts == 2

    run(work, tmp_path)


def test_the_least_recently_used_one_makes_place(tmp_path: Path) -> None:
    async def work(stores: StoreSet) -> None:
        await create(stores, "a", "b", "c")
        opened: dict[str, OpenStore] = {}
        for name in ("a", "b", "a", "c"):
            async with stores.use(name) as store:
                opened[name] = store
        assert stores.open_count == 2
        assert {name: store.core.engine.is_closed for name, store in opened.items()} == {
            "a": False,
            "b": True,
            "c": False,
        }
        assert read_owner(tmp_path / "b.db") is None

    run(work, tmp_path, max_open=2)


def test_a_pinned_store_is_never_closed(tmp_path: Path) -> None:
    async def work(stores: StoreSet) -> None:
        await create(stores, "a", "b", "c")
        async with stores.use("b"), stores.use("a") as first:
            await stores.close_idle()
            with pytest.raises(StoreBusy, match="2 stores are in use"):
                await stores.use("c").__aenter__()
            with pytest.raises(NotFound):  # which needs no place
                await stores.use("d").__aenter__()
            assert not first.core.engine.is_closed
            assert stores.open_count == 2
        async with stores.use("c"):
            assert stores.open_count == 2
            assert first.core.engine.is_closed

    run(work, tmp_path, max_open=2, idle_seconds=0)


def test_many_that_need_a_place_at_once_never_open_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, now, highest = threading.Lock(), 0, 0
    plain_open, plain_close = sdk_open.open_core, OpenStore.close

    def open_core(path: Path, **options: Any) -> Any:
        nonlocal now, highest
        with lock:
            now += 1
            highest = max(highest, now)
        return plain_open(path, **options)

    def close(store: OpenStore) -> None:
        nonlocal now
        plain_close(store)
        with lock:
            now -= 1

    monkeypatch.setattr(server_stores, "open_core", open_core)
    monkeypatch.setattr(OpenStore, "close", close)
    names = [f"s{number}" for number in range(8)]

    async def work(stores: StoreSet) -> None:
        await create(stores, *names)
        refusals = 0

        async def use(name: str) -> None:
            nonlocal refusals
            for number in range(5):
                try:
                    async with stores.use(name) as store:
                        await write(store, number)
                except StoreBusy:
                    refusals += 1

        await asyncio.gather(*map(use, names))
        assert stores.open_count <= 3
        assert refusals < 40, "places become free"

    run(work, tmp_path, max_open=3)
    assert (now, highest) == (0, 3)


def test_whoever_is_cancelled_leaves_the_store_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()
    plain = sdk_open.open_core

    def hang(path: Path, **options: Any) -> Any:
        begun.set()
        assert go.wait(HANG_SECONDS)
        return plain(path, **options)

    monkeypatch.setattr(server_stores, "open_core", hang)

    async def work(stores: StoreSet) -> None:
        await create(stores, "acme")
        uses = [asyncio.create_task(stores.use("acme").__aenter__()) for _ in range(2)]
        await asyncio.to_thread(begun.wait, HANG_SECONDS)
        uses[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await uses[0]
        go.set()
        assert await read(await uses[1]) is None
        await stores.close_idle()
        assert stores.open_count == 1, "the other use is not over"

    run(work, tmp_path, idle_seconds=0)


def test_idle_stores_close_by_themselves(tmp_path: Path) -> None:
    async def work(stores: StoreSet) -> None:
        await create(stores, "a", "b")
        async with stores.use("a"):
            async with stores.use("b") as idle:
                pass
            while stores.open_count > 1:
                await asyncio.sleep(0.01)
            assert idle.core.engine.is_closed

    run(work, tmp_path, idle_seconds=0.05)


def test_a_use_during_closing_opens_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()
    plain = OpenStore.close

    def hang(store: OpenStore) -> None:
        begun.set()
        assert go.wait(HANG_SECONDS)
        plain(store)

    monkeypatch.setattr(OpenStore, "close", hang)

    async def work(stores: StoreSet) -> None:
        await create(stores, "acme")
        async with stores.use("acme") as first:
            pass
        closing = asyncio.create_task(stores.close_idle())
        await asyncio.to_thread(begun.wait, HANG_SECONDS)
        use = asyncio.create_task(stores.use("acme").__aenter__())
        await asyncio.sleep(0)
        go.set()
        again = await use
        await closing
        assert again is not first
        assert first.core.engine.is_closed
        await write(again, 1)

    run(work, tmp_path, idle_seconds=0)


def test_closing_waits_for_uses_and_then_closes_all(tmp_path: Path) -> None:
    async def work(stores: StoreSet) -> None:
        await create(stores, "a", "b")
        lasting = stores.use("a")
        store = await lasting.__aenter__()
        closing = asyncio.create_task(stores.close(HANG_SECONDS))
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match="shutting down"):
            await stores.use("b").__aenter__()
        await write(store, 1)  # what lasts goes on
        assert not closing.done()
        await lasting.__aexit__(None, None, None)
        await closing
        assert store.core.engine.is_closed
        assert not owner_file(tmp_path / "a.db").exists()

    run(work, tmp_path)


def test_closing_ends_the_update_of_an_old_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    def update(_: Path, *, progress: Callable[[int, int], None], **__: Any) -> Any:
        for done in count():  # as if a long log were derived again
            progress(done, 1_000_000)
            begun.set()

    monkeypatch.setattr(server_stores, "open_core", update)

    async def work(stores: StoreSet) -> None:
        await create(stores, "a")
        use = asyncio.create_task(stores.use("a").__aenter__())
        await asyncio.to_thread(begun.wait, HANG_SECONDS)
        await stores.close(0)
        with pytest.raises(Unavailable, match="shutting down"):
            await use

    run(work, tmp_path)
    assert not owner_file(tmp_path / "a.db").exists()


def test_closing_does_not_wait_for_ever(tmp_path: Path) -> None:
    async def work(stores: StoreSet) -> None:
        await create(stores, "a")
        store = await stores.use("a").__aenter__()
        await stores.close(0.01)
        with pytest.raises(StoreClosed):
            await read(store)

    run(work, tmp_path)


def test_one_file_is_the_store_without_a_name(tmp_path: Path) -> None:
    async def main() -> None:
        stores = StoreSet.of_file(tmp_path / "My store.db", StoreOptions(**OPTIONS))
        assert await stores.names() == ["My store"]
        async with stores.use("") as unnamed, stores.use("My store") as named:
            assert unnamed is named
            await write(named, 1)
        for name in ("other", "my store", "My store.db"):
            with pytest.raises(NotFound, match="one only"):
                await stores.use(name).__aenter__()
        with pytest.raises(InvalidInput, match="folder of stores"):
            await stores.create("other")
        with pytest.raises(InvalidInput):
            await stores.rename("My store", "other")
        with pytest.raises(InvalidInput):
            await stores.drop("My store")
        await stores.close(0)

    asyncio.run(main())
    assert (tmp_path / "My store.db").exists()


class TestRenameAndDrop:
    def test_rename_keeps_the_log(self, tmp_path: Path) -> None:
        async def work(stores: StoreSet) -> None:
            await create(stores, "old", "taken")
            async with stores.use("old") as store:
                await write(store, 1)
                log_id = store.core.log_id
            with pytest.raises(InvalidInput, match="already exists"):
                await stores.rename("old", "taken")
            await stores.rename("old", "new")
            assert await stores.names() == ["new", "taken"]
            async with stores.use("new") as store:
                assert store.core.log_id == log_id
                assert await read(store) == 1
                await write(store, 2)
            with pytest.raises(NotFound):
                await stores.use("old").__aenter__()

        run(work, tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["new.db", "taken.db"]

    def test_drop_removes_the_files(self, tmp_path: Path) -> None:
        async def work(stores: StoreSet) -> None:
            await create(stores, "acme")
            async with stores.use("acme") as store:
                await write(store, 1)
            removed = await stores.drop("acme")
            assert removed.files == ("acme.db",)
            assert removed.bytes
            with pytest.raises(NotFound):
                await stores.drop("acme")
            await create(stores, "acme")
            async with stores.use("acme") as store:
                assert await read(store) is None

        run(work, tmp_path)

    def test_a_store_in_use_is_neither_renamed_nor_dropped(self, tmp_path: Path) -> None:
        async def work(stores: StoreSet) -> None:
            await create(stores, "acme")
            async with stores.use("acme") as store:
                for change in (stores.drop("acme"), stores.rename("acme", "new")):
                    with pytest.raises(StoreBusy, match="in use"):
                        await change
                await write(store, 1)
                assert await stores.names() == ["acme"]

        run(work, tmp_path)


HOSTILE = [
    "..",
    ".",
    "../acme",
    "a/b",
    "/etc/passwd",
    "a\\b",
    "acme\0",
    "\0",
    " acme",
    "Acme",
    "\uff41cme",
    "café",
    "\ud800",
    "-acme",
    ".acme",
    "a" * 65,
    "a" * 100_000,
    "acme\n",
    "a:b",
    "٣",
]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_hostile_name_is_no_store(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "stores"
    folder.mkdir()
    (tmp_path / "acme.db").write_bytes(b"outside")

    async def work(stores: StoreSet) -> None:
        with pytest.raises(InvalidInput) as refused:
            await stores.create(name)
        assert refused.value.field == "name"
        assert len(str(refused.value)) < 400
        with pytest.raises(NotFound):
            await stores.use(name).__aenter__()
        with pytest.raises(NotFound):
            await stores.drop(name)
        await create(stores, "acme")
        with pytest.raises(InvalidInput):
            await stores.rename("acme", name)

    run(work, folder)
    assert [path.name for path in folder.iterdir()] == ["acme.db"]
    assert (tmp_path / "acme.db").read_bytes() == b"outside"


def test_an_empty_name_names_none_of_many(tmp_path: Path) -> None:
    async def work(stores: StoreSet) -> None:
        await create(stores, "a.b-c_1", "0", "a" * 64)
        with pytest.raises(NotFound, match="name one"):
            await stores.use("").__aenter__()
        assert await stores.names() == ["0", "a.b-c_1", "a" * 64]

    run(work, tmp_path)


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="make it first"):
        StoreSet.in_folder(tmp_path / "missing")
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="not a folder"):
        StoreSet.in_folder(tmp_path / "file")
