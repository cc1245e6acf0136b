"""Commands on a store in PostgreSQL: `--db postgresql://…?store=name`."""

from __future__ import annotations

import signal
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

import memoranda
from memoranda.errors import StoreBusy
from memoranda.storage.postgres.database_url import parse_database
from tests.postgres_server import new_database, new_store_url
from tests.server_process import ServerProcess
from tests.unit.cli.runner import Cli

SECRET = "s3cret"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store that is not there yet; the server asks for no password, and gets one."""
    return new_store_url(tmp_path).replace("postgres:@", f"postgres:{SECRET}@")


def test_commands_read_write_check_and_copy(url: str, tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli.row("write", "k", '{"n": 1}', "--db", url, "--agent", "a1")
    assert cli.row("get", "k", "--db", url, "--agent", "a1")["value"] == {"n": 1}
    stats = cli.row("stats", "--db", url)
    assert stats["commits"] == 1
    assert SECRET not in str(stats)
    assert cli.row("verify", "--deep", "--db", url)["commits"] == 1
    cli.row("backup", tmp_path / "backup.db", "--db", url)
    cli.row("export", "log", tmp_path / "log.jsonl", "--db", url)
    with memoranda.open(tmp_path / "backup.db", create=False) as copy:
        assert copy.verify(deep=True).commits == 1
    assert (tmp_path / "log.jsonl").stat().st_size


def test_the_doctor_checks_the_server_and_the_log(url: str, tmp_path: Path) -> None:
    memoranda.open(url, embedder=None).close()
    findings = Cli(tmp_path).rows("doctor", "--deep", "--db", url)
    checks = {finding["check"]: finding for finding in findings}
    assert {finding["status"] for finding in findings} == {"ok"}
    assert "PostgreSQL 1" in checks["store"]["message"]
    assert {"chain", "views"} <= checks.keys()
    assert "file" not in checks
    assert SECRET not in str(findings)


def test_a_missing_store_is_not_made_by_reading(url: str, tmp_path: Path) -> None:
    memoranda.open(new_store_url(tmp_path), embedder=None).close()
    result = Cli(tmp_path).run("stats", "--db", url)
    assert result.exit_code == 4
    assert SECRET not in result.output


def test_a_copy_needs_a_file(url: str, tmp_path: Path) -> None:
    result = Cli(tmp_path).run("restore", tmp_path / "backup.db", "--db", url)
    assert result.exit_code == 2
    assert SECRET not in result.output


def test_a_store_is_copied_to_a_database_and_back(url: str, tmp_path: Path) -> None:
    cli, file, back = Cli(tmp_path), tmp_path / "store.db", tmp_path / "back.db"
    for number in range(3):
        cli.row("write", "k", f'{{"n": {number}}}', "--db", file, "--agent", "a1")
    head = cli.row("verify", "--db", file)["head_hash"]
    assert cli("copy", file, url) == "Copied and verified 3 commits.\n"
    assert cli.row("copy", url, back)["head_hash"] == head
    cli.row("write", "k", '{"n": 3}', "--db", file, "--agent", "a1")
    assert cli("copy", file, url) == "Copied and verified 4 commits.\n", "it is brought up to date"
    assert cli.row("get", "k", "--db", url, "--agent", "a1")["value"] == {"n": 3}
    cli.row("write", "k", '{"n": 4}', "--db", url, "--agent", "a1")
    problem = cli.fails(1, "copy", file, url)
    assert "somebody wrote to it" in problem
    assert SECRET not in problem


# A database of stores.


@pytest.fixture
def database(tmp_path: Path) -> str:
    """An empty database, whose stores have their indexes in a folder."""
    url = new_database("memoranda_stores").replace("postgres:@", f"postgres:{SECRET}@")
    return f"{url}{'&' if '?' in url else '?'}index={quote(str(tmp_path / 'index'))}"


def test_stores_of_a_database_are_created_listed_renamed_and_dropped(
    database: str, tmp_path: Path
) -> None:
    cli = Cli(tmp_path)
    cli.env["MEMORANDA_STORES"] = database
    assert cli.rows("stores", "list") == []
    created = cli.row("stores", "create", "acme")
    assert created["path"].endswith("?store=acme")
    assert SECRET not in str(created)
    cli.row("write", "k", '{"n": 1}', "--db", f"{database}&store=acme", "--agent", "a1")
    (row,) = cli.rows("stores", "list")
    assert (row["name"], row["commits"], row["bytes"], row["owner"]) == ("acme", 1, None, None)
    assert cli("stores", "rename", "acme", "globex") == "Renamed acme to globex.\n"
    assert "--yes: is missing" in cli.fails(2, "stores", "drop", "globex")
    removed = cli("stores", "drop", "globex", "--yes")
    assert "with 1 commit" in removed
    assert SECRET not in removed
    assert cli.rows("stores", "list") == []
    problem = cli.fails(2, "stores", "list", "--stores", f"{database}&store=acme")
    assert "without ?store=" in problem
    assert SECRET not in problem


def test_tokens_of_a_database(database: str, tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli.env["MEMORANDA_STORES"] = database
    cli("stores", "create", "acme")
    problem = cli.fails(4, "token", "list")
    assert "no token yet" in problem
    assert SECRET not in problem
    cli("token", "create", "--store", "acme", "--agent", "a1", "--can", "read,write")
    assert [row["store"] for row in cli.rows("token", "list")] == ["acme"]
    cli("stores", "rename", "acme", "globex")
    assert [row["store"] for row in cli.rows("token", "list")] == ["globex"]
    cli("stores", "drop", "globex", "--yes")
    assert cli.rows("token", "list")[0]["state"] == "revoked"


@pytest.mark.slow
def test_a_killed_server_is_followed_by_another_when_its_lease_ends(
    database: str, tmp_path: Path
) -> None:
    Cli(tmp_path)("stores", "create", "acme", "--stores", database)
    with ServerProcess("--stores", database) as first:
        with memoranda.open(f"grpc://{first.address}/acme") as store:
            store.write(agent_id="a", key="k", value={"n": 1})
        first.signal(signal.SIGKILL)
        first.wait()
    with ServerProcess("--stores", database) as second:
        url = f"grpc://{second.address}/acme"
        with pytest.raises(StoreBusy, match=r"if it is dead, its lease ends in \d+ seconds"):
            memoranda.open(url)
        with psycopg.connect(parse_database("url", database).conninfo) as connection:
            connection.execute("UPDATE memoranda.owner SET expires_at = 0")  # as if time passed
        with memoranda.open(url) as store:
            assert store.write(agent_id="a", key="k", value={"n": 2}).commit_ts == 2
