"""The queue of writes of a client: how many it expects to send in one message."""

from __future__ import annotations

from memoranda.calls.key_writes import Delete
from memoranda.errors import NotFound
from memoranda.sdk.remote.writes import PendingWrite, WriteQueue
from memoranda.wire.batches import write_outcomes
from memoranda.wire.codec import request_of


def add(queue: WriteQueue, count: int) -> list[PendingWrite]:
    message = request_of(Delete("a", "default", "k"))
    writes = [PendingWrite(message, "t") for _ in range(count)]
    for pending in writes:
        queue.add(pending)
    return writes


def answer(queue: WriteQueue, writes: list[PendingWrite]) -> None:
    queue.settle(write_outcomes((one.number, Delete, NotFound("gone")) for one in writes))


def test_callers_that_were_answered_together_are_expected_together() -> None:
    queue = WriteQueue("acme")
    writes = add(queue, 3)
    assert not queue.expects_more  # nobody was answered yet
    assert len(queue.take_batch().writes) == 3
    answer(queue, writes)
    states = [queue.expects_more]
    for _ in range(3):
        add(queue, 1)
        states.append(queue.expects_more)
    assert states == [False, True, True, False]  # until all write again; perhaps none does
    assert len(queue.take_batch().writes) == 3


def test_a_caller_alone_waits_for_nobody() -> None:
    queue = WriteQueue("acme")
    for _ in range(3):
        writes = add(queue, 1)
        assert not queue.expects_more
        queue.take_batch()
        answer(queue, writes)
    assert queue.is_empty
