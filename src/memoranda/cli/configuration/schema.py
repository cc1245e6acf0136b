"""The schema of the TOML file: its keys, with their types, defaults and meanings."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from memoranda.cli.configuration.addresses import parse_address
from memoranda.server.jobs.settings import JobSettings
from memoranda.storage.server_url import DEFAULT_PORT

Path = Annotated[str | None, Meta(extra={"is_path": True})]
Text = str | None
_POSITIVE = Meta(gt=0, le=1_000_000_000_000)
Rate = Annotated[float, _POSITIVE] | None
Count = Annotated[int, _POSITIVE] | None


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class ClientTls(Section, frozen=True, kw_only=True):
    """Certificates for connections to a server."""

    root: Annotated[Path, Meta(description="Certificates that sign the server's.")] = None
    certificate: Annotated[Path, Meta(description="The client's own certificate.")] = None
    key: Annotated[Path, Meta(description="Its private key.")] = None


class LimitsSection(Section, frozen=True, kw_only=True):
    """The limits of tokens that have none of their own."""

    requests_per_second: Annotated[Rate, Meta(description="Requests.")] = None
    bytes_per_second: Annotated[Rate, Meta(description="Bytes of requests and of answers.")] = None
    calls_in_flight: Annotated[Count, Meta(description="Calls that are being served at once.")] = (
        None
    )
    open_streams: Annotated[
        Count,
        Meta(description="Replays, subscriptions and streams of commits at once."),
    ] = None
    long_seconds_per_minute: Annotated[
        Rate, Meta(description="Seconds of long calls, such as `verify`.")
    ] = None


class ServerSection(Section, frozen=True, kw_only=True):
    """The settings of `memoranda serve`."""

    grpc: Annotated[str, Meta(description="Where to listen; port 0 takes a free one.")] = (
        f"127.0.0.1:{DEFAULT_PORT}"
    )
    http: Annotated[
        Text, Meta(description="Where to listen for HTTP too, such as 127.0.0.1:7421.")
    ] = None
    http_host_names: Annotated[
        list[str], Meta(description="Another name under which the HTTP server answers.")
    ] = []
    http_origins: Annotated[
        list[str],
        Meta(
            description="An origin whose pages may use the HTTP server, such as "
            "https://app.example."
        ),
    ] = []
    http_authorization_servers: Annotated[
        list[str],
        Meta(
            description="An OAuth server that gives out tokens of this server, to be named to "
            "clients of MCP."
        ),
    ] = []
    metrics_open: Annotated[bool, Meta(description="Show /metrics without a token.")] = False
    tls_cert: Annotated[Path, Meta(description="The server's certificate, in PEM.")] = None
    tls_key: Annotated[Path, Meta(description="Its private key.")] = None
    tls_client_ca: Annotated[
        Path,
        Meta(description="Certificates that must have signed those of clients (mutual TLS)."),
    ] = None
    tokens: Annotated[
        bool | None,
        Meta(
            description="Ask every caller for a token, or none. Default: once there is one, and "
            "always where other machines can connect."
        ),
    ] = None
    insecure: Annotated[
        bool, Meta(description="Let other machines connect without TLS, or without tokens.")
    ] = False
    drain: Annotated[
        float, Meta(ge=0, description="How long calls in flight may go on at shutdown, in seconds.")
    ] = 10.0
    max_open_stores: Annotated[int, Meta(ge=1, description="Stores that are open at a time.")] = 500
    statehouse_store: Annotated[
        Text,
        Meta(description="The store that clients of Statehouse use; the only one needs no name."),
    ] = None
    statehouse_anywhere: Annotated[
        bool,
        Meta(description="Serve clients of Statehouse without a token from other machines too."),
    ] = False
    log: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="What to log on stderr, as lines of JSON; debug: every call."),
    ] = "warning"
    limits: LimitsSection = LimitsSection()

    def __post_init__(self) -> None:
        for name in ("grpc", "http"):
            address = getattr(self, name)
            if address is not None:
                parse_address(f"server.{name}", address)


class Configuration(Section, frozen=True, kw_only=True):
    """The whole file."""

    db: Annotated[Path, Meta(description="The store: a path, or a URL of a server's store.")] = None
    stores: Annotated[
        Path, Meta(description="The folder or the database of the server's stores.")
    ] = None
    agent: Annotated[Text, Meta(description="The agent that acts, and whose data is read.")] = None
    namespace: Annotated[str, Meta(description="The namespace, such as team/eng.")] = "default"
    embedder: Annotated[
        str, Meta(description="Embedding model: auto, none, onnx:PATH, or URL#MODEL.")
    ] = "auto"
    token: Annotated[
        Text,
        Meta(
            description="Token of the caller, for a store of a server.", extra={"is_secret": True}
        ),
    ] = None
    signers: Annotated[Path, Meta(description="The folder of key files.")] = None
    signer: Annotated[Text, Meta(description="The signer: its name, or its file.")] = None
    tls: ClientTls = ClientTls()
    server: ServerSection = ServerSection()
    jobs: JobSettings = JobSettings()
