"""Denials are counted, and audited in the control store, with ids only and not too many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import Unauthenticated
from memoranda.log.commit.refusals import AUTHENTICATION, MAX_NOTES, PERMISSION, WINDOW_SECONDS
from memoranda.model.operations import AUDIT_SCOPE
from memoranda.server import control_store
from memoranda.server.control_store import ControlStore
from memoranda.testing import FixedClock
from tests.patience import wait_until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "_control.db"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def control(path: Path, clock: FixedClock) -> Iterator[ControlStore]:
    with ControlStore(path, clock=clock) as store:
        yield store


def recorded(path: Path) -> list[dict[str, Any]]:
    with memoranda.open(path) as store:
        events = store.replay(agent_id=AUDIT_SCOPE.agent_id, namespace=AUDIT_SCOPE.namespace)
        return [dict(part.value or {}) for event in events for part in event.operations]


def test_a_denial_is_recorded_with_ids_only(control: ControlStore, path: Path) -> None:
    secret, token = control.tokens.create(store="acme", agent="a1")
    control.denials.denied(token.id, "verify", "acme")
    control.tokens.revoke(token.id)
    wrong = f"mmr_{token.id}_{'x' * 43}"
    for presented in (secret, wrong, "nonsense"):
        with pytest.raises(Unauthenticated):
            control.tokens.authenticate(presented)
    control.denials.write()
    assert recorded(path) == [
        {"what": PERMISSION, "by": token.id, "about": ["verify", "acme"], "left_out": 0},
        {"what": AUTHENTICATION, "by": token.id, "about": ["revoked"], "left_out": 0},
        {"what": AUTHENTICATION, "by": "unknown", "about": ["unknown"], "left_out": 0},
        {"what": AUTHENTICATION, "by": "unknown", "about": ["unknown"], "left_out": 0},
    ]
    assert control.denials.counts == {PERMISSION: 1, AUTHENTICATION: 3}
    with memoranda.open(path) as store:
        kinds = [event.event_type for event in store.audit_events(event_type=PERMISSION)]
    assert kinds == [PERMISSION]


def test_at_most_ten_a_minute_are_recorded_for_each_token(
    control: ControlStore, path: Path, clock: FixedClock
) -> None:
    tokens = [control.tokens.create(store=None)[1] for _ in range(2)]
    for _ in range(MAX_NOTES + 5):
        for token in tokens:
            control.denials.denied(token.id, "verify")
    control.denials.write()
    assert len(recorded(path)) == 2 * MAX_NOTES
    clock.advance(WINDOW_SECONDS)
    control.denials.denied(tokens[0].id, "verify")
    control.denials.write()
    assert recorded(path)[-1]["left_out"] == 5
    assert control.denials.counts[PERMISSION] == 2 * (MAX_NOTES + 5) + 1


def test_strangers_share_one_count(control: ControlStore, path: Path) -> None:
    for number in range(1000):
        with pytest.raises(Unauthenticated):
            control.tokens.authenticate(f"mmr_{number}_{'x' * 43}")
    control.denials.write()
    assert [note["by"] for note in recorded(path)] == ["unknown"] * MAX_NOTES


def test_what_was_only_counted_is_recorded_when_the_server_ends(
    path: Path, clock: FixedClock
) -> None:
    with ControlStore(path, clock=clock) as control:
        _, token = control.tokens.create(store=None)
        for _ in range(MAX_NOTES + 7):
            control.denials.denied(token.id, "verify")
    assert recorded(path)[-1] == {
        "what": PERMISSION, "by": token.id, "about": [], "left_out": 7,
    }  # fmt: skip


def test_a_failure_to_write_is_made_up_for(
    control: ControlStore, path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, token = control.tokens.create(store=None)
    with monkeypatch.context() as failing:

        def fail(*_: object) -> None:
            raise memoranda.StoreFull

        failing.setattr(type(control.core.committer), "commit", fail)
        control.denials.denied(token.id, "verify")
        control.denials.write()
    assert recorded(path) == []
    control.denials.denied(token.id, "verify")
    control.denials.write()
    assert [note["left_out"] for note in recorded(path)] == [1]


def test_a_running_server_writes_by_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_store, "POLL_SECONDS", 0.01)
    with ControlStore(path) as control:
        control.start()
        control.denials.denied(None, "verify")
        wait_until(lambda: len(recorded(path)) == 1)
