"""Settings: by namespace, inherited, and never retroactive."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoranda import InvalidInput, ReflectionTooDeep, Store
from memoranda.testing import FixedClock

START = datetime(2026, 1, 1, tzinfo=UTC)


def lifetime(store: Store, namespace: str, tier: str, clock: FixedClock) -> timedelta | None:
    clock.step(1)
    memory = store.remember("x", namespace=namespace, tier=tier)
    assert memory.created_at is not None
    return None if memory.expires_at is None else memory.expires_at - memory.created_at


def test_what_is_set_above_holds_below_unless_set_there(agent: Store, clock: FixedClock) -> None:
    agent.configure(namespace="team", tiers={"short": 60, "long": timedelta(days=1)})
    agent.configure(namespace="team/eng/db", tiers={"short": None})
    expected = {
        ("team", "short"): timedelta(minutes=1),
        ("team/eng", "short"): timedelta(minutes=1),
        ("team/eng", "long"): timedelta(days=1),
        ("team/eng/db", "short"): None,
        ("team/eng/db/x", "short"): None,
        ("team/eng/db", "long"): timedelta(days=1),
        ("team/eng", "mid"): timedelta(days=7),
        ("teams", "short"): timedelta(hours=6),
    }
    for (namespace, tier), length in expected.items():
        assert lifetime(agent, namespace, tier, clock) == length, (namespace, tier)


def test_it_is_not_retroactive(agent: Store, clock: FixedClock) -> None:
    memory = agent.remember("x", tier="short")
    transcript = agent.store_transcript("x")
    agent.configure(tiers={"short": 1}, transcript_retention=1)
    result = agent.get_memory(memory.id)
    assert result is not None
    assert result.expires_at == memory.expires_at
    again = agent.get_transcript(transcript.id)
    assert again is not None
    assert again.expires_at == transcript.expires_at


def test_a_depth_is_that_of_the_deepers_namespace(agent: Store) -> None:
    agent.configure(namespace="deep", max_reflection_depth=5)
    top = agent.remember("x")
    for number in range(5):
        top = agent.reflect(str(number), on=[top.id], namespace="deep/down")
    with pytest.raises(ReflectionTooDeep, match="default"):
        agent.reflect("too deep here", on=[top.id])


def test_what_is_set_again_can_differ_and_what_does_not_is_not_logged(agent: Store) -> None:
    agent.configure(max_reflection_depth=1)
    before = agent.stats().commits
    agent.configure(max_reflection_depth=1)
    assert agent.stats().commits == before
    agent.configure(max_reflection_depth=2)
    (_, event) = agent.replay(kinds=["configure"])
    assert event.operations[0].value == {"settings": {"max_reflection_depth": 2}}
    assert event.operations[0].key == "settings:default"
    assert agent.rebuild().identical


def test_the_same_as_above_is_still_said(agent: Store, clock: FixedClock) -> None:
    agent.configure(namespace="a", tiers={"short": 10})
    agent.configure(namespace="a/b", tiers={"short": 10})
    agent.configure(namespace="a", tiers={"short": 20})
    assert lifetime(agent, "a/b", "short", clock) == timedelta(seconds=10)


def test_a_setting_holds_within_its_transaction(agent: Store) -> None:
    with agent.begin_transaction() as transaction:
        transaction.configure(tiers={"short": 60})
        memory = transaction.remember("x", tier="short")
    result = agent.get_memory(memory)
    assert result is not None
    assert result.expires_at == START + timedelta(minutes=1)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_reflection_depth": -1},
        {"max_reflection_depth": True},
        {"max_reflection_depth": None},
        {"tiers": {"forever": 1}},
        {"tiers": {"short": 0}},
        {"tiers": [("short", 1)]},
        {"transcript_retention": "30 days"},
        {"namespace": "team/_x", "max_reflection_depth": 1},
    ],
)
def test_bad_settings_are_refused(agent: Store, settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        agent.configure(**settings)
    assert list(agent.replay()) == []


def test_an_unbound_store_can_configure(store: Store) -> None:
    assert store.configure(namespace="team", max_reflection_depth=1).commit_ts == 1
