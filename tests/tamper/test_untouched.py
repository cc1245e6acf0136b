"""No false alarm: whatever Memoranda itself does to a store, it verifies, views and all."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

import memoranda
from memoranda import Store
from memoranda.testing import FixedClock
from tests.scripts import load_script

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.db"))


def sound(store: Store) -> bool:
    shallow, deep = store.verify(), store.verify(deep=True)
    assert shallow.rows is None
    assert (shallow.commits, shallow.head_hash) == (deep.commits, deep.head_hash)
    return deep.rows is not None and deep.rows > 0


def test_reopened_rebuilt_and_written_to(path: Path) -> None:
    for _ in range(2):
        with memoranda.open(path, create=False) as store:
            assert sound(store)
            assert store.rebuild().identical
            assert sound(store)
            store.write(agent_id="new", key="k", value={})
            assert sound(store)


@pytest.mark.parametrize("at", [5, 20, 60, 10**6])
def test_forked(path: Path, folder: Path, at: int) -> None:
    with memoranda.open(path, create=False) as store:
        store.fork(folder / "fork.db", at=at)
    with memoranda.open(folder / "fork.db", create=False) as fork:
        assert sound(fork)


def test_backed_up_and_restored(path: Path, folder: Path) -> None:
    with memoranda.open(path, create=False) as store:
        store.backup(folder / "backup.db")
    memoranda.restore(folder / "backup.db", folder / "restored.db")
    for name in ("backup.db", "restored.db"):
        with memoranda.open(folder / name, create=False) as copy:
            assert sound(copy)
            copy.write(agent_id="new", key="k", value={})
            assert sound(copy)


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_migrated(golden: Path, folder: Path) -> None:
    shutil.copyfile(golden, folder / "old.db")
    with memoranda.open(folder / "old.db", create=False) as store:
        assert sound(store)
        assert store.rebuild().identical
        assert sound(store)


def test_in_memory_and_empty(folder: Path) -> None:
    with memoranda.open(":memory:", clock=FixedClock()) as store:
        assert store.verify(deep=True).commits == 0
        load_script("make_golden").fill(store, FixedClock())
        assert sound(store)
    with memoranda.open(folder / "empty.db") as store:
        assert store.verify(deep=True).commits == 0


@pytest.mark.slow
def test_while_others_write(path: Path) -> None:
    ended = threading.Event()

    def work(store: Store) -> None:
        number = 0
        while not ended.is_set():
            store.write(agent_id="busy", key=f"k{number % 9}", value={"n": number})
            number += 1

    with memoranda.open(path, create=False, durability="relaxed") as store:
        worker = threading.Thread(target=work, args=(store,))
        worker.start()
        try:
            assert all(sound_now(store) for _ in range(10))
        finally:
            ended.set()
            worker.join()
        assert sound(store)


def sound_now(store: Store) -> bool:
    return store.verify().rows is None and store.verify(deep=True).rows is not None
