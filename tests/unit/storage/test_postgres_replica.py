"""Connections to a replica; here it is the database itself. A real standby is in tests/crash."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

import memoranda
from memoranda.errors import ReplicaBehind
from memoranda.sdk.local.calls import LocalCalls
from memoranda.storage.postgres import replica
from memoranda.storage.postgres.engine import PostgresEngine
from memoranda.storage.postgres.replica import Position, ReplicaReader
from tests.patience import HANG_SECONDS
from tests.postgres_server import database_url, new_store_url


def test_a_connection_is_of_the_server_that_it_was_made_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread chooses another server in between: reads must not take this one for that."""
    url = new_store_url(tmp_path)
    with closing(memoranda.open(url, read_url=database_url(), embedder=None)) as store:
        engine = cast("PostgresEngine", cast("LocalCalls", store._calls).core.engine)
        pool = engine._replica
        assert pool is not None
        first = pool._server
        pool.close()

        def make_late(*arguments: Any, **options: Any) -> ReplicaReader:
            pool._server, pool._floor = {"host": "elsewhere"}, Position((99, 99))
            return ReplicaReader(*arguments, **options)

        monkeypatch.setattr(replica, "ReplicaReader", make_late)
        reader = pool._connect(pool._deadline())
        assert (reader.server, reader.position) == (first, (0, 0))
        pool.take_back(reader)
        assert reader.database.closed, "it is not lent again"


def test_nobody_waits_longer_because_others_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread waits for the replica, for as long as it may; another one needs a connection."""
    url = new_store_url(tmp_path)
    waits, ends = threading.Event(), threading.Event()

    def wait_for(*_: Any) -> Position:
        waits.set()
        assert ends.wait(2 * HANG_SECONDS)
        return Position((0, 0))

    with (
        closing(
            memoranda.open(url, read_url=database_url(), read_wait=0.1, embedder=None)
        ) as store,
        ThreadPoolExecutor(2) as threads,
    ):
        engine = cast("PostgresEngine", cast("LocalCalls", store._calls).core.engine)
        pool = engine._replica
        assert pool is not None
        pool.close()
        monkeypatch.setattr(pool, "_server", None)
        monkeypatch.setattr(pool, "_wait_for", wait_for)
        first = threads.submit(pool.lend, 0)
        assert waits.wait(HANG_SECONDS)
        try:
            with pytest.raises(ReplicaBehind):
                threads.submit(pool.lend, 0).result(HANG_SECONDS)
        finally:
            ends.set()
        pool.take_back(first.result())
