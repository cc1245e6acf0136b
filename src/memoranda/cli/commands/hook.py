"""Commands that assistants' programs run at events of a session."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click
from click.core import ParameterSource

from memoranda.cli.assistants.clients import HOOK_CLIENTS
from memoranda.cli.options import (
    Target,
    source_of,
    takes_scope,
    takes_url,
    with_project,
    with_url,
)
from memoranda.errors import MemorandaError

Command = Callable[..., None]


@click.group()
def hook() -> None:
    """Give an assistant its memories, and store its messages.

    Programs with hooks run these commands: `memoranda mcp install --hooks` sets them up. They read
    the event as JSON on stdin, end within two seconds, and always succeed; errors go to stderr.

    The namespace is that of the project, unless --namespace is given. Without --agent, the agent
    is that of the token, or else `assistant`.
    """


def _takes_event(command: Command) -> Command:
    """Give a command the options of all events."""
    client = click.option(
        "--client",
        type=click.Choice(HOOK_CLIENTS),
        help="The program that runs the hook, which has its own form of answers.",
    )
    return client(takes_url(takes_scope(command)))


@hook.command("session-start")
@_takes_event
def session_start(target: Target, *, client: str | None, url: str | None) -> None:
    """Print what matters for the project, and what changed.

    At most 2 KB: memories that were superseded or retracted since the last session, beliefs whose
    evidence changed, and the memories of the highest priority.
    """
    _run("session-start", target, client, url)


@hook.command()
@_takes_event
def prompt(target: Target, *, client: str | None, url: str | None) -> None:
    """Print what recall finds for the prompt, if anything fits.

    Hits that the session was shown before, and messages of the session itself, are left out.
    """
    _run("prompt", target, client, url)


@hook.command("pre-compact")
@_takes_event
def pre_compact(target: Target, *, client: str | None, url: str | None) -> None:
    """Store new messages before the program shortens them."""
    _run("pre-compact", target, client, url)


@hook.command("session-end")
@_takes_event
def session_end(target: Target, *, client: str | None, url: str | None) -> None:
    """Store the messages since the last event."""
    _run("session-end", target, client, url)


def _run(kind: str, target: Target, client: str | None, url: str | None) -> None:
    """Run a hook; an error is reported, and the next run makes up for it."""
    from memoranda.cli.assistants.hook_events import read_event
    from memoranda.cli.assistants.hook_run import HookRun

    try:
        event = read_event(None if sys.stdin is None else sys.stdin.buffer)
        place = with_url(target, url)
        if event.project is not None and source_of("namespace") is ParameterSource.DEFAULT:
            place = with_project(place, str(event.project))
        HookRun(kind, client, event).run(place)
    except (MemorandaError, OSError) as error:
        click.echo(f"memoranda hook {kind}: {error}", err=True)
