"""Times and lengths of time: every call takes the same forms."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from memoranda import InvalidInput, Memory, Store
from memoranda.testing import FixedClock

DAY = datetime(2020, 3, 14, tzinfo=UTC)
SAME_INSTANT: list[tuple[Any, datetime]] = [
    (DAY, DAY),
    (datetime(2020, 3, 14, 1, tzinfo=timezone(timedelta(hours=1))), DAY),
    ("2020-03-14T00:00:00Z", DAY),
    ("2020-03-13t22:30:00-01:30", DAY),
    (date(2020, 3, 14), DAY),
    ("2020-03-14", DAY),
    ("2020-03", datetime(2020, 3, 1, tzinfo=UTC)),
    ("2020", datetime(2020, 1, 1, tzinfo=UTC)),
]
"""What callers write, and the instant it is."""
NO_TIME: list[tuple[Any, str]] = [
    (datetime(2020, 3, 14), "no offset"),  # noqa: DTZ001
    ("2020-03-14T10:00:00", "with an offset"),
    ("2020-3-14", "such as 2026-02-07"),
    ("20200314", "such as 2026-02-07"),
    ("2020-13", "is not a time"),
    ("0000", "is not a time"),
    ("", "such as 2026-02-07"),
    (True, "True is"),
    (1.5, "neither"),
]
"""What is refused, and a part of the remedy."""


def _fact(store: Store, **times: Any) -> Any:
    return store.assert_fact(subject="Ann", relation="lives in", object="Oslo", **times)


TAKES_A_TIME: dict[str, Callable[[Store, Any], object]] = {
    "assert_fact.valid_from": lambda store, time: _fact(store, valid_from=time),
    "assert_fact.valid_to": lambda store, time: _fact(store, valid_from="1999", valid_to=time),
    "end_fact.at": lambda store, time: (
        _fact(store, valid_from="1999"),
        store.end_fact(subject="Ann", relation="lives in", at=time),
    ),
    "facts.valid_at": lambda store, time: store.facts(valid_at=time),
    "facts.known_at": lambda store, time: store.facts(known_at=time),
    "timeline.known_at": lambda store, time: store.timeline(
        subject="Ann", relation="lives in", known_at=time
    ),
    "neighbors.valid_at": lambda store, time: (
        _fact(store, valid_from="1999"),
        store.neighbors("Ann", valid_at=time),
    ),
    "remember.event_time": lambda store, time: store.remember("x", event_time=time),
    "get_memory.at": lambda store, time: store.get_memory("m", at=time),
    "list_memories.created_after": lambda store, time: list(
        store.list_memories(created_after=time)
    ),
    "list_memories.created_before": lambda store, time: list(
        store.list_memories(created_before=time)
    ),
    "list_memories.at": lambda store, time: list(store.list_memories(at=time)),
    "recall.valid_at": lambda store, time: store.recall("x", valid_at=time),
    "recall.known_at": lambda store, time: store.recall("x", known_at=time),
    "store_transcript.occurred_at": lambda store, time: store.store_transcript(
        "x", occurred_at=time
    ),
    "get_state.at": lambda store, time: store.get_state(key="k", at=time),
    "list_keys.at": lambda store, time: list(store.list_keys(at=time)),
    "history.since": lambda store, time: list(store.history(key="k", since=time)),
    "replay.from_timestamp": lambda store, time: list(store.replay(from_timestamp=time)),
    "replay.to_timestamp": lambda store, time: list(store.replay(to_timestamp=time)),
}


@pytest.mark.parametrize("name", TAKES_A_TIME)
def test_every_call_takes_every_form_of_a_time(agent: Store, name: str) -> None:
    for time, _ in SAME_INSTANT:
        TAKES_A_TIME[name](agent, time)


@pytest.mark.parametrize("name", TAKES_A_TIME)
def test_no_call_takes_what_is_no_time(agent: Store, name: str) -> None:
    argument = name.partition(".")[2]
    for time, remedy in NO_TIME:
        with pytest.raises(InvalidInput, match=remedy) as refusal:
            TAKES_A_TIME[name](agent, time)
        assert refusal.value.field == argument


@pytest.mark.parametrize(("time", "instant"), SAME_INSTANT)
def test_a_date_is_its_first_instant_in_utc(agent: Store, time: Any, instant: datetime) -> None:
    assert agent.remember("x", event_time=time).event_time == instant
    _fact(agent, valid_from=time)
    (fact,) = agent.facts(valid_at=time)
    assert fact.valid_from == instant
    assert not agent.facts(valid_at=instant - timedelta(microseconds=1))


@pytest.mark.slow
def test_an_end_given_as_a_day_leaves_that_day_out(agent: Store, clock: FixedClock) -> None:
    _fact(agent, valid_from="2020-03-01", valid_to="2020-03-14")
    assert agent.facts(valid_at="2020-03-13T23:59:59.999999Z")
    assert not agent.facts(valid_at=date(2020, 3, 14))
    assert clock.now() == 1_767_225_600_000_000  # 2026-01-01
    agent.write(key="k", value={})
    agent.remember("x")
    assert not list(agent.replay(to_timestamp="2026"))
    assert len(list(agent.replay(from_timestamp="2026", to_timestamp="2026-02"))) == 3
    assert not list(agent.list_memories(created_before=date(2026, 1, 1)))
    assert list(agent.list_memories(created_after="2026-01", created_before="2026-01-02"))


def test_text_is_a_time_and_a_number_is_a_commit(agent: Store) -> None:
    agent.write(key="k", value={})
    assert agent.get_state(key="k", at=2020) is not None
    assert agent.get_state(key="k", at="2020") is None


LENGTHS: list[tuple[Any, timedelta]] = [
    ("30s", timedelta(seconds=30)),
    ("1.5s", timedelta(seconds=1.5)),
    ("15m", timedelta(minutes=15)),
    ("6h", timedelta(hours=6)),
    ("1d", timedelta(days=1)),
    ("2w", timedelta(weeks=2)),
    ("1w2d", timedelta(days=9)),
    ("1d2h3m4s", timedelta(days=1, hours=2, minutes=3, seconds=4)),
    ("90", timedelta(seconds=90)),
    (90, timedelta(seconds=90)),
    (0.5, timedelta(seconds=0.5)),
    (timedelta(days=2), timedelta(days=2)),
]
NO_LENGTH: list[Any] = [
    "",
    "d",
    "1 d",
    "1y",
    "2d1w",
    "1d1d",
    "-1d",
    "0s",
    0,
    -1,
    float("nan"),
    True,
    "9" * 60 + "w",
    "1d" * 100,
    "10000000001",
    [],
    "never",
]


def _lifetime(memory: Memory) -> timedelta:
    assert memory.expires_at is not None
    assert memory.updated_at is not None
    return memory.expires_at - memory.updated_at


@pytest.mark.parametrize(("length", "means"), LENGTHS)
def test_every_call_takes_every_form_of_a_length_of_time(
    agent: Store, length: Any, means: timedelta
) -> None:
    assert _lifetime(agent.remember("x", ttl=length)) == means
    transcript = agent.store_transcript("x", ttl=length)
    assert transcript.expires_at is not None
    assert transcript.expires_at - transcript.created_at == means
    agent.configure(tiers={"short": length}, transcript_retention=length, log_retention=length)
    assert _lifetime(agent.remember("x", tier="short")) == means
    assert agent.sweep(expired_for=length) is None


@pytest.mark.parametrize("length", NO_LENGTH, ids=repr)
def test_what_is_no_length_of_time_is_refused(agent: Store, length: Any) -> None:
    calls: dict[str, Callable[[], object]] = {
        "ttl": lambda: agent.remember("x", ttl=length),
        "tiers.short": lambda: agent.configure(tiers={"short": length}),
        "transcript_retention": lambda: agent.configure(transcript_retention=length),
        "log_retention": lambda: agent.configure(log_retention=length),
        "expired_for": lambda: agent.sweep(expired_for=length),
    }
    for field, call in calls.items():
        with pytest.raises(InvalidInput) as refusal:
            call()
        assert refusal.value.field == field
    assert not list(agent.list_memories())
