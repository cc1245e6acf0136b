"""The command that serves stores to programs elsewhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memoranda.cli.call_limits import parse_limits, takes_limits
from memoranda.cli.main import FIELD_NAMES
from memoranda.cli.options import choose_embedder, takes_embedder
from memoranda.cli.output import safe, warn, write_json
from memoranda.cli.server_location import ServerLocation, takes_server
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.server.http.settings import HttpSettings
    from memoranda.server.serving import Server, ServerSettings
    from memoranda.server.tls import TlsFiles

ADDRESS = "127.0.0.1:7420"
"""Where a server listens by default: programs of other machines cannot connect."""
_MAX_PORT = 65535
_OPTIONS = {
    "grpc": "--grpc",
    "http": "--http",
    "http_authorization_server": "--http-authorization-server",
    "http_host_name": "--http-host-name",
    "http_origin": "--http-origin",
    "tls_cert": "--tls-cert",
    "tls_key": "--tls-key",
    "tls_client_ca": "--tls-client-ca",
    "tokens": "--tokens",
}
"""The options that errors name."""


@click.command()
@click.option(
    "--grpc",
    "address",
    metavar="HOST:PORT",
    default=ADDRESS,
    show_default=True,
    help="Where to listen; port 0 takes a free one.",
)
@click.option(
    "--http",
    "http_address",
    metavar="HOST:PORT",
    help="Where to listen for HTTP too, such as 127.0.0.1:7421.",
)
@click.option(
    "--http-host-name",
    "host_names",
    metavar="NAME",
    multiple=True,
    help="Another name under which the HTTP server answers.",
)
@click.option(
    "--http-origin",
    "origins",
    metavar="URL",
    multiple=True,
    help="An origin whose pages may use the HTTP server, such as https://app.example.",
)
@click.option(
    "--http-authorization-server",
    "authorization_servers",
    metavar="URL",
    multiple=True,
    help="An OAuth server that gives out tokens of this server, to be named to clients of MCP.",
)
@click.option("--tls-cert", type=click.Path(), help="The server's certificate, in PEM.")
@click.option("--tls-key", type=click.Path(), help="Its private key.")
@click.option(
    "--tls-client-ca",
    type=click.Path(),
    help="Certificates that must have signed those of clients (mutual TLS).",
)
@click.option(
    "--tokens/--no-tokens",
    default=None,
    help="Ask every caller for a token, or none. Default: once there is one, and always where "
    "other machines can connect.",
)
@takes_limits("A limit of tokens that have none of their own")
@click.option(
    "--insecure",
    is_flag=True,
    help="Let other machines connect without TLS, or without tokens.",
)
@click.option(
    "--drain",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    default=10.0,
    show_default=True,
    help="How long calls in flight may go on at shutdown.",
)
@click.option(
    "--max-open-stores",
    type=click.IntRange(min=1),
    metavar="N",
    default=500,
    show_default=True,
    help="Stores that are open at a time.",
)
@click.option(
    "--statehouse-store",
    metavar="NAME",
    help="The store that clients of Statehouse use; the only one needs no name.",
)
@click.option(
    "--statehouse-anywhere",
    is_flag=True,
    help="Serve clients of Statehouse without a token from other machines too.",
)
@click.option(
    "--log",
    "level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="What to log on stderr, as lines of JSON; debug: every call.",
)
@takes_embedder
@click.option("--json", "as_json", is_flag=True, help="Print where it listens as JSON.")
@takes_server
def serve(
    server: ServerLocation,
    *,
    address: str,
    http_address: str | None,
    host_names: tuple[str, ...],
    origins: tuple[str, ...],
    authorization_servers: tuple[str, ...],
    tls_cert: str | None,
    tls_key: str | None,
    tls_client_ca: str | None,
    tokens: bool | None,
    limits: tuple[str, ...],
    insecure: bool,
    drain: float,
    max_open_stores: int,
    statehouse_store: str | None,
    statehouse_anywhere: bool,
    level: str,
    embedder: str | None,
    as_json: bool,
) -> None:
    """Serve a store, or all stores of a folder, over gRPC, HTTP and MCP.

    Programs connect with memoranda.open("grpc://HOST:PORT/STORE"). The server listens on this
    machine only, unless --grpc or --http says otherwise: then it needs TLS and tokens.

    Ctrl-C shuts it down: commits in flight finish. A second one ends it at once.
    """
    click.get_current_context().meta[FIELD_NAMES] = _OPTIONS
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # read at import; errors are reported here
    check_packages()
    from memoranda.server.log_lines import logging_to
    from memoranda.server.process import serve as serve_until_stopped
    from memoranda.server.serving import ServerSettings
    from memoranda.server.stores import StoreOptions
    from memoranda.server.token_limits import CallLimits

    host, port = _parse_address("grpc", address)
    settings = ServerSettings(
        folder=server.folder,
        file=server.file,
        host=host,
        port=port,
        http=_http_settings(http_address, host_names, origins, authorization_servers),
        tls=_tls_files(tls_cert, tls_key, tls_client_ca),
        tokens=tokens,
        insecure=insecure,
        statehouse_store=statehouse_store,
        statehouse_anywhere=statehouse_anywhere,
        call_limits=CallLimits(**parse_limits(limits)),
        stores=StoreOptions(embedder=choose_embedder(embedder), max_open=max_open_stores),
    )
    with logging_to(sys.stderr, level):
        serve_until_stopped(settings, drain, _announce_json if as_json else _announce)


def check_packages() -> None:
    """Say which packages a server needs, if they are not installed."""
    from importlib.util import find_spec

    names = {"grpc": "grpcio", "grpc_health": "grpcio-health-checking",
             "grpc_reflection": "grpcio-reflection", "cryptography": "cryptography",
             "httptools": "httptools", "uvicorn": "uvicorn"}  # fmt: skip
    missing = [package for name, package in names.items() if find_spec(name) is None]
    if missing:
        raise InvalidInput("serve", f"needs {', '.join(missing)}: pip install 'memoranda[server]'")


def _http_settings(
    address: str | None,
    host_names: tuple[str, ...],
    origins: tuple[str, ...],
    authorization_servers: tuple[str, ...],
) -> HttpSettings | None:
    from memoranda.server.http.settings import HttpSettings

    if address is None:
        for name, values in (
            ("http_host_name", host_names),
            ("http_origin", origins),
            ("http_authorization_server", authorization_servers),
        ):
            if values:
                raise InvalidInput(name, "needs --http: it is about the HTTP server")
        return None
    host, port = _parse_address("http", address)
    return HttpSettings(
        host=host,
        port=port,
        host_names=host_names,
        origins=origins,
        authorization_servers=authorization_servers,
    )


def _parse_address(field: str, text: str) -> tuple[str, int]:
    """Return the host and the port of an address, such as `127.0.0.1:7420` or `[::1]:7420`."""
    host, separator, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not separator or not host or not port.isascii() or not port.isdigit():
        raise InvalidInput(field, f"{text!r} is no address: give HOST:PORT, such as {ADDRESS}")
    if int(port) > _MAX_PORT:
        raise InvalidInput(field, f"there is no port {port}: give one up to {_MAX_PORT}")
    return host, int(port)


def _tls_files(certificate: str | None, key: str | None, client_ca: str | None) -> TlsFiles | None:
    from memoranda.server.tls import TlsFiles

    if certificate is None and key is None:
        if client_ca is not None:
            raise InvalidInput("tls_client_ca", "needs --tls-cert and --tls-key too")
        return None
    if certificate is None or key is None:
        name = "tls_cert" if certificate is None else "tls_key"
        raise InvalidInput(name, "is missing: a certificate and its key go together")
    return TlsFiles(Path(certificate), Path(key), None if client_ca is None else Path(client_ca))


def _announce(server: Server) -> None:
    """Say where the server listens, and how to connect."""
    settings = server.settings
    what = f"the stores of {settings.folder}" if settings.folder else f"{settings.file}"
    click.echo(f"Serving {safe(what)} on {server.address}.")
    if server.http_address is not None:
        click.echo(f"HTTP: {_http_url(server)}, and for assistants (MCP): {_mcp_url(server)}")
    click.echo(f'Connect with memoranda.open("{_url(server)}"{_token_argument(settings)}).')
    if not settings.is_local:
        _warn_of_others(settings)
    if settings.tokens is False:
        click.echo("Tokens are not asked for: who can connect can read and change everything.")
    elif server.dispatcher.asks_for_tokens:
        click.echo("Callers need a token: `memoranda token create` makes one.")
    else:
        click.echo("There are no tokens: programs of this machine can read and change everything.")
    click.echo("Press Ctrl-C to stop.")
    sys.stdout.flush()


def _warn_of_others(settings: ServerSettings) -> None:
    if settings.tls is None:
        warn("without TLS, whoever is on the way can read tokens and content, and change it")


def _announce_json(server: Server) -> None:
    settings = server.settings
    write_json(
        {
            "address": server.address,
            "port": server.port,
            "url": _url(server),
            "http": None if server.http_address is None else _http_url(server),
            "mcp": None if server.http_address is None else _mcp_url(server),
            "tls": settings.tls is not None,
            "tokens": server.dispatcher.asks_for_tokens,
        }
    )
    sys.stdout.flush()


def _url(server: Server) -> str:
    scheme = "grpc" if server.settings.tls is None else "grpcs"
    name = "/STORE" if server.settings.folder else ""
    return f"{scheme}://{server.address}{name}"


def _http_url(server: Server) -> str:
    scheme = "http" if server.settings.tls is None else "https"
    return f"{scheme}://{server.http_address}"


def _mcp_url(server: Server) -> str:
    path = "/v1/stores/STORE/mcp" if server.settings.folder else "/mcp"
    return _http_url(server) + path


def _token_argument(settings: ServerSettings) -> str:
    return ', token="…"' if settings.asks_for_tokens else ""
