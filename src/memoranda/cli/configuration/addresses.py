"""Addresses to listen on, as users write them."""

from __future__ import annotations

from memoranda.errors import InvalidInput

_MAX_PORT = 65535
"""The largest port of TCP."""


def parse_address(field: str, text: str) -> tuple[str, int]:
    """Return the host and the port of an address, such as `127.0.0.1:7420` or `[::1]:7420`."""
    host, separator, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not separator or not host or not port.isascii() or not port.isdigit():
        raise InvalidInput(field, f"{text!r} is no address: give HOST:PORT, such as 127.0.0.1:7420")
    if int(port) > _MAX_PORT:
        raise InvalidInput(field, f"there is no port {port}: give one up to {_MAX_PORT}")
    return host, int(port)
