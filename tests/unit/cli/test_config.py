"""Settings from flags, the environment and a file; `memoranda config` shows and checks them."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from memoranda.cli.call_limits import NAMES
from memoranda.cli.configuration.option import SettingOption
from memoranda.cli.configuration.schema import LimitsSection
from memoranda.cli.configuration.settings import all_settings
from memoranda.cli.main import cli as group
from memoranda.server.token_limits import CallLimits
from tests.server_process import ServerProcess
from tests.unit.cli.runner import Cli


@pytest.fixture
def file(cli: Cli) -> Path:
    """The user's own file."""
    path = cli.home / "config" / "memoranda" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def sources(cli: Cli, *arguments: object) -> dict[str, tuple[object, str]]:
    rows = cli.rows("config", "show", *arguments)
    return {row["setting"]: (row["value"], row["source"]) for row in rows}


def test_flags_go_before_the_environment_and_that_before_the_file(cli: Cli, file: Path) -> None:
    assert cli.row("config", "show", "namespace")["source"] == "default"
    file.write_text('agent = "of-file"\nnamespace = "file"\ndb = "store.db"\n')
    for name in ("AGENT", "NAMESPACE", "DB"):
        cli.env[f"MEMORANDA_{name}"] = None
    cli("write", "k", "{}")
    assert (file.parent / "store.db").exists(), "paths are relative to the file"
    assert cli.row("replay")["operations"][0]["agent_id"] == "of-file"
    cli.env["MEMORANDA_NAMESPACE"] = "variable"
    cli("write", "k", "{}")
    cli("write", "k", "{}", "--namespace", "flag")
    places = [row["namespace"] for row in cli.rows("namespaces")]
    assert sorted(places) == ["file", "flag", "variable"]
    settings = sources(cli)
    assert settings["agent"] == ("of-file", f"{file}, line 1")
    assert settings["namespace"] == ("variable", "MEMORANDA_NAMESPACE")
    assert settings["db"] == (str(file.parent / "store.db"), f"{file}, line 3")
    assert settings["embedder"] == ("auto", "default")


def test_a_file_can_be_named(cli: Cli, tmp_path: Path, file: Path) -> None:
    file.write_text('agent = "of-user"\n')
    named = tmp_path / "named.toml"
    named.write_text('agent = "named"\n')
    cli.env["MEMORANDA_AGENT"] = None
    assert sources(cli)["agent"][0] == "of-user"
    assert sources(cli, "--config", named)["agent"][0] == "named"
    cli.env["MEMORANDA_CONFIG"] = str(named)
    assert sources(cli)["agent"][0] == "named"
    missing = tmp_path / "missing.toml"
    assert "there is no file" in cli.fails(4, "keys", "--config", missing)


def test_secrets_are_masked(cli: Cli, file: Path) -> None:
    file.write_text('token = "mmr_secret"\n')
    file.chmod(0o644)
    assert "mmr_secret" not in cli("config", "show")
    assert sources(cli)["token"] == ("********", f"{file}, line 1")
    warned = cli.run("config", "check", file)
    assert "others can read token" in warned.stderr
    file.chmod(0o600)
    assert cli.run("config", "check", file).stderr == ""


def test_text_output_has_the_file_and_unknown_variables(cli: Cli, file: Path) -> None:
    file.write_text("[server]\nmax_open_stores = 7\n")
    cli.env["MEMORANDA_SERVER_GRCP"] = "x"
    cli.env["MEMORANDA_HOOK_SECONDS"] = "1"
    result = cli.run("config", "show", "server.max")
    assert result.stdout == f"server.max_open_stores  7  {file}, line 2\n"
    assert f"file: {file}" in result.stderr
    assert "MEMORANDA_SERVER_GRCP: did you mean 'MEMORANDA_SERVER_GRPC'" in result.stderr
    assert "MEMORANDA_HOOK_SECONDS" not in result.stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[server]\ngrcp = ""', "line 2: server.grcp is not a setting: did you mean 'server.grpc'"),
        ('agnet = "a"', "line 1: agnet is not a setting: did you mean 'agent'"),
        ('[sever]\ngrpc = "x"', "line 1: sever is not a setting: did you mean 'server'"),
        ('\n[server]\ngrpc = "7420"', "line 3: server.grpc '7420' is no address"),
        ("server.drain = 'x'", "line 1: server.drain does not fit: Expected `float`, got `str`"),
        ("[server]\nmax_open_stores = 0", "line 2: server.max_open_stores does not fit"),
        ("[server.limits]\nopen_streams = -1", "line 2: server.limits.open_streams does not fit"),
        ("server = 3", "line 1: server is a table"),
        ("server = { grpc = 3 }", "line 1: server.grpc does not fit"),
        ("agent = ", "is not TOML: Invalid value (at line 1"),
        ('[jobs.sweep]\nevery = "often"', "line 2: jobs.sweep.every 'often' is not a length"),
        ('[jobs.sweep]\nat = "03:00"', "jobs.sweep.at is given without `every`"),
        ('[jobs.sweep]\nevery="1d"\nat = "24:00"', "line 3: jobs.sweep.at '24:00' is no time"),
        ('[jobs.sweep]\nevery="6h"\nat = "03:00"', "jobs.sweep.at needs whole days"),
        ('[jobs.sweep]\nevery="0.1s"', "jobs.sweep.every '0.1s' is under a second"),
        ('[jobs.backup]\nevery = "1d"', "line 2: jobs.backup.to is missing: name a folder"),
        ('[jobs.backup]\nkeep = 0', "line 2: jobs.backup.keep does not fit"),
        ('[jobs.checkpoint]\nevery = "1d"', "jobs.checkpoint.signer is missing"),
        ('[jobs.restore_drill]\nevery = "1d"', "set jobs.backup.to to their folder"),
        ('[jobs.prune]\nevery = "1d"', "line 1: jobs.prune is not a setting: did you mean"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused_with_its_line(
    cli: Cli, file: Path, text: str, problem: str
) -> None:
    file.write_text(f"{text}\n")
    message = cli.fails(2, "config", "check", file)
    assert problem in message
    assert str(file) in message
    assert problem in cli.fails(2, "keys"), "every command refuses it"


@pytest.mark.parametrize(
    ("variable", "text", "problem"),
    [
        ("SERVER_DRAIN", "x", "MEMORANDA_SERVER_DRAIN: 'x' does not fit: Expected `float`"),
        ("SERVER_GRPC", "7", "MEMORANDA_SERVER_GRPC: server.grpc '7' is no address"),
        ("JOBS_BACKUP_EVERY", "1d", "MEMORANDA_JOBS_BACKUP_EVERY: jobs.backup.to is missing"),
    ],
)
def test_variables_are_checked_too(cli: Cli, variable: str, text: str, problem: str) -> None:
    cli.env[f"MEMORANDA_{variable}"] = text
    assert problem in cli.fails(2, "config", "show")


def test_a_file_that_is_right_is_summed_up(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "server.toml"
    path.write_text(
        'stores = "."\n[server]\ngrpc = "[::1]:0"\nhttp_origins = ["https://app.example"]\n'
        '[jobs.backup]\nevery = "1d"\nat = "02:00"\nto = "missing"\n'
    )
    result = cli.run("config", "check", path)
    assert result.stdout == f"{path} is right: 6 settings.\n"
    assert f"{path}, line 8: jobs.backup.to is {tmp_path / 'missing'}, which is not there" in (
        result.stderr
    )
    row = cli.row("config", "check", path)
    assert (row["settings"], len(row["warnings"])) == (6, 1)


@pytest.mark.slow
def test_a_server_takes_all_three(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "server.toml"
    (tmp_path / "stores").mkdir()
    path.write_text(
        'stores = "stores"\n[server]\nhttp = "127.0.0.1:0"\ngrpc = "7"\ntokens = true\n'
        "limits = { requests_per_second = 0.5 }\n"
    )
    assert "line 4: server.grpc '7' is no address" in cli.fails(2, "serve", "--config", path)
    path.write_text(path.read_text().replace('grpc = "7"\n', ""))
    environment = {"MEMORANDA_SERVER_TOKENS": "no", "MEMORANDA_CONFIG": str(path)}
    with ServerProcess(environment=environment) as server:
        assert server.announced["http"] is not None
        assert server.announced["tokens"] is False
        assert server.announced["url"].endswith("/STORE")
    with ServerProcess("--tokens", environment=environment) as server:
        assert server.announced["tokens"] is True


def test_jobs_of_flags_are_checked(cli: Cli, tmp_path: Path) -> None:
    serve = ("serve", "--db", tmp_path / "acme.db", "--job")
    message = cli.fails(2, *serve, "backup.evry=1d")
    assert "--job: 'backup.evry=1d' is not NAME.KEY=VALUE of a job: did you mean" in message
    assert "--job backup.every: jobs.backup.to is missing" in cli.fails(
        2, *serve, "backup.every=1d"
    )
    assert "--job backup.keep: 'x' does not fit" in cli.fails(2, *serve, "backup.keep=x")


def test_a_shell_that_completes_is_not_disturbed(filled: Cli, file: Path) -> None:
    file.write_text("nonsense\n")
    env = {
        "_MEMORANDA_COMPLETE": "bash_complete",
        "COMP_WORDS": "memoranda get --agent planner g",
        "COMP_CWORD": "4",
    }
    result = filled.run(env=env)
    assert "goal" in result.stdout


# What the schema says twice.


def test_every_setting_of_the_server_has_a_flag() -> None:
    ctx = group.make_context("memoranda", [], resilient_parsing=True)
    command = group.get_command(ctx, "serve")
    assert command is not None
    flags = {option.setting for option in command.params if isinstance(option, SettingOption)}
    own = {path for path in all_settings() if path.startswith("server.")}
    assert own - flags == {f"server.limits.{name.replace('-', '_')}" for name in NAMES}


def test_limits_are_those_of_calls() -> None:
    assert LimitsSection.__struct_fields__ == CallLimits.__struct_fields__
    assert tuple(name.replace("-", "_") for name in NAMES) == CallLimits.__struct_fields__


def test_every_setting_is_described() -> None:
    for setting in all_settings().values():
        assert setting.description.endswith("."), setting.path


def test_flags_and_variables_of_settings_agree() -> None:
    ctx = group.make_context("memoranda", [], resilient_parsing=True)
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        commands = command.commands.values() if isinstance(command, click.Group) else [command]
        for option in (option for leaf in commands for option in leaf.params):
            if isinstance(option, SettingOption):
                assert option.setting in all_settings()
