"""Stores that are spread over three PostgreSQL servers, and moved between them under load.

Nothing acknowledged is lost, nothing is there twice, and the clients of the server of the stores
go on. `MEMORANDA_MOVES` says how often a store is moved.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pytest

import memoranda
from memoranda.server.database_catalog import DatabaseCatalog
from memoranda.storage.postgres.database_url import parse_database
from tests.crash.postgres_pair import Server, new_folder, new_server
from tests.crash.writing_clients import clients_of
from tests.server_process import ServerProcess

pytestmark = pytest.mark.slow
_MOVES = int(os.environ.get("MEMORANDA_MOVES", "2"))
_ROUTE = ("west", "home", "east")


@pytest.fixture
def servers() -> Iterator[dict[str, Server]]:
    folder = new_folder()
    servers = {name: new_server(folder, name) for name in ("home", "east", "west")}
    try:
        for server in servers.values():
            server.create()
            server.start()
        yield servers
    finally:
        for server in servers.values():
            server.stop_if_running()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def home(servers: dict[str, Server]) -> str:
    """The URL of the directory, with the folder of all indexes."""
    server = servers["home"]
    return f"{server.url}&index={server.folder.parent / 'index'}"


@pytest.fixture
def catalog(servers: dict[str, Server], home: str) -> Iterator[DatabaseCatalog]:
    with closing(DatabaseCatalog(parse_database("url", home), "a test")) as catalog:
        for name in ("east", "west"):
            catalog.put_server(name, servers[name].url)
        yield catalog


def test_stores_are_spread_moved_under_load_and_found(
    servers: dict[str, Server], catalog: DatabaseCatalog, home: str
) -> None:
    for number in range(4):
        catalog.create(f"store-{number}")
    assert [(server.name, server.stores) for server in catalog.servers()] == [
        ("home", 0),
        ("east", 2),
        ("west", 2),
    ]
    with ServerProcess("--stores", home) as server:
        with memoranda.open(f"grpc://{server.address}/store-1") as bystander:
            bystander.write(agent_id="a", key="k", value={"n": 1})
        with clients_of(f"grpc://{server.address}/store-0") as clients:
            for number in range(_MOVES):
                target = _ROUTE[number % len(_ROUTE)]
                began_at = time.monotonic()
                report = catalog.move("store-0", target, wait=60.0)
                moved_at = time.monotonic()
                assert report.removed
                for client in clients:
                    client.wait_for_more()
                gaps = [_longest_gap(client.times, began_at) for client in clients]
                sys.stdout.write(
                    f"{report.commits} commits to {target} in {moved_at - began_at:.2f} s: without "
                    f"writes for {report.pause_seconds:.3f} s, clients waited {max(gaps):.2f} s\n"
                )
        with memoranda.open(f"grpc://{server.address}/store-1") as bystander:
            assert bystander.verify().commits == 1
    target = _ROUTE[(_MOVES - 1) % len(_ROUTE)]
    assert {summary.name: summary.server or "home" for summary in catalog.summaries()} == {
        "store-0": target,
        "store-1": "west",
        "store-2": "east",
        "store-3": "west",
    }
    for name, other in servers.items():
        rows = other.execute("SELECT COUNT(*) FROM memoranda.event")
        assert (rows != [(0,)]) == (name in (target, "west")), "it is where it was moved to only"
    with memoranda.open(f"{home}&store=store-0", embedder=None, create=False) as store:
        assert store.verify(deep=True).commits > 0
    _check_that_a_lost_server_takes_only_its_stores_along(servers, catalog, home)


def _longest_gap(times: list[float], since: float) -> float:
    """Return the longest time between two acknowledged writes of a client."""
    moments = [since, *(moment for moment in [*times] if moment > since)]
    return max(later - earlier for earlier, later in pairwise(moments))


def _check_that_a_lost_server_takes_only_its_stores_along(
    servers: dict[str, Server], catalog: DatabaseCatalog, home: str
) -> None:
    catalog.create("acme", "east")
    catalog.create("globex", "west")
    with (
        memoranda.open(f"{home}&store=acme", embedder=None) as acme,
        memoranda.open(f"{home}&store=globex", embedder=None) as globex,
    ):
        for store in (acme, globex):
            store.write(agent_id="a", key="k", value={"n": 1})
        servers["east"].kill()
        with pytest.raises((memoranda.Unavailable, memoranda.CommitUnknown)):
            acme.write(agent_id="a", key="k", value={"n": 2})
        assert globex.write(agent_id="a", key="k", value={"n": 2}).commit_ts == 2
        problems = {summary.name: summary.problem for summary in catalog.summaries()}
        assert problems["globex"] is None
        assert "does not answer" in str(problems["acme"])
        servers["home"].kill()
        assert globex.write(agent_id="a", key="k", value={"n": 3}).commit_ts == 3
