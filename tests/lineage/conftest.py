"""What Statehouse's examples call a client: a store of ours, new for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest

import memoranda
from memoranda import Store
from memoranda.storage.sqlite.engine import SqliteEngine
from memoranda.testing import FixedClock, memory_store
from tests.cores import core_of


@pytest.fixture
def clock() -> FixedClock:
    """The client's clock: it stands at 2026-01-01T00:00:00Z until a test moves it."""
    return FixedClock()


@pytest.fixture
def client(clock: FixedClock) -> Iterator[Store]:
    """A client of a new store in memory."""
    with memory_store(clock=clock) as store:
        yield store


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Give a client of one store on disk; each call gives another."""
    with ExitStack() as clients:
        yield lambda: clients.enter_context(
            memoranda.open(tmp_path / "store.db", durability="relaxed")
        )


Effort = Callable[[Callable[[], object]], int]


@pytest.fixture
def effort(client: Store) -> Effort:
    """Count what the database does for a call, in steps of its virtual machine: never by time."""
    database = cast(SqliteEngine, core_of(client).engine)._writer.database

    def measure(call: Callable[[], object]) -> int:
        steps = 0

        def count() -> bool:
            nonlocal steps
            steps += 1
            return False

        database.set_progress_handler(count, 1)
        try:
            call()
        finally:
            database.set_progress_handler(None)
        return steps

    return measure
