"""Events arrive as a replay gives them: from stored bytes, or as fields for other clients."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memoranda import InvalidInput, Store
from memoranda.calls.grant import EVERYTHING
from memoranda.calls.log import Replay
from memoranda.calls.registry import handle
from memoranda.calls.subscriptions import Subscribe
from memoranda.model.codec import encode
from memoranda.model.event import Envelope, ReplayEvent, StoredEvent
from memoranda.testing import memory_store
from memoranda.wire import codec
from memoranda.wire.events import event_page
from memoranda.wire.methods import METHOD_OF
from tests.cores import core_of
from tests.unit.wire.test_round_trips import through_bytes


def written(store: Store) -> list[ReplayEvent]:
    agent = store.bind(agent_id="a")
    memory = agent.remember("Ann lives in Bonn", title="t", tags=["x"])
    agent.write(key="k", value={"n": 1, "deep": {"x": [None]}}, because=memory)
    agent.assert_fact(subject="Ann", relation="lives in", object="Bonn", source=memory)
    agent.delete(key="k")
    agent.forget(key="k", reason="asked")
    return [*agent.replay()]


def stored_events(store: Store) -> list[StoredEvent | ReplayEvent]:
    replay: Any = handle(core_of(store), EVERYTHING, Replay("a", "default"))
    events: list[StoredEvent | ReplayEvent] = []
    while replay.at < replay.through:
        events += replay.next_stored_stretch()
    return events


def test_stored_events_are_those_of_the_replay() -> None:
    with memory_store() as store:
        events, log_id = written(store), core_of(store).log_id
        stored = stored_events(store)
        page = event_page(stored, log_id=log_id, bound=7, caught_up=True, stored=True)
    assert {type(event) for event in stored} == {StoredEvent, ReplayEvent}  # one was erased
    arrived = through_bytes(page)
    assert (arrived.bound, arrived.caught_up, arrived.log_id) == (7, True, log_id)
    for kind in (Replay, Subscribe):
        assert codec.items_of(kind, arrived) == events
    assert METHOD_OF[Replay].response is METHOD_OF[Subscribe].response is type(page)


def test_other_clients_get_operations_as_fields() -> None:
    with memory_store() as store:
        events, log_id = written(store), core_of(store).log_id
        page = through_bytes(event_page(stored_events(store), log_id=log_id, bound=7))
    assert len(page.events) == len(events)
    for message, event in zip(page.events, events, strict=True):
        assert (message.txn_id, message.actor) == (event.txn_id, event.actor)
        assert (message.commit_ts, message.hash) == (event.commit_ts, event.hash)
        assert not message.HasField("stored_operations")
        for part, operation in zip(message.operations, event.operations, strict=True):
            assert part.type == operation.type.value
            assert (part.namespace, part.agent_id) == (operation.namespace, operation.agent_id)
            assert (part.key, part.version) == (operation.key, operation.version)
            value = msgspec.json.decode(part.value) if part.HasField("value") else None
            assert value == operation.value
    with pytest.raises(InvalidInput, match=r"^events: .*ask for them with `stored`"):
        codec.items_of(Replay, page)


def test_bytes_that_are_no_operations_are_refused() -> None:
    envelope = encode(Envelope("t", "a", b""))
    event = StoredEvent(1, 1, b"\0" * 32, envelope, b"\xc1")
    page = through_bytes(event_page([event], log_id="log", bound=1, stored=True))
    with pytest.raises(InvalidInput, match=r"^events: .*not understood"):
        codec.items_of(Replay, page)


def test_the_first_page_may_be_empty() -> None:
    page = through_bytes(event_page([], log_id="log", bound=9, stored=True))
    assert codec.items_of(Replay, page) == []
    assert page.bound == 9
