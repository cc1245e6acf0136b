"""A long log is compacted in as small slices as a short one, to the same end."""

from __future__ import annotations

from pathlib import Path

import pytest

import memoranda
from memoranda.log import slices
from tests.compacting import sliced

EVENTS = 100_000
KEYS = 100


@pytest.mark.slow
def test_a_hundred_thousand_events(tmp_path: Path) -> None:
    with memoranda.open(tmp_path / "store.db", durability="relaxed") as store:
        agent = store.bind(agent_id="a")
        for number in range(EVENTS):
            agent.write(key=f"k{number % KEYS}", value={"n": number})
        with sliced(store, slices.BEGIN) as done:
            found = agent.compact(before=EVENTS, confirm=True)
        assert (found.erased, found.kept) == (EVENTS - KEYS, KEYS)
        assert max(len(part.left) for part in done) <= slices.BEGIN
        assert len(list(agent.list_keys(at=EVENTS))) == KEYS
        store.verify(deep=True)
