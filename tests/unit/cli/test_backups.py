"""`memoranda backup --to`: a folder of backups, once and regularly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from tests.patience import HANG_SECONDS, wait_until
from tests.unit.cli.runner import Cli


@pytest.fixture
def folder(filled: Cli) -> Path:
    folder = filled.home / "backups"
    folder.mkdir()
    return folder


def test_a_folder_gets_a_verified_backup_and_old_ones_go(filled: Cli, folder: Path) -> None:
    for name in ("store-20200101T000000Z.db", "store-20200102T000000Z.db"):
        filled("backup", folder / name)
    row = filled.row("backup", "--to", folder, "--keep", 2, "--verify")
    path = Path(row["path"])
    assert (row["commits"], row["verified"], row["bytes"]) == (5, True, path.stat().st_size)
    assert row["removed"] == [str(folder / "store-20200101T000000Z.db")]
    assert sorted(folder.iterdir()) == [folder / "store-20200102T000000Z.db", path]
    assert filled.row("verify", "--db", path)["commits"] == 5
    output = filled("backup", "--to", folder, "--keep-for", "1d")
    assert output.splitlines()[0].startswith(f"Backed up 5 commits to {folder}/store-")
    assert output.splitlines()[1] == f"Removed {folder / 'store-20200102T000000Z.db'}."


def test_options_that_do_not_fit_are_refused(filled: Cli, folder: Path) -> None:
    assert "give either FILE or --to FOLDER" in filled.fails(2, "backup")
    assert "give either FILE or --to FOLDER" in filled.fails(2, "backup", "x.db", "--to", folder)
    assert "--keep-for needs --to" in filled.fails(2, "backup", "x.db", "--keep-for", "1d")
    assert "--every: 'often'" in filled.fails(2, "backup", "--to", folder, "--every", "often")
    assert "--keep-for: 'x'" in filled.fails(2, "backup", "--to", folder, "--keep-for", "x")
    assert "there is no folder" in filled.fails(4, "backup", "--to", folder / "missing")
    remote = ("backup", "--to", folder, "--db", "grpc://127.0.0.1:1/acme")
    assert "a server backs its stores up itself" in filled.fails(2, *remote)
    assert not [*folder.iterdir()]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_goes_on_until_it_is_interrupted(filled: Cli, folder: Path, number: int) -> None:
    damaged = folder / "store-20200101T000000Z.db"
    filled("backup", damaged)
    database = apsw.Connection(str(damaged))
    database.execute("UPDATE event SET committed_at = committed_at + 1")
    database.close()
    options = ("--to", str(folder), "--every", "0.3s", "--keep", "2", "--json")
    with subprocess.Popen(
        [sys.executable, "-m", "memoranda", "backup", *options],
        env=os.environ | {name: text for name, text in filled.env.items() if text is not None},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.send_signal(number)
        _, errors = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 130
    assert json.loads(errors)["error"] == "Interrupted"
    assert lines[0]["removed"] == []
    assert lines[1]["removed"] == [str(damaged)]
    assert 1 <= len([*folder.iterdir()]) <= 3
    assert not [*folder.glob(".memoranda-*")], "no draft is left"


@pytest.mark.slow
def test_a_backup_that_fails_does_not_end_it(filled: Cli, folder: Path) -> None:
    options = ("--to", str(folder), "--every", "0.3s", "--verify")
    store, moved = filled.db, filled.db.with_name("moved.db")
    store.rename(moved)
    with subprocess.Popen(
        [sys.executable, "-m", "memoranda", "backup", *options],
        env=os.environ | {name: text for name, text in filled.env.items() if text is not None},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert "there is no store" in process.stderr.readline()
        moved.rename(store)
        wait_until(lambda: bool([*folder.glob("store-*.db")]))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 130
