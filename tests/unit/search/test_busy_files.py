"""A search does not wait for whoever writes."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import recollect
from recollect import StoreBusy
from recollect.model.clock import SystemClock
from recollect.search import filling
from recollect.testing import memory_store


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


def test_who_searches_waits_about_as_long_as_looking_through_would_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(filling, "fill", lambda _, wait: waits.append(wait))
    engine = memory_store()._core.engine
    for number, size in enumerate((filling.MUCH, 1, filling.MUCH - 1, 10**6)):
        with engine.writing() as writer:
            writer.put("to_index_add", number, size)
        filling.fill_if_much(engine)
    assert waits[0] == pytest.approx(filling.BRIEFLY, rel=0.01)
    assert waits[1:] == [2 * filling.BRIEFLY, filling.NOT_LONG]


def test_others_have_their_turn_between_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "MOST_PASSAGES", 8)
    bound = memory_store().bind(agent_id="a")
    bound.store_transcript("a line\n" * 20)
    ways: list[bool] = []
    engine = bound._core.engine

    def give_way() -> None:
        engine.write(lambda _: ways.append(True), wait=0.0)

    monkeypatch.setattr(filling, "give_way", give_way)
    assert filling.fill(engine) == 1
    assert len(ways) == 3
