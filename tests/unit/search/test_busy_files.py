"""A search does not wait for whoever writes."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import recollect
from recollect import StoreBusy
from recollect.model.clock import SystemClock
from recollect.search import filling


def test_who_searches_does_not_wait_for_another_process_that_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "MUCH", 2)
    path, clock = tmp_path / "store.db", SystemClock()
    with recollect.open(path, embedder=None) as store:
        bound = store.bind(agent_id="a")
        ids = [bound.remember(f"number{number}").id for number in range(4)]
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        before = clock.monotonic()
        assert [hit.id for hit in bound.recall("number2")] == [ids[2]]
        with pytest.raises(StoreBusy):
            filling.fill_if_much(store._core.engine)
        assert clock.monotonic() - before < 5
        other.execute("ROLLBACK")
        other.close()
        bound.recall("number2")
        assert store.stats().index_backlog == 0
