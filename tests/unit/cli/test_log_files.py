"""The commands that export and import a log."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda_verify
from tests.unit.cli.runner import Cli


def test_there_and_back(filled: Cli) -> None:
    file, new = filled.home / "log.jsonl", filled.home / "new.db"
    assert filled("export", "log", file).startswith(f"Exported 5 commits to {file}, ")
    assert (
        filled("import", "log", file, "--db", new) == f"Imported 5 commits from {file} to {new}.\n"
    )
    assert filled("scan", "--db", new) == filled("scan")
    assert filled("export", "log", "-", "--db", new).encode() == file.read_bytes()
    assert memoranda_verify.main(["log", str(file)]) == 0


def test_through_pipes(filled: Cli) -> None:
    data = filled("export", "log", "-")
    new = filled.home / "new.db"
    assert "from - to" in filled("import", "log", "-", "--db", new, stdin=data)
    assert filled("export", "log", "-", "--json", "--db", new) == data


def test_in_json(filled: Cli) -> None:
    file, new = filled.home / "log.jsonl", filled.home / "new.db"
    row = filled.row("export", "log", file)
    verified = filled.row("verify")
    assert row == {
        "path": str(file),
        "log_id": verified["log_id"],
        "commits": 5,
        "head_hash": verified["head_hash"],
        "lines": 7,
        "bytes": file.stat().st_size,
    }
    assert filled.row("import", "log", file, "--db", new) == {"store": str(new), **verified}


def test_the_users_own_store_is_imported_where_it_belongs(filled: Cli) -> None:
    filled("export", "log", filled.home / "log.jsonl")
    filled.env["MEMORANDA_DB"] = None
    assert str(filled.home / "data") in filled("import", "log", filled.home / "log.jsonl")
    assert len(filled.rows("replay")) == 5


def test_what_cannot_be_taken_is_named_as_it_was_typed(filled: Cli) -> None:
    file = filled.home / "log.jsonl"
    filled("export", "log", file)
    assert "FILE: " in filled.fails(2, "export", "log", file)
    assert "--db: " in filled.fails(2, "import", "log", file)
    new = filled.home / "new.db"
    missing = filled.fails(4, "import", "log", filled.home / "missing", "--db", new)
    assert "there is no file" in missing
    file.write_bytes(file.read_bytes()[:-5])
    cut = filled.fails(3, "import", "log", file, "--db", new)
    assert cut == "Error: the file is cut after line 6: its last line is missing\n"
    lines = file.read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace('"committed_at":1', '"committed_at":2')
    file.write_text("".join(lines))
    assert "(line 3 of the file)" in filled.fails(3, "import", "log", file, "--db", new)
    assert not new.exists()


@pytest.mark.parametrize("file", ["-", "new.jsonl"])
def test_where_there_is_no_store(cli: Cli, file: str) -> None:
    assert "a first write creates one" in cli.fails(4, "export", "log", file)
    assert not Path("new.jsonl").exists()
