"""The settings of HTTP: the address, and the accepted host names and origins."""

from __future__ import annotations

import msgspec

from memoranda.server.http.limits import HttpLimits


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of an HTTP server."""

    host: str = "127.0.0.1"
    port: int = 7421
    """0: a free one."""
    host_names: tuple[str, ...] = ()
    """Names under which it answers, besides those of this machine. Where other machines can
    connect, none means any."""
    origins: tuple[str, ...] = ()
    """Origins of pages that may use it, such as `https://app.example`."""
    authorization_servers: tuple[str, ...] = ()
    """OAuth servers that give out tokens of this server, which its metadata names (RFC 9728)."""
    metrics_open: bool = False
    """Whether `/metrics` needs no token."""
    limits: HttpLimits = HttpLimits()
