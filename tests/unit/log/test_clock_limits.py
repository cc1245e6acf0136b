"""Clocks: what one can be set to, and that no commit has a time that could not be shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import memoranda
from memoranda import InvalidInput, Store
from memoranda.model.clock import LAST_MICROS, MAX_LIFETIME_SECONDS
from memoranda.testing import FixedClock

_NEW_YEAR = 1_767_225_600_000_000
_LAST_COMMIT = LAST_MICROS - MAX_LIFETIME_SECONDS * 1_000_000 - 1


@pytest.mark.parametrize(
    "now", [_NEW_YEAR, datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T01:00:00+01:00"]
)
def test_a_fixed_clock_takes_what_a_time_can_be_given_as(now: Any) -> None:
    assert FixedClock(now).now() == FixedClock().now() == _NEW_YEAR


@pytest.mark.parametrize("now", [datetime(2026, 1, 1), 5.5, None, True, "today"])  # noqa: DTZ001
def test_a_fixed_clock_says_what_it_takes(now: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^now: .*(microseconds since 1970|offset)"):
        FixedClock(now)


def open_at(micros: int) -> tuple[Store, FixedClock]:
    clock = FixedClock(micros)
    return memoranda.open(":memory:", clock=clock, embedder=None).bind(agent_id="a"), clock


@pytest.mark.parametrize("micros", [_LAST_COMMIT + 1, LAST_MICROS, LAST_MICROS + 1, 2**63])
def test_a_clock_that_is_far_off_is_refused_before_anything_is_written(micros: int) -> None:
    store, clock = open_at(_NEW_YEAR)
    store.write(key="k", value={"n": 1})
    clock.step((micros - _NEW_YEAR) / 1_000_000 + 60)
    calls = (
        lambda: store.write(key="k", value={"n": 2}),
        lambda: store.remember("words", ttl=timedelta(days=1)),
        lambda: store.forget(key="k", reason="to be gone"),
        lambda: store.compact(before=1, confirm=True),
    )
    for call in calls:
        with pytest.raises(InvalidInput, match=r"^clock: .*set the clock right"):
            call()
    clock.step(-(micros - _NEW_YEAR) / 1_000_000)
    record = store.get_state(key="k")
    assert record is not None
    assert record.value == {"n": 1}
    assert store.verify(deep=True).commits == 1
    assert store.write(key="k", value={"n": 3}).commit_ts == 2


def test_what_lasts_longest_from_the_last_time_on_can_be_shown() -> None:
    store, _ = open_at(_LAST_COMMIT)
    memory = store.remember("words", ttl=timedelta(seconds=MAX_LIFETIME_SECONDS))
    assert memory.expires_at is not None
    assert memory.expires_at.year == 9999
    assert store.verify(deep=True).commits == 1
    with pytest.raises(InvalidInput, match=r"^clock: "):
        store.write(key="k", value={})
