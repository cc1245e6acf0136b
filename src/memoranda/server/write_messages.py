"""Batches of writes in the messages of `memoranda.v1`: into a client's queue, and out of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from memoranda.errors import InvalidInput, MemorandaError
from memoranda.server.call_messages import LARGE_BYTES, PAGE_BYTES, Envelope, Messages, parsed
from memoranda.server.dispatcher import Caller, Dispatcher
from memoranda.server.write_queue import QueuedWrite, WriteOutcome, WriteQueue
from memoranda.wire import codec
from memoranda.wire.batches import write_outcomes, writes_in
from memoranda.wire.methods import WRITE_BATCH

MAX_OUTCOMES = 512
"""Outcomes in a message."""


async def put_batch(queue: WriteQueue, envelope: Envelope) -> int:
    """Queue the writes of a batch, and return how many outcomes it will have."""
    if len(envelope.data) < LARGE_BYTES:
        store, writes, refused = _decoded(envelope)
    else:
        store, writes, refused = await asyncio.to_thread(_decoded, envelope)
    await queue.put(store, writes, len(envelope.data), refused)
    return len(writes) + len(refused)


def _decoded(envelope: Envelope) -> tuple[str, list[QueuedWrite], list[WriteOutcome]]:
    """Return the store and the writes of a batch; those that are not understood are refused."""
    batch = parsed(WRITE_BATCH, envelope.data)
    writes: list[QueuedWrite] = []
    refused: list[WriteOutcome] = []
    for number, message in writes_in(batch):
        try:
            writes.append(_queued(envelope.caller, number, message))
        except MemorandaError as error:
            refused.append(WriteOutcome(number, None, error))
    return envelope.store_named(batch.store), writes, refused


def _queued(caller: Caller, number: int, message: Any) -> QueuedWrite:
    if message is None:
        raise InvalidInput("writes", f"write {number} has no call that is known here")
    call: Any = codec.call_of(message)
    return QueuedWrite(number, caller.acting(message.acting_agent), call, codec.is_named(message))


def outcome_messages(outcomes: Sequence[WriteOutcome]) -> Iterator[bytes]:
    """Yield messages with outcomes, each of which is not much larger than a page should be."""
    message = write_outcomes((part.number, part.kind, part.outcome) for part in outcomes)
    if len(outcomes) > 1 and message.ByteSize() > PAGE_BYTES:
        middle = len(outcomes) // 2
        yield from outcome_messages(outcomes[:middle])
        yield from outcome_messages(outcomes[middle:])
    else:
        yield message.SerializeToString()


async def answer_batch(dispatcher: Dispatcher, envelope: Envelope) -> Messages:
    """Yield the outcomes of one batch as they are known; it is metered as a stream of writes is.

    Whatever is undecided when its client goes is withdrawn.
    """
    with dispatcher.admit(envelope.caller, "stream") as admission:
        queue = WriteQueue(dispatcher, envelope.caller, admission)
        try:
            missing = await put_batch(queue, envelope)
            while missing:
                outcomes = await queue.take(MAX_OUTCOMES)
                for data in outcome_messages(outcomes):
                    yield data
                queue.note_sent(len(outcomes))
                missing -= len(outcomes)
        finally:
            await queue.close()
