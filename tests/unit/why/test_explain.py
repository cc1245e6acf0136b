"""What `why` makes of a store that was changed by hand, and of long lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memoranda import KeyRef, Store
from memoranda.testing import memory_store
from tests.cores import core_of


@pytest.fixture
def store() -> Iterator[Store]:
    with memory_store() as opened:
        yield opened.bind(agent_id="a")


def execute(store: Store, statement: str, *values: object) -> None:
    engine: Any = core_of(store).engine
    engine._writer.database.execute(statement, values)


def test_words_that_are_gone_leave_their_place(store: Store) -> None:
    talk = store.store_transcript("I never fly")
    memory = store.remember("Ann does not fly", transcript=talk.id)
    store.write(key="plan", value={}, because=[memory])
    execute(store, "DELETE FROM transcript")
    reason = store.why("plan")
    (words,) = reason.because[0].because
    assert (words.kind, words.ref, words.stale) == ("transcript", None, ("gone",))
    assert reason.is_stale


def test_a_memory_that_is_gone_leaves_its_place(store: Store) -> None:
    memory = store.remember("Ann does not fly")
    store.write(key="plan", value={}, because=[memory])
    execute(store, "DELETE FROM memory")
    (ground,) = store.why("plan").because
    assert (ground.ref, ground.summary, ground.stale) == (memory.ref, "", ("gone",))


def test_a_circle_of_two_relations_comes_to_an_end(store: Store) -> None:
    one, other = store.remember("one"), store.remember("other")
    store.link(source=one.id, target=other.id, relation="reflects_on")
    store.link(source=other.id, target=one.id, relation="derived_from")
    reason = store.why(one)
    assert [item.summary for item in reason.walk()] == ["one", "other", "one"]
    assert [item.repeated for item in reason.walk()] == [False, False, True]
    store.retract_memory(other.id)
    assert [item.is_stale for item in store.why(one).walk()] == [True, True, True]


def test_a_circle_made_by_hand_comes_to_an_end(store: Store) -> None:
    one = store.remember("one")
    other = store.reflect("other", on=[one.id])
    execute(
        store,
        "INSERT INTO memory_link SELECT target, relation, source, commit_ts, position, valid_from,"
        " until_commit, valid_until FROM memory_link",
    )
    assert [item.summary for item in store.why(other).walk()] == ["other", "one", "other"]


def test_a_value_may_rest_on_more_than_a_page(store: Store) -> None:
    with store.begin_transaction() as transaction:
        ids = [transaction.remember(f"m{number}") for number in range(700)]
        for number in range(700):
            transaction.write(key=f"k{number}", value={"n": number})
    memories = [result for memory in ids if (result := store.get_memory(memory)) is not None]
    keys = [KeyRef(f"k{number}") for number in range(700)]
    store.write(key="sum", value={}, because=[*memories, *keys])
    store.retract_memory(ids[650])
    store.delete(key="k3")
    reason = store.why("sum")
    assert len(reason.because) == 1400
    assert [memory.ref for memory in reason.because[:700]] == [memory.ref for memory in memories]
    stale = [index for index, memory in enumerate(reason.because) if memory.is_stale]
    assert stale == [650, 703]


def test_a_level_is_looked_up_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """However wide a level is, the number of queries for it stays the same."""

    def queries_for(width: int) -> int:
        with store.begin_transaction() as transaction:
            ids = [transaction.remember("ground") for _ in range(width)]
            belief = transaction.reflect("belief", on=ids)
        counted: list[str] = []
        with core_of(store).engine.reading() as reader:
            for name in ("row", "rows"):
                plain = getattr(type(reader), name)

                def counting(self: Any, query: str, /, *, _plain: Any = plain, **v: Any) -> Any:
                    counted.append(query)
                    return _plain(self, query, **v)

                monkeypatch.setattr(type(reader), name, counting)
        memory = store.get_memory(belief)
        assert memory is not None
        counted.clear()
        assert len(store.why(memory).because) == width
        monkeypatch.undo()
        return len(counted)

    assert queries_for(2) == queries_for(100)
