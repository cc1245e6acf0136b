"""Who signs does not sign two histories; and signing behind the commits, and what it tells."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest

import memoranda
from memoranda import InvalidInput, NotProven, Signer, Store, load_signer
from memoranda.audit.checkpointer import LogSigner
from memoranda.sdk.signers import log_signer
from memoranda.testing import FixedClock
from tests.contract.events import Background
from tests.cores import core_of
from tests.patience import wait_until
from tests.unit.audit.logs import open_store, seeded, signer_in, spoil, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    return signer_in(tmp_path)


def sizes(store: Store) -> list[int]:
    return [checkpoint.size for checkpoint in store.checkpoints()]


class TestRolledBack:
    """A store that was put back to an older state, with all that is in it."""

    @pytest.fixture
    def rolled_back(self, path: Path, tmp_path: Path, signer: Signer) -> Path:
        with open_store(path) as store:
            write(store, 5)
            store.checkpoint(signer=signer)
            store.backup(tmp_path / "backup.db")
            write(store, 5)
            store.checkpoint(signer=signer)
        (tmp_path / "backup.db").replace(path)
        return path

    def test_it_is_not_signed(self, rolled_back: Path, signer: Signer) -> None:
        with open_store(rolled_back) as store:
            assert store.verify().checkpoints == 1  # it is sound as far as it goes
            with pytest.raises(NotProven, match=r"has signed 11 commits, and the store has 6"):
                store.checkpoint(signer=signer)
            assert sizes(store) == [6]

    def test_not_when_it_has_gone_another_way_either(
        self, rolled_back: Path, signer: Signer
    ) -> None:
        with open_store(rolled_back) as store:
            write(store, 9)
            with pytest.raises(NotProven, match="the first 11 commits are not those"):
                store.checkpoint(signer=signer)
            assert sizes(store) == [6]

    def test_nor_is_it_opened_with_its_signer(self, rolled_back: Path, signer: Signer) -> None:
        with pytest.raises(NotProven, match="It was rolled back"):
            open_store(rolled_back, signer=signer)
        with open_store(rolled_back) as store:  # nothing is left locked
            write(store, 1)

    def test_nor_with_the_same_key_loaded_again(self, rolled_back: Path, tmp_path: Path) -> None:
        with open_store(rolled_back) as store, pytest.raises(NotProven):
            store.checkpoint(signer=tmp_path / "ours.key")

    def test_a_fork_of_it_is_a_log_of_its_own(
        self, rolled_back: Path, tmp_path: Path, signer: Signer
    ) -> None:
        with open_store(rolled_back) as store:
            store.fork(tmp_path / "fork.db", at=6)
        with open_store(tmp_path / "fork.db") as fork:
            assert fork.checkpoint(signer=signer).size == 6  # it trusts whom the other did
            assert fork.verify().checkpoints == 1

    def test_one_that_is_restored_as_it_was_is_signed_again(
        self, path: Path, tmp_path: Path, signer: Signer
    ) -> None:
        with open_store(path) as store:
            write(store, 5)
            store.checkpoint(signer=signer)
            store.backup(tmp_path / "backup.db")
        (tmp_path / "backup.db").replace(path)
        with open_store(path) as store:
            write(store, 1)
            assert store.checkpoint(signer=signer).size == 7


def test_a_copy_is_not_signed_at_the_same_moment(
    path: Path, tmp_path: Path, signer: Signer
) -> None:
    with open_store(path) as store:
        write(store, 5)
        store.checkpoint(signer=signer)
        store.backup(tmp_path / "copy.db")
        write(store, 5)
        with open_store(tmp_path / "copy.db") as copy:
            write(copy, 1)
            refused: list[NotProven] = []

            def sign_copy() -> None:
                try:
                    copy.checkpoint(signer=load_signer(tmp_path / "ours.key"))
                except NotProven as error:
                    refused.append(error)

            thread = threading.Thread(target=sign_copy)

            def meanwhile(moment: str) -> None:
                if moment == "signed":
                    thread.start()
                    thread.join(0.3)
                    assert thread.is_alive(), "it did not wait"

            core, commit = core_of(store), log_signer(core_of(store), signer, "local")._commit
            instance = LogSigner(core.engine, core.log_id, signer, commit, meanwhile).sign()
            thread.join()
            assert (instance.size, sizes(copy)) == (11, [6])
            assert len(refused) == 1


def test_a_key_without_a_file_remembers_too(path: Path, tmp_path: Path) -> None:
    ours = seeded("example.com/memory", 1)
    with open_store(path) as store:
        write(store, 2)
        store.backup(tmp_path / "backup.db")
        store.checkpoint(signer=ours)
    with open_store(tmp_path / "backup.db") as store:
        write(store, 5)
        with pytest.raises(NotProven):
            store.checkpoint(signer=ours)


def test_each_log_is_remembered_on_its_own(tmp_path: Path, signer: Signer) -> None:
    for name, commits in (("a.db", 9), ("b.db", 2), ("a.db", 1)):
        with open_store(tmp_path / name) as store:
            write(store, commits)
            store.checkpoint(signer=signer)
    assert len(list(tmp_path.glob("ours.*.signed"))) == 2


@pytest.mark.parametrize("damage", ["", "x", "recollect/x\n1\n"])
def test_a_damaged_memory_is_refused(
    path: Path, tmp_path: Path, signer: Signer, damage: str
) -> None:
    with open_store(path) as store:
        write(store, 2)
        store.checkpoint(signer=signer)
        (memory,) = tmp_path.glob("*.signed")
        memory.write_text(damage)
        with pytest.raises(NotProven, match=r"signed does not hold a note signed by"):
            store.checkpoint(signer=signer)


def test_without_its_memory_the_store_still_tells(
    path: Path, tmp_path: Path, signer: Signer
) -> None:
    with open_store(path) as store:
        write(store, 20)
        store.checkpoint(signer=signer)
    (memory,) = tmp_path.glob("*.signed")
    memory.unlink()
    spoil(path, "DELETE FROM event WHERE commit_ts > 15")
    spoil(path, "DELETE FROM tree_node")
    spoil(path, "DELETE FROM meta WHERE name = 'tree'")
    with open_store(path) as store, pytest.raises(NotProven):
        store.checkpoint(signer=signer)


def test_a_private_key_is_never_in_the_store(path: Path, tmp_path: Path, signer: Signer) -> None:
    with open_store(path, signer=signer) as store:
        write(store, 2)
    line = (tmp_path / "ours.key").read_text().strip()
    for file in tmp_path.glob("store.db*"):
        data = file.read_bytes()
        assert signer._seed not in data
        assert line.split("+", 4)[4].encode() not in data
        assert signer.public.key in data or file.name != "store.db"


class TestAutomatically:
    """Signing behind the commits."""

    def test_every_so_many_commits(self, path: Path, signer: Signer) -> None:
        with open_store(path, signer=signer, checkpoint_every=10) as store:
            write(store, 9)
            time.sleep(0.5)
            assert sizes(store) == []
            write(store, 1)
            wait_until(lambda: sizes(store) == [11])
            checkpointer = core_of(store).checkpointer
            assert checkpointer is not None
            with checkpointer.log_signer._ledger.lock():  # it does not sign before the last one
                write(store, 12)
            wait_until(lambda: sizes(store) == [11, 23])
        with open_store(path) as store:
            assert store.verify().last_checkpoint == 23

    def test_after_so_many_seconds(self, path: Path, signer: Signer) -> None:
        clock = FixedClock()
        with open_store(path, signer=signer, clock=clock, checkpoint_seconds=60) as store:
            checkpointer = core_of(store).checkpointer
            assert checkpointer is not None
            write(store, 1)
            wait_until(lambda: checkpointer._unsigned_since is not None)
            assert sizes(store) == []
            clock.advance(61)
            wait_until(lambda: sizes(store) == [2])
            clock.advance(61)
            time.sleep(0.5)
            assert sizes(store) == [2]  # nothing came meanwhile

    def test_nothing_slows_a_commit_while_it_signs(self, path: Path, signer: Signer) -> None:
        with open_store(path, signer=signer, checkpoint_every=1) as store:
            stored_value = core_of(store).checkpointer
            assert stored_value is not None
            with (
                stored_value.log_signer._ledger.lock()
            ):  # as if another process were signing, slowly
                Background(lambda: write(store, 50)).answer()
            wait_until(lambda: sizes(store) != [])

    def test_what_goes_wrong_is_told(self, path: Path, tmp_path: Path, signer: Signer) -> None:
        store = open_store(path, signer=signer, checkpoint_every=2)
        write(store, 2)
        wait_until(lambda: sizes(store) == [3])
        (memory,) = tmp_path.glob("*.signed")
        text = memory.read_text()
        memory.write_text("x")
        write(store, 2)
        wait_until(lambda: store.stats().warnings != ())
        (warning,) = store.stats().warnings
        assert "the log is not being signed" in warning
        with pytest.raises(NotProven):
            store.close()
        memory.write_text(text)
        with open_store(path, signer=signer) as again:  # it was closed all the same
            assert again.stats().commits == 5

    def test_a_failure_that_passes_is_forgotten(
        self, path: Path, tmp_path: Path, signer: Signer
    ) -> None:
        with open_store(path, signer=signer, checkpoint_every=2) as store:
            write(store, 2)
            wait_until(lambda: sizes(store) == [3])
            (memory,) = tmp_path.glob("*.signed")
            text = memory.read_text()
            memory.write_text("x")
            write(store, 2)
            wait_until(lambda: store.stats().warnings != ())
            memory.write_text(text)
            wait_until(lambda: store.stats().warnings == ())
            assert sizes(store) == [3, 5]

    def test_what_another_has_signed_is_not_due(self, path: Path, signer: Signer) -> None:
        other = seeded("example.com/other", 2)
        with open_store(path, signer=signer, checkpoint_every=4) as store:
            store.checkpoint()
            store.trust_key(other)
            write(store, 2)
            store.checkpoint(signer=other)
            write(store, 3)
            time.sleep(0.5)
            assert sizes(store) == [1, 4]

    @pytest.mark.parametrize("options", [{"checkpoint_every": 0}, {"checkpoint_seconds": -1}])
    def test_options_that_cannot_be(
        self, path: Path, signer: Signer, options: dict[str, int]
    ) -> None:
        with pytest.raises(InvalidInput, match=next(iter(options))):
            open_store(path, signer=signer, **options)
        shutil.rmtree(path, ignore_errors=True)

    def test_a_signer_of_others_is_refused_when_it_is_opened(
        self, path: Path, signer: Signer
    ) -> None:
        with open_store(path) as store:
            store.checkpoint(signer=seeded("example.com/other", 2))
        with pytest.raises(InvalidInput, match="is not trusted by this log"):
            open_store(path, signer=signer)

    def test_no_thread_is_left(self, path: Path, signer: Signer) -> None:
        before = set(threading.enumerate())
        with open_store(path, signer=signer):
            assert len(set(threading.enumerate()) - before) == 1
        assert set(threading.enumerate()) <= before

    def test_a_child_process_does_not_sign_for_its_parent(self, path: Path, signer: Signer) -> None:
        with open_store(path, signer=signer) as store:
            write(store, 1)
            checkpointer = core_of(store).checkpointer
            assert checkpointer is not None
            checkpointer._owner_pid += 1  # as it is seen from a child
            checkpointer.close(lambda: pytest.fail("it drained"))
            checkpointer._owner_pid -= 1
        with memoranda.open(path) as later:
            assert sizes(later) == [2]
