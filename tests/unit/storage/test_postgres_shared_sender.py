"""Stores of one database that send their commits together."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from psycopg import pq

from memoranda import Store
from memoranda.errors import Unavailable
from memoranda.sdk.local.calls import LocalCalls
from memoranda.storage.postgres import shared_sender
from memoranda.storage.postgres.engine import PostgresEngine
from memoranda.storage.postgres.shared_sender import SharedSender
from tests.patience import HANG_SECONDS, wait_until
from tests.postgres_server import database_url, new_store_url, open_postgres

STORES = 6


@pytest.fixture
def urls(tmp_path: Path) -> list[str]:
    return [new_store_url(tmp_path) for _ in range(STORES)]


@pytest.fixture
def stores(urls: list[str]) -> Iterator[list[Store]]:
    with ExitStack() as stack:
        stores = [stack.enter_context(open_postgres(url)) for url in urls]
        for store in stores:
            for _ in range(2):  # the second has nothing left to read
                _write(store)
        yield stores


def _write(store: Store) -> None:
    store.write(agent_id="a", key="k", value={"n": 1})


def _commits(store: Store) -> list[int]:
    return [event.commit_ts for event in store.replay(agent_id="a")]


def _sender(store: Store) -> SharedSender:
    engine = cast("PostgresEngine", cast("LocalCalls", store._calls).core.engine)
    assert engine._sender is not None
    return engine._sender


@contextmanager
def _no_event_can_be_added() -> Iterator[None]:
    """Let every commit of the database wait until the block ends."""
    with psycopg.connect(database_url()) as database:
        database.execute("LOCK TABLE memoranda.event IN EXCLUSIVE MODE")
        yield


@contextmanager
def _sent_statements(sender: SharedSender) -> Iterator[list[str]]:
    """Collect the statements that a sender has sent, when the block has ended."""
    connection = sender._ready().pgconn
    statements: list[str] = []
    with tempfile.TemporaryFile("w+") as lines:
        connection.trace(lines.fileno())
        connection.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
        try:
            yield statements
        finally:
            connection.untrace()
        lines.seek(0)
        statements += [line for line in lines if line.split()[::2][:2] == ["F", "Execute"]]


def _queue_behind_one(
    threads: ThreadPoolExecutor, first: Store, others: list[Store]
) -> list[Future[Any]]:
    """Let one store wait for the server, and the others for it."""
    sender = _sender(first)
    futures = [threads.submit(_write, first)]
    wait_until(lambda: sender._leader is not None and not sender._queue)
    futures += [threads.submit(_write, store) for store in others]
    wait_until(lambda: len(sender._queue) == len(others))
    return futures


def test_what_gathers_while_one_is_sent_is_one_statement(stores: list[Store]) -> None:
    with (
        _sent_statements(_sender(stores[0])) as statements,
        ThreadPoolExecutor(STORES) as threads,
    ):
        with _no_event_can_be_added():
            futures = _queue_behind_one(threads, stores[0], stores[1:])
        for future in futures:
            future.result()
    assert len(statements) == 2
    for store in stores:
        assert _commits(store) == [1, 2, 3]
        store.verify(deep=True)


def test_a_store_that_others_wrote_to_is_left_out(stores: list[Store], urls: list[str]) -> None:
    """Its batch is decided again, and the others are written by the same statement."""
    with (
        open_postgres(urls[1]) as other,
        _sent_statements(_sender(stores[0])) as statements,
        ThreadPoolExecutor(STORES) as threads,
    ):
        _write(other)  # under the lock: it knows no stamp yet
        with _no_event_can_be_added():
            futures = _queue_behind_one(threads, stores[0], stores[1:4])
        for future in futures:
            future.result()
    assert len(statements) == 2
    assert [len(_commits(store)) for store in stores] == [3, 4, 3, 3, 2, 2]
    for store in stores:
        store.verify(deep=True)


def test_two_handles_of_one_store_take_turns(stores: list[Store], urls: list[str]) -> None:
    with open_postgres(urls[1]) as twin, ThreadPoolExecutor(STORES) as threads:
        _write(twin)
        with _no_event_can_be_added():
            futures = _queue_behind_one(threads, stores[0], [twin, stores[1], stores[2]])
        for future in futures:
            future.result()
    assert _commits(stores[1]) == [1, 2, 3, 4, 5]
    stores[1].verify(deep=True)


def test_a_locked_store_keeps_no_other_waiting(stores: list[Store]) -> None:
    locked, free = stores[0], stores[1]
    store_id = cast("LocalCalls", locked._calls).core.engine._store_id  # type: ignore[attr-defined]
    with ThreadPoolExecutor(1) as threads:
        with psycopg.connect(database_url()) as database:
            database.execute(
                "SELECT 1 FROM memoranda.head WHERE store_id = %s FOR UPDATE", [store_id]
            )
            future = threads.submit(_write, locked)
            for _ in range(3):
                _write(free)
            assert not future.done()
        future.result()
    assert (_commits(locked), _commits(free)) == ([1, 2, 3], [1, 2, 3, 4, 5])


def test_a_lost_connection_loses_and_doubles_nothing(stores: list[Store]) -> None:
    sender = _sender(stores[0])

    def count(store: Store) -> None:
        for _ in range(20):
            _write(store)

    with ThreadPoolExecutor(STORES) as threads:
        futures = [threads.submit(count, store) for store in stores]
        with psycopg.connect(database_url(), autocommit=True) as database:
            while not all(future.done() for future in futures):
                connection = sender._database
                if connection is not None and not connection.closed:
                    database.execute(
                        "SELECT pg_terminate_backend(%s)", [connection.info.backend_pid]
                    )
        for future in futures:
            future.result()
    for store in stores:
        assert _commits(store) == [*range(1, 23)]
        store.verify(deep=True)


@pytest.mark.parametrize("step", ["_take_batch", "link_waiters", "_send"])
def test_an_interrupt_of_the_leader_keeps_nobody_waiting(
    stores: list[Store], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whatever it has done by then: the others' commits are sent, or found out."""
    sender = _sender(stores[0])
    target: Any = shared_sender if step == "link_waiters" else sender
    own = getattr(target, step)

    def interrupt(*arguments: object) -> object:
        result = own(*arguments)
        if sender._last_size > 1:  # others are in the batch
            monkeypatch.setattr(target, step, own)
            raise KeyboardInterrupt
        return result

    def write(store: Store) -> bool:
        try:
            _write(store)
        except KeyboardInterrupt:
            return False
        return True

    with ThreadPoolExecutor(STORES) as threads:
        with _no_event_can_be_added():
            first = threads.submit(_write, stores[0])
            wait_until(lambda: sender._leader is not None and not sender._queue)
            monkeypatch.setattr(target, step, interrupt)
            futures = [threads.submit(write, store) for store in stores[1:]]
            wait_until(lambda: len(sender._queue) == len(futures))
        first.result()
        written = [future.result(HANG_SECONDS) for future in futures]
    assert written.count(False) == 1
    for store, is_written in zip(stores[1:], written, strict=True):
        if is_written:
            assert _commits(store) == [1, 2, 3]
        _write(store)
        store.verify(deep=True)


def test_a_sender_that_cannot_connect_leaves_each_store_to_itself(
    stores: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was sent, so that no outcome is unknown, and no connection is given up."""
    sender = _sender(stores[0])

    def refuse() -> psycopg.Connection[Any]:
        raise Unavailable("too many clients already")

    sender._disconnect()
    monkeypatch.setattr(sender, "_connect", refuse)
    for store in stores[:2]:
        engine = cast("PostgresEngine", cast("LocalCalls", store._calls).core.engine)
        writer = engine._writer
        _write(store)
        assert engine._writer is writer
        assert _commits(store) == [1, 2, 3]


def test_a_store_alone_has_no_connection_for_others(tmp_path: Path) -> None:
    with open_postgres(new_store_url(tmp_path)) as store:
        for _ in range(3):
            _write(store)
        assert _sender(store)._database is None
