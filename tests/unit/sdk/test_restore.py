"""Restoring: the old store or the whole new one, and a history that says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import ChainBroken, Corruption, InvalidInput, NotFound, StoreBusy
from memoranda.storage.sqlite import backup as sqlite_backup
from tests.unprivileged import open_folder, run_unprivileged

HOLDER = """
import sys, memoranda
store = memoranda.open(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""
DIES_WITHOUT_CLOSING = """
import os, sys, memoranda
store = memoranda.open(sys.argv[1])
store.write(agent_id="a", key="late", value={})
os._exit(0)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with two commits, of which the backup beside it has the first."""
    path = tmp_path / "store.db"
    with memoranda.open(path) as store:
        store.write(agent_id="a", key="k", value={"n": 1})
        store.backup(tmp_path / "backup.db")
        store.write(agent_id="a", key="k", value={"n": 2})
    return path


@pytest.fixture
def backup(path: Path) -> Path:
    return path.with_name("backup.db")


def value(path: Path) -> object:
    with memoranda.open(path, create=False) as store:
        store.verify()
        record = store.get_state(agent_id="a", key="k")
        return record and record.value["n"]


def files(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


def test_a_backup_is_restored_to_a_new_place(path: Path, backup: Path) -> None:
    target = path.with_name("new.db")
    restored_store = memoranda.restore(backup, target)
    assert (restored_store.commits, restored_store.warnings) == (1, ())
    assert value(target) == 1
    assert files(path) == ["backup.db", "new.db", "store.db"]


def test_a_store_is_replaced_only_if_that_is_said(path: Path, backup: Path) -> None:
    with pytest.raises(InvalidInput, match="overwrite: is needed to replace"):
        memoranda.restore(backup, path)
    assert value(path) == 2
    memoranda.restore(backup, path, overwrite=True)
    assert value(path) == 1
    assert files(path) == ["backup.db", "store.db"]


def test_overwriting_nothing_is_fine(path: Path, backup: Path) -> None:
    memoranda.restore(backup, path.with_name("new.db"), overwrite=True)
    assert value(path.with_name("new.db")) == 1


@pytest.mark.parametrize("name", ["store.db", "new.db"])
def test_the_next_write_begins_an_epoch(path: Path, backup: Path, name: str) -> None:
    target = path.with_name(name)
    memoranda.restore(backup, target, overwrite=True)
    with memoranda.open(target) as store:
        token = next(store.replay(agent_id="a")).token
        assert store.stats().epoch == 1
        store.write(agent_id="a", key="k", value={"n": 3})
        assert store.stats().epoch == 2
        *_, event = store.replay(agent_id="_engine", namespace="_log")
        (epoch,) = event.operations
        assert epoch.value is not None
        assert (epoch.value["cause"], epoch.value["origin"]) == ("copied", token)
        assert store.verify().commits == 2


def test_tokens_of_the_lost_commits_no_longer_fit(path: Path, backup: Path) -> None:
    with memoranda.open(path) as store:
        stored_item, lost = (event.token for event in store.replay(agent_id="a"))
    memoranda.restore(backup, path, overwrite=True)
    with memoranda.open(path) as store:
        assert list(store.replay(agent_id="a", after_commit=stored_item)) == []
        store.write(agent_id="a", key="k", value={"n": 3})
        with pytest.raises(memoranda.LogForked):
            store.replay(agent_id="a", after_commit=lost)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"\0" * 9000),
        lambda path: path.write_text("no database at all"),
        lambda path: os.truncate(path, path.stat().st_size // 2),
        lambda path: os.truncate(path, 0),
    ],
    ids=["zeros", "text", "half", "empty"],
)
def test_a_damaged_store_can_be_replaced(path: Path, backup: Path, damage: object) -> None:
    assert callable(damage)
    damage(path)
    path.with_name("store.db-wal").write_bytes(b"rest of a journal")
    memoranda.restore(backup, path, overwrite=True)
    assert value(path) == 1
    assert files(path) == ["backup.db", "store.db"]


def test_a_journal_left_by_a_killed_process_does_not_reach_the_new_store(
    path: Path, backup: Path
) -> None:
    subprocess.run([sys.executable, "-c", DIES_WITHOUT_CLOSING, str(path)], check=True)
    assert path.with_name("store.db-wal").stat().st_size > 0
    memoranda.restore(backup, path, overwrite=True)
    assert value(path) == 1
    with memoranda.open(path) as store:
        assert store.get_state(agent_id="a", key="late") is None
        assert store.rebuild().identical


@pytest.mark.slow
def test_a_journal_goes_with_a_store_too_damaged_to_take_it(
    path: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run([sys.executable, "-c", DIES_WITHOUT_CLOSING, str(path)], check=True)
    monkeypatch.setattr(sqlite_backup, "fold_in_journal", lambda _: None)
    memoranda.restore(backup, path, overwrite=True)
    assert value(path) == 1
    with memoranda.open(path) as store:
        assert store.get_state(agent_id="a", key="late") is None


def test_who_opened_the_old_store_too_late_cannot_harm_the_new_one(
    path: Path, backup: Path
) -> None:
    late = apsw.Connection(str(path))  # it has the file, and has not looked at it yet
    memoranda.restore(backup, path, overwrite=True)
    with pytest.raises(apsw.ReadOnlyError):
        late.execute("DELETE FROM event")
    assert files(path) == ["backup.db", "store.db"], "there is a journal for a file that is gone"
    assert value(path) == 1
    late.close()


def test_a_backup_with_a_journal_of_its_own_is_whole(path: Path, backup: Path) -> None:
    subprocess.run([sys.executable, "-c", DIES_WITHOUT_CLOSING, str(backup)], check=True)
    assert memoranda.restore(backup, path, overwrite=True).commits == 2


def test_a_store_that_is_open_here_is_not_replaced(path: Path, backup: Path) -> None:
    with memoranda.open(path) as store:
        with pytest.raises(StoreBusy, match="is in use: close every program"):
            memoranda.restore(backup, path, overwrite=True)
        assert store.write(agent_id="a", key="k", value={"n": 3}).commit_ts == 3
    assert value(path) == 3


@pytest.mark.slow
def test_a_store_that_is_open_elsewhere_is_not_replaced(path: Path, backup: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(StoreBusy, match="is in use"):
            memoranda.restore(backup, path, overwrite=True)
        holder.communicate()
    assert value(path) == 2
    memoranda.restore(backup, path, overwrite=True)
    assert value(path) == 1


@pytest.mark.slow
def test_a_damaged_store_opened_meanwhile_is_not_replaced(path: Path, backup: Path) -> None:
    holders: list[subprocess.Popen[bytes]] = []

    def hold_and_damage(done: int, total: int) -> None:
        if holders:
            return
        command = [sys.executable, "-c", HOLDER, str(path)]
        holders.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert holders[0].stdout is not None
        holders[0].stdout.readline()
        path.write_bytes(b"x" * path.stat().st_size)

    try:
        with pytest.raises(StoreBusy, match="is in use"):
            memoranda.restore(backup, path, overwrite=True, progress=hold_and_damage)
    finally:
        for holder in holders:
            holder.kill()
            holder.communicate()
    assert path.read_bytes()[:1] == b"x"


def test_a_store_opened_while_the_backup_is_copied_is_not_replaced(
    path: Path, backup: Path
) -> None:
    opened: list[memoranda.Store] = []

    def open_it(done: int, total: int) -> None:
        opened.append(memoranda.open(path))

    with pytest.raises(StoreBusy, match="is in use"):
        memoranda.restore(backup, path, overwrite=True, progress=open_it)
    for store in opened:
        store.close()
    assert value(path) == 2
    assert files(path) == ["backup.db", "store.db"]


def test_a_changed_backup_is_not_restored(path: Path, backup: Path) -> None:
    database = apsw.Connection(str(backup))
    database.execute("UPDATE event SET committed_at = committed_at + 1")
    database.close()
    with pytest.raises(ChainBroken, match="commit 1"):
        memoranda.restore(backup, path, overwrite=True)
    with pytest.raises(ChainBroken):
        memoranda.restore(backup, path.with_name("new.db"))
    assert value(path) == 2
    assert files(path) == ["backup.db", "store.db"]


def test_a_truncated_backup_is_not_restored(path: Path, backup: Path) -> None:
    os.truncate(backup, backup.stat().st_size // 2)
    with pytest.raises(Corruption):
        memoranda.restore(backup, path, overwrite=True)
    assert value(path) == 2


def test_an_interrupt_leaves_the_old_store(path: Path, backup: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memoranda.restore(backup, path, overwrite=True, progress=interrupt)
    assert value(path) == 2
    assert files(path) == ["backup.db", "store.db"]


def test_what_is_no_backup_is_refused_by_name(path: Path, backup: Path) -> None:
    with pytest.raises(NotFound, match="there is no backup at"):
        memoranda.restore(path.with_name("missing.db"), path, overwrite=True)
    backup.write_text("Dear diary, " * 1000)
    with pytest.raises(InvalidInput, match=r"backup: .* is not a Memoranda store"):
        memoranda.restore(backup, path, overwrite=True)
    with pytest.raises(InvalidInput, match=r"backup: .* is the store itself"):
        memoranda.restore(path, path, overwrite=True)
    with pytest.raises(InvalidInput, match=r"url: .*in memory"):
        memoranda.restore(path, ":memory:")
    assert value(path) == 2


def test_a_store_behind_a_link_is_replaced_where_it_is(path: Path, backup: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    memoranda.restore(backup, link, overwrite=True)
    assert link.is_symlink()
    assert value(path) == value(link) == 1


def test_the_stores_permissions_stay(path: Path, backup: Path) -> None:
    path.chmod(0o600)
    memoranda.restore(backup, path, overwrite=True)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_backup_can_lie_where_nothing_can_be_written(path: Path, backup: Path) -> None:
    with open_folder() as folder:
        locked = folder / "locked"
        locked.mkdir()
        shutil.copy(backup, locked / "backup.db")
        (locked / "backup.db").chmod(0o644)
        locked.chmod(0o555)

        def work() -> None:
            memoranda.restore(locked / "backup.db", folder / "store.db")
            assert value(folder / "store.db") == 1

        run_unprivileged(work)


def test_a_replacement_that_fails_leaves_the_old_store_as_it_was(
    path: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copymode", fail)
        with pytest.raises(memoranda.StoreFull, match="No space left"):
            memoranda.restore(backup, path, overwrite=True)
    assert value(path) == 2
    assert files(path) == ["backup.db", "store.db"]
    assert apsw.Connection(str(path)).pragma("journal_mode") == "wal"
