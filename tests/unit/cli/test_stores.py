"""The stores of a server on the command line: created, listed, renamed and dropped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import memoranda
from memoranda.errors import Corruption
from memoranda.sdk import store_files
from memoranda.storage.owner_lock import OwnerLock, owner_file
from memoranda.storage.port import Engine
from tests.unit.cli.runner import Cli


@pytest.fixture
def folder(cli: Cli, tmp_path: Path) -> Path:
    folder = tmp_path / "stores"
    folder.mkdir()
    cli.env["MEMORANDA_STORES"] = str(folder)
    return folder


def test_a_store_is_created_and_listed(cli: Cli, folder: Path) -> None:
    assert cli("stores", "list") == ""
    assert cli("stores", "create", "acme") == f"Created {folder}/acme.db.\n"
    assert cli.row("stores", "create", "globex") == {
        "name": "globex",
        "path": f"{folder}/globex.db",
    }
    assert (folder / "acme.db").stat().st_mode & 0o777 == 0o600
    with memoranda.open(folder / "acme.db", embedder=None) as store:
        store.write(agent_id="a", key="k", value={})
    acme, globex = cli.rows("stores", "list")
    assert (acme["name"], acme["commits"], acme["owner"], acme["problem"]) == (
        "acme",
        1,
        None,
        None,
    )
    assert acme["bytes"] == (folder / "acme.db").stat().st_size
    assert acme["last_committed_at"]
    assert (globex["commits"], globex["last_committed_at"]) == (0, None)
    header, *rows = cli("stores", "list").splitlines()
    assert header.split() == ["store", "size", "commits", "last", "commit", "owner"]
    assert [row.split()[0] for row in rows] == ["acme", "globex"]


def test_names_are_checked(cli: Cli, folder: Path) -> None:
    cli("stores", "create", "acme")
    assert "NAME: '../x' is not the name of a store" in cli.fails(2, "stores", "create", "../x")
    assert "already exists" in cli.fails(2, "stores", "create", "acme")
    assert "no store 'globex'" in cli.fails(4, "stores", "drop", "globex", "--yes")
    assert "no store '../acme'" in cli.fails(4, "stores", "rename", "../acme", "new")
    assert "NEW: " in cli.fails(2, "stores", "rename", "acme", "New")
    assert "is its name already" in cli.fails(2, "stores", "rename", "acme", "acme")
    missing = folder / "missing"
    assert "make it first" in cli.fails(4, "stores", "list", "--stores", missing)
    cli.env["MEMORANDA_STORES"] = None
    assert "--stores: is missing" in cli.fails(2, "stores", "list")


def test_a_store_is_renamed(cli: Cli, folder: Path) -> None:
    cli("stores", "create", "old")
    assert cli("stores", "rename", "old", "new") == "Renamed old to new.\n"
    assert cli.row("stores", "rename", "new", "newer") == {"old": "new", "new": "newer"}
    assert [path.name for path in folder.iterdir()] == ["newer.db"]


def test_a_store_is_dropped_only_with_a_confirmation(cli: Cli, folder: Path) -> None:
    cli("stores", "create", "acme")
    assert "--yes: is missing" in cli.fails(2, "stores", "drop", "acme")
    assert (folder / "acme.db").exists()
    size = (folder / "acme.db").stat().st_size
    removed = cli.row("stores", "drop", "acme", "--yes")
    assert removed == {"name": "acme", "files": ["acme.db"], "bytes": size}
    assert list(folder.iterdir()) == []
    cli("stores", "create", "acme")
    assert cli("stores", "drop", "acme", "--yes") == (
        f"Removed acme.db ({size / 1024:.1f} KiB), with 0 commits.\n"
    )


def test_on_a_terminal_it_asks(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoranda.cli.commands.stores.is_interactive", lambda: True)
    cli("stores", "create", "acme")
    result = cli.run("stores", "drop", "acme", stdin="n\n")
    assert result.exit_code == 1
    assert "Remove the store acme (" in result.stderr
    assert (folder / "acme.db").exists()
    assert cli.run("stores", "drop", "acme", stdin="y\n").exit_code == 0
    assert not (folder / "acme.db").exists()


def test_a_store_that_a_server_owns_is_left_alone(cli: Cli, folder: Path) -> None:
    cli("stores", "create", "acme")
    lock = OwnerLock.acquire(folder / "acme.db", "grpc://127.0.0.1:7000")
    owner = cli.row("stores", "list")["owner"]
    assert f"process {os.getpid()}" in owner
    assert "grpc://127.0.0.1:7000" in owner
    assert "grpc://127.0.0.1:7000" in cli("stores", "list", "--wide")
    assert "owned by process" in cli.fails(1, "stores", "drop", "acme", "--yes")
    assert "owned by process" in cli.fails(1, "stores", "rename", "acme", "new")
    lock.release()
    cli("stores", "drop", "acme", "--yes")


def test_a_store_that_a_program_has_open_is_left_alone(cli: Cli, folder: Path) -> None:
    cli("stores", "create", "acme")
    with memoranda.open(folder / "acme.db", embedder=None) as store:
        store.write(agent_id="a", key="k", value={"n": 1})
        assert "is in use" in cli.fails(1, "stores", "drop", "acme", "--yes")
        assert "is in use" in cli.fails(1, "stores", "rename", "acme", "new")
        store.write(agent_id="a", key="k", value={"n": 2})
    cli("stores", "rename", "acme", "new")
    with memoranda.open(folder / "new.db", embedder=None) as store:
        assert store.verify().commits == 2


def test_a_damaged_store_is_listed_and_dropped(cli: Cli, folder: Path) -> None:
    cli("stores", "create", "acme")
    (folder / "acme.db").write_bytes(b"not a database" * 1000)
    result = cli.run("stores", "list")
    assert result.exit_code == 0
    assert "acme cannot be read: " in result.stderr
    assert cli.row("stores", "list")["commits"] is None
    assert cli.row("stores", "drop", "acme", "--yes")["files"] == ["acme.db"]
    assert list(folder.iterdir()) == []


def test_a_journal_that_cannot_be_read_is_not_left_behind(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("stores", "create", "acme")
    monkeypatch.setattr(store_files, "fold_in_journal", lambda _: None)
    monkeypatch.setattr(store_files, "open_engine_to_read", _damaged)
    (folder / "acme.db-wal").write_bytes(b"not a log")
    assert "acme.db-wal cannot be read into" in cli.fails(3, "stores", "rename", "acme", "new")
    removed = cli.row("stores", "drop", "acme", "--yes")
    assert removed["files"] == ["acme.db", "acme.db-wal"]
    assert list(folder.iterdir()) == []


def _damaged(_: Path) -> Engine:
    raise Corruption


def test_a_link_is_not_followed(cli: Cli, folder: Path, tmp_path: Path) -> None:
    memoranda.open(tmp_path / "elsewhere.db", embedder=None).close()
    (folder / "link.db").symlink_to(tmp_path / "elsewhere.db")
    assert cli.row("stores", "list")["name"] == "link"
    assert "is a link" in cli.fails(2, "stores", "drop", "link", "--yes")
    assert "is a link" in cli.fails(2, "stores", "rename", "link", "new")
    assert (tmp_path / "elsewhere.db").exists()


def test_tokens_follow_a_store_and_end_with_it(cli: Cli, folder: Path) -> None:
    cli("stores", "create", "acme")
    cli("token", "create", "--store", "acme", "--agent", "a")
    cli("token", "create", "--store", "*", "--agent", "a")
    renamed = cli.run("stores", "rename", "acme", "globex")
    assert "1 token of 'acme' now for 'globex'" in renamed.stderr
    assert [row["store"] for row in cli.rows("token", "list")] == ["globex", None]
    dropped = cli.run("stores", "drop", "globex", "--yes")
    assert "1 token of it revoked" in dropped.stderr
    assert [row["state"] for row in cli.rows("token", "list")] == ["revoked", "active"]
    cli("stores", "create", "globex")
    assert cli.run("stores", "drop", "globex", "--yes").stderr == ""


def test_the_doctor_and_the_statistics_name_the_owner(cli: Cli) -> None:
    cli("write", "k", "{}")
    assert "serves" not in cli("stats") + cli("doctor", "--quick")
    lock = OwnerLock.acquire(cli.db, "grpc://127.0.0.1:7000")
    assert "grpc://127.0.0.1:7000" in cli("doctor", "--quick")
    assert cli.row("stats")["warnings"] == [], "the server itself needs no warning"
    owner_file(cli.db).write_text('{"pid": 1, "address": "grpc://127.0.0.1:7001"}')
    (warning,) = cli.row("stats")["warnings"]
    assert "process 1 (grpc://127.0.0.1:7001) serves this store" in warning
    lock.release()
