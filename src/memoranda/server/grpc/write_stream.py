"""The stream of writes: a client sends batches, and gets each outcome when it is known."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import grpc

from memoranda.server.call_messages import Envelope
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.grpc.calls import Read
from memoranda.server.grpc.gate import Context, Endpoint
from memoranda.server.grpc.status import ShuttingDown
from memoranda.server.write_messages import put_batch
from memoranda.server.write_queue import WriteQueue
from memoranda.wire.methods import WRITE_STREAM


def write_stream_endpoints(dispatcher: Dispatcher, draining: asyncio.Event) -> dict[str, Endpoint]:
    """Return the stream of writes; when the server is draining, it answers what it has taken."""

    async def serve(caller: Caller, context: Context, _: Read) -> None:
        with dispatcher.admit(caller, "stream") as admission:
            await context.send_initial_metadata(())  # a client sends nothing before
            stream = _WriteStream(context, caller, WriteQueue(dispatcher, caller, admission))
            await stream.serve(draining)

    return {WRITE_STREAM: Endpoint(WRITE_STREAM, serve, streams=True, ends_itself=True)}


class _WriteStream:
    """One stream of a client."""

    def __init__(self, context: Context, caller: Caller, queue: WriteQueue) -> None:
        self._context = context
        self._caller = caller
        self._queue = queue

    async def serve(self, draining: asyncio.Event) -> None:
        """Read batches and send outcomes until the client ends the stream, or the server does."""
        receiving = asyncio.ensure_future(self._receive())
        sending = asyncio.ensure_future(self._send())
        stopping = asyncio.ensure_future(draining.wait())
        answered = asyncio.ensure_future(self._answered(receiving, stopping))
        tasks = (answered, sending, receiving, stopping)
        try:
            await asyncio.wait((answered, sending), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():  # by an error, as it does not end by itself
                sending.result()
            answered.result()
        finally:
            await self._end(tasks)

    async def _answered(self, receiving: asyncio.Task[None], stopping: asyncio.Future[Any]) -> None:
        """Wait until every accepted write is answered; raise the error that ends the stream."""
        await asyncio.wait((receiving, stopping), return_when=asyncio.FIRST_COMPLETED)
        has_ended = receiving.done()
        if not has_ended:
            receiving.cancel()
            await asyncio.wait((receiving,))
        await self._queue.answered()
        if not has_ended:
            raise ShuttingDown
        receiving.result()

    async def _end(self, tasks: Sequence[asyncio.Future[Any]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.exception()  # it was raised, or came too late
        await self._queue.close()

    async def _receive(self) -> None:
        while (data := await self._context.read()) is not grpc.aio.EOF:
            await put_batch(self._queue, Envelope(self._caller, data))

    async def _send(self) -> None:
        while True:
            message = await self._queue.take()
            await self._context.write(message.data)
            self._queue.note_sent(message)
