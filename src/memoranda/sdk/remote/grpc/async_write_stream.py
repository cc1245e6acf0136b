"""The stream of writes of a store over gRPC, for one event loop.

The *sender* takes whatever tasks have added to the queue while the last batch was on its way; the
*receiver* reads outcomes and wakes tasks, and opens the stream again after a lost connection.
"""

from __future__ import annotations

import asyncio
from typing import Any

import grpc

from memoranda.errors import MemorandaError, StoreClosed
from memoranda.sdk.remote.async_write_sender import AsyncWriteSender
from memoranda.sdk.remote.errors import REFUSALS, ConnectionLost
from memoranda.sdk.remote.grpc.async_connection import AsyncGrpcConnection


class AsyncWriteStream(AsyncWriteSender):
    """Sends writes on one stream, which is opened again after a lost connection."""

    def __init__(self, connection: AsyncGrpcConnection) -> None:
        super().__init__(connection)
        self._channel = connection
        self._to_send = asyncio.Event()
        """Set when the sender may have something to do."""
        self._receiver: asyncio.Task[None] | None = None
        """None: nothing is to be sent, and no stream is open."""
        self._is_open = False
        """Whether the server has taken the call. Before, nothing is sent: if it cannot be reached,
        it is certain that no write has taken effect."""

    def _wake(self) -> None:
        self._to_send.set()
        if self._receiver is None:
            self._receiver = self._connection.start(self._receive())

    async def close(self, seconds: float) -> None:
        """Take no more writes, and wait until those on their way have outcomes, or so long."""
        self._is_closing = True
        self._to_send.set()
        if self._receiver is not None:
            await asyncio.wait((self._receiver,), timeout=seconds)
        self._queue.fail(StoreClosed())

    async def _receive(self) -> None:
        """Send and receive until a stream has ended, and nothing is left to be sent."""
        patience = self._connection.patience()
        problem: MemorandaError = MemorandaError("the task of a write stream ended unexpectedly")
        try:
            while True:
                has_answered, lost = await self._run()
                if has_answered:
                    patience.reset()
                self._queue.send_again(
                    may_be_committed=has_answered or not isinstance(lost, REFUSALS)
                )
                if self._queue.is_empty:
                    return
                problem = lost
                await asyncio.sleep(patience.pause(lost))
        except MemorandaError as error:
            problem = error
        finally:
            self._receiver = None
            self._queue.fail(problem)

    async def _run(self) -> tuple[bool, MemorandaError]:
        """Open a stream, and receive outcomes until it ends; return whether any came, and why."""
        has_answered, connection = False, self._channel
        try:
            call = connection.write_stream()
            sender = connection.start(self._send(call))
        except StoreClosed as error:
            return has_answered, error
        try:
            await connection.awaited(call.initial_metadata())
            self._is_open = not call.done()
            self._to_send.set()
            while (outcomes := await connection.read(call)) is not None:
                has_answered = True
                self._queue.settle(outcomes)
                if self._is_closing and self._queue.is_empty:
                    self._to_send.set()
        except MemorandaError as error:
            return has_answered, error
        finally:
            self._is_open = False
            sender.cancel()
            await asyncio.wait((sender,))
            call.cancel()
        return has_answered, ConnectionLost(f"{connection.place} has ended a stream of writes")

    async def _send(self, call: Any) -> None:
        """Send what is to be sent, until nothing more will be."""
        try:
            while not (self._is_closing and self._queue.is_empty):
                self._to_send.clear()
                batch = self._queue.take_batch() if self._is_open else None
                if batch is None:
                    await self._to_send.wait()
                else:
                    await call.write(batch)
                    self._to_send.set()
            await call.done_writing()
        except (grpc.RpcError, asyncio.InvalidStateError):
            return  # the receiver learns why
