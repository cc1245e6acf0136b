"""One server owns a store while it has it open; the lock ends with its process."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import memoranda
from memoranda.errors import StoreBusy, StoreReadOnly
from memoranda.model.clock import SystemClock
from memoranda.server.store_catalog import FolderCatalog
from memoranda.server.stores import StoreOptions, StoreSet
from memoranda.storage import owner_lock
from memoranda.storage.owner_lock import OwnerLock, owner_file, read_owner

SERVER = """
import asyncio, sys
from memoranda.server.stores import StoreOptions, StoreSet

async def main(folder):
    options = StoreOptions(embedder=None, address="grpc://127.0.0.1:7000")
    stores = StoreSet.in_folder(folder, options)
    async with stores.use("acme"):
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)
    await stores.close(0)

asyncio.run(main(sys.argv[1]))
"""


@contextmanager
def another_server(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Let another process use the store `acme`, until its standard input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    FolderCatalog(tmp_path, "").create("acme")
    return tmp_path


async def use(folder: Path) -> int:
    """Use the store `acme` in this process, and return its last commit."""
    stores = StoreSet.in_folder(folder, StoreOptions(embedder=None))
    try:
        async with stores.use("acme") as store:
            return store.core.head()
    finally:
        await stores.close(0)


@pytest.mark.slow
def test_a_second_server_is_told_who_owns_the_store(folder: Path) -> None:
    with another_server(folder) as process:
        with pytest.raises(StoreBusy) as refused:
            asyncio.run(use(folder))
        message = str(refused.value)
        assert str(folder / "acme.db") in message
        assert f"process {process.pid} on {socket.gethostname()}" in message
        assert "grpc://127.0.0.1:7000" in message
        catalog = FolderCatalog(folder, "")
        for change in (lambda: catalog.drop("acme"), lambda: catalog.rename("acme", "new")):
            with pytest.raises(StoreBusy, match=str(process.pid)):
                change()
        assert catalog.names() == ["acme"]
        owner = catalog.summarize("acme").owner
        assert owner is not None
        assert str(process.pid) in owner
        with memoranda.open(folder / "acme.db", embedder=None) as embedded:
            embedded.write(agent_id="a", key="k", value={})  # a program is not kept out
        process.communicate(b"")
        assert process.returncode == 0
    assert not owner_file(folder / "acme.db").exists()
    assert asyncio.run(use(folder)) == 1


@pytest.mark.slow
def test_the_lock_ends_with_a_killed_server(folder: Path) -> None:
    with another_server(folder) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert owner_file(folder / "acme.db").exists(), "it is left behind, and says nothing"
    assert read_owner(folder / "acme.db") is None
    asyncio.run(use(folder))
    assert not owner_file(folder / "acme.db").exists()


def test_two_sets_of_one_process_do_not_share_a_store(folder: Path) -> None:
    async def work() -> None:
        stores = StoreSet.in_folder(folder, StoreOptions(embedder=None))
        async with stores.use("acme"):
            with pytest.raises(StoreBusy, match=f"process {os.getpid()}"):
                await use(folder)
        await stores.close(0)
        await use(folder)

    asyncio.run(work())


def test_the_file_is_private_and_no_link_is_followed(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    lock = OwnerLock.acquire(store, "here")
    assert owner_file(store).stat().st_mode & 0o777 == 0o600
    owner = read_owner(store)
    assert owner is not None
    assert (owner.pid, owner.address) == (os.getpid(), "here")
    lock.release()
    lock.release()
    assert read_owner(store) is None
    target = tmp_path / "target"
    target.write_text("keep")
    owner_file(store).symlink_to(target)
    with pytest.raises(memoranda.MemorandaError):
        OwnerLock.acquire(store, "here")
    assert target.read_text() == "keep"


def test_a_link_to_a_store_has_the_lock_of_its_target(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "s.db")
    lock = OwnerLock.acquire(tmp_path / "link.db", "")
    with pytest.raises(StoreBusy):
        OwnerLock.acquire(tmp_path / "s.db", "")
    lock.release()


def test_the_lock_of_a_removed_file_is_not_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, plain = tmp_path / "s.db", owner_lock._try_lock
    is_first = True

    def remove_first(descriptor: int, *, shared: bool = False) -> bool:
        nonlocal is_first
        if is_first:  # as if its holder released it between opening and locking
            is_first = False
            owner_file(store).unlink()
        return plain(descriptor, shared=shared)

    monkeypatch.setattr(owner_lock, "_try_lock", remove_first)
    lock = OwnerLock.acquire(store, "")
    assert read_owner(store) is not None, "the file that others find is locked"
    lock.release()


def test_whoever_only_looks_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "s.db"
    owner_file(store).write_text("left")
    descriptor = os.open(owner_file(store), os.O_RDONLY)
    assert owner_lock._try_lock(descriptor, shared=True)
    pauses: list[float] = []

    def pause(_: object, seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            os.close(descriptor)

    monkeypatch.setattr(SystemClock, "sleep", pause)
    OwnerLock.acquire(store, "").release()
    assert len(pauses) == 1


@pytest.mark.parametrize("content", [b"", b"{", b'{"pid": "x"}', b"\xff\xfe", b"[" * 5000])
def test_an_owner_that_does_not_say_who_it_is(content: bytes, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    lock = OwnerLock.acquire(store, "")
    owner_file(store).write_bytes(content)
    assert str(read_owner(store)) == "process unknown"
    with pytest.raises(StoreBusy, match="process unknown"):
        OwnerLock.acquire(store, "")
    lock.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_does_not_keep_the_lock(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    lock = OwnerLock.acquire(store, "")
    go_reader, go_writer = os.pipe()
    child = os.fork()
    if not child:  # it lives on until it is told to end
        os.close(go_writer)
        os.read(go_reader, 1)
        os._exit(0)
    os.close(go_reader)
    try:
        lock.release()
        OwnerLock.acquire(store, "").release()
    finally:
        os.close(go_writer)
        os.waitpid(child, 0)


def test_where_nothing_can_be_written_a_store_can_be_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> OwnerLock:
        raise StoreReadOnly("as if the folder could not be written to")

    async def write() -> None:
        stores = StoreSet.in_folder(folder, StoreOptions(embedder=None))
        try:
            async with stores.use("acme") as store:
                assert store.core.engine.read_only
        finally:
            await stores.close(0)

    monkeypatch.setattr(OwnerLock, "acquire", refuse)
    with pytest.raises(StoreReadOnly):  # the folder can be written to, so that others may write
        asyncio.run(write())
    monkeypatch.setattr(os, "access", lambda *_: False)
    asyncio.run(write())
