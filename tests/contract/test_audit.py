"""The audit trail: everything that was done, by whom, its content as a hash."""

from __future__ import annotations

import hashlib

import pytest

from memoranda import ALL_AGENTS, InvalidInput, LogForked, Store


def fill(store: Store) -> None:
    ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
    ann.write(key="k", value={"secret": "plain"})
    old = ann.remember("old", kind="reflection")
    new = bob.remember("new", kind="reflection")
    ann.reflect("d", on=[old.id])
    bob.supersede(old=old.id, new=new.id)


def test_every_operation_is_an_event(store: Store) -> None:
    fill(store)
    reports = [
        (audit_event.event_type, audit_event.agent_id) for audit_event in store.audit_events()
    ]
    assert reports == [
        ("log.epoch_begun", "ann"),
        ("state.written", "ann"),
        ("memory.stored", "ann"),
        ("memory.stored", "bob"),
        ("memory.stored", "ann"),
        ("link.created", "ann"),
        ("link.created", "bob"),
        ("reflection.invalidation_notified", "bob"),
    ]


def test_what_an_event_says(store: Store) -> None:
    fill(store)
    *_, last = store.audit_events()
    assert (last.id, last.commit_ts) == ("5.1", 5)
    assert last.timestamp == "2026-01-01T00:00:00.000004Z"
    assert (last.signature, last.attest_level) == (None, "unsigned")
    assert len(bytes.fromhex(last.payload_hash)) == 32


def test_nobody_can_confirm_a_guess_by_its_hash(store: Store) -> None:
    fill(store)
    hashes = {audit_event.payload_hash for audit_event in store.audit_events()}
    assert len(hashes) == 8
    assert hashlib.sha256(b'{"secret":"plain"}').hexdigest() not in hashes


def test_filters(store: Store) -> None:
    fill(store)
    (notified,) = store.audit_events(event_type="reflection.invalidation_notified")
    assert notified.commit_ts == 5
    assert {audit_event.agent_id for audit_event in store.audit_events(agent_id="bob")} == {"bob"}
    assert len(list(store.audit_events(agent_id=ALL_AGENTS))) == 8
    assert [audit_event.commit_ts for audit_event in store.audit_events(after_commit=4)] == [5, 5]
    (event,) = store.replay(agent_id="ann", after_commit=3, through_commit=4)
    assert len(list(store.audit_events(after_commit=event.token))) == 2
    with pytest.raises(InvalidInput, match="event_type"):
        store.audit_events(event_type="memory.dreamt")
    with pytest.raises(LogForked):
        store.audit_events(after_commit="x.1." + "00" * 32)


def test_it_ends_where_the_log_ended(store: Store) -> None:
    fill(store)
    events = store.audit_events()
    store.write(agent_id="ann", key="late", value={})
    assert len(list(events)) == 8
