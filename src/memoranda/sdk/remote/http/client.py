"""The HTTP client of a store: its connections, its requests, and its timeouts."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import unquote

import httpx2

from memoranda.errors import InvalidInput
from memoranda.model.trace import trace_headers
from memoranda.sdk.remote.options import RemoteOptions
from memoranda.storage.server_url import ServerUrl
from memoranda.wire.over_http import (
    FRAMES_MEDIA,
    HEARTBEAT_SECONDS,
    MESSAGE_MEDIA,
    WRITES,
    method_path,
)

ANSWER_SECONDS = 300.0
"""Seconds to wait for a single answer, during which a server sends nothing: longer than most
gateways wait, and than a search takes."""
SILENCE_SECONDS = 4 * HEARTBEAT_SECONDS
"""Seconds without a byte of a stream, after which the connection counts as lost."""
_CONNECT_SECONDS = 10.0
"""Seconds in which a connection must be made."""
_SEND_SECONDS = 60.0
"""Seconds in which the server must take something of a request."""
_IDLE_SECONDS = 30.0
"""Seconds that an idle connection is kept: servers and gateways keep it longer."""
_IDLE_CONNECTIONS = 16
"""Connections that are kept while they are idle."""
_KEEPALIVE_SECONDS = 20
"""Silence after which a connection is probed, so that one that the network has dropped is noticed
while a call waits for its answer."""
_PROBES, _PROBE_SECONDS = 3, 5
"""Probes without an answer after which a connection is closed, and seconds between two."""
_TLS = ssl.PROTOCOL_TLS_CLIENT
_KEEPALIVE: Mapping[str, int] = {
    "TCP_KEEPIDLE": _KEEPALIVE_SECONDS,
    "TCP_KEEPINTVL": _PROBE_SECONDS,
    "TCP_KEEPCNT": _PROBES,
}


class Requests:
    """Makes the requests of one store."""

    def __init__(self, options: RemoteOptions) -> None:
        self._options = options
        common = {
            "user-agent": "memoranda",
            "accept-encoding": "identity",
            **dict(options.metadata),
        }
        self._headers = {
            media: {"content-type": MESSAGE_MEDIA, "accept": media, **common}
            for media in (MESSAGE_MEDIA, FRAMES_MEDIA)
        }
        self._urls: dict[str, httpx2.URL] = {}
        """The address of each method."""

    def post(
        self, method: str, message: Any, media: str, seconds: float, trace: Any
    ) -> httpx2.Request:
        """Return the request of a message; `seconds` is the longest silence until its answer."""
        timeout = {
            "connect": _CONNECT_SECONDS,
            "read": seconds,
            "write": _SEND_SECONDS,
            "pool": None,
        }
        headers = self._headers[media]
        if method != WRITES:  # a batch has writes of several callers, and says the trace of each
            headers = {**headers, **dict(trace_headers())}
        return httpx2.Request(
            "POST",
            self._url(method),
            headers=headers,
            content=message.SerializeToString(),
            extensions={"timeout": timeout, "trace": trace},
        )

    def _url(self, method: str) -> httpx2.URL:
        url = self._urls.get(method)
        if url is None:
            server = self._options.url
            text = server.origin + method_path(server.store, method)
            try:
                url = self._urls[method] = httpx2.URL(text)
            except httpx2.InvalidURL as error:
                raise InvalidInput("url", f"{server} is not a valid address: {error}") from error
        return url


def client_options(options: RemoteOptions) -> dict[str, Any]:
    """Return the arguments for a client of httpx2.

    A proxy of the environment is used for other machines. No cookie is kept, no redirect followed.
    """
    is_direct = is_loopback(options.url)
    is_encrypted = options.url.is_secure or not is_direct  # a proxy may be
    return {
        "verify": _tls_context(options) if is_encrypted else ssl.SSLContext(_TLS),
        "trust_env": not is_direct,
        "follow_redirects": False,
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=())),
        "limits": httpx2.Limits(
            max_connections=None,
            max_keepalive_connections=_IDLE_CONNECTIONS,
            keepalive_expiry=_IDLE_SECONDS,
        ),
    }


def proxy_refused(error: Exception) -> InvalidInput:
    """Return the error of an environment whose proxy the client cannot use."""
    return InvalidInput("url", f"cannot be reached through the proxy of the environment: {error}")


def is_loopback(url: ServerUrl) -> bool:
    """Say whether a server is on this machine, with nothing between."""
    try:
        return ipaddress.ip_address(unquote(url.host).strip("[]")).is_loopback
    except ValueError:
        return url.host.lower() == "localhost"


def _tls_context(options: RemoteOptions) -> ssl.SSLContext:
    root, _, certificate = options.certificates()
    try:
        context = ssl.create_default_context(cadata=None if root is None else root.decode("ascii"))
        if certificate is not None:
            assert options.tls.certificate is not None, "it was read"
            context.load_cert_chain(options.tls.certificate, options.tls.key)
    except (OSError, ValueError) as error:  # also SSLError
        raise InvalidInput("tls", f"the certificates cannot be used: {error}") from error
    return context


def connected_socket(event: str, info: Mapping[str, Any]) -> Any:
    """Return the socket of a connection that was just made; None for other events of a request."""
    if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
        return None
    connection = info["return_value"].get_extra_info("socket")
    with suppress(OSError, TypeError):  # a loop of another kind may hide its sockets
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return connection
