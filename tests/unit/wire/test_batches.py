"""Batches of writes, and of their outcomes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memoranda import InvalidInput, NotFound
from memoranda.calls.call import WriteCall, call_name
from memoranda.calls.key_writes import Write
from memoranda.calls.memory_writes import Touch
from memoranda.calls.registry import WRITES
from memoranda.model.receipt import Receipt
from memoranda.wire import batches, codec
from memoranda.wire.methods import METHODS, WRITE_BATCH, WRITE_OUTCOMES
from tests.unit.wire.samples import Sampler
from tests.unit.wire.test_round_trips import through_bytes

RECEIPT = Receipt(commit_ts=3, committed_at=datetime(2026, 2, 7, tzinfo=UTC), outcome="created")


def test_every_write_can_be_part_of_one() -> None:
    assert set(batches.WRITE_KINDS.values()) == set(WRITES)
    assert {method.kind for method in METHODS.values() if method.is_write} == set(WRITES)
    assert all(issubclass(kind, WriteCall) for kind in WRITES)


def test_writes_arrive_with_their_numbers() -> None:
    calls: dict[int, Any] = {
        number: Sampler("x").call(kind) for number, kind in enumerate(WRITES, 2**64 - len(WRITES))
    }
    requests = {
        number: codec.request_of(call, acting_agent="a", is_named=False)
        for number, call in calls.items()
        if call_name(type(call)) != "commit"  # it says itself whether it is named
    }
    traces = {number: f"trace {number}" for number in requests if number % 2}
    batch = through_bytes(batches.write_batch(requests.items(), store="acme", traces=traces))
    assert isinstance(batch, WRITE_BATCH)
    assert batch.store == "acme"
    arrived = [*batches.writes_in(batch)]
    assert [number for number, _, _ in arrived] == [*requests]
    for number, request, traceparent in arrived:
        assert traceparent == traces.get(number, "")
        assert codec.call_of(request) == calls[number].plain()
        assert (request.acting_agent, codec.is_named(request)) == ("a", False)


def test_outcomes_arrive_with_their_numbers() -> None:
    error = NotFound("there is no memory 'm'", field="memory_id")
    message = batches.write_outcomes([(7, Write, RECEIPT), (3, Touch, error), (9, Write, RECEIPT)])
    assert isinstance(message, WRITE_OUTCOMES)
    first, second, third = batches.outcomes_in(through_bytes(message))
    assert (first, third) == ((7, RECEIPT), (9, RECEIPT))
    number, arrived = second
    assert (number, type(arrived), str(arrived)) == (3, NotFound, str(error))


def test_what_is_no_write_is_known_by_its_number() -> None:
    batch = WRITE_BATCH(writes=[{"id": 4}])
    assert [*batches.writes_in(batch)] == [(4, None, "")]


@pytest.mark.parametrize("outcome", [{"id": 4}, {"id": 4, "error": {"attributes": b"{"}}])
def test_what_is_no_outcome_is_refused(outcome: Any) -> None:
    with pytest.raises(InvalidInput):
        batches.outcomes_in(WRITE_OUTCOMES(outcomes=[outcome]))
