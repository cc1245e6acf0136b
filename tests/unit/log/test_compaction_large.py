"""A long log is compacted in as small slices as a short one, to the same end."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
from memoranda.log.commit import group_commit
from memoranda.log.compaction import pace
from tests.compacting import sliced

EVENTS = 100_000
OPERATIONS = 1_000_000
BATCH = 250
"""Operations in one transaction, where it is not the number of events that matters."""
KEYS = 100


@pytest.mark.slow
def test_a_hundred_thousand_events(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "store.db", durability="relaxed") as store:
        agent = store.bind(agent_id="a")
        for number in range(EVENTS):
            agent.write(key=f"k{number % KEYS}", value={"n": number})
        with sliced(store, pace.FIRST_WEIGHT) as done:
            compaction = agent.compact(before=EVENTS, confirm=True)
        assert (compaction.erased, compaction.retained) == (EVENTS - KEYS, KEYS)
        assert max(len(part.decisions) for part in done) <= pace.FIRST_WEIGHT
        assert len(list(agent.list_keys(at=EVENTS))) == KEYS
        store.verify(deep=True)


@pytest.mark.slow
def test_a_million_operations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        group_commit, "_MAX_COMPACTION_PAUSE_SECONDS", 0.0
    )  # nobody else is there to let in
    with memoranda.open(tmp_path / "store.db", durability="relaxed") as store:
        agent = store.bind(agent_id="a")
        for first in range(0, OPERATIONS, BATCH):
            with agent.begin_transaction() as transaction:
                for number in range(first, first + BATCH):
                    transaction.write(key=f"k{number % KEYS}", value={"n": number})
        horizon = store.stats().commits
        with sliced(store, pace.MAX_WEIGHT) as done:
            compaction = agent.compact(before=horizon, confirm=True)
        assert (compaction.erased, compaction.retained) == (OPERATIONS - KEYS, KEYS)
        assert max(len(part.decisions) for part in done) <= pace.MAX_WEIGHT
        assert len(list(agent.list_keys(at=horizon))) == KEYS
        store.verify()
