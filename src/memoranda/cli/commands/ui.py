"""The command that opens the page: a server for this machine only, and a browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memoranda.cli.commands.serve import check_packages, http_url
from memoranda.cli.location import location_of
from memoranda.cli.main import FIELD_NAMES
from memoranda.cli.options import choose_embedder, takes_embedder
from memoranda.cli.output import safe, write_json

if TYPE_CHECKING:
    from memoranda.server.serving import Server

DRAIN_SECONDS = 2.0
"""Time that requests of the page have to end after Ctrl-C."""
_HOST = "127.0.0.1"
_MAX_PORT = 65535
"""The largest port of TCP."""


@click.command()
@click.argument("path", metavar="[PATH]", required=False, type=click.Path())
@click.option(
    "--port",
    type=click.IntRange(0, _MAX_PORT),
    default=0,
    help="The port of the page; by default a free one.",
)
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser, or not.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")
@takes_embedder
def ui(*, path: str | None, port: int, browser: bool, embedder: str | None, as_json: bool) -> None:
    """Open a page that shows what an agent knew, when, and why.

    PATH is the file of a store, or a folder of them; by default the store that MEMORANDA_DB names,
    or that in the user's data folder. The page is served on this machine only, until Ctrl-C. If the
    store has tokens, the page asks for one.
    """
    click.get_current_context().meta[FIELD_NAMES] = {"url": "PATH"}
    location = location_of(path if path is not None else os.environ.get("MEMORANDA_DB"))
    serve_page(
        location,
        port=port,
        embedder=embedder,
        announce=lambda server: _announce(server, as_json=as_json, browser=browser),
    )


def serve_page(
    location: str, *, port: int, embedder: str | None, announce: Callable[[Server], None]
) -> None:
    """Serve the page of a store, or of a folder of them, until Ctrl-C."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # read at import; errors are reported here
    check_packages()
    from memoranda.errors import NotFound
    from memoranda.server.http.settings import HttpSettings
    from memoranda.server.log_lines import logging_to
    from memoranda.server.process import serve
    from memoranda.server.serving import ServerSettings
    from memoranda.server.stores import StoreOptions
    from memoranda.storage.postgres.database_url import is_database_url
    from memoranda.storage.store_url import file_of

    is_database = is_database_url(location)
    is_folder = not is_database and Path(location).is_dir()
    file = None if is_folder or is_database else file_of("url", location)
    if file is not None and not file.exists():
        raise NotFound(f"there is no store {file}: `memoranda demo` makes one to look at")
    settings = ServerSettings(
        folder=Path(location) if is_folder else None,
        file=file,
        database=location if is_database else None,
        host=_HOST,
        port=0,
        http=HttpSettings(host=_HOST, port=port),
        stores=StoreOptions(embedder=choose_embedder(embedder)),
    )
    with logging_to(sys.stderr, "warning"):
        serve(settings, DRAIN_SECONDS, announce)


def _announce(server: Server, *, as_json: bool, browser: bool) -> None:
    """Print the address of the page, and open it."""
    address = http_url(server)
    if as_json:
        write_json({"url": address})
    else:
        click.echo(f"The page of {safe(server.settings.place)}:")
        click.echo(f"  {address}")
        click.echo("Press Ctrl-C to stop.")
    sys.stdout.flush()
    if browser and not as_json:
        webbrowser.open(address)
