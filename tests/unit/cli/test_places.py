"""Where the store is, whose data it is, and how that is said."""

from __future__ import annotations

import sys

import pytest

from memoranda.cli.command_table import COMMANDS
from memoranda.model.scope import DEFAULT_NAMESPACE
from tests.unit.cli.runner import Cli

GROUPS = {
    "transcript": "transcript list",
    "fact": "fact list",
    "signer": "signer list",
    "forget": "forget memory",
    "export": "export log",
    "import": "import log",
    "postgres": "postgres distribute",
}
ON_NO_STORE = ("demo", "completion", "config", "copy", "serve", "stores", "token", "ui")
"""Commands without `--db`: `copy` names both of its stores itself."""
FOR_ASSISTANTS = ("hook", "mcp")
"""Commands that programs run, which print no JSON of their own."""
ON_A_STORE = tuple(
    GROUPS.get(name, name) for name in COMMANDS if name not in (*ON_NO_STORE, *FOR_ASSISTANTS)
)

ON_A_WHOLE_STORE = (
    *("export log", "import log", "signer list", "certificate", "purge", "cursors", "audit"),
    *("verify", "checkpoints", "prove", "prove-growth", "prove-erasure"),
    *("agents", "namespaces", "stats", "doctor"),
    *("sql", "rebuild", "reindex", "backup", "restore", "fork", "migrate", "postgres distribute"),
)
"""Commands to which neither an agent nor a namespace makes a difference."""


def test_flags_win_over_the_environment(cli: Cli) -> None:
    cli("write", "mine", "{}")
    other = cli.home / "other.db"
    scope = ("--db", other, "--agent", "writer", "--namespace", "team/eng")
    cli("write", "theirs", "{}", *scope)
    assert cli("keys") == "mine\n"
    assert cli("keys", *scope) == "theirs\n"
    (event,) = cli.rows("replay", *scope)
    (operation,) = event["operations"]
    assert (event["actor"], operation["agent_id"]) == ("writer", "writer")
    assert operation["namespace"] == "team/eng"


def test_the_environment_names_all_three(cli: Cli) -> None:
    cli("write", "plan", "{}", "--agent", "writer", "--namespace", "team/eng")
    cli.env |= {"MEMORANDA_AGENT": "writer", "MEMORANDA_NAMESPACE": "team/eng"}
    assert cli("keys") == "plan\n"


def test_a_url_is_taken_too(cli: Cli) -> None:
    cli("write", "plan", "{}", "--db", f"sqlite:///{cli.db}")
    assert cli("keys") == "plan\n"


@pytest.mark.skipif(sys.platform != "linux", reason="XDG_DATA_HOME is Linux's")
def test_the_default_is_the_users_data_folder(cli: Cli) -> None:
    cli.env["MEMORANDA_DB"] = None
    path = cli.home / "data" / "memoranda" / "store.db"
    assert str(path) in cli.fails(4, "keys")
    assert list(cli.home.iterdir()) == []
    cli("write", "plan", "{}")
    assert path.is_file()
    assert cli.row("stats")["store"] == str(path)


@pytest.mark.skipif(sys.platform != "linux", reason="XDG_DATA_HOME is Linux's")
@pytest.mark.parametrize("command", [("write", "plan", "{}"), ("remember", "plan")])
def test_a_default_folder_that_cannot_be_made(cli: Cli, command: tuple[str, ...]) -> None:
    cli.env["MEMORANDA_DB"] = None
    (cli.home / "data").write_text("a file where the folder should be")
    assert "cannot make the folder" in cli.fails(1, *command)


def test_an_agent_must_be_named_before_a_store_is_made(cli: Cli) -> None:
    cli.env["MEMORANDA_AGENT"] = None
    assert "--agent: is missing" in cli.fails(2, "write", "plan", "{}")
    assert list(cli.home.iterdir()) == []


@pytest.mark.parametrize("command", ON_A_STORE)
def test_help_names_the_environment_and_the_defaults(cli: Cli, command: str) -> None:
    output = " ".join(cli(*command.split(), "--help").split())
    assert "--db" in output
    assert ("--json" in output) is (command != "mcp"), "whose output is a protocol"
    assert "env var: MEMORANDA_DB" in output
    assert "default: (store.db in the user's data folder)" in output
    takes_namespace = command not in ON_A_WHOLE_STORE
    takes_agent = takes_namespace and command != "transcript list"
    assert ("env var: MEMORANDA_AGENT" in output) is takes_agent
    assert ("env var: MEMORANDA_NAMESPACE" in output) is takes_namespace
    assert (f"default: {DEFAULT_NAMESPACE}]" in output) is takes_namespace


@pytest.mark.parametrize("command", ON_A_WHOLE_STORE)
def test_an_agent_is_refused_where_it_changes_nothing(cli: Cli, command: str) -> None:
    assert "--agent" in cli.fails(2, *command.split(), "--agent", "ann")


def test_help_lists_every_command(cli: Cli) -> None:
    output = cli("--help")
    for command in COMMANDS:
        assert f"\n  {command} " in output
    assert cli("--version").startswith("memoranda, version ")
