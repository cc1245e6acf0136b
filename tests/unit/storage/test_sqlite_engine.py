"""The SQLite file: what may be opened, what is refused, and what a reader holds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import memoranda
from memoranda import (
    Corruption,
    InvalidInput,
    NotFound,
    OperationType,
    Store,
    StoreBusy,
    StoreClosed,
    UnsupportedFormat,
)
from memoranda.storage.sqlite.engine import SqliteEngine
from tests.cores import core_of
from tests.patience import HANG_SECONDS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with memoranda.open(path, durability="relaxed") as opened:
        yield opened.bind(agent_id="a")


class TestOpening:
    @pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
    def test_a_path_or_a_url(self, path: Path, form: str) -> None:
        url = form.format(path)
        with memoranda.open(url) as store:
            store.write(agent_id="a", key="k", value={})
        assert path.exists()
        with memoranda.open(path, create=False) as store:
            assert list(store.list_keys(agent_id="a")) == ["k"]

    def test_a_relative_path_means_the_same_file_for_good(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "elsewhere").mkdir()
        with memoranda.open("store.db") as store:
            monkeypatch.chdir(tmp_path / "elsewhere")
            store.write(agent_id="a", key="k", value={})
            assert list(store.list_keys(agent_id="a")) == ["k"]
        assert list((tmp_path / "elsewhere").iterdir()) == []

    @pytest.mark.parametrize(("durability", "level"), [("full", 2), ("relaxed", 1)])
    def test_durability_is_what_sqlite_is_told(
        self, path: Path, durability: str, level: int
    ) -> None:
        with memoranda.open(path, durability=durability) as store:
            assert core_of(store).engine._writer.database.pragma("synchronous") == level  # type: ignore[attr-defined]

    @pytest.mark.parametrize("url", [None, 5, b"bytes"])
    def test_what_is_no_path_is_refused(self, url: Any) -> None:
        with pytest.raises(InvalidInput, match="url"):
            memoranda.open(url)

    def test_escapes_in_a_url_are_undone(self, tmp_path: Path) -> None:
        memoranda.open(f"sqlite:///{tmp_path}/a%20b.db").close()
        assert (tmp_path / "a b.db").exists()

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "postgresql://host/db",
            "sqlite://",
            "sqlite:///",
            "x://y",
            "a\x00b",
            "a\udcff",
            "sqlite:///a%00b",
        ],
    )
    def test_other_urls_are_refused(self, url: str) -> None:
        with pytest.raises(InvalidInput, match="url"):
            memoranda.open(url)

    def test_memory_is_always_new(self) -> None:
        with memoranda.open(":memory:", create=False) as store:
            assert store.stats().commits == 0

    def test_what_is_not_there_is_not_made_unasked(self, path: Path) -> None:
        with pytest.raises(NotFound, match="a first write creates one"):
            memoranda.open(path, create=False)
        assert list(path.parent.iterdir()) == []

    def test_a_missing_folder(self, path: Path) -> None:
        with pytest.raises(NotFound, match="make it first"):
            memoranda.open(path.parent / "no" / "store.db")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="is a folder"):
            memoranda.open(tmp_path)

    def test_some_other_file(self, path: Path) -> None:
        path.write_text("Dear diary, today I was opened by a database.\n" * 100)
        before = path.read_bytes()
        with pytest.raises(InvalidInput, match="not a Memoranda store"):
            memoranda.open(path)
        assert path.read_bytes() == before

    def test_somebody_elses_database(self, path: Path) -> None:
        with apsw.Connection(str(path)) as other:
            other.execute("CREATE TABLE theirs (x)")
        other.close()
        before = path.read_bytes()
        with pytest.raises(InvalidInput, match="not a Memoranda store"):
            memoranda.open(path)
        assert path.read_bytes() == before

    def test_an_empty_file_is_not_yet_a_store(self, path: Path) -> None:
        path.touch()
        with pytest.raises(InvalidInput, match="not a Memoranda store"):
            memoranda.open(path, create=False)
        with memoranda.open(path) as store:
            assert store.write(agent_id="a", key="k", value={}).commit_ts == 1

    def test_a_newer_format_is_refused(self, path: Path) -> None:
        memoranda.open(path).close()
        with apsw.Connection(str(path)) as newer:
            newer.pragma("user_version", 99)
        newer.close()
        with pytest.raises(UnsupportedFormat, match=r"format 99.*upgrade"):
            memoranda.open(path)

    def test_two_processes_may_create_it_at_once(self, path: Path) -> None:
        code = (
            "import memoranda, sys\n"
            "store = memoranda.open(sys.argv[1])\n"
            "for n in range(20): store.write(agent_id='a', key='k', value={'n': n})\n"
        )
        children = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(4)]
        assert [child.wait(HANG_SECONDS) for child in children] == [0, 0, 0, 0]
        with memoranda.open(path) as store:
            assert store.verify().commits == 80
            assert store.stats().epoch == 1

    def test_closing_leaves_one_file(self, path: Path, store: Store) -> None:
        store.write(key="k", value={})
        list(store.replay())
        store.close()
        assert [file.name for file in path.parent.iterdir()] == ["store.db"]


class TestWhereItLives:
    def test_a_copy_begins_an_epoch_when_first_written(self, path: Path, store: Store) -> None:
        store.write(key="k", value={"n": 1})
        token = next(iter(store.replay())).token
        store.close()
        copy = path.with_name("copy.db")
        shutil.copy(path, copy)
        with memoranda.open(copy) as opened:
            assert opened.stats().epoch == 1
            opened.write(agent_id="a", key="k", value={"n": 2})
            opened.write(agent_id="a", key="k", value={"n": 3})
            assert opened.stats().epoch == 2
            *_, moved = opened.replay(agent_id="_engine", namespace="_log")
            (epoch,) = moved.operations
            assert (moved.commit_ts, epoch.type) == (2, OperationType.EPOCH)
            assert epoch.value is not None
            assert (epoch.value["cause"], epoch.value["origin"]) == ("copied", token)
            assert opened.verify().commits == 3

    def test_a_backup_copied_over_the_store_counts_as_a_copy(
        self, path: Path, store: Store
    ) -> None:
        store.write(key="k", value={})
        store.close()
        backup = path.with_name("backup.db")
        shutil.copy(path, backup)
        path.unlink()
        shutil.copy(backup, path)  # often with the inode number of the file just removed
        with memoranda.open(path) as again:
            again.write(agent_id="a", key="k", value={})
            assert again.stats().epoch == 2

    def test_reopening_in_place_begins_none(self, path: Path, store: Store) -> None:
        store.write(key="k", value={})
        store.close()
        with memoranda.open(path) as again:
            again.write(agent_id="a", key="k", value={})
            assert again.stats().epoch == 1

    def test_copies_that_went_different_ways_do_not_share_tokens(
        self, path: Path, store: Store
    ) -> None:
        store.write(key="k", value={})
        store.close()
        copy = path.with_name("copy.db")
        shutil.copy(path, copy)
        with memoranda.open(path) as one, memoranda.open(copy) as other:
            for opened in (one, other):
                opened.write(agent_id="a", key="k", value={})
            shared, token = (event.token for event in one.replay(agent_id="a"))
            assert len(list(other.replay(agent_id="a", after_commit=shared))) == 1
            with pytest.raises(memoranda.LogForked):
                other.replay(agent_id="a", after_commit=token)


class TestReaders:
    def test_a_paused_replay_holds_no_snapshot(self, path: Path, store: Store) -> None:
        for number in range(600):
            store.write(key="k", value={"n": number})
        replay, scan = store.replay(), store.scan_prefix(prefix="k")
        next(replay)
        next(scan)
        store.write(key="k", value={"n": 600})
        beside = apsw.Connection(str(path))
        (checkpoint,) = beside.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        beside.close()
        assert checkpoint[0] == 0, "a reader is in the way"
        assert path.with_name("store.db-wal").stat().st_size == 0
        assert len(list(replay)) == 599

    def test_a_paused_subscription_holds_no_snapshot(self, path: Path, store: Store) -> None:
        for number in range(600):
            store.write(key="k", value={"n": number})
        read, unread = store.subscribe(after_commit=0, timeout=0), store.subscribe(timeout=0)
        idle = store.subscribe(timeout=0)
        next(read)
        assert list(idle) == []
        store.write(key="k", value={"n": 600})
        beside = apsw.Connection(str(path))
        (checkpoint,) = beside.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        beside.close()
        assert checkpoint[0] == 0, "a reader is in the way"
        assert path.with_name("store.db-wal").stat().st_size == 0
        assert [len(list(item)) for item in (read, unread, idle)] == [600, 1, 1]

    def test_a_held_write_lock_is_reported_as_busy(
        self, path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.write(key="k", value={"n": 1})
        monkeypatch.setattr("memoranda.storage.sqlite.connection.LOCK_WAIT_MS", 20)
        beside = apsw.Connection(str(path))
        with memoranda.open(path, create=False) as impatient:
            beside.execute("BEGIN IMMEDIATE")
            transaction = impatient.begin_transaction()
            transaction.write(agent_id="a", key="k", value={"n": 2})
            with pytest.raises(StoreBusy, match="Try again shortly"):
                transaction.commit()
            record = impatient.get_state(agent_id="a", key="k")
            beside.execute("ROLLBACK")
            assert record is not None
            assert record.value == {"n": 1}
            assert impatient.write(agent_id="a", key="k", value={"n": 2}).commit_ts == 2
        beside.close()


class TestOthers:
    """Whether somebody else has written since this was last asked."""

    @staticmethod
    def asked(store: Store) -> bool:
        return core_of(store).engine.write(lambda writer: writer.has_foreign_writes())

    @pytest.fixture
    def other(self, path: Path, store: Store) -> Iterator[Store]:
        store.write(key="k", value={"n": 1})
        with memoranda.open(path, durability="relaxed") as beside:
            yield beside.bind(agent_id="b")

    def test_own_writes_do_not_count(self, store: Store, other: Store) -> None:
        assert not self.asked(store)
        store.write(key="k", value={"n": 2})
        store.drop_cursor(cursor="none")
        assert not self.asked(store)

    def test_others_count_once(self, store: Store, other: Store) -> None:
        other.write(key="k", value={"n": 2})
        assert self.asked(store)
        assert not self.asked(store)

    def test_writing_without_asking_hides_nothing(self, store: Store, other: Store) -> None:
        other.write(key="k", value={"n": 2})
        store.drop_cursor(cursor="none")
        assert self.asked(store)

    def test_nor_does_what_is_rolled_back(self, store: Store, other: Store) -> None:
        other.write(key="k", value={"n": 2})
        with pytest.raises(ZeroDivisionError):
            core_of(store).engine.write(
                lambda writer: writer.run("meta_set", name="settled", value=str(1 // 0))
            )
        assert self.asked(store)

    def test_nor_does_a_lock_that_was_not_to_be_had(
        self, path: Path, store: Store, other: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("memoranda.storage.sqlite.connection.LOCK_WAIT_MS", 20)
        with memoranda.open(path, create=False) as impatient:
            self.asked(impatient)
            other.write(key="k", value={"n": 2})
            beside = apsw.Connection(str(path))
            beside.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy):
                self.asked(impatient)
            beside.close()
            assert self.asked(impatient)


class TestThreads:
    def test_a_store_is_shared_by_threads(self, store: Store) -> None:
        failures: list[BaseException] = []

        def work(name: str) -> None:
            try:
                for number in range(25):
                    store.transact(self.count, retries=100)
                    store.write(key=name, value={"n": number})
                    assert store.get_state(key=name) is not None
                    commits = [event.commit_ts for event in store.replay()]
                    assert commits == sorted(set(commits))
            except BaseException as error:
                failures.append(error)
                raise

        threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        record = store.get_state(key="counter")
        assert record is not None
        assert record.value == {"n": 100}
        assert store.verify().commits == 200

    @pytest.mark.parametrize("then", ["left", "removed"])
    def test_who_reads_while_another_closes_is_told_so(
        self, path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, then: str
    ) -> None:
        store.write(key="k", value={})
        engine = core_of(store).engine
        assert isinstance(engine, SqliteEngine)
        engine._close_readers()
        connect = engine._opener.connect

        def late(*arguments: Any, **named: Any) -> Any:
            engine.close()  # after the reader has seen that it is open
            if then == "removed":
                path.unlink()
            return connect(*arguments, **named)

        monkeypatch.setattr(engine._opener, "connect", late)
        with pytest.raises(StoreClosed):
            store.get_state(key="k")

    @staticmethod
    def count(transaction: memoranda.Transaction) -> None:
        record = transaction.get_state(key="counter")
        transaction.write(key="counter", value={"n": (record.value["n"] if record else 0) + 1})


class TestDamage:
    def test_a_file_cut_short_is_reported(self, path: Path, store: Store) -> None:
        for number in range(50):
            store.write(key=f"k{number}", value={"text": "x" * 2000})
        store.close()
        os.truncate(path, path.stat().st_size // 2)
        with pytest.raises(Corruption, match="Restore a backup"), memoranda.open(path) as broken:
            broken.verify()

    def test_a_clear_error_keeps_its_cause(self, path: Path, store: Store) -> None:
        store.write(key="k", value={"text": "x" * 2000})
        store.close()
        content = bytearray(path.read_bytes())
        content[4096:] = b"\xff" * (len(content) - 4096)
        path.write_bytes(bytes(content))
        with pytest.raises(Corruption, match="Restore a backup") as caught:
            memoranda.open(path)
        assert isinstance(caught.value.__cause__, apsw.Error)
