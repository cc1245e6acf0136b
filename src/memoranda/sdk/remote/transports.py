"""The transport that a URL names: what connects to the server, and what sends writes to it."""

from __future__ import annotations

from memoranda.model.ids import IdSource
from memoranda.sdk.remote.async_connection import AsyncConnection
from memoranda.sdk.remote.async_write_sender import AsyncWriteSender
from memoranda.sdk.remote.connection import Connection
from memoranda.sdk.remote.options import RemoteOptions, missing_extra
from memoranda.sdk.remote.write_sender import WriteSender


def open_transport(options: RemoteOptions, ids: IdSource) -> tuple[Connection, WriteSender]:
    """Return a connection for threads, and the sender of its writes.

    Only the packages of the transport in question are loaded.
    """
    if options.url.is_http:
        try:
            from memoranda.sdk.remote.http.connection import HttpConnection
            from memoranda.sdk.remote.http.write_requests import WriteRequests
        except ImportError as error:
            raise missing_extra(error) from error
        over_http = HttpConnection(options, ids)
        return over_http, WriteRequests(over_http)
    try:
        from memoranda.sdk.remote.grpc.connection import GrpcConnection
        from memoranda.sdk.remote.grpc.write_stream import WriteStream
    except ImportError as error:
        raise missing_extra(error) from error
    over_grpc = GrpcConnection(options, ids)
    return over_grpc, WriteStream(over_grpc)


def open_async_transport(
    options: RemoteOptions, ids: IdSource
) -> tuple[AsyncConnection, AsyncWriteSender]:
    """Return a connection for the running event loop, and the sender of its writes."""
    if options.url.is_http:
        try:
            from memoranda.sdk.remote.http.async_connection import AsyncHttpConnection
            from memoranda.sdk.remote.http.async_write_requests import AsyncWriteRequests
        except ImportError as error:
            raise missing_extra(error) from error
        over_http = AsyncHttpConnection(options, ids)
        return over_http, AsyncWriteRequests(over_http)
    try:
        from memoranda.sdk.remote.grpc.async_connection import AsyncGrpcConnection
        from memoranda.sdk.remote.grpc.async_write_stream import AsyncWriteStream
    except ImportError as error:
        raise missing_extra(error) from error
    over_grpc = AsyncGrpcConnection(options, ids)
    return over_grpc, AsyncWriteStream(over_grpc)
