"""The commands that copy a store."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import memoranda
from tests.unit.cli.runner import Cli


def test_backup_and_restore(filled: Cli) -> None:
    file = filled.home / "backup.db"
    assert filled("backup", file).startswith(f"Backed up 5 commits to {file}, ")
    filled("write", "goal", '{"text": "other"}')
    message = filled.fails(2, "restore", file)
    assert (
        message == f"Error: --overwrite: is needed to replace {filled.db}, which is there already\n"
    )
    output = filled("restore", file, "--overwrite")
    assert output == f"Restored 5 commits from {file} to {filled.db}.\n"
    assert filled("get", "goal") == '{"text": "ship it"}\n'
    assert sorted(filled.home.iterdir()) == [file, filled.db]


def test_in_json(filled: Cli) -> None:
    file, fork = filled.home / "backup.db", filled.home / "fork.db"
    assert filled.row("backup", file) == {
        "path": str(file),
        "commits": 5,
        "bytes": file.stat().st_size,
    }
    restored = filled.row("restore", file, "--db", filled.home / "new.db")
    assert restored == {"store": str(filled.home / "new.db"), **filled.row("verify")}
    forked = filled.row("fork", "--at", 3, fork)
    assert forked.keys() == {"path", "log_id", "commits", "origin"}
    assert forked["origin"] == filled.rows("replay")[2]["token"]
    assert filled.row("verify", "--db", fork)["log_id"] == forked["log_id"]


def test_a_fork_is_the_past(filled: Cli) -> None:
    file = filled.home / "fork.db"
    assert filled("fork", "--at", 2, file) == f"Forked 2 commits to {file}.\n"
    assert filled("scan", "--db", file) == filled("scan", "--at", 2)
    time = filled.rows("replay")[3]["committed_at"]
    filled("fork", "--at", time, filled.home / "time.db")
    assert len(filled.rows("replay", "--db", filled.home / "time.db")) == 4


def test_the_users_own_store_is_restored_where_it_belongs(filled: Cli) -> None:
    filled("backup", filled.home / "backup.db")
    filled.env["MEMORANDA_DB"] = None
    output = filled("restore", filled.home / "backup.db")
    assert str(filled.home / "data") in output
    assert len(filled.rows("replay")) == 5


def test_what_cannot_be_taken_is_named_as_it_was_typed(filled: Cli) -> None:
    item = filled.home / "taken"
    item.touch()
    assert "FILE: " in filled.fails(2, "backup", item)
    assert "FILE: " in filled.fails(2, "fork", "--at", 1, item)
    assert "--at: 0 is before the first commit" in filled.fails(2, "fork", "--at", 0, "new.db")
    assert "--at: 'noon'" in filled.fails(2, "fork", "--at", "noon", "new.db")
    assert "Missing option '--at'" in filled.fails(2, "fork", "new.db")
    assert "BACKUP: " in filled.fails(2, "restore", item, "--overwrite")
    assert "there is no backup" in filled.fails(4, "restore", filled.home / "missing")
    assert not Path("new.db").exists()


@pytest.mark.parametrize("command", [("backup", "new.db"), ("fork", "--at", "1", "new.db")])
def test_where_there_is_no_store(cli: Cli, command: tuple[str, ...]) -> None:
    assert "a first write creates one" in cli.fails(4, *command)
    assert list(cli.home.iterdir()) == []


def test_a_changed_backup_ends_with_its_own_code(filled: Cli) -> None:
    file = filled.home / "backup.db"
    filled("backup", file)
    database = apsw.Connection(str(file))
    database.execute("UPDATE event SET committed_at = committed_at + 1 WHERE commit_ts = 3")
    database.close()
    assert "breaks at commit 3" in filled.fails(3, "restore", file, "--overwrite")


def test_a_store_in_use_is_not_replaced(filled: Cli) -> None:
    filled("backup", filled.home / "backup.db")
    with memoranda.open(filled.db):
        assert "is in use" in filled.fails(1, "restore", filled.home / "backup.db", "--overwrite")
    filled("restore", filled.home / "backup.db", "--overwrite")
