"""Killed while it forgets: all of it is gone, or all is there; and what is pending is known."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random

import pytest

import memoranda
from memoranda import KeyRef, NotFound, Store
from memoranda.log.commit.failpoints import NAMES
from tests.leftovers import leftovers
from tests.patience import HANG_SECONDS
from tests.quick import only

ROOT = Path(__file__).parents[2]
WORDS = [b"spokenword", b"titleword", b"revisedword", b"factword"]
DURABLE = ("after-commit", "acknowledged")


def fill(path: Path) -> str:
    """Make a store with a memory that has much to it, and return its id."""
    with memoranda.open(path, durability="relaxed") as opened:
        store = opened.bind(agent_id="ann")
        for number in range(30):
            store.write(key=f"k{number}", value={"v": "padding" * 100})
        memory = store.remember("spokenword " * 500, title="titleword")
        store.update_memory(memory.id, content="revisedword")
        store.assert_fact(subject="factword", relation="is", object="o", source=memory.id)
        store.write(key="rests", value={}, because=[memory])
        for number in range(30):
            store.write(key=f"l{number}", value={"v": "padding" * 100})
    return memory.id


def child(path: Path, memory_id: str, failpoint: str) -> subprocess.Popen[str]:
    order = [str(path), "memory_id", memory_id, failpoint]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.forgetter", *order],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def check(path: Path, memory_id: str) -> bool:
    """Say whether the memory is gone, once it is sure that it is so wholly or not at all."""
    with memoranda.open(path) as opened:
        store = opened.bind(agent_id="ann")
        store.verify()
        assert store.rebuild().identical
        target = store.get_memory(memory_id) is None
        assert (store.facts() == []) == target
        assert len(list(store.erasures())) == target
        if target:
            assert store.purge()
            assert not store.stats().pending_purge
        assert store.get_state(key="k7") is not None
        store.write(key="after", value={}, because=[KeyRef("rests")])
    assert leftovers(path, WORDS) == (set() if target else set(WORDS))
    return target


@pytest.mark.slow
@pytest.mark.parametrize("failpoint", only(["before-commit", "after-commit"], NAMES))
def test_at_every_failpoint(tmp_path: Path, failpoint: str) -> None:
    path = tmp_path / "store.db"
    memory_id = fill(path)
    with child(path, memory_id, failpoint) as process:
        assert process.wait(HANG_SECONDS) == -9
    assert check(path, memory_id) == (failpoint in DURABLE)


@pytest.mark.slow
@pytest.mark.parametrize("seed", only([0], range(6)))
def test_at_random_moments(tmp_path: Path, seed: int) -> None:
    path, random = tmp_path / "store.db", Random(seed)
    memory_id = fill(path)
    with child(path, memory_id, "") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(random.uniform(0, 0.06))
        process.kill()
    check(path, memory_id)


@pytest.mark.slow
@pytest.mark.parametrize("percent", only([100], [0, 1, 34, 40, 67, 100]))
def test_while_it_purges(tmp_path: Path, percent: int) -> None:
    """Whether the file was rewritten or not: the purge is pending, and can be repeated."""
    path = tmp_path / "store.db"
    memory_id = fill(path)
    with memoranda.open(path) as store:
        store.bind(agent_id="ann").forget(memory_id=memory_id, purge=False)
    order = [sys.executable, "-m", "tests.crash.purger", str(path), str(percent)]
    assert subprocess.run(order, cwd=ROOT, timeout=HANG_SECONDS, check=False).returncode == -9
    with memoranda.open(path) as store:
        assert store.stats().pending_purge
    assert check(path, memory_id)


@pytest.mark.slow
def test_while_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    memory_id = fill(path)
    stop = threading.Event()
    failures: list[BaseException] = []

    def write(store: Store, name: str) -> None:
        number = 0
        try:
            while not stop.is_set():
                store.write(agent_id=name, key=f"{name}{number}", value={"n": number})
                number += 1
        except memoranda.MemorandaError as error:
            failures.append(error)

    with memoranda.open(path) as one, memoranda.open(path) as other:
        writers = [
            threading.Thread(target=write, args=(store, name))
            for store, name in ((one, "x"), (other, "y"))
        ]
        for writer in writers:
            writer.start()
        with child(path, memory_id, "") as process:
            out, _ = process.communicate(timeout=HANG_SECONDS)
        stop.set()
        for writer in writers:
            writer.join()
        assert not failures
        assert process.returncode == 0
        assert len(out.splitlines()) == 2
        one.verify()
        assert one.rebuild().identical
        with pytest.raises(NotFound):
            one.bind(agent_id="ann").forget(memory_id=memory_id)
        for name in ("x", "y"):
            keys = list(one.list_keys(agent_id=name))
            assert len(keys) == len(list(one.replay(agent_id=name)))
    assert check(path, memory_id)
