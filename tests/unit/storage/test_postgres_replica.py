"""Connections to a replica; here it is the database itself. A real standby is in tests/crash."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

import memoranda
from memoranda.sdk.local.calls import LocalCalls
from memoranda.storage.postgres import replica
from memoranda.storage.postgres.engine import PostgresEngine
from memoranda.storage.postgres.replica import Position, ReplicaReader
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
        reader = pool._connect()
        assert (reader.server, reader.position) == (first, (0, 0))
        pool.take_back(reader)
        assert reader.database.closed, "it is not lent again"
