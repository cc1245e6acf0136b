"""The limits of a gRPC server, which protect it from every caller.

Limits of a token are those of its metering (`server/token_limits.py`).
"""

from __future__ import annotations

import msgspec

_MIB = 1024 * 1024
_IDENTITY_ONLY = 1 << 0
"""The set of algorithms that has only the one which does not compress."""


class GrpcLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds on the data that a server holds for clients, and on its waits."""

    message_bytes: int = 72 * _MIB
    """Bytes of a request: a transaction may have 64 MiB, and its encoding adds some."""
    calls: int = 4096
    """Calls of all clients at a time, streams among them."""
    calls_of_token: int = 2048
    """Calls of one token at a time, also those whose message has not arrived: others get the rest.
    Where tokens are asked for, all callers without one have as many together."""
    public_calls: int = 256
    """Calls of health checks and reflection at a time, which need no token."""
    connections: int = 1024
    streams_per_connection: int = 1024
    """Calls of one connection at a time; a client opens more once others have ended."""
    request_seconds: float = 60.0
    """Time in which the message of a request must have arrived."""
    handshake_seconds: float = 10.0
    """Time in which a connection must have been made, with TLS and the first frames."""
    keepalive_seconds: float = 30.0
    """Seconds of silence after which the server pings a client."""
    keepalive_timeout_seconds: float = 20.0
    """Seconds in which the client must answer the ping."""
    metadata_bytes: int = 16 * 1024
    """Bytes of the headers of a call."""

    def options(self) -> list[tuple[str, int]]:
        """Return them as options of a gRPC server."""
        return [
            ("grpc.max_receive_message_length", self.message_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_metadata_size", self.metadata_bytes),
            ("grpc.absolute_max_metadata_size", self.metadata_bytes),
            ("grpc.max_concurrent_streams", self.streams_per_connection),
            ("grpc.max_allowed_incoming_connections", self.connections),
            ("grpc.server_handshake_timeout_ms", _milliseconds(self.handshake_seconds)),
            ("grpc.keepalive_time_ms", _milliseconds(self.keepalive_seconds)),
            ("grpc.keepalive_timeout_ms", _milliseconds(self.keepalive_timeout_seconds)),
            ("grpc.http2.ping_timeout_ms", _milliseconds(self.keepalive_timeout_seconds)),
            ("grpc.http2.settings_timeout", _milliseconds(self.handshake_seconds)),
            ("grpc.keepalive_permit_without_calls", 1),
            # A client may ask as often as the server does; one that asks much more is cut off.
            ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
            # Requests are not compressed: some versions of grpc unpack a message before they look
            # how large it is, and every version lets a small message cost a thousandfold of it.
            ("grpc.compression_enabled_algorithms_bitset", _IDENTITY_ONLY),
            # A second server on the same port is an error, not half of the calls.
            ("grpc.so_reuseport", 0),
        ]


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
