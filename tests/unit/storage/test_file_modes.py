"""Files that hold what a store holds: nobody but their owner can read them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import memoranda
from memoranda import Store
from memoranda.storage.files import make_private
from tests.unit.cli.runner import Cli


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {item.name: item.stat().st_mode & 0o777 for item in folder.iterdir()}


def write(store: Store) -> None:
    store.write(agent_id="a", key="k", value={})


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_new_store_is_its_owners(tmp_path: Path, mask: int) -> None:
    with umask(mask), memoranda.open(tmp_path / "s.db") as store:
        write(store)
        assert modes(tmp_path) == dict.fromkeys(("s.db", "s.db-shm", "s.db-wal"), 0o600)


def test_what_the_umask_takes_stays_taken(tmp_path: Path) -> None:
    with umask(0o200):  # nobody writes, and root may
        make_private(tmp_path / "s.db")
    assert modes(tmp_path) == {"s.db": 0o400}


def test_so_are_its_copies(tmp_path: Path) -> None:
    with umask(0), memoranda.open(tmp_path / "s.db") as store:
        write(store)
        (tmp_path / "s.db").chmod(0o644)
        store.backup(tmp_path / "backup.db")
        store.fork(tmp_path / "fork.db", at=1)
        store.export_log(tmp_path / "log.jsonl")
        memoranda.import_log(tmp_path / "log.jsonl", tmp_path / "imported.db")
        memoranda.restore(tmp_path / "backup.db", tmp_path / "restored.db")
        signer = memoranda.create_signer(tmp_path / "me.key", name="me")
        store.checkpoint(signer=signer)
        store.close()
    (tmp_path / "s.db").unlink()
    assert set(modes(tmp_path).values()) == {0o600}
    assert len(modes(tmp_path)) == 8


def test_a_store_that_was_shared_stays_shared(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "s.db") as store:
        write(store)
        store.backup(tmp_path / "backup.db")
    (tmp_path / "s.db").chmod(0o640)
    memoranda.restore(tmp_path / "backup.db", tmp_path / "s.db", overwrite=True)
    assert modes(tmp_path)["s.db"] == 0o640
    with memoranda.open(tmp_path / "s.db") as store:
        write(store)
        assert modes(tmp_path)["s.db-wal"] == 0o640


def test_a_copy_of_what_cannot_be_written_can_be(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "s.db") as store:
        write(store)
        (tmp_path / "s.db").chmod(0o400)
        store.backup(tmp_path / "backup.db")
    assert modes(tmp_path)["backup.db"] == 0o600


def test_the_users_own_folder_is_theirs(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli.env["MEMORANDA_DB"] = None
    with umask(0o022):
        cli("write", "k", "{}")
    (folder,) = (tmp_path / "data").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert modes(folder)["store.db"] == 0o600
