"""Folders of backups: names, rotation, what killed processes leave, and restore drills."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import ChainBroken, NotFound, Store
from memoranda.model.clock import FixedClock
from memoranda.sdk.backup_folder import BackupFolder, Rotation
from memoranda.storage.files import SIBLING_PREFIX

DAY = 86_400


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with memoranda.open(tmp_path / "acme.db", embedder=None) as store:
        store.write(agent_id="a", key="k", value={"n": 1})
        yield store


class World:
    """A folder for backups of `acme`, and its clock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "backups"
        self.path.mkdir()
        self.clock = FixedClock("2026-11-18T02:00:00Z")
        self.backups = BackupFolder(self.path, "acme", self.clock)

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_backup_is_named_by_its_store_and_its_time(store: Store, world: World) -> None:
    backup, report = world.backups.make(store)
    again, _ = world.backups.make(store)
    assert backup.path.name == "acme-20261118T020000Z.db"
    assert again.path.name == "acme-20261118T020001Z.db", "a name is not taken twice"
    assert report.commits == 1
    assert [file.path for file in world.backups.files()] == [again.path, backup.path]


def test_other_files_are_not_backups_of_the_store(store: Store, world: World) -> None:
    for name in (
        "acme.db",
        "acme-20261117T020000Z.db-wal",
        "acme-20261318T020000Z.db",
        "acme-20261118T020000Z-20261118T020000Z.db",
        "other-20261118T020000Z.db",
    ):
        (world.path / name).touch()
    names = world.names
    assert world.backups.files() == []
    world.backups.make(store)
    assert world.backups.rotate(Rotation(keep=1)) == []
    assert len(world.names) == len(names) + 1


def test_the_newest_stay(store: Store, world: World) -> None:
    for _ in range(5):
        world.backups.make(store)
        world.clock.advance(DAY)
    removed = world.backups.rotate(Rotation(keep=2))
    assert [path.name[5:13] for path in removed] == ["20261120", "20261119", "20261118"]
    assert len(world.names) == 2
    assert world.backups.rotate(Rotation(keep=2)) == []


def test_the_young_stay(store: Store, world: World) -> None:
    for _ in range(5):
        world.backups.make(store)
        world.clock.advance(DAY)
    world.backups.rotate(Rotation(keep_for=2 * DAY * 1_000_000))
    assert [name[5:13] for name in world.names] == ["20261121", "20261122"]
    world.clock.advance(365 * DAY)
    world.backups.rotate(Rotation(keep_for=1))
    assert [name[5:13] for name in world.names] == ["20261122"], "the newest always stays"


def test_what_either_limit_keeps_stays(store: Store, world: World) -> None:
    for _ in range(5):
        world.backups.make(store)
        world.clock.advance(DAY)
    assert world.backups.rotate(Rotation()) == []
    world.backups.rotate(Rotation(keep=3, keep_for=DAY * 1_000_000))
    assert len(world.names) == 3
    world.backups.rotate(Rotation(keep=1, keep_for=2 * DAY * 1_000_000))
    assert len(world.names) == 2


def test_what_a_killed_process_left_is_removed(store: Store, world: World) -> None:
    draft = world.path / f"{SIBLING_PREFIX}0123456789ab-xyz" / "acme-20261117T020000Z.db"
    foreign = world.path / f"{SIBLING_PREFIX}0123456789ab-abc" / "other-20261117T020000Z.db"
    for path in (draft, foreign):
        path.parent.mkdir()
        path.touch()
    world.backups.make(store)
    assert not draft.parent.exists()
    assert foreign.exists()


def test_a_drill_restores_and_verifies_the_newest(
    store: Store, world: World, tmp_path: Path
) -> None:
    with pytest.raises(NotFound, match="there is no backup of acme"):
        world.backups.drill()
    world.backups.make(store)
    store.write(agent_id="a", key="k", value={"n": 2})
    world.clock.advance(DAY)
    world.backups.make(store)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    drill = world.backups.drill(scratch=scratch)
    assert (drill.commits, drill.path.name) == (2, "acme-20261119T020000Z.db")
    assert drill.log_id == store.stats().log_id
    assert not [*scratch.iterdir()]


def test_a_drill_finds_a_changed_backup(store: Store, world: World) -> None:
    backup, _ = world.backups.make(store)
    database = apsw.Connection(str(backup.path))
    database.execute("UPDATE event SET committed_at = committed_at + 1")
    database.close()
    with pytest.raises(ChainBroken):
        world.backups.drill()


def test_a_folder_that_is_not_there_is_not_made(store: Store, tmp_path: Path) -> None:
    missing = BackupFolder(tmp_path / "mount", "acme", FixedClock())
    with pytest.raises(NotFound, match="make it, or mount it"):
        missing.make(store)
    assert not (tmp_path / "mount").exists()
