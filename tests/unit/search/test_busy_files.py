"""A search takes no write lock, and does not wait for a writer."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest

import memoranda
from memoranda import Store
from memoranda.search.index import background_indexer, indexer
from memoranda.testing import memory_store
from tests.cores import core_of
from tests.patience import HANG_SECONDS, wait_until


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a store with a queue that is long enough to wake the indexer."""
    monkeypatch.setattr(background_indexer, "SEARCH_WAKE_THRESHOLD", 2)
    path = tmp_path / "store.db"
    with memoranda.open(path, embedder=None) as store:
        for number in range(4):
            store.bind(agent_id="a").remember(f"number{number}")
    return path


def recalled(store: Store, query: str) -> list[str]:
    return [hit.text for hit in store.bind(agent_id="a").recall(query)]


HOLD_THE_LOCK = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
connection.execute("ROLLBACK")
"""


def test_a_search_takes_no_write_lock_while_another_process_holds_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writers: list[str] = []
    with memoranda.open(path, embedder=None) as store:
        engine = core_of(store).engine
        write = engine.write

        def watched(work: Any, *, wait: float | None = None) -> Any:
            writers.append(threading.current_thread().name)
            return write(work, wait=wait)

        monkeypatch.setattr(engine, "write", watched)
        order = [sys.executable, "-c", HOLD_THE_LOCK, str(path)]
        pipe = subprocess.PIPE
        with subprocess.Popen(order, stdin=pipe, stdout=pipe, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "locked\n"
            for _ in range(3):
                assert recalled(store, "number2") == ["number2"]
            assert store.stats().index_backlog == 4
            other.communicate(timeout=HANG_SECONDS)
        assert set(writers) <= {"memoranda-indexer"}, "its own thread writes, and no other"
        wait_until(lambda: store.stats().index_backlog == 0)
        assert recalled(store, "number2") == ["number2"]


SEARCH = """
import sys, memoranda
from memoranda.search.index import background_indexer
background_indexer.SEARCH_WAKE_THRESHOLD = 2
with memoranda.open(sys.argv[1], embedder=None) as store:
    print([hit.text for hit in store.bind(agent_id="a").recall("number2")])
"""


def test_a_second_process_searches_while_this_one_holds_the_lock(path: Path) -> None:
    holder = apsw.Connection(str(path))
    holder.execute("BEGIN IMMEDIATE")
    try:
        order = [sys.executable, "-c", SEARCH, str(path)]
        done = subprocess.run(
            order, capture_output=True, text=True, timeout=HANG_SECONDS, check=True
        )
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert done.stdout == "['number2']\n"


def test_a_store_that_is_only_read_is_searched_and_not_indexed(path: Path) -> None:
    with memoranda.open(path, read_only=True, embedder=None) as store:
        assert recalled(store, "number2") == ["number2"]
        stats = store.stats()
        assert (stats.index_backlog, stats.warnings) == (4, ())
        worker: Any = core_of(store).background_indexer._worker
        assert not worker._is_running()


def test_others_have_their_turn_between_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "_FIRST_PART_COST", 8 * 300)
    monkeypatch.setattr(indexer, "_MAX_PART_COST", 8 * 300)
    monkeypatch.setattr(indexer, "_MIN_PART_COST", 8 * 300)
    bound = memory_store().bind(agent_id="a")
    bound.store_transcript("a line\n" * 20)
    ways: list[bool] = []
    engine = core_of(bound).engine

    def yield_to_writers() -> None:
        engine.write(lambda _: ways.append(True), wait=0.0)

    monkeypatch.setattr(indexer, "yield_to_writers", yield_to_writers)
    assert indexer.fill(engine) == 1
    assert len(ways) == 3
