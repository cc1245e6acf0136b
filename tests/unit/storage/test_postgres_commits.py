"""Commits to PostgreSQL: round trips, and writers that get in each other's way."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import cast

import psycopg
import pytest
from psycopg import pq

from memoranda import Store, Transaction, VersionMismatch
from memoranda.sdk.local.calls import LocalCalls
from memoranda.storage.postgres.connection import translate_errors
from memoranda.storage.postgres.engine import PostgresEngine
from tests.postgres_server import database_url, new_store_url, open_postgres

Work = Callable[[], object]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return new_store_url(tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_postgres(url)) as store:
        yield store


def _engine(store: Store) -> PostgresEngine:
    calls = cast("LocalCalls", store._calls)
    return cast("PostgresEngine", calls.core.engine)


def _round_trips(store: Store, work: Work) -> int:
    """Return how often the writer's connection waits for the server: once for each Sync."""
    engine = _engine(store)
    engine.write(lambda _: None)  # it has a connection from here on
    writer = engine._writer
    assert writer is not None
    connection = writer.database.pgconn
    with tempfile.TemporaryFile("w+") as lines:
        connection.trace(lines.fileno())
        connection.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
        try:
            work()
        finally:
            connection.untrace()
        lines.seek(0)
        return sum(line.split()[0] == "F" and "Sync" in line for line in lines)


def _write(store: Store, key: str = "k", expect_version: int | None = None) -> None:
    store.write(agent_id="a", key=key, value={"n": 1}, expect_version=expect_version)


class TestRoundTrips:
    def test_a_write_takes_one(self, store: Store) -> None:
        for _ in range(4):
            _write(store)
        assert _round_trips(store, lambda: _write(store)) == 1

    def test_a_delete_takes_one(self, store: Store) -> None:
        for _ in range(4):
            _write(store)
            store.delete(agent_id="a", key="k")
        assert _round_trips(store, lambda: store.delete(agent_id="a", key="k")) == 1

    def test_a_new_key_takes_one_more_to_look_for_it(self, store: Store) -> None:
        for number in range(4):
            _write(store, f"k{number}")
        assert _round_trips(store, lambda: _write(store, "new")) == 2

    def test_ten_writes_in_a_transaction_take_one(self, store: Store) -> None:
        def write_ten() -> None:
            with store.begin_transaction() as transaction:
                for number in range(10):
                    transaction.write(agent_id="a", key=f"k{number}", value={"n": number})

        for _ in range(4):
            write_ten()
        assert _round_trips(store, write_ten) == 1

    def test_a_refusal_takes_one(self, store: Store) -> None:
        for _ in range(4):
            _write(store)

        def be_refused() -> None:
            with pytest.raises(VersionMismatch):
                _write(store, expect_version=99)

        assert _round_trips(store, be_refused) == 1


class TestOneStatement:
    def test_a_key_written_twice_in_a_batch_has_its_last_value(self, store: Store) -> None:
        for _ in range(2):
            _write(store, "old")
        for key in ("old", "new"):
            with store.begin_transaction() as transaction:
                for number in range(3):
                    transaction.write(agent_id="a", key=key, value={"n": number})
        for key, version in (("old", 5), ("new", 3)):
            record = store.get_state(agent_id="a", key=key)
            assert record is not None
            assert (record.value, record.version) == ({"n": 2}, version)
        store.verify(deep=True)

    def test_committers_share_it(self, store: Store) -> None:
        def write(number: int) -> None:
            for _ in range(20):
                store.write(agent_id=f"agent-{number % 3}", key=f"k{number % 5}", value={"n": 1})

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(write, range(8)))
        events = list(store.replay(agent_id="agent-0"))
        assert sum(len(event.operations) for event in events) == 60
        store.verify(deep=True)


class TestOtherWriters:
    def test_stores_of_several_processes_lose_no_update(self, url: str, store: Store) -> None:
        """Each has caches of its own, which the others' commits outdate."""
        with closing(open_postgres(url)) as other:
            barrier = threading.Barrier(4)

            def count(mine: Store) -> None:
                barrier.wait()
                for _ in range(15):
                    mine.transact(_increment)

            with ThreadPoolExecutor(4) as threads:
                list(threads.map(count, (store, store, other, other)))
            record = store.get_state(agent_id="a", key="count")
            assert record is not None
            assert record.value == {"n": 60}
            assert [event.commit_ts for event in other.replay(agent_id="a")] == [*range(1, 61)]
            other.verify(deep=True)

    def test_a_refusal_knows_what_others_wrote(self, url: str, store: Store) -> None:
        _write(store)
        with closing(open_postgres(url)) as other:
            _write(other)
        _write(store, expect_version=2)

    def test_a_new_key_of_another_is_not_added_again(self, url: str, store: Store) -> None:
        _write(store)
        with closing(open_postgres(url)) as other:
            other.write(agent_id="b", key="new", value={"n": 1})
        store.write(agent_id="c", key="new", value={"n": 1})
        store.write(agent_id="b", key="new", value={"n": 2})
        store.verify(deep=True)


class TestLostConnections:
    def test_a_connection_lost_between_commits_goes_unnoticed(self, store: Store) -> None:
        _write(store)
        for _ in range(3):
            _end_writer(store)
            _write(store)
        record = store.get_state(agent_id="a", key="k")
        assert record is not None
        assert record.version == 4

    def test_a_commit_whose_answer_is_lost_is_found(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for _ in range(3):
            _write(store)
        writer = _engine(store)._writer
        assert writer is not None
        commit = writer.commit_at_once

        def lose_answer(*arguments: object) -> bool:
            commit(*arguments)  # type: ignore[arg-type]
            writer.database.close()
            raise psycopg.OperationalError("the connection was lost")

        monkeypatch.setattr(
            writer, "commit_at_once", lambda *arguments: _translated(lose_answer, *arguments)
        )
        _write(store)
        _write(store)
        assert [event.commit_ts for event in store.replay(agent_id="a")] == [1, 2, 3, 4, 5]
        store.verify(deep=True)


def _translated(work: Callable[..., bool], *arguments: object) -> bool:
    with translate_errors():
        return work(*arguments)


def _end_writer(store: Store) -> None:
    writer = _engine(store)._writer
    assert writer is not None
    with psycopg.connect(database_url(), autocommit=True) as database:
        database.execute(
            "SELECT pg_terminate_backend(%s, 5000)", [writer.database.info.backend_pid]
        )


def _increment(transaction: Transaction) -> None:
    record = transaction.get_state(agent_id="a", key="count")
    number = 0 if record is None else record.value["n"]
    transaction.write(agent_id="a", key="count", value={"n": number + 1})
