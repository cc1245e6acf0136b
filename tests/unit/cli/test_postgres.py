"""Commands on a store in PostgreSQL: `--db postgresql://…?store=name`."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
from tests.postgres_server import new_store_url
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
