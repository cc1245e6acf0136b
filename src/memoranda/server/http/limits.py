"""The limits of an HTTP server, which protect it from every caller.

Limits of a token are those of its metering (`server/token_limits.py`).
"""

from __future__ import annotations

import msgspec

_KIB = 1024
_MIB = 1024 * _KIB


class HttpLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds on the data that a server holds for clients, and on its waits."""

    body_bytes: int = 80 * _MIB
    """Bytes of a body, also when it is unpacked: a transaction may have 64 MiB, and JSON escapes
    some of it."""
    bodies_bytes: int = 320 * _MIB
    """Bytes of all bodies that are being read."""
    header_bytes: int = 32 * _KIB
    """Bytes of a request line and its headers."""
    header_seconds: float = 20.0
    """Time in which the headers of a request must have arrived, from its first byte on."""
    body_seconds: float = 20.0
    """Time that a body may take, whatever its size; a large one has more."""
    body_bytes_per_second: int = 16 * _KIB
    """The least rate at which a large body must arrive."""
    idle_seconds: float = 75.0
    """Time for which a connection stays open between two requests."""
    send_seconds: float = 60.0
    """Time in which a client must take something of what is sent to it."""
    connections: int = 1024
    requests: int = 4096
    """Requests of all clients at a time, streams among them."""
