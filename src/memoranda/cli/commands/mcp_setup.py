"""Commands that put the server into the configuration of an assistant's program, and check it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from memoranda.cli.assistants.clients import CLIENTS, Client, folders
from memoranda.cli.configuration.option import resolution
from memoranda.cli.exit_codes import FAILED
from memoranda.cli.main import FIELD_NAMES
from memoranda.cli.options import (
    Target,
    is_given,
    source_of,
    takes_scope,
    takes_url,
    with_project,
    with_url,
)
from memoranda.cli.output import note, safe, write_json
from memoranda.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from memoranda.cli.assistants.configuration import Configuration, Setup

Command = Callable[..., None]
_NAMES = {"client": "--client", "scope": "--scope", "hooks": "--hooks", "url": "--url"}
_TOKEN = "MEMORANDA_TOKEN"


def _takes_client(*, is_required: bool) -> Callable[[Command], Command]:
    return click.option(
        "--client",
        type=click.Choice([*CLIENTS]),
        required=is_required,
        help="The program that runs the assistant.",
    )


_takes_config_scope = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="Whether it is set up for all your projects, or for that of this folder.",
)


@click.command()
@_takes_client(is_required=True)
@_takes_config_scope
@click.option("--hooks", is_flag=True, help="Also install hooks: see `memoranda hook`.")
@click.option("--print", "is_printed", is_flag=True, help="Print what would be written.")
@click.option("--undo", is_flag=True, help="Remove what was installed.")
@click.option(
    "--tools",
    type=click.Choice(["core", "full"]),
    default="core",
    show_default=True,
    help="The tools that the assistant gets.",
)
@takes_url
@takes_scope
def install(
    target: Target,
    *,
    client: str,
    scope: str,
    hooks: bool,
    is_printed: bool,
    undo: bool,
    tools: str,
    url: str | None,
) -> None:
    """Set up an assistant's program to use a store.

    What else is in its configuration stays, and the file is copied first, to NAME.memoranda-backup.
    A second run changes nothing; --undo takes everything out again.

    Without --namespace, each project has a namespace of its own: see `memoranda mcp --project`.

    A token is written only if it is given as --token: anybody who can read the file has it then.
    Otherwise set MEMORANDA_TOKEN where the program is started.

    Example: memoranda mcp install --client claude-code --hooks
    """
    from memoranda.cli.assistants.configuration import Configuration

    click.get_current_context().meta[FIELD_NAMES] = _NAMES
    program = CLIENTS[client]
    configuration = Configuration(program, scope, folders(sys.platform, os.environ, Path.cwd()))
    if undo:
        _undo(configuration)
        return
    setup = _setup(program, scope, with_url(target, url), tools)
    if is_printed:
        _print(configuration, setup, with_hooks=hooks)
        return
    configuration.add(setup, with_hooks=hooks)
    changed = [file for file in configuration.files if file.has_changed]
    for file in changed:
        file.write()
        click.echo(f"wrote {safe(str(file.path))}")
        if file.backup.exists():
            note(f"the file without these entries is {file.backup}")
    if not changed:
        note("nothing to change: it is installed already")
        return
    note(f"{program.restart}. `memoranda mcp doctor --client {client}` checks it.")


def _undo(configuration: Configuration) -> None:
    configuration.remove()
    changed = [file for file in configuration.files if file.has_changed]
    for file in changed:
        file.write_undone()
        outcome = "restored" if file.path.exists() else "removed"
        click.echo(f"{outcome} {safe(str(file.path))}")
    if not changed:
        note("nothing to undo: it is not installed")


def _print(configuration: Configuration, setup: Setup, *, with_hooks: bool) -> None:
    from memoranda.cli.assistants.configuration import snippets
    from memoranda.cli.assistants.json_edits import rendered
    from memoranda.cli.assistants.toml_edits import TomlText

    client = configuration.client
    for is_about_hooks, members in snippets(client, setup, with_hooks=with_hooks):
        note(f"in {configuration.hook_path if is_about_hooks else configuration.server_path}:")
        if client.form == "toml" and not is_about_hooks:
            ((table, servers),) = members.items()
            ((name, entry),) = servers.items()
            click.echo(TomlText("").with_table((table, name), entry).text, nl=False)
        else:
            click.echo(rendered(members))


def _setup(client: Client, scope: str, target: Target, tools: str) -> Setup:
    """Return how the client starts our programs."""
    from memoranda.cli.assistants.configuration import Setup, own_command

    place = _config()
    if _is_written("db") or _is_written("url"):
        place += ["--db", _absolute(target)]
    if target.agent is not None and _is_written("agent"):
        place += ["--agent", target.agent]
    namespace = _namespace(client, scope, target)
    shared = [*place, *(namespace if namespace[:1] == ["--namespace"] else [])]
    environment = {}
    if target.token is not None and is_given("token"):
        if scope == "project":
            raise InvalidInput(
                "token",
                "would be in a file of the project, which others may read: give it with --scope "
                f"user, or set {_TOKEN} where the program is started",
            )
        environment = {_TOKEN: target.token}
    return Setup(
        command=own_command(),
        server=(*place, *namespace, *([] if tools == "core" else ["--tools", tools])),
        hook=tuple(shared),
        environment=environment,
    )


def _namespace(client: Client, scope: str, target: Target) -> list[str]:
    """Return the option that says which namespace the server uses."""
    if _is_written("namespace"):
        return ["--namespace", target.namespace]
    if source_of("namespace") is not ParameterSource.DEFAULT:
        return []
    if scope == "project":
        return ["--namespace", with_project(target, ".").namespace]
    return [] if client.project is None else ["--project", client.project]


def _config() -> list[str]:
    """Return the option that names the file with settings, if it is not at its usual place."""
    file = resolution(click.get_current_context()).file
    return ["--config", str(file.absolute())] if file is not None and _is_written("config") else []


def _is_written(option: str) -> bool:
    """Say whether an option is written: programs read the settings file themselves."""
    return source_of(option) in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def _absolute(target: Target) -> str:
    """Return the store's location as it is from any folder."""
    from memoranda.storage.store_url import file_of

    if target.is_remote:
        return target.location
    return str(file_of("url", target.location).absolute())


@click.command()
@_takes_client(is_required=False)
@_takes_config_scope
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(*, client: str | None, scope: str, as_json: bool) -> None:
    """Start the server as an assistant's program would, and call a tool.

    Without --client, every program that has the server in its configuration is checked. The
    official client of the protocol connects in both ways that there are: without a handshake, as
    since 2026-07-28, and with one.
    """
    from memoranda.cli.assistants.diagnosis import diagnose, installed_clients

    context = click.get_current_context()
    context.meta[FIELD_NAMES] = _NAMES
    check_packages()
    places = folders(sys.platform, os.environ, Path.cwd())
    names = [client] if client is not None else installed_clients(scope, places)
    if not names:
        raise NotFound(
            "no program has the server in its configuration: run `memoranda mcp install "
            f"--client {'|'.join(CLIENTS)}` first",
        )
    findings = [finding for name in names for finding in diagnose(CLIENTS[name], scope, places)]
    for finding in findings:
        if as_json:
            write_json(finding)
        else:
            mark = (
                click.style("ok  ", fg="green") if finding.is_ok else click.style("FAIL", fg="red")
            )
            click.echo(f"{mark}  {finding.client}: {safe(finding.text)}")
            if finding.remedy:
                click.echo(f"      {safe(finding.remedy)}")
    if not all(finding.is_ok for finding in findings):
        context.exit(FAILED)


def check_packages() -> None:
    """Say which package is needed, if it is not installed."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise InvalidInput("mcp", "needs the package mcp: pip install 'memoranda[mcp]'")
