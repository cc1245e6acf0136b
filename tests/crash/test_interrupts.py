"""Interrupts and forks at bad moments: nobody waits for ever, and nothing is lost or doubled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick import only

_MANY = 20_000


def run(module: str, *arguments: object, folder: Path, seconds: int) -> str:
    """Run a program of this folder to its end, and return what it prints."""
    command = [sys.executable, "-W", "ignore", "-m", f"tests.crash.{module}", *map(str, arguments)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env={**os.environ, "FORKS_FOLDER": str(folder)},
    )
    assert done.returncode == 0, done.stderr[-10_000:]
    return done.stdout


def place(tmp_path: Path, where: str) -> str:
    return ":memory:" if where == "memory" else str(tmp_path / "store.db")


@pytest.mark.slow
@pytest.mark.parametrize("where", only(["file"], ["file", "memory"]))
def test_interrupts_leave_no_lock_taken(tmp_path: Path, where: str) -> None:
    run("interrupts", place(tmp_path, where), 300, "few", folder=tmp_path, seconds=600)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["file", "memory"])
def test_many_interrupts_leave_no_lock_taken(tmp_path: Path, where: str) -> None:
    url = place(tmp_path, where)
    printed = run("interrupts", url, _MANY, "many", folder=tmp_path, seconds=1800)
    interrupts, _ = map(int, printed.split())
    assert interrupts >= _MANY


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("way", only(["async"], ["sync", "async"]))
def test_a_fork_of_a_busy_process_is_refused_everything(tmp_path: Path, way: str) -> None:
    run("forks", place(tmp_path, "file"), way, 2, folder=tmp_path, seconds=600)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("where", ["file", "memory"])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_many_forks_of_a_busy_process(tmp_path: Path, way: str, where: str) -> None:
    run("forks", place(tmp_path, where), way, 40, folder=tmp_path, seconds=1200)
