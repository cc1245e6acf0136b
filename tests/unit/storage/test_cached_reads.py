"""Cached reads: once for all snapshots of a commit, and again as soon as anybody has committed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda import Store
from memoranda.storage.port import Reader
from memoranda.storage.sqlite import connection
from memoranda.testing import memory_store
from tests.cores import core_of
from tests.patience import HANG_SECONDS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with memoranda.open(path, durability="relaxed", embedder=None) as opened:
        opened.write(agent_id="a", key="k", value={})
        yield opened


class Head:
    """Reads the number of the last commit, and counts how often."""

    def __init__(self) -> None:
        self.reads = 0

    def __call__(self, reader: Reader, *_: object) -> int | None:
        self.reads += 1
        row = reader.row("event_head")
        return None if row is None else int(row[0])

    def of(self, store: Store, *arguments: str) -> int | None:
        """Return it in a new snapshot."""
        with core_of(store).engine.snapshot() as reader:
            reader.row("event_head")
            return reader.cached(self, *arguments)


def test_it_is_read_once_while_nothing_is_committed(store: Store) -> None:
    head = Head()
    assert [head.of(store) for _ in range(3)] == [1, 1, 1]
    assert head.reads == 1


def test_other_arguments_are_another_read(store: Store) -> None:
    head = Head()
    for argument in ("x", "y", "x", "y"):
        head.of(store, argument)
    assert head.reads == 2


def test_a_commit_of_the_same_store_is_seen(store: Store) -> None:
    head = Head()
    assert head.of(store) == 1
    store.write(agent_id="a", key="k", value={})
    assert [head.of(store), head.of(store), head.reads] == [2, 2, 2]


def test_a_commit_of_another_handle_is_seen(path: Path, store: Store) -> None:
    head = Head()
    with memoranda.open(path, create=False, embedder=None) as other:
        for commit in range(1, 5):
            assert (head.of(store), head.of(other)) == (commit, commit)
            other.write(agent_id="a", key="k", value={})


def test_a_commit_of_another_process_is_seen(path: Path, store: Store) -> None:
    head = Head()
    assert head.of(store) == 1
    script = (
        "import memoranda, sys\n"
        "with memoranda.open(sys.argv[1], create=False, embedder=None) as store:\n"
        "    store.write(agent_id='a', key='k', value={})\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, timeout=HANG_SECONDS)
    assert head.of(store) == 2


def test_a_snapshot_stays_as_it_is(store: Store) -> None:
    head = Head()
    with core_of(store).engine.snapshot() as before:
        before.row("event_head")
        store.write(agent_id="a", key="k", value={})
        assert head.of(store) == 2, "a snapshot that began later"
        assert before.cached(head) == 1
    assert head.of(store) == 2


def test_before_its_first_read_a_snapshot_is_of_no_commit_yet(store: Store) -> None:
    head = Head()
    assert head.of(store) == 1
    with core_of(store).engine.snapshot() as reader:
        store.write(agent_id="a", key="k", value={})
        assert reader.cached(head) == 2


def test_without_a_snapshot_each_call_reads(store: Store) -> None:
    head = Head()
    with core_of(store).engine.reading() as reader:
        assert [reader.cached(head), reader.cached(head)] == [1, 1]
        store.write(agent_id="a", key="k", value={})
        assert reader.cached(head) == 2
    assert head.reads == 3


def test_a_writer_sees_what_it_has_written(store: Store) -> None:
    def count(reader: Reader) -> int:
        return len(reader.rows("index_queue_page", after=0, limit=100))

    def work(writer: connection.Connection) -> tuple[int, int]:
        before = writer.cached(count)
        writer.run("index_queue_add", commit_ts=99, size=1)
        return before, writer.cached(count)

    before, after = core_of(store).engine.write(work)  # type: ignore[arg-type]
    assert after == before + 1


def test_a_store_in_memory_sees_each_commit() -> None:
    head = Head()
    store = memory_store()
    for commit in range(1, 4):
        store.write(agent_id="a", key="k", value={})
        assert head.of(store) == commit


def test_nothing_is_a_result_too(store: Store) -> None:
    reads = 0

    def nothing(_: Reader) -> None:
        nonlocal reads
        reads += 1

    with core_of(store).engine.snapshot() as reader:
        reader.row("event_head")
        assert reader.cached(nothing) is reader.cached(nothing) is None
    assert reads == 1


def test_there_are_only_so_many(store: Store) -> None:
    head = Head()
    with core_of(store).engine.snapshot() as reader:
        reader.row("event_head")
        for number in range(10 * connection._CACHED_READS):
            reader.cached(head, str(number))
        assert isinstance(reader, connection.Connection)
        assert len(reader._cache) <= connection._CACHED_READS
