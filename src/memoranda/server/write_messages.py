"""Batches of writes in the messages of `memoranda.v1`, to and from a client's queue."""

from __future__ import annotations

import asyncio
from typing import Any

from memoranda.errors import InvalidInput, MemorandaError
from memoranda.model.trace import TraceContext, current_trace
from memoranda.server.call_messages import LARGE_BYTES, Envelope, Messages, parsed
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.write_queue import MAX_WRITES, QueuedWrite, WriteQueue
from memoranda.wire import codec
from memoranda.wire.batches import writes_in
from memoranda.wire.methods import WRITE_BATCH

Refused = list[tuple[int, MemorandaError]]
"""The numbers of invalid writes, with their errors."""


async def put_batch(queue: WriteQueue, envelope: Envelope) -> int:
    """Queue the writes of a batch, and return how many outcomes it will have."""
    if len(envelope.data) < LARGE_BYTES:
        store, writes, refused = _decoded(envelope)
    else:
        store, writes, refused = await asyncio.to_thread(_decoded, envelope)
    await queue.put(store, writes, len(envelope.data), refused)
    return len(writes) + len(refused)


def _decoded(envelope: Envelope) -> tuple[str, list[QueuedWrite], Refused]:
    """Return the store and the writes of a batch; invalid writes are refused."""
    batch = parsed(WRITE_BATCH, envelope.data)
    if len(batch.writes) > MAX_WRITES:
        raise InvalidInput(
            "writes",
            f"has {len(batch.writes)} writes, and the limit is {MAX_WRITES}: send several batches",
        )
    writes: list[QueuedWrite] = []
    refused: Refused = []
    for number, message, traceparent in writes_in(batch):
        try:
            writes.append(_queued(envelope.caller, number, message, traceparent))
        except MemorandaError as error:
            refused.append((number, error))
    return envelope.store_named(batch.store), writes, refused


def _queued(caller: Caller, number: int, message: Any, traceparent: str) -> QueuedWrite:
    if message is None:
        raise InvalidInput("writes", f"write {number} has no call that is known here")
    call: Any = codec.call_of(message)
    trace = TraceContext.parse(traceparent) if traceparent else current_trace()
    acting = caller.acting(message.acting_agent)
    return QueuedWrite(number, acting, call, codec.is_named(message), trace)


async def answer_batch(dispatcher: Dispatcher, envelope: Envelope) -> Messages:
    """Yield the outcomes of one batch as they are known; it is metered as a stream of writes is.

    When the client disconnects, undecided writes are withdrawn.
    """
    with dispatcher.admit(envelope.caller, "stream") as admission:
        queue = WriteQueue(dispatcher, envelope.caller, admission)
        try:
            missing = await put_batch(queue, envelope)
            while missing:
                message = await queue.take()
                yield message.data
                queue.note_sent(message)
                missing -= message.count
        finally:
            await queue.close()
