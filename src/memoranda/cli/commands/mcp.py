"""The command that serves an assistant over MCP."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from memoranda.cli.main import FIELD_NAMES
from memoranda.cli.options import Target, takes_embedder, takes_scope
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.server.mcp.catalog import ToolSet


@click.group(invoke_without_command=True)
@click.option(
    "--url", metavar="URL", help="A store of a server, instead of --db: grpc://host:port/store."
)
@click.option(
    "--tools",
    "tool_set",
    type=click.Choice(["core", "full"]),
    default="core",
    show_default=True,
    help="The tools that the assistant gets: the seven that matter most, or all.",
)
@click.option("--read-only", is_flag=True, help="Offer no tools that write.")
@takes_embedder
@takes_scope
def mcp(
    target: Target,
    *,
    url: str | None,
    tool_set: ToolSet,
    read_only: bool,
    embedder: str | None,
) -> None:
    """Serve a store to an assistant over MCP, on stdin and stdout.

    The assistant's program starts this command itself. A missing store is created. The agent and
    the namespace are fixed here, and no tool takes them as arguments. Without --agent, the agent
    is that of the token, or else `assistant`.
    """
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        return
    context.meta[FIELD_NAMES] = {"url": "--url"}
    check_packages()
    import asyncio

    from memoranda.server.mcp.stdio import serve_stdio

    place = _with_url(target, url)
    asyncio.run(
        serve_stdio(
            lambda: place.open_async(read_only=read_only, embedder=embedder),
            agent_id=place.agent,
            namespace=place.namespace,
            tool_set=tool_set,
            is_read_only=read_only,
        )
    )


def _with_url(target: Target, url: str | None) -> Target:
    from memoranda.storage.server_url import is_server_url

    if url is None:
        return target
    if click.get_current_context().get_parameter_source("db") == _COMMAND_LINE:
        raise InvalidInput("url", "is given with --db: give one of them")
    if not is_server_url(url):
        raise InvalidInput("url", f"{url!r} is not the URL of a server: give a file as --db")
    return replace(target, db=url)


def check_packages() -> None:
    """Say which package is needed, if it is not installed."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise InvalidInput("mcp", "needs the package mcp: pip install 'memoranda[mcp]'")


_COMMAND_LINE = click.core.ParameterSource.COMMANDLINE
