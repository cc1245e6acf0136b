"""The clock of a PostgreSQL server, by which commits are dated."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import memoranda
from memoranda.model.clock import FixedClock
from memoranda.storage.postgres.database_clock import DatabaseClock
from tests.patience import LONG_SECONDS
from tests.postgres_server import new_store_url, open_postgres

DAY = timedelta(days=1)


def test_commits_are_dated_by_the_server_whatever_this_machine_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: tell() + DAY // timedelta(microseconds=1) * 1000)
    with open_postgres(new_store_url(tmp_path)) as store:
        before = datetime.now(UTC)
        receipt = store.write(agent_id="a", key="k", value={})
        assert abs(receipt.committed_at - before) < timedelta(seconds=LONG_SECONDS)
        assert store.stats().warnings == ()


def test_a_clock_that_is_given_is_used(tmp_path: Path) -> None:
    clock = FixedClock("2020-01-01T00:00:00Z")
    with memoranda.open(new_store_url(tmp_path), clock=clock, embedder=None) as store:
        assert store.write(agent_id="a", key="k", value={}).committed_at.year == 2020


def test_it_is_this_machines_until_it_was_set_and_then_goes_on_by_itself() -> None:
    clock = DatabaseClock()
    assert abs(clock.now() / 1e6 - time.time()) < LONG_SECONDS
    clock.set(lambda: 1_000_000)
    first = clock.now()
    assert 1_000_000 <= first < 1_000_000 + LONG_SECONDS * 1e6
    assert clock.now() >= first
