"""The commands that serve an assistant over MCP, and that set up its program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memoranda.cli.commands.mcp_setup import check_packages, doctor, install
from memoranda.cli.main import FIELD_NAMES
from memoranda.cli.options import (
    Target,
    takes_embedder,
    takes_project,
    takes_scope,
    takes_url,
    with_project,
    with_url,
)

if TYPE_CHECKING:
    from memoranda.server.mcp.catalog import ToolSet


@click.group(invoke_without_command=True)
@takes_url
@click.option(
    "--tools",
    "tool_set",
    type=click.Choice(["core", "full"]),
    default="core",
    show_default=True,
    help="The tools that the assistant gets: the seven that matter most, or all.",
)
@click.option("--read-only", is_flag=True, help="Offer no tools that write.")
@takes_project
@takes_embedder
@takes_scope
def mcp(
    target: Target,
    *,
    url: str | None,
    tool_set: ToolSet,
    read_only: bool,
    project: str | None,
    embedder: str | None,
) -> None:
    """Serve a store to an assistant over MCP, on stdin and stdout.

    The assistant's program starts this command itself. A missing store is created. The agent and
    the namespace are fixed here, and no tool takes them as arguments. Without --agent, the agent
    is that of the token, or else `assistant`.
    """
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return
    context.meta[FIELD_NAMES] = {"url": "--url", "project": "--project"}
    check_packages()
    import asyncio

    from memoranda.server.mcp.stdio import serve_stdio

    place = with_project(with_url(target, url), project)
    asyncio.run(
        serve_stdio(
            lambda: place.open_async(read_only=read_only, embedder=embedder),
            agent_id=place.agent,
            namespace=place.namespace,
            tool_set=tool_set,
            is_read_only=read_only,
        )
    )


mcp.add_command(install)
mcp.add_command(doctor)


def _refuse_options(context: click.Context) -> None:
    """Refuse options that belong behind the name of a subcommand, where they have a meaning."""
    for option in context.command.params:
        if option.name and context.get_parameter_source(option.name) is _COMMAND_LINE:
            command = context.invoked_subcommand
            raise click.UsageError(f"Give {option.opts[0]} behind `mcp {command}`.", context)


_COMMAND_LINE = click.core.ParameterSource.COMMANDLINE
