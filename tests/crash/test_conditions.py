"""What may be wrong with a store's place: the right error, its remedy, and a way back."""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import InvalidInput, Store, StoreBusy, StoreFull
from tests.crash.faulty_vfs import FaultyVFS
from tests.crash.stores import open_on
from tests.patience import HANG_SECONDS

ROOT = Path(__file__).parents[2]


def write(store: Store) -> int:
    return store.write(agent_id="a", key="k", value={"text": "x" * 100}).commit_ts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one commit."""
    path = tmp_path / "store.db"
    with memoranda.open(path) as store:
        write(store)
    return path


class TestFullDisk:
    def test_it_says_so_reads_on_and_goes_on_when_there_is_room(self, path: Path) -> None:
        vfs = FaultyVFS()
        with open_on(path, vfs) as store:
            vfs.fail("write", code=apsw.SQLITE_FULL, times=math.inf)
            for _ in range(3):
                with pytest.raises(StoreFull, match="Free some") as caught:
                    write(store)
                assert isinstance(caught.value.__cause__, apsw.FullError)
            assert store.verify().commits == 1
            vfs.heal()
            assert write(store) == 2


class Child:
    """An unprivileged visitor in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def first_round(self) -> list[str]:
        assert self._process.stdout is not None
        return list(iter(self._process.stdout.readline, "\n"))

    def second_round(self) -> list[str]:
        answers, _ = self._process.communicate("\n", timeout=HANG_SECONDS)
        assert self._process.returncode == 0
        return answers.splitlines()


@contextmanager
def visiting(path: Path) -> Iterator[Child]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.crash.unprivileged", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        yield Child(process)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder everybody may enter and write in."""
    with tempfile.TemporaryDirectory(prefix="memoranda-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder
        folder.chmod(0o777)


@pytest.fixture
def shared(public: Path) -> Path:
    """A store in it with one commit, which everybody may write to."""
    path = public / "store.db"
    with memoranda.open(path) as store:
        write(store)
    path.chmod(0o666)
    return path


class TestPermissions:
    def test_a_file_that_may_only_be_read(self, shared: Path) -> None:
        shared.chmod(0o444)
        with visiting(shared) as child:
            opened, read, writes = child.first_round()
            assert (opened, read) == ("ok opened\n", "ok 1\n")
            assert writes.startswith("StoreReadOnly")
            assert "Check the permissions" in writes
            for file in shared.parent.iterdir():  # SQLite gives its files the store's mode
                file.chmod(0o666)
            assert child.second_round() == ["ok opened", "ok 1", "ok 2"]

    @pytest.mark.parametrize("mode", [0o444, 0o666])
    def test_a_folder_that_may_only_be_read(self, shared: Path, mode: int) -> None:
        shared.chmod(mode)
        shared.parent.chmod(0o555)
        with visiting(shared) as child:
            (answer,) = child.first_round()
            assert answer.startswith("StoreReadOnly")
            assert "its folder" in answer
            shared.parent.chmod(0o777)
            shared.chmod(0o666)
            assert child.second_round() == ["ok opened", "ok 1", "ok 2"]

    def test_a_new_store_in_a_folder_that_may_only_be_read(self, public: Path) -> None:
        public.chmod(0o555)
        with visiting(public / "store.db") as child:
            (answer,) = child.first_round()
            assert answer.startswith("StoreReadOnly")
            assert "its folder" in answer
            public.chmod(0o777)
            assert child.second_round() == ["ok opened", "ok 0", "ok 1"]

    def test_a_file_that_may_not_be_read(self, shared: Path) -> None:
        shared.chmod(0)
        with visiting(shared) as child:
            (answer,) = child.first_round()
            assert answer.split()[0] in ("StoreReadOnly", "Unavailable")
            shared.chmod(0o666)
            assert child.second_round() == ["ok opened", "ok 1", "ok 2"]

    def test_a_folder_that_may_not_be_entered(self, shared: Path) -> None:
        shared.parent.chmod(0)
        with visiting(shared) as child:
            (answer,) = child.first_round()
            assert answer.split()[0] in ("StoreReadOnly", "Unavailable")
            shared.parent.chmod(0o777)
            assert child.second_round() == ["ok opened", "ok 1", "ok 2"]


class TestForeignBytes:
    @pytest.mark.parametrize("start", [0, 16, 18])
    def test_a_damaged_header(self, path: Path, start: int) -> None:
        content = path.read_bytes()
        damaged = content[:start] + b"\xff" * (100 - start) + content[100:]
        path.write_bytes(damaged)
        with pytest.raises(InvalidInput, match=r"first page is damaged.*restore a backup"):
            memoranda.open(path)
        assert path.read_bytes() == damaged, "it was touched"
        path.write_bytes(content)
        with memoranda.open(path) as store:
            assert store.verify().commits == 1
            assert write(store) == 2

    @pytest.mark.parametrize("mark", [0, 0x12345678])
    def test_a_file_that_is_not_ours(self, path: Path, mark: int) -> None:
        self.mark_as(path, mark)
        before = path.read_bytes()
        with pytest.raises(InvalidInput, match=r"not a Memoranda store: give another path"):
            memoranda.open(path)
        assert path.read_bytes() == before, "it was touched"
        self.mark_as(path, 0x52434C54)
        with memoranda.open(path) as store:
            assert write(store) == 2

    @staticmethod
    def mark_as(path: Path, mark: int) -> None:
        database = apsw.Connection(str(path))
        database.pragma("application_id", mark)
        database.close()


HOLDER = """
import sys, apsw
database = apsw.Connection(sys.argv[1])
for statement in sys.argv[2:]:
    list(database.execute(statement))
print("held", flush=True)
sys.stdin.readline()
database.close()
print("let go", flush=True)
sys.stdin.readline()
"""
EXCLUSIVE = ("PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE")


class Holder:
    """Another process that holds a lock."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._expect("held")

    def let_go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self._expect("let go")

    def _expect(self, line: str) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == f"{line}\n"


@contextmanager
def held(path: Path, *statements: str) -> Iterator[Holder]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), *statements],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Holder(process)


class TestLocks:
    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("memoranda.storage.sqlite.connection.LOCK_WAIT_MS", 50)

    def test_another_process_is_writing(self, path: Path) -> None:
        with memoranda.open(path) as store, held(path, "BEGIN IMMEDIATE") as holder:
            transaction = store.begin_transaction()
            transaction.write(agent_id="a", key="k", value={})
            with pytest.raises(StoreBusy, match="Try again shortly"):
                transaction.commit()
            assert store.verify().commits == 1
            holder.let_go()
            assert write(store) == 2

    def test_another_process_has_the_file_for_itself(self, path: Path) -> None:
        with held(path, *EXCLUSIVE) as holder:
            with pytest.raises(StoreBusy, match="Try again shortly"):
                memoranda.open(path)
            holder.let_go()
            with memoranda.open(path) as store:
                assert write(store) == 2

    def test_another_process_has_a_new_file_for_itself(self, tmp_path: Path) -> None:
        path = tmp_path / "new.db"
        with held(path, *EXCLUSIVE) as holder:
            with pytest.raises(StoreBusy, match="Try again shortly"):
                memoranda.open(path)
            holder.let_go()
            with memoranda.open(path) as store:
                assert write(store) == 1
