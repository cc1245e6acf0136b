"""A file that is no longer where it was: nothing is acknowledged that nobody would find again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import CommitUnknown, Store, Unavailable
from memoranda.storage.sqlite.connection import Connection
from memoranda.storage.sqlite.identity import FileWatch
from tests.cores import core_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "s.db"
    with memoranda.open(path) as store:
        write(store, 1)
        store.backup(tmp_path / "backup.db")
    return path


def write(store: Store, number: int) -> int:
    return store.write(agent_id="a", key="k", value={"n": number}).commit_ts


def value(path: Path) -> object:
    with memoranda.open(path, create=False) as store:
        store.verify(deep=True)
        record = store.get_state(agent_id="a", key="k")
        return record and record.value["n"]


def remove(path: Path) -> None:
    path.unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def replace(path: Path) -> None:
    shutil.copy(path.with_name("backup.db"), path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


def remove_journal(path: Path) -> None:
    path.with_name("s.db-wal").unlink()


def replace_journal(path: Path) -> None:
    remove_journal(path)
    path.with_name("s.db-wal").touch()


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name(f"{path.parent.name} moved"))


DEEDS = (remove, move, replace, remove_journal, replace_journal, move_folder)


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_it_is_noticed_at_the_next_commit(
    path: Path, deed: Callable[[Path], None], durability: str
) -> None:
    store = memoranda.open(path, durability=durability)
    write(store, 2)
    deed(path)
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"while the store was open.*open it again") as caught:
            write(store, 3)
        assert not caught.value.retryable, "waiting does not bring it back"
    with pytest.raises(Unavailable):
        list(store.subscribe(agent_id="a", cursor="reader", after_commit=0, timeout=0))
    store.close()


def test_one_that_is_put_back_is_the_store_again(path: Path) -> None:
    with memoranda.open(path) as store:
        write(store, 2)
        move(path)
        with pytest.raises(Unavailable):
            write(store, 3)
        path.with_name("elsewhere.db").rename(path)
        assert write(store, 4) == 3
    assert value(path) == 4


def test_another_store_in_its_place_is_neither_read_nor_written(path: Path) -> None:
    with memoranda.open(path) as store:
        write(store, 2)
        replace(path)
        with (
            pytest.raises(Unavailable),
            core_of(store).engine.reading(),
            core_of(store).engine.reading(),
        ):
            store.get_state(agent_id="a", key="k")  # by one of two readers, of which one is new
        with pytest.raises(Unavailable):
            list(store.sql("SELECT * FROM state"))
        with pytest.raises(Unavailable):
            write(store, 3)
    for beside in ("s.db-wal", "s.db-shm"):
        path.with_name(beside).unlink(missing_ok=True)
    assert value(path) == 1


def test_one_that_goes_in_the_very_moment_is_not_acknowledged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Connection.commit

    def move_and_commit(connection: Connection) -> None:
        move(path)
        commit(connection)

    with memoranda.open(path) as store:
        write(store, 2)
        with monkeypatch.context() as patched:
            patched.setattr(Connection, "commit", move_and_commit)
            with pytest.raises(CommitUnknown):
                write(store, 3)
        with pytest.raises(Unavailable, match="moved away"):
            write(store, 4)
        path.with_name("elsewhere.db").rename(path)
        write(store, 5)
    assert value(path) == 5


def test_what_the_engine_does_with_its_files_itself_is_no_change(path: Path) -> None:
    with memoranda.open(path) as store, memoranda.open(path) as other:
        write(store, 2)
        store.bind(agent_id="a").forget(key="k")  # writes the file anew
        write(other, 3)
        assert write(store, 4) == 5
        core_of(store).engine._reopen()  # type: ignore[attr-defined]
        assert write(store, 5) == 6
    assert value(path) == 5


def test_a_log_that_is_forgotten_during_a_check_is_not_called_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that settles a commit in doubt forgets the log while readers connect."""
    path = tmp_path / "s.db"
    path.touch()
    path.with_name("s.db-wal").touch()
    watch = FileWatch(path)
    watch.check()
    watch.note_journal()
    stat = os.stat

    def forget(name: Any, **options: Any) -> os.stat_result:
        if str(name).endswith("-wal"):
            watch.forget_journal()
        return stat(name, **options)

    monkeypatch.setattr("memoranda.storage.sqlite.identity.os.stat", forget)
    watch.check()
    monkeypatch.undo()
    watch.note_journal()
    path.with_name("s.db-wal").rename(path.with_name("moved"))  # its inode is not used again
    path.with_name("s.db-wal").touch()
    with pytest.raises(Unavailable, match="was replaced"):
        watch.check()
