"""`memoranda mcp doctor`: the server started as a client starts it, by the official client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memoranda.cli.assistants.clients import CLIENTS, folders
from memoranda.cli.assistants.configuration import Configuration
from memoranda.cli.assistants.diagnosis import run_hook
from tests.unit.cli.runner import Cli

FAILED, NOT_FOUND = 1, 4


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A user with a home of their own, in the folder of a project."""
    project = tmp_path / "webshop"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    cli = Cli(tmp_path)
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "MEMORANDA_TOKEN"):
        cli.env[name] = None
    return cli


def test_nothing_is_installed(user: Cli) -> None:
    message = user.fails(NOT_FOUND, "mcp", "doctor")
    assert "memoranda mcp install --client" in message


@pytest.mark.slow
def test_an_installed_server_is_started_and_answers_in_both_eras(user: Cli) -> None:
    user("mcp", "install", "--client", "codex", "--tools", "full")
    findings = user.rows("mcp", "doctor")
    assert [finding["is_ok"] for finding in findings] == [True] * 3
    assert "2026-07-28), 28 tools, memory_inbox answers" in findings[1]["text"]
    assert "2025-11-25), 28 tools, memory_inbox answers" in findings[2]["text"]
    assert user.db.exists(), "the store that the configuration names"


def test_hooks_are_run_as_the_program_would(user: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORANDA_DB", str(user.db))
    user("mcp", "install", "--client", "gemini", "--hooks")
    configuration = Configuration(
        CLIENTS["gemini"], "user", folders("linux", {"HOME": str(user.home)}, Path.cwd())
    )
    first, *others = configuration.hook_commands()
    assert len(others) == 3
    finding = run_hook(CLIENTS["gemini"], first, str(Path.cwd()), "again")
    assert (finding.is_ok, finding.remedy) == (True, None)
    gone = run_hook(CLIENTS["gemini"], "/no/such/memoranda hook prompt", str(Path.cwd()), "again")
    assert not gone.is_ok
    assert gone.remedy
    assert not user.db.exists(), "a check stores nothing"


def test_a_program_that_is_gone_is_named_with_a_remedy(user: Cli) -> None:
    user("mcp", "install", "--client", "cursor")
    path = user.home / ".cursor" / "mcp.json"
    value = json.loads(path.read_text("utf-8"))
    value["mcpServers"]["memoranda"]["command"] = str(user.home / "gone")
    path.write_text(json.dumps(value), "utf-8")
    result = user.run("mcp", "doctor", "--client", "cursor")
    assert result.exit_code == FAILED
    assert f"FAIL  cursor: there is no program '{user.home / 'gone'}'" in result.stdout
    assert "memoranda mcp install --client cursor" in result.stdout


def test_a_client_without_the_server_is_told_how_to_install_it(user: Cli) -> None:
    result = user.run("mcp", "doctor", "--client", "gemini", "--scope", "project")
    assert result.exit_code == FAILED
    assert "memoranda mcp install --client gemini --scope project" in result.stdout


@pytest.mark.slow
def test_a_server_that_ends_says_why(user: Cli) -> None:
    user("mcp", "install", "--client", "claude-code", "--db", user.home / "no" / "such.db")
    result = user.run("mcp", "doctor", "--client", "claude-code")
    assert result.exit_code == FAILED
    assert "cannot be used without a handshake" in result.stdout
    assert "cannot be used with a handshake" in result.stdout
    assert result.stdout.count(f"there is no folder {user.home / 'no'}") == 2
