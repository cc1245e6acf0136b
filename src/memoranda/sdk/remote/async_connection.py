"""The connection of a store to its server, for one event loop."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.model.ids import IdSource
from memoranda.sdk.remote.channel import open_async_channel
from memoranda.sdk.remote.errors import ConnectionLost, translated
from memoranda.sdk.remote.options import RemoteOptions
from memoranda.sdk.remote.patience import Patience
from memoranda.wire.methods import WRITE_BATCH, WRITE_OUTCOMES, WRITE_STREAM, Method


class AsyncConnection:
    """Sends messages to a server, and tries again what a lost connection has kept from it."""

    def __init__(self, options: RemoteOptions, ids: IdSource) -> None:
        self.options = options
        self.place = str(options.url)
        self.loop = asyncio.get_running_loop()
        self.is_closed = False
        self.tasks: set[asyncio.Task[Any]] = set()
        """What runs for this connection; the loop itself would forget it."""
        self._ids = ids
        self._channel = open_async_channel(options)
        self._stubs: dict[str, Any] = {}
        """What sends the calls of a method, by its path."""

    def check_open(self) -> None:
        """Raise `StoreClosed` if it is closed."""
        if self.is_closed:
            raise StoreClosed

    def patience(self) -> Patience:
        """Return the patience of a new call."""
        return Patience(self.options.timeout, self._ids)

    async def ask(self, method: Method, message: Any, timeout: float | None = None) -> Any:
        """Return the one answer of a call; try again if the connection was lost meanwhile."""
        patience = self.patience()
        while True:
            self.check_open()
            call = self._stub(method)(message, metadata=self.options.metadata, timeout=timeout)
            try:
                return await self.awaited(call)
            except MemorandaError as error:
                await asyncio.sleep(patience.pause(error))

    def stream(self, method: Method, message: Any) -> Any:
        """Return the call whose answer is a stream; `read` returns its messages."""
        self.check_open()
        return self._stub(method)(message, metadata=self.options.metadata)

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

    def start(self, work: Any) -> asyncio.Task[Any]:
        """Run a coroutine beside the caller, for as long as the connection is open."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def close(self) -> None:
        """End the calls that are under way, and close the channel. A second call does nothing."""
        if self.is_closed:
            return
        self.is_closed = True
        await self._channel.close()
