"""Backups: whole, of one moment, and never in anybody's way."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import apsw
import pytest

import memoranda
from memoranda import InvalidInput, NotFound, Store, StoreReadOnly
from memoranda.storage.sqlite.wal import Journal
from memoranda.testing import memory_store
from tests.patience import HANG_SECONDS, wait_until
from tests.unprivileged import open_folder, run_unprivileged

WRITER = """
import sys, memoranda
from pathlib import Path
store = memoranda.open(sys.argv[1], durability="relaxed").bind(agent_id=sys.argv[2])
number = 0
while not Path(sys.argv[3]).exists():
    number += 1
    with store.begin_transaction() as transaction:
        transaction.write(key="left", value={"n": number})
        transaction.write(key="right", value={"n": number, "text": "x" * 2000})
"""
SLOW_BACKUP = """
import signal, sys, time, memoranda
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored in the background
def wait(done, total):
    print(done, total, flush=True)
    time.sleep(60)
memoranda.open(sys.argv[1]).backup(sys.argv[2], progress=wait)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with memoranda.open(path, durability="relaxed") as opened:
        yield opened.bind(agent_id="a")


def fill(store: Store, count: int = 40) -> None:
    """Write enough to be copied in several steps."""
    for number in range(count):
        store.write(key=f"k{number}", value={"text": "x" * 200_000})


def tokens(store: Store, agent_id: str) -> list[str]:
    return [event.token for event in store.replay(agent_id=agent_id)]


def test_a_backup_is_the_store(store: Store, path: Path) -> None:
    store.write(key="k", value={"n": 1})
    store.write(key="k", value={"n": 2})
    target = path.with_name("backup.db")
    backup = store.backup(target)
    assert backup == memoranda.Backup(commits=2, bytes=target.stat().st_size)
    with memoranda.open(target, create=False) as copy:
        assert copy.verify() == store.verify()
        assert list(copy.replay(agent_id="a")) == list(store.replay())
        assert list(copy.history(agent_id="a", key="k")) == list(store.history(key="k"))
        assert copy.rebuild().identical


def test_one_file_appears_and_nothing_else(store: Store, path: Path) -> None:
    store.write(key="k", value={})
    store.backup(path.with_name("backup.db"))
    store.close()
    assert sorted(file.name for file in path.parent.iterdir()) == ["backup.db", "store.db"]


def test_a_backup_of_a_store_in_memory_opens_as_a_file(tmp_path: Path) -> None:
    memory = memory_store()
    memory.write(agent_id="a", key="k", value={"n": 1})
    assert memory.backup(tmp_path / "backup.db").commits == 1
    with memoranda.open(tmp_path / "backup.db", create=False) as copy:
        assert copy.verify().head_hash == memory.verify().head_hash
        copy.write(agent_id="a", key="k", value={"n": 2})
        assert copy.stats().epoch == 2
    beside = apsw.Connection(str(tmp_path / "backup.db"))
    assert beside.pragma("journal_mode") == "wal", "readers would keep writers waiting"


def test_an_empty_store_can_be_backed_up(store: Store, path: Path) -> None:
    assert store.backup(path.with_name("backup.db")).commits == 0
    with memoranda.open(path.with_name("backup.db"), create=False) as copy:
        assert copy.verify().log_id == store.verify().log_id


def test_what_is_written_meanwhile_is_not_in_it_and_does_not_prolong_it(
    store: Store, path: Path
) -> None:
    fill(store)
    steps: list[int] = []

    def write_more(done: int, total: int) -> None:
        steps.append(done)
        store.write(key="more", value={"text": "x" * 100_000})
        assert done <= total

    backup = store.backup(path.with_name("backup.db"), progress=write_more)
    assert backup.commits == 40
    assert steps == sorted(set(steps)), "it began again"
    assert 2 < len(steps) < 10
    with memoranda.open(path.with_name("backup.db"), create=False) as copy:
        assert copy.verify().commits == 40
        assert copy.get_state(agent_id="a", key="more") is None
    assert store.verify().commits == 40 + len(steps)


class Waits:
    """A connection that notes how many milliseconds starting the log over may wait."""

    def __init__(self, database: apsw.Connection, waits: list[int]) -> None:
        self._database = database
        self._waits = waits
        self._wait = 0

    def set_busy_timeout(self, milliseconds: int) -> None:
        self._wait = milliseconds
        self._database.set_busy_timeout(milliseconds)

    def wal_checkpoint(self, *, mode: int) -> tuple[int, int]:
        if mode == apsw.SQLITE_CHECKPOINT_TRUNCATE:
            self._waits.append(self._wait)
        return self._database.wal_checkpoint(mode=mode)


def test_no_writer_waits_for_a_backup_to_end(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Starting the write-ahead log over is not possible meanwhile, and not waited for either."""
    for name, pages in (
        ("_CHECKPOINT_PAGES", 50),
        ("TRUNCATE_PAGES", 100),
        ("_READERS_WAIT_MS", 1),
    ):
        monkeypatch.setattr(f"memoranda.storage.sqlite.wal.{name}", pages)
    fill(store)
    waits: list[int] = []
    tend = Journal.tend

    def watched(journal: Journal, database: apsw.Connection, lock_wait_ms: int) -> None:
        tend(journal, cast(apsw.Connection, Waits(database, waits)), lock_wait_ms)

    def write_more(done: int, total: int) -> None:
        store.write(key="more", value={"text": "x" * 500_000})

    monkeypatch.setattr(Journal, "tend", watched)

    store.backup(path.with_name("backup.db"), progress=write_more)
    assert path.with_name("store.db-wal").stat().st_size > 100 * 4096
    assert set(waits) == {1}, "not as long as for a lock"


@pytest.mark.slow
def test_backups_under_load_hold_a_prefix(store: Store, path: Path, tmp_path: Path) -> None:
    fill(store)
    stop = tmp_path / "stop"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, str(stop)])
        for name in ("b", "c")
    ]
    try:
        while min(len(tokens(store, name)) for name in ("b", "c")) < 5:
            assert all(writer.poll() is None for writer in writers)
        instance: list[memoranda.Backup] = []
        for number in range(4):
            instance.append(store.backup(tmp_path / f"backup{number}.db"))
            wait_until(lambda: store.stats().commits > instance[-1].commits)
    finally:
        stop.touch()
        assert [writer.wait(HANG_SECONDS) for writer in writers] == [0, 0]
    assert instance[-1].commits > instance[0].commits
    for number, backup in enumerate(instance):
        with memoranda.open(tmp_path / f"backup{number}.db", create=False) as copy:
            assert copy.verify().commits == backup.commits
            for name in ("b", "c"):
                stored_value = tokens(copy, name)
                assert stored_value == tokens(store, name)[: len(stored_value)]
                both = [copy.get_state(agent_id=name, key=key) for key in ("left", "right")]
                assert [record and record.value["n"] for record in both] == [len(stored_value)] * 2


def test_a_name_that_is_taken_is_refused(store: Store, path: Path) -> None:
    other = path.with_name("other")
    other.write_text("mine")
    dangling = path.with_name("dangling")
    dangling.symlink_to(path.with_name("nowhere"))
    for item in (other, path, path.parent, dangling):
        with pytest.raises(InvalidInput, match=r"path: .* already exists"):
            store.backup(item)
    assert other.read_text() == "mine"


def test_a_name_that_is_taken_meanwhile_is_refused_too(store: Store, path: Path) -> None:
    target = path.with_name("backup.db")

    def take_it(done: int, total: int) -> None:
        target.write_text("mine")

    with pytest.raises(InvalidInput, match="already exists"):
        store.backup(target, progress=take_it)
    assert target.read_text() == "mine"
    store.close()
    assert sorted(file.name for file in path.parent.iterdir()) == ["backup.db", "store.db"]


def test_where_there_are_no_hard_links(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    store.write(key="k", value={})
    target = path.with_name("backup.db")
    assert store.backup(target).commits == 1
    other = path.with_name("other.db")

    def take_it(done: int, total: int) -> None:
        other.write_text("mine")

    with pytest.raises(InvalidInput, match="already exists"):
        store.backup(other, progress=take_it)
    assert other.read_text() == "mine"


@pytest.mark.parametrize("name", [":memory:", "ftp://x", "", "a\0b"])
def test_what_names_no_file_is_refused(store: Store, name: str) -> None:
    with pytest.raises(InvalidInput, match="path"):
        store.backup(name)


def test_a_missing_folder_is_named(store: Store, path: Path) -> None:
    with pytest.raises(NotFound, match="make it first"):
        store.backup(path.parent / "missing" / "backup.db")


def test_a_backup_is_as_private_as_the_store(store: Store, path: Path) -> None:
    path.chmod(0o600)
    store.backup(path.with_name("backup.db"))
    assert path.with_name("backup.db").stat().st_mode & 0o777 == 0o600


def test_an_interrupt_leaves_nothing(store: Store, path: Path) -> None:
    fill(store)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    before = sorted(path.parent.iterdir())
    with pytest.raises(KeyboardInterrupt):
        store.backup(path.with_name("backup.db"), progress=interrupt)
    assert sorted(path.parent.iterdir()) == before
    store.write(key="k", value={})
    assert store.backup(path.with_name("backup.db")).commits == 41


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_killed_backup_leaves_no_target(store: Store, path: Path, how: signal.Signals) -> None:
    fill(store)
    target = path.with_name("backup.db")
    command = [sys.executable, "-c", SLOW_BACKUP, str(path), str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout is not None
        done, total = map(int, child.stdout.readline().split())
        assert 0 < done < total
        os.kill(child.pid, how)
    assert child.returncode != 0
    assert not target.exists()
    assert store.backup(target).commits == 40


def test_a_folder_that_cannot_be_written_is_reported() -> None:
    with open_folder() as folder:
        locked = folder / "locked"
        locked.mkdir(mode=0o555)

        def work() -> None:
            store = memory_store()
            with pytest.raises(StoreReadOnly, match="check the permissions"):
                store.backup(locked / "backup.db")

        run_unprivileged(work)


def test_a_closed_store_makes_none(store: Store, path: Path) -> None:
    store.close()
    with pytest.raises(memoranda.StoreClosed):
        store.backup(path.with_name("backup.db"))
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]
