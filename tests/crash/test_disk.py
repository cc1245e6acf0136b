"""The model of a disk does what it says: nothing synced is lost, and anything else may be."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from tests.crash.disk import MANNERS, Create, Disk, Loss, Remove, Sync, Truncate, Write
from tests.crash.faulty_vfs import FaultyVFS

SEEDS = range(200)


def disk_with(*changes: Create | Write | Truncate | Sync | Remove) -> Disk:
    disk = Disk()
    for change in changes:
        disk.apply(change)
    return disk


def contents(disk: Disk) -> set[bytes | None]:
    """Everything the file `f` may contain; None: it may be missing."""
    return {disk.image(Loss(seed)).get("f") for seed in SEEDS}


BEGUN = (Create("f", 1), Write(1, 0, b"a" * 1024), Sync(1, folder=True))


class TestWrites:
    def test_what_is_synced_is_certain(self) -> None:
        assert contents(disk_with(*BEGUN)) == {b"a" * 1024}

    def test_each_sector_survives_or_not(self) -> None:
        result = contents(disk_with(*BEGUN, Write(1, 0, b"b" * 1024)))
        halves = {content[:512] + content[512:] for content in result if content}
        assert halves == {
            first * 512 + second * 512 for first in (b"a", b"b") for second in (b"a", b"b")
        }

    def test_a_write_within_a_sector_harms_nothing_beside_it(self) -> None:
        result = contents(disk_with(*BEGUN, Write(1, 100, b"b" * 8)))
        changed = b"a" * 100 + b"b" * 8 + b"a" * 916
        assert result == {b"a" * 1024, changed}

    def test_later_writes_survive_without_earlier_ones(self) -> None:
        result = contents(disk_with(*BEGUN, Write(1, 0, b"b"), Write(1, 600, b"c")))
        assert {(item[:1], item[600:601]) for item in result if item} == {
            (first, second) for first in (b"a", b"b") for second in (b"a", b"c")
        }

    def test_a_file_may_have_grown_without_its_data(self) -> None:
        result = contents(disk_with(*BEGUN, Write(1, 1024, b"b" * 512)))
        assert result == {b"a" * 1024 + tail for tail in (b"", b"b" * 512, bytes(512))}

    def test_a_truncation_may_be_lost(self) -> None:
        result = contents(disk_with(*BEGUN, Truncate(1, 10), Write(1, 10, b"b")))
        assert {b"a" * 10 + b"b", b"a" * 1024, b"a" * 10} <= result

    def test_a_failed_sync_is_not_made_up_for_by_a_later_one(self) -> None:
        failed = (*BEGUN, Write(1, 0, b"b" * 1024), Sync(1, failed=True), Sync(1))
        assert {b"a" * 1024, b"b" * 1024} < contents(disk_with(*failed))

    def test_writing_again_behind_a_failed_sync_is_certain_when_synced(self) -> None:
        again = (Write(1, 0, b"b" * 1024), Sync(1, failed=True), Write(1, 0, b"c" * 600), Sync(1))
        result = contents(disk_with(*BEGUN, *again))
        assert {item[:600] for item in result if item} == {b"c" * 600}
        assert {item[600:] for item in result if item} == {b"a" * 424, b"b" * 424}


class TestNames:
    def test_a_new_file_may_be_missing_until_the_folder_is_synced(self) -> None:
        new = (Create("f", 1), Write(1, 0, b"a"), Sync(1))
        assert contents(disk_with(*new)) == {b"a", None}
        assert contents(disk_with(*new, Sync(1, folder=True))) == {b"a"}

    def test_a_removed_file_may_come_back_until_the_folder_is_synced(self) -> None:
        assert contents(disk_with(*BEGUN, Remove("f", folder=False))) == {b"a" * 1024, None}
        assert contents(disk_with(*BEGUN, Remove("f", folder=True))) == {None}

    def test_a_file_made_anew_may_be_the_old_one(self) -> None:
        anew = (Remove("f", folder=False), Create("f", 2), Write(2, 0, b"z"), Sync(2))
        assert contents(disk_with(*BEGUN, *anew)) == {b"a" * 1024, None, b"z"}


class TestVFS:
    def test_a_database_in_wal_mode_lives_on_it(self, tmp_path: Path) -> None:
        vfs = FaultyVFS()
        writer, reader = (apsw.Connection(str(tmp_path / "f"), vfs=vfs.name) for _ in range(2))
        assert writer.pragma("journal_mode", "WAL") == "wal"
        writer.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        assert reader.execute("SELECT x FROM t").get == 1
        everything = vfs.image(Loss(0, "everything"))
        assert everything["f"] == (tmp_path / "f").read_bytes()
        assert everything["f-wal"] == (tmp_path / "f-wal").read_bytes()
        reader.close()
        writer.close()
        assert set(vfs.image(Loss(0, "everything"))) == {"f"}
        assert "f-wal" in vfs.image(Loss(0, "nothing")), "its removal is not certain yet"

    def test_files_from_before_are_taken_as_they_are(self, tmp_path: Path) -> None:
        with apsw.Connection(str(tmp_path / "f")) as database:
            database.execute("CREATE TABLE t (x)")
        database.close()
        vfs = FaultyVFS()
        apsw.Connection(str(tmp_path / "f"), vfs=vfs.name).execute("SELECT * FROM t").close()
        assert vfs.image(Loss(0, "nothing")) == {"f": (tmp_path / "f").read_bytes()}

    def test_the_nth_call_fails_for_as_long_as_told(self, tmp_path: Path) -> None:
        vfs = FaultyVFS()
        database = apsw.Connection(str(tmp_path / "f"), vfs=vfs.name)
        database.execute("CREATE TABLE t (x)")
        vfs.fail("write", 2, code=apsw.SQLITE_FULL, times=float("inf"))
        for _ in range(2):
            with pytest.raises(apsw.FullError):
                database.execute("INSERT INTO t VALUES (1)")
        vfs.heal()
        database.execute("INSERT INTO t VALUES (1)")
        vfs.fail("sync", 1)
        with pytest.raises(apsw.IOError):
            database.execute("INSERT INTO t VALUES (1)")
        database.execute("INSERT INTO t VALUES (1)")
        assert database.execute("SELECT count(*) FROM t").get == 2
        database.close()

    @pytest.mark.parametrize("manner", MANNERS)
    def test_a_loss_can_be_repeated(self, manner: str) -> None:
        disk = disk_with(*BEGUN, Write(1, 0, b"b" * 4096), Truncate(1, 700))
        images = [disk.image(Loss("seed", manner)) for _ in range(2)]
        assert images[0] == images[1]
