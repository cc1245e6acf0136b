"""Replay in stored bytes: what is sent as it is stored decodes to what a replay shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import ALL_AGENTS, ALL_NAMESPACES, Signer, Store
from memoranda.log.read.feed import Feed, Start
from memoranda.log.read.replay import Bounds, Replay, decode_stored
from memoranda.log.read.visibility import Selection
from memoranda.model.coverage import Coverage
from memoranda.model.event import ReplayEvent, StoredEvent
from memoranda.model.operations import OperationType
from memoranda.testing import FixedClock, FixedIds
from tests.cores import core_of
from tests.signed_requests import client_of

Page = list[StoredEvent | ReplayEvent]
AGENTS, NAMESPACES = ("a", "b", ALL_AGENTS), ("default", "team/x", ALL_NAMESPACES)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    path = tmp_path / "store.db"
    with memoranda.open(path, clock=FixedClock(), ids=FixedIds(), durability="relaxed") as store:
        fill(store)
        yield store


def fill(store: Store) -> None:
    """Write events of one scope and of several, small and large ones."""
    a, b = store.bind(agent_id="a"), store.bind(agent_id="b")
    for number in range(5):
        a.write(key=f"k{number}", value={"n": number})
        b.write(key=f"k{number}", value={"n": number}, namespace="team/x")
    with a.begin_transaction() as small:
        small.write(key="both", value={"whose": "a"})
        small.write(key="both", value={"whose": "b"}, agent_id="b")
        small.remember("only a may know this", visibility="private")
    with b.begin_transaction() as large:
        for number in range(40):  # enough for the index to have the spans of each scope
            large.write(key=f"l{number}", value={"n": number}, agent_id="ab"[number % 4 == 0])
            large.write(key=f"m{number}", value={"n": number}, namespace="team/x")
    a.remember("the sky is blue", title="sky", namespace="team/x")
    a.remember("the sky is blue", title="sky", namespace="team/x", txn_id="without effect")
    a.write(key="k0", value={"n": 0})
    b.write(key="k0", value={"n": 0})


def replayed(store: Store, selection: Selection, **bounds: Any) -> list[ReplayEvent]:
    core = core_of(store)
    replay = Replay(core.engine, core.log_id, selection, Bounds(**bounds))
    return [event for page in iter(replay.next_page, []) for event in page]


def stored(store: Store, selection: Selection, **bounds: Any) -> Page:
    core = core_of(store)
    replay, events = Replay(core.engine, core.log_id, selection, Bounds(**bounds)), Page()
    while replay.at < replay.through:
        events.extend(replay.next_stored_stretch())
    return events


def decoded(store: Store, events: Page) -> list[ReplayEvent]:
    log_id = core_of(store).log_id
    return [
        decode_stored(event, log_id) if isinstance(event, StoredEvent) else event
        for event in events
    ]


def kinds_of(events: Page) -> set[type]:
    return {*map(type, events)}


@pytest.mark.parametrize("agent_id", AGENTS)
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_stored_bytes_decode_to_the_replay(store: Store, agent_id: Any, namespace: Any) -> None:
    selection = Selection(agent_id=agent_id, namespace=namespace)
    events = stored(store, selection)
    assert decoded(store, events) == replayed(store, selection) != []
    assert kinds_of(events) == {StoredEvent}


@pytest.mark.parametrize(
    "options",
    [
        {"kinds": frozenset([OperationType.WRITE])},
        {"prefix": "k"},
        {"viewer": "b"},
        {"coverage": Coverage(frozenset("a"), None)},
    ],
)
def test_what_has_to_be_looked_at_is_decoded(store: Store, options: dict[str, Any]) -> None:
    selection = Selection(agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES, **options)
    events = stored(store, selection)
    assert events == replayed(store, selection) != []
    assert kinds_of(events) == {ReplayEvent}


def test_an_agent_gets_its_own_events_as_they_are_stored(store: Store) -> None:
    selection = Selection(agent_id="a", namespace="default", viewer="a")
    events = stored(store, selection)
    assert decoded(store, events) == replayed(store, selection) != []
    assert kinds_of(events) == {StoredEvent}


def test_bounds_are_those_of_the_replay(store: Store) -> None:
    selection = Selection(agent_id="a", namespace="default")
    bounds = {"after_commit": 3, "through_commit": 9}
    events = stored(store, selection, **bounds)
    assert decoded(store, events) == replayed(store, selection, **bounds)
    assert [event.commit_ts for event in events] == [5, 7, 9]


def erase_a_key(store: Store) -> None:
    store.forget(agent_id="a", key="both", reason="asked to")


def erase_an_agent(store: Store) -> None:
    store.forget(whole_agent="b", reason="asked to")


def compact(store: Store) -> None:
    store.compact(namespace="default", before=core_of(store).head(), confirm=True)


@pytest.mark.parametrize("change", [erase_a_key, erase_an_agent, compact])
@pytest.mark.parametrize("agent_id", AGENTS)
def test_what_was_erased_is_decoded(
    store: Store, change: Callable[[Store], None], agent_id: Any
) -> None:
    change(store)
    selection = Selection(agent_id=agent_id, namespace=ALL_NAMESPACES)
    events = stored(store, selection)
    assert decoded(store, events) == replayed(store, selection)
    kinds = {kind.__name__ for kind in kinds_of(events)}
    assert "ReplayEvent" in kinds or (agent_id, change) == ("b", erase_an_agent)
    for event in events:
        if isinstance(event, StoredEvent):
            part_of_event = decode_stored(event, "")
            assert all(part.type is not OperationType.ERASED for part in part_of_event.operations)


def test_signatures_are_shown(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "signed.db", clock=FixedClock(), ids=FixedIds()) as store:
        key = Signer("a", b"1" * 32)
        store.bind(agent_id="a", signer=key).write(key="k", value={"n": 1})
        client_of(store, "a", key).write(key="k", value={"n": 2})
        selection = Selection(agent_id="a", namespace="default")
        events = stored(store, selection)
        assert decoded(store, events) == replayed(store, selection)
        assert kinds_of(events) == {StoredEvent}
        levels = [event.attest_level for event in decoded(store, events)]
        assert levels == ["self-signed", "request-signed"]


def test_a_feed_gives_stored_events(store: Store) -> None:
    core, selection = core_of(store), Selection(agent_id="b", namespace="team/x")
    feed = Feed(core.engine, core.log_id, selection, Start(last=2))
    events = Page()
    while not feed.caught_up:
        events.extend(feed.next_stored_page())
    assert decoded(store, events) == replayed(store, selection)[-2:]
    assert kinds_of(events) == {StoredEvent}
