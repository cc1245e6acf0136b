"""Killed with SIGKILL while a copy is made: there is none, or a whole one."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

import apsw
import pytest

import memoranda
from tests.quick import only

STEPS = ("os.link", "os.rename", "os.remove", "os.rmdir", "os.chmod", "tempfile.mkdtemp", "open")
"""What the interpreter tells of what is done with files; SQLite's own are met through progress."""
Copy = Callable[[Path, Callable[[int, int], None]], object]


def back_up(folder: Path, progress: Callable[[int, int], None]) -> object:
    with memoranda.open(folder / "store.db", create=False) as store:
        return store.backup(folder / "new.db", progress=progress)


def fork(folder: Path, progress: Callable[[int, int], None]) -> object:
    with memoranda.open(folder / "store.db", create=False) as store:
        return store.fork(folder / "new.db", at=3, progress=progress)


def restore(folder: Path, progress: Callable[[int, int], None]) -> object:
    return memoranda.restore(folder / "backup.db", folder / "new.db", progress=progress)


def import_log(folder: Path, progress: Callable[[int, int], None]) -> object:
    return memoranda.import_log(folder / "log.jsonl", folder / "new.db", progress=progress)


def replace(folder: Path, progress: Callable[[int, int], None]) -> object:
    return memoranda.restore(
        folder / "backup.db", folder / "new.db", overwrite=True, progress=progress
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with memoranda.open(tmp_path / "store.db") as store:
        for number in range(3):
            store.write(agent_id="a", key="k", value={"n": number})
        store.backup(tmp_path / "backup.db")
        store.export_log(tmp_path / "log.jsonl")
    return tmp_path


def killed_at(step: int, folder: Path, copy: Copy) -> bool:
    """Copy in a child that is killed at a step, and say whether it came that far."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads do not matter here
        child = os.fork()
    if not child:
        remainder = count(step, -1)

        def pass_step() -> None:
            if not next(remainder):
                os.kill(os.getpid(), signal.SIGKILL)

        def hear(event: str, args: tuple[object, ...]) -> None:
            if event in STEPS and str(folder) in str(args):
                pass_step()

        try:
            sys.addaudithook(hear)
            copy(folder, lambda *_: pass_step())
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), "it failed by itself"
    return code != 0


@pytest.mark.parametrize("copy", only([back_up], [back_up, fork, restore, import_log]))
def test_a_new_copy_is_whole_or_not_there(folder: Path, copy: Copy) -> None:
    new, kills = folder / "new.db", 0
    while killed_at(kills, folder, copy):
        kills += 1
        if new.exists():
            check(new)
            for path in folder.glob("new.db*"):
                path.unlink()
    assert kills > 5
    check(new)


@pytest.mark.slow
@pytest.mark.parametrize("journal", only([True], [False, True]), ids=["clean", "journal left"])
def test_a_store_is_replaced_as_a_whole_or_not_at_all(
    folder: Path,
    journal: bool,  # noqa: FBT001
) -> None:
    new, kills, observations = folder / "new.db", 0, set()
    while True:
        for path in folder.glob("new.db*"):
            path.unlink()
        with memoranda.open(new) as store:
            store.write(agent_id="a", key="k", value={"n": "old"})
        if journal:
            leave_journal(new)
        if not killed_at(kills, folder, replace):
            break
        kills += 1
        observations.add(check(new))
    assert kills > 5
    assert observations == {2 if journal else 1, 3}
    assert check(new) == 3


def leave_journal(path: Path) -> None:
    """Let somebody write to a store and die."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        memoranda.open(path).write(agent_id="a", key="k", value={"n": "late"})
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert path.with_name(f"{path.name}-wal").stat().st_size


def check(path: Path) -> int:
    """Return how many commits a store has, once all of it holds and it can be written to."""
    with memoranda.open(path, create=False) as store:
        commits = store.verify(deep=True).commits
    with closing(apsw.Connection(str(path))) as database:
        assert database.pragma("journal_mode") == "wal", "readers would keep writers waiting"
    return commits
