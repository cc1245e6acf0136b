"""URLs of stores that a server has: `grpc://host:port/store`, or `http://`; with an `s` for TLS."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

import msgspec

from memoranda.errors import InvalidInput
from memoranda.model.limits import plain_text, short_repr

DEFAULT_PORT = 7420
"""The port of gRPC of a server that is told no other."""
DEFAULT_PORTS: Mapping[str, int] = {
    "grpc": DEFAULT_PORT,
    "grpcs": DEFAULT_PORT,
    "http": 80,
    "https": 443,
}
"""The schemes, each with the port of a URL that has none."""
_SECURE = ("grpcs", "https")
_HOST = r"\[[0-9A-Fa-f:.]+(%25[\w.-]+)?\]|[^\s\[\]:@]+"
_AUTHORITY = re.compile(rf"(?P<host>{_HOST})(:(?P<port>\d{{1,5}}))?")
_MAX_PORT = 65_535
"""The largest port of TCP."""


class ServerUrl(msgspec.Struct, frozen=True):
    """A store of a server."""

    host: str
    """A name or an address; one of IPv6 in brackets."""
    port: int
    store: str = ""
    """The name of the store; empty: the server's only one."""
    is_secure: bool = False
    """Whether the connection is encrypted."""
    is_http: bool = False
    """Whether messages go over HTTP; else over gRPC."""

    @property
    def scheme(self) -> str:
        """How messages are sent."""
        return ("http" if self.is_http else "grpc") + ("s" if self.is_secure else "")

    @property
    def origin(self) -> str:
        """The URL without the store."""
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def target(self) -> str:
        """The host and the port, as connections are made to them."""
        return f"{unquote(self.host)}:{self.port}"

    def __str__(self) -> str:
        return f"{self.origin}/{quote(self.store, safe='')}"


def is_server_url(url: object) -> bool:
    """Say whether a URL names a server, well or badly."""
    if not isinstance(url, str):
        return False
    scheme, separator, _ = url.partition("://")
    return bool(separator) and scheme.lower() in DEFAULT_PORTS


def parse_server_url(field: str, url: str | os.PathLike[str]) -> ServerUrl:
    """Return the parts of a URL of a server; raise `InvalidInput` if it is not well formed."""
    text = plain_text(field, os.fspath(url))
    scheme, _, rest = text.partition("://")
    scheme = scheme.lower()
    for mark, problem in (
        ("?", "takes no options after a question mark"),
        ("#", "has nothing after a number sign"),
        ("@", "has no user in it: give a token as `token`"),
    ):
        if mark in rest:
            raise InvalidInput(field, f"the URL of a server {problem}")  # it may have a secret
    authority, _, path = rest.partition("/")
    match = _AUTHORITY.fullmatch(authority)
    port = 0 if match is None else int(match["port"] or DEFAULT_PORTS[scheme])
    if match is None or not 0 < port <= _MAX_PORT:
        raise InvalidInput(
            field,
            f"{short_repr(text)} has no valid host and port: give "
            f"{scheme}://host:port/store, an IPv6 address in brackets",
        )
    name = path.removesuffix("/")
    if "/" in name:
        raise InvalidInput(field, f"{short_repr(name)} is no name of a store: it has a slash")
    return ServerUrl(
        match["host"],
        port,
        _decoded(field, name),
        is_secure=scheme in _SECURE,
        is_http=scheme.startswith("http"),
    )


def _decoded(field: str, name: str) -> str:
    try:
        return plain_text(field, unquote(name, errors="strict"))
    except UnicodeDecodeError as error:
        raise InvalidInput(field, f"{short_repr(name)} is not UTF-8, percent-encoded") from error
