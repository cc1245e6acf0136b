"""The connection of a store over gRPC, for one event loop."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.model.ids import IdSource
from memoranda.sdk.remote.async_connection import AsyncConnection, AsyncMessageStream
from memoranda.sdk.remote.errors import ConnectionLost
from memoranda.sdk.remote.grpc.channel import open_async_channel
from memoranda.sdk.remote.grpc.errors import translated
from memoranda.sdk.remote.options import RemoteOptions
from memoranda.wire.methods import WRITE_BATCH, WRITE_OUTCOMES, WRITE_STREAM, Method


class AsyncGrpcConnection(AsyncConnection):
    """Sends messages on a channel. gRPC makes its connection, and makes it again."""

    def __init__(self, options: RemoteOptions, ids: IdSource) -> None:
        super().__init__(options, ids)
        self._channel = open_async_channel(options)
        self._stubs: dict[str, Any] = {}
        """What sends the calls of a method, by its path."""

    async def _ask(self, method: Method, message: Any, timeout: float | None) -> Any:
        stub = self._stub(method)
        metadata = self.options.request_metadata
        return await self.awaited(stub(message, metadata=metadata, timeout=timeout))

    def stream(self, method: Method, message: Any) -> AsyncGrpcStream:
        """Return the messages of an answer, which are read one by one."""
        self.check_open()
        metadata = self.options.request_metadata
        return AsyncGrpcStream(self, self._stub(method)(message, metadata=metadata))

    async def read(self, call: Any) -> Any:
        """Return the next message of a call; None at its end."""
        message = await self.awaited(call.read())
        return None if message is grpc.aio.EOF else message

    def write_stream(self) -> Any:
        """Return a new stream of writes."""
        self.check_open()
        stub = self._stubs.get(WRITE_STREAM)
        if stub is None:
            stub = self._stubs[WRITE_STREAM] = self._channel.stream_stream(
                WRITE_STREAM, WRITE_BATCH.SerializeToString, WRITE_OUTCOMES.FromString
            )
        return stub(metadata=self.options.metadata)

    def _stub(self, method: Method) -> Any:
        stub = self._stubs.get(method.path)
        if stub is None:
            channel = self._channel
            make = channel.unary_unary if method.shape == "unary" else channel.unary_stream
            stub = self._stubs[method.path] = make(
                method.path, method.request.SerializeToString, method.response.FromString
            )
        return stub

    async def awaited(self, answer: Any) -> Any:
        """Return what a call gives; raise errors of ours.

        A call that was cancelled here, perhaps with its channel, looks like a cancelled task.
        """
        try:
            return await answer
        except grpc.RpcError as error:
            raise self._translated(error) from error
        except (grpc.aio.UsageError, asyncio.InvalidStateError) as error:
            raise StoreClosed from error
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            if self.is_closed:
                raise StoreClosed from error
            raise ConnectionLost(f"a call to {self.place} was cancelled") from error

    def _translated(self, error: grpc.RpcError) -> MemorandaError:
        return StoreClosed() if self.is_closed else translated(error, self.place)

    async def _close(self) -> None:
        await self._channel.close()


class AsyncGrpcStream(AsyncMessageStream):
    """A call whose answer is a stream; gRPC cancels it once nobody has it."""

    def __init__(self, connection: AsyncGrpcConnection, call: Any) -> None:
        self._connection = connection
        self._call = call

    async def read(self) -> Any:
        """Return the next message; None at the end."""
        return await self._connection.read(self._call)

    def cancel(self) -> None:
        """End the call."""
        self._call.cancel()
