"""Channels of gRPC to a server, for threads and for asyncio."""

from __future__ import annotations

from typing import Any

import grpc

from memoranda.errors import InvalidInput
from memoranda.sdk.remote.options import RemoteOptions

_OPTIONS: tuple[tuple[str, int], ...] = (
    # The server bounds what it takes, and pages bound what it sends; a long value may be longer.
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    # A connection that the network has dropped silently is noticed while a call waits for it.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # A client tries again by its own clock (`patience.py`); grpc must not hold it up for longer.
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.enable_retries", 0),
    # One connection for the handles of a store, shared with nobody, straight to the server.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.service_config_disable_resolution", 1),
)


def open_channel(options: RemoteOptions) -> grpc.Channel:
    """Return a channel for threads; it connects with the first call."""
    if not options.url.is_secure:
        return grpc.insecure_channel(options.url.target, _OPTIONS)
    return grpc.secure_channel(options.url.target, _credentials(options), _OPTIONS)


def open_async_channel(options: RemoteOptions) -> grpc.aio.Channel:
    """Return a channel for the running event loop; it connects with the first call."""
    if not options.url.is_secure:
        return grpc.aio.insecure_channel(options.url.target, _OPTIONS)
    return grpc.aio.secure_channel(options.url.target, _credentials(options), _OPTIONS)


def _credentials(options: RemoteOptions) -> Any:
    root, key, certificate = options.certificates()
    try:
        return grpc.ssl_channel_credentials(root, key, certificate)
    except (TypeError, ValueError) as error:
        raise InvalidInput("tls", f"the certificates cannot be used: {error}") from error
