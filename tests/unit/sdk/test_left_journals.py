"""Journals that a store left behind: none reaches another store, and none is lost unasked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import memoranda
from memoranda import InvalidInput, NotFound
from memoranda.storage.files import link_at_free_name
from memoranda.storage.sqlite import backup, placement

KILLED = """
import os, sys, memoranda
store = memoranda.open(sys.argv[1])
store.write(agent_id="a", key="k", value={"n": 2})
os._exit(0)
"""


@pytest.fixture
def moved(tmp_path: Path) -> Path:
    """Where a store was that a process left open, and that was moved without its journal."""
    path = tmp_path / "s.db"
    with memoranda.open(path) as store:
        store.write(agent_id="a", key="k", value={"n": 1})
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=True)
    path.rename(tmp_path / "s.db.bak")
    assert (tmp_path / "s.db-wal").stat().st_size > 0
    return path


@pytest.fixture
def other(tmp_path: Path) -> memoranda.Store:
    store = memoranda.open(tmp_path / "other.db")
    store.write(agent_id="b", key="other", value={})
    return store


def journal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def test_a_restored_store_does_not_meet_it(moved: Path) -> None:
    with pytest.raises(InvalidInput, match=r"overwrite: is needed to discard .*s\.db-wal"):
        memoranda.restore(moved.with_name("s.db.bak"), moved)
    assert not moved.exists()
    assert journal(moved).exists()


def test_it_is_whole_again_where_the_store_is_put_back(moved: Path) -> None:
    moved.with_name("s.db.bak").rename(moved)
    with memoranda.open(moved) as store:
        record = store.get_state(agent_id="a", key="k")
        assert record is not None
        assert record.value == {"n": 2}


def test_it_is_discarded_where_that_is_said(moved: Path) -> None:
    restored_store = memoranda.restore(moved.with_name("s.db.bak"), moved, overwrite=True)
    with memoranda.open(moved) as store:
        assert store.verify(deep=True).commits == restored_store.commits == 1
    assert sorted(item.name for item in moved.parent.iterdir()) == ["s.db", "s.db.bak"]


def _back_up(other: memoranda.Store, path: Path) -> object:
    return other.backup(path)


def _fork(other: memoranda.Store, path: Path) -> object:
    return other.fork(path, at=1)


def _import(other: memoranda.Store, path: Path) -> object:
    log = path.with_name("log.jsonl")
    if not log.exists():
        other.export_log(log)
    return memoranda.import_log(log, path)


def _open(other: memoranda.Store, path: Path) -> object:
    with memoranda.open(path) as store:
        return store.write(agent_id="a", key="k", value={}).commit_ts


COPIES = (_back_up, _fork, _import)


@pytest.mark.parametrize(
    ("make", "ending"),
    [
        (_open, "-wal"),
        (_back_up, "-journal"),
        *(
            pytest.param(make, ending, marks=pytest.mark.slow)
            for make in COPIES
            for ending in ("-wal", "-journal")
            if (make, ending) != (_back_up, "-journal")
        ),
    ],
)
def test_no_other_store_begins_beside_it(
    moved: Path, other: memoranda.Store, make: Callable[..., object], ending: str
) -> None:
    if ending == "-journal":
        journal(moved).rename(moved.with_name("s.db-journal"))
    remainder = moved.with_name(f"s.db{ending}")
    content = remainder.read_bytes()
    with pytest.raises(InvalidInput, match=rf"s\.db{ending} was left beside it.*put that store"):
        make(other, moved)
    assert remainder.read_bytes() == content
    assert not moved.exists()
    remainder.unlink()
    make(other, moved)
    with memoranda.open(moved, create=False) as store:
        assert store.verify(deep=True).commits == 1
    other.close()


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_an_empty_one_is_in_nobodys_way(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"s.db{ending}").touch()
    with memoranda.open(tmp_path / "s.db") as store:
        store.write(agent_id="a", key="k", value={})
    assert [item.name for item in tmp_path.iterdir()] == ["s.db"]


def test_an_index_of_a_journal_that_is_gone_does_no_harm(moved: Path) -> None:
    journal(moved).unlink()
    assert moved.with_name("s.db-shm").exists()
    memoranda.restore(moved.with_name("s.db.bak"), moved)
    with memoranda.open(moved) as store:
        assert store.verify(deep=True).commits == 1


def test_an_empty_file_is_no_store_that_it_belongs_to(moved: Path) -> None:
    moved.touch()
    with pytest.raises(InvalidInput, match=r"s\.db-wal was left"):
        memoranda.open(moved)
    assert journal(moved).stat().st_size > 0


def test_a_store_that_is_not_there_is_told_of_it(moved: Path) -> None:
    with pytest.raises(InvalidInput, match=r"s\.db-wal was left"):
        memoranda.open(moved, create=False)
    with pytest.raises(NotFound):
        memoranda.open(moved.with_name("nothing.db"), create=False)


def test_one_that_appears_at_the_last_moment_is_refused(
    moved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remainder = journal(moved)
    aside = remainder.rename(remainder.with_name("aside"))
    put = link_at_free_name

    def put_and_meet(field: str, draft: Path, path: Path) -> None:
        put(field, draft, path)
        shutil.copy(aside, remainder)

    monkeypatch.setattr(backup, "link_at_free_name", put_and_meet)
    with pytest.raises(InvalidInput, match="appeared while"):
        memoranda.restore(moved.with_name("s.db.bak"), moved)
    assert not moved.exists()


def test_what_arrived_is_looked_at_where_it_is(
    tmp_path: Path, other: memoranda.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were it all overlooked, a store that is not the copy is still found."""
    with memoranda.open(tmp_path / "mine.db") as mine:
        mine.write(agent_id="a", key="k", value={})
        mine.backup(tmp_path / "backup.db")
    other.backup(tmp_path / "another.db")
    other.close()

    def put_another(draft: Path, path: Path) -> None:
        (tmp_path / "another.db").replace(path)

    monkeypatch.setattr("memoranda.sdk.restore.replace_file", put_another)
    with pytest.raises(memoranda.Corruption, match="does not hold what was copied"):
        memoranda.restore(tmp_path / "backup.db", tmp_path / "new.db", overwrite=True)


def test_a_store_that_is_being_made_is_nobodys_journal(tmp_path: Path) -> None:
    """Its file is there before a journal is, and has no page while the journal is a rollback's."""
    path = tmp_path / "s.db"
    path.touch()
    path.with_name("s.db-journal").write_bytes(b"x" * 512)
    assert placement.orphans(path) == []


def test_a_rollback_journal_is_in_no_new_stores_way(tmp_path: Path) -> None:
    """It holds no commits; a loss of power while a store is made can leave it without its file."""
    (tmp_path / "s.db-journal").write_bytes(b"x" * 512)
    with memoranda.open(tmp_path / "s.db") as store:
        store.write(agent_id="a", key="k", value={})
        store.verify(deep=True)
    assert [item.name for item in tmp_path.iterdir()] == ["s.db"]
