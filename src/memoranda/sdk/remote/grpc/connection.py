"""The connection of a store over gRPC, for threads: one channel for all handles of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

import grpc

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.model.ids import IdSource
from memoranda.sdk.remote.connection import Connection, MessageStream
from memoranda.sdk.remote.grpc.channel import open_channel
from memoranda.sdk.remote.grpc.errors import translated
from memoranda.sdk.remote.options import Metadata, RemoteOptions
from memoranda.storage.thread_locks import new_lock
from memoranda.wire.methods import WRITE_BATCH, WRITE_OUTCOMES, WRITE_STREAM, Method


class GrpcConnection(Connection):
    """Sends messages on a channel. gRPC makes its connection, and makes it again."""

    def __init__(self, options: RemoteOptions, ids: IdSource) -> None:
        super().__init__(options, ids)
        self._channel = open_channel(options)
        self._stubs: dict[str, Any] = {}
        """What sends the calls of a method, by its path."""
        self._calls: WeakSet[Any] = WeakSet()
        """Calls whose answers are being read, for `close`."""
        self._lock = new_lock()
        """Protects the set of calls."""

    def _ask(self, method: Method, message: Any, timeout: float | None) -> Any:
        try:
            metadata = self.options.request_metadata
            return self._stub(method)(message, metadata=metadata, timeout=timeout)
        except grpc.RpcError as error:
            raise self.translated(error) from error
        except ValueError as error:  # the channel was closed just now
            raise StoreClosed from error

    def stream(self, method: Method, message: Any) -> GrpcStream:
        """Return the messages of an answer; the call is sent at once."""
        metadata = self.options.request_metadata
        return GrpcStream(self, self._begin(self._stub(method), message, metadata))

    def write_stream(self, batches: Iterator[Any]) -> Any:
        """Return the call that sends batches of writes, and gives their outcomes as they come."""
        stub = self._stubs.get(WRITE_STREAM)
        if stub is None:
            stub = self._stubs[WRITE_STREAM] = self._channel.stream_stream(
                WRITE_STREAM, WRITE_BATCH.SerializeToString, WRITE_OUTCOMES.FromString
            )
        return self._begin(stub, batches, self.options.metadata)

    def _begin(self, stub: Any, messages: Any, metadata: Metadata) -> Any:
        """Begin a call, and note it for `close`."""
        self.check_open()
        try:
            call = stub(messages, metadata=metadata)
        except ValueError as error:  # the channel was closed just now
            raise StoreClosed from error
        with self._lock:
            self._calls.add(call)
        return call

    def _stub(self, method: Method) -> Any:
        stub = self._stubs.get(method.path)
        if stub is None:
            make = (
                self._channel.unary_unary if method.shape == "unary" else self._channel.unary_stream
            )
            stub = self._stubs[method.path] = make(
                method.path, method.request.SerializeToString, method.response.FromString
            )
        return stub

    def translated(self, error: grpc.RpcError) -> MemorandaError:
        """Return the error of a call as one of ours; once it is closed, that is why it failed."""
        if self.is_closed:
            problem: MemorandaError = StoreClosed()
            problem.__cause__ = error
            return problem
        return translated(error, self.place)

    def _close(self) -> None:
        with self._lock:
            calls = list(self._calls)
        for call in calls:
            call.cancel()
        self._channel.close()


class GrpcStream(MessageStream):
    """A call whose answer is a stream; gRPC cancels it once nobody has it."""

    def __init__(self, connection: GrpcConnection, call: Any) -> None:
        self._connection = connection
        self._call = call

    def read(self) -> Any:
        """Return the next message; None at the end."""
        try:
            return next(self._call, None)
        except grpc.RpcError as error:
            raise self._connection.translated(error) from error

    def cancel(self) -> None:
        """End the call."""
        self._call.cancel()
