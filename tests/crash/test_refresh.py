"""A newer version rebuilds a view while an older one has the store open, and is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import Store, UnsupportedFormat
from memoranda.storage.sqlite import wal
from tests.crash.test_newer_versions import newer
from tests.leftovers import leftovers
from tests.patience import HANG_SECONDS

COMMITS = 10
OPEN = """
import sys, memoranda

def progress(done, total):
    if done == 5 and sys.argv[2] == "wait":
        print("half way", flush=True)
        sys.stdin.readline()

with memoranda.open(sys.argv[1], embedder=None, progress=progress) as store:
    store.verify(deep=True)
    assert store.rebuild().identical
    print(len(list(store.history(agent_id="a", key="k"))), flush=True)
"""
KILLED_IN_THE_SWAP = """
import os, signal, sys, memoranda
from memoranda.log.views import Views

Views.prune = lambda views, writer: os.kill(os.getpid(), signal.SIGKILL)
memoranda.open(sys.argv[1], embedder=None)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a newer version, which derives the state otherwise."""
    return newer(tmp_path / "newer", "state/view.py", r"^    version = \d+$", "    version = 999")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "stores"
    folder.mkdir()
    return folder / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """Return a store that this version has open; its rows are not what the log says."""
    with memoranda.open(path, embedder=None) as opened:
        agent = opened.bind(agent_id="a")
        for number in range(COMMITS):
            agent.write(key="k", value={"n": number})
        with closing(apsw.Connection(str(path))) as database:
            database.execute("""UPDATE state SET value = CAST('{"n":-1}' AS BLOB)""")
        yield agent


class Opening:
    """A process of the newer version that opens the store, and waits half way."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def wait_half_way(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "half way\n"

    def kill(self) -> None:
        self._process.kill()
        self.wait_killed()

    def wait_killed(self) -> None:
        assert self._process.wait(HANG_SECONDS) == -signal.SIGKILL

    def finish(self) -> int:
        """Let it go on, and return how many versions of the key it sees."""
        output, _ = self._process.communicate("\n", timeout=HANG_SECONDS)
        assert self._process.returncode == 0
        return int(output.split()[-1])


@contextmanager
def opening(package: Path, path: Path, script: str = OPEN) -> Iterator[Opening]:
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path), "wait"],
        env=os.environ | {"PYTHONPATH": str(package.parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Opening(process)
        finally:
            process.kill()


def value_of(store: Store) -> object:
    state = store.get_state(key="k")
    return state and state.value


def folders(path: Path) -> list[Path]:
    return [*path.parent.glob(".memoranda-*")]


@pytest.mark.slow
def test_an_older_version_reads_and_writes_until_the_new_rows_are_there(
    package: Path, path: Path, store: Store
) -> None:
    with opening(package, path) as other:
        other.wait_half_way()
        assert value_of(store) == {"n": -1}
        store.write(key="k", value={"n": "meanwhile"})
        store.write(key="new", value={}, namespace="new")
        assert other.finish() == COMMITS + 1
    assert value_of(store) == {"n": "meanwhile"}
    with pytest.raises(UnsupportedFormat, match="'state' has version 999 by now"):
        store.write(key="k", value={})


@pytest.mark.slow
def test_what_is_erased_meanwhile_is_not_in_the_new_rows(
    package: Path, path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wal, "_READERS_WAIT_MS", 1)  # the other process reads until it is let go on
    store.write(key="other", value={"word": "quixotical"})
    with opening(package, path) as other:
        other.wait_half_way()
        store.forget(key="other")
        assert other.finish() == COMMITS
    store.close()
    assert leftovers(path, [b"quixotical"]) == set()
    assert folders(path) == []


@pytest.mark.slow
def test_a_kill_half_way_leaves_the_old_rows_and_the_next_one_begins_again(
    package: Path, path: Path, store: Store
) -> None:
    with opening(package, path) as other:
        other.wait_half_way()
        other.kill()
    assert value_of(store) == {"n": -1}
    store.write(key="new", value={})
    assert len(folders(path)) == 1
    with opening(package, path) as other:
        other.wait_half_way()
        assert len(folders(path)) == 1, "its own"
        assert other.finish() == COMMITS
    assert folders(path) == []
    assert value_of(store) == {"n": COMMITS - 1}


@pytest.mark.slow
def test_a_kill_in_the_swap_leaves_the_old_rows(package: Path, path: Path, store: Store) -> None:
    with opening(package, path, KILLED_IN_THE_SWAP) as other:
        other.wait_killed()
    assert value_of(store) == {"n": -1}
    store.write(key="new", value={})
    with opening(package, path) as other:
        other.wait_half_way()
        assert other.finish() == COMMITS
    assert value_of(store) == {"n": COMMITS - 1}


@pytest.mark.slow
def test_two_processes_that_open_at_once_both_succeed(
    package: Path, path: Path, store: Store
) -> None:
    with opening(package, path) as one, opening(package, path) as other:
        one.wait_half_way()
        other.wait_half_way()
        assert one.finish() == COMMITS
        assert other.finish() == COMMITS
    assert folders(path) == []
    assert value_of(store) == {"n": COMMITS - 1}
