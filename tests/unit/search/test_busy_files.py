"""A search does not wait for whoever writes."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import StoreBusy
from memoranda.model.clock import SystemClock
from memoranda.search import filling
from memoranda.testing import memory_store


def test_who_searches_does_not_wait_for_another_process_that_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "MUCH", 2)
    path, clock = tmp_path / "store.db", SystemClock()
    with memoranda.open(path, embedder=None) as store:
        bound = store.bind(agent_id="a")
        ids = [bound.remember(f"number{number}").id for number in range(4)]
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        before = clock.monotonic()
        assert [hit.id for hit in bound.recall("number2")] == [ids[2]]
        with pytest.raises(StoreBusy):
            store._core.filler.indexer.catch_up()
        assert clock.monotonic() - before < 5
        other.execute("ROLLBACK")
        other.close()
        bound.recall("number2")
        assert store.stats().index_backlog <= 2


def test_others_have_their_turn_between_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "_FIRST_PART", 8 * 300)
    monkeypatch.setattr(filling, "_MOST_PART", 8 * 300)
    monkeypatch.setattr(filling, "_LEAST_PART", 8 * 300)
    bound = memory_store().bind(agent_id="a")
    bound.store_transcript("a line\n" * 20)
    ways: list[bool] = []
    engine = bound._core.engine

    def give_way() -> None:
        engine.write(lambda _: ways.append(True), wait=0.0)

    monkeypatch.setattr(filling, "give_way", give_way)
    assert filling.fill(engine) == 1
    assert len(ways) == 3
