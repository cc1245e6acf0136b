"""The command that serves stores to programs elsewhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memoranda.cli.configuration.addresses import parse_address
from memoranda.cli.options import choose_embedder, takes_embedder
from memoranda.cli.output import safe, warn, write_json
from memoranda.cli.server_location import ServerLocation, takes_server
from memoranda.cli.server_options import takes_server_settings
from memoranda.errors import InvalidInput

if TYPE_CHECKING:
    from memoranda.cli.configuration.schema import ServerSection
    from memoranda.server.http.settings import HttpSettings
    from memoranda.server.jobs.settings import JobSettings
    from memoranda.server.serving import Server, ServerSettings
    from memoranda.server.tls import TlsFiles


@click.command()
@takes_server_settings
@takes_embedder
@click.option("--json", "as_json", is_flag=True, help="Print where it listens as JSON.")
@takes_server
def serve(
    server: ServerLocation,
    *,
    settings: ServerSection,
    jobs: JobSettings,
    embedder: str | None,
    as_json: bool,
) -> None:
    """Serve a store, or a folder of stores, over gRPC, HTTP and MCP.

    --stores may be a PostgreSQL database too (postgresql://host/database), and --db a store of one.
    Programs connect with memoranda.open("grpc://HOST:PORT/STORE"), or "http://…" where --http
    listens. The server listens on this
    machine only, unless --grpc or --http says otherwise: then it needs TLS and tokens.

    Ctrl-C shuts it down: commits in flight finish. A second one ends it at once.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # read at import; errors are reported here
    check_packages()
    from msgspec.structs import asdict

    from memoranda.server.log_lines import logging_to
    from memoranda.server.process import serve as serve_until_stopped
    from memoranda.server.serving import ServerSettings
    from memoranda.server.stores import StoreOptions
    from memoranda.server.token_limits import CallLimits

    host, port = parse_address("grpc", settings.grpc)
    limits = {name: limit for name, limit in asdict(settings.limits).items() if limit is not None}
    server_settings = ServerSettings(
        folder=server.folder,
        file=server.file,
        database=server.database,
        host=host,
        port=port,
        http=_http_settings(settings),
        tls=_tls_files(settings.tls_cert, settings.tls_key, settings.tls_client_ca),
        tokens=settings.tokens,
        insecure=settings.insecure,
        statehouse_store=settings.statehouse_store,
        statehouse_anywhere=settings.statehouse_anywhere,
        call_limits=CallLimits(**limits),
        stores=StoreOptions(embedder=choose_embedder(embedder), max_open=settings.max_open_stores),
        jobs=jobs,
    )
    with logging_to(sys.stderr, settings.log):
        announce = _announce_json if as_json else _announce
        serve_until_stopped(server_settings, settings.drain, announce)


def check_packages() -> None:
    """Raise an error that names the extra, if the server's packages are not installed."""
    from importlib.util import find_spec

    names = {"grpc": "grpcio", "grpc_health": "grpcio-health-checking",
             "grpc_reflection": "grpcio-reflection", "cryptography": "cryptography",
             "httptools": "httptools", "prometheus_client": "prometheus-client",
             "uvicorn": "uvicorn"}  # fmt: skip
    missing = [package for name, package in names.items() if find_spec(name) is None]
    if missing:
        raise InvalidInput("serve", f"needs {', '.join(missing)}: pip install 'memoranda[server]'")


def _http_settings(settings: ServerSection) -> HttpSettings | None:
    from memoranda.server.http.settings import HttpSettings

    if settings.http is None:
        for name in (
            "http_host_names",
            "http_origins",
            "http_authorization_servers",
            "metrics_open",
        ):
            if getattr(settings, name):
                raise InvalidInput(name, "needs --http: it is about the HTTP server")
        return None
    host, port = parse_address("http", settings.http)
    return HttpSettings(
        host=host,
        port=port,
        host_names=tuple(settings.http_host_names),
        origins=tuple(settings.http_origins),
        authorization_servers=tuple(settings.http_authorization_servers),
        metrics_open=settings.metrics_open,
    )


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
    """Print the addresses of the server, and how to connect."""
    settings = server.settings
    stores = f"the stores of {settings.place}" if settings.serves_many else settings.place
    click.echo(f"Serving {safe(stores)} on {server.address}.")
    if server.http_address is not None:
        click.echo(f"HTTP: {http_url(server)} (in a browser: the page)")
        click.echo(f"MCP, for assistants: {_mcp_url(server)}")
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
            "http": None if server.http_address is None else http_url(server),
            "mcp": None if server.http_address is None else _mcp_url(server),
            "tls": settings.tls is not None,
            "tokens": server.dispatcher.asks_for_tokens,
        }
    )
    sys.stdout.flush()


def _url(server: Server) -> str:
    scheme = "grpc" if server.settings.tls is None else "grpcs"
    name = "/STORE" if server.settings.serves_many else ""
    return f"{scheme}://{server.address}{name}"


def http_url(server: Server) -> str:
    """Return the address of the HTTP server, which is that of the page."""
    scheme = "http" if server.settings.tls is None else "https"
    return f"{scheme}://{server.http_address}"


def _mcp_url(server: Server) -> str:
    path = "/v1/stores/STORE/mcp" if server.settings.serves_many else "/mcp"
    return http_url(server) + path


def _token_argument(settings: ServerSettings) -> str:
    return ', token="…"' if settings.asks_for_tokens else ""
