"""Readiness: a server says that it is not ready, and why, when it could not answer calls."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import httpx2
import pytest

from memoranda.errors import Unavailable
from memoranda.server.control_store import ControlStore, control_path
from memoranda.server.http.settings import HttpSettings
from memoranda.server.readiness import REUSE_SECONDS, Readiness
from memoranda.server.stores import StoreOptions, StoreSet
from tests.http_app import Served, run
from tests.patience import wait_until
from tests.server_process import ServerThread

OPTIONS = StoreOptions(embedder=None, durability="relaxed")


def answer(server: ServerThread) -> httpx2.Response:
    return httpx2.get(f"http://{server.server.http_address}/readyz")


def test_a_server_is_ready_until_its_folder_is_gone(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "stores", tmp_path / "elsewhere"
    folder.mkdir()
    with ServerThread(folder=folder, create=["acme"], http=HttpSettings(port=0)) as server:
        assert answer(server).json() == {"status": "ready"}
        folder.rename(elsewhere)
        wait_until(lambda: answer(server).status_code == 503)
        problem = answer(server).json()
        assert problem["error"] == "Unavailable"
        assert "the folder of the stores cannot be read" in problem["detail"]
        assert str(tmp_path) not in problem["detail"]
        elsewhere.rename(folder)
        wait_until(lambda: answer(server).status_code == 200)


def test_a_server_whose_control_store_is_gone_is_not_ready(tmp_path: Path) -> None:
    with ServerThread(folder=tmp_path, http=HttpSettings(port=0)) as server:
        assert answer(server).status_code == 200
        path = control_path(folder=tmp_path)
        path.rename(path.with_suffix(".away"))
        wait_until(lambda: answer(server).status_code == 503)
        assert "the file of the control store cannot be read" in answer(server).json()["detail"]


def test_the_only_store_of_a_server_must_be_there(tmp_path: Path) -> None:
    path = tmp_path / "only.db"
    with ServerThread(file=path, http=HttpSettings(port=0)) as server:
        assert answer(server).status_code == 200
        path.rename(tmp_path / "away.db")
        wait_until(lambda: answer(server).status_code == 503)
        assert "the file of the store cannot be read" in answer(server).json()["detail"]


def test_a_server_that_drains_is_not_ready(tmp_path: Path) -> None:
    async def work(served: Served) -> None:
        assert (await served.client.get("/readyz")).status == 200
        await served.app.drain(0)
        reply = await served.client.get("/readyz")
        assert reply.status == 503
        assert reply.json["type"] == "urn:memoranda:problem:shutting-down"
        assert (await served.client.get("/healthz")).status == 200

    run(tmp_path, work)


class Clock:
    def __init__(self) -> None:
        self.now_seconds = 100.0

    def now(self) -> int:
        raise NotImplementedError

    def monotonic(self) -> float:
        return self.now_seconds

    def sleep(self, seconds: float) -> None:
        raise NotImplementedError


def test_a_check_is_shared_and_used_again_for_a_moment(tmp_path: Path) -> None:
    checks = 0

    class CountedStores(StoreSet):
        async def check_readable(self) -> None:
            nonlocal checks
            checks += 1
            await super().check_readable()

    async def main() -> None:
        clock = Clock()
        stores = CountedStores.in_folder(tmp_path, OPTIONS)
        with ControlStore(control_path(folder=tmp_path)) as control:
            readiness = Readiness(stores, control, clock)
            await asyncio.gather(*(readiness.check() for _ in range(50)))
            assert checks == 1
            clock.now_seconds += REUSE_SECONDS
            await readiness.check()
            assert checks == 2
        clock.now_seconds += REUSE_SECONDS
        with pytest.raises(Unavailable):
            await readiness.check()
        await stores.close(0)

    asyncio.run(main())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "stores"
    folder.mkdir()
    with ServerThread(folder=folder, http=HttpSettings(port=0), tokens=False) as server:
        folder.chmod(0)
        wait_until(lambda: answer(server).status_code == 503)
        folder.chmod(0o700)
