"""What a compaction leaves of a memory's operations cannot be told from its hashes."""

from __future__ import annotations

from recollect import Store
from recollect.log.pages import events
from recollect.model import codec
from recollect.model.operations import Begun, Carried, Erased
from recollect.testing import memory_store


def left(store: Store) -> dict[tuple[int, int], Begun | Carried]:
    found: dict[tuple[int, int], Begun | Carried] = {}
    with store._core.engine.reading() as reader:
        for event in events(reader, after=0, through=1000):
            for position, operation in enumerate(codec.decode_operations(event.operations)):
                if isinstance(operation, Erased) and isinstance(operation.rest, (Begun, Carried)):
                    found[event.commit_ts, position] = operation.rest
    return found


def test_what_is_left_is_salted_anew_when_it_becomes_less() -> None:
    store = memory_store().bind(agent_id="a1")
    memory = store.remember("one", title="t", tags=["x"])
    store.update_memory(memory.id, content="two")
    store.compact(before=2, confirm=True)
    (first,) = left(store).values()
    assert isinstance(first, Begun)
    assert (first.title, first.details is None) == ("t", False)
    store.update_memory(memory.id, content="three", tags=["y"], title="u")
    store.compact(before=store.stats().commits, confirm=True)
    again = left(store)[1, 1]  # behind the epoch
    assert isinstance(again, Begun)
    assert (again.title, again.details) == (None, None)
    assert again.salt != first.salt
    assert store.rebuild().identical


def test_what_is_left_and_needed_stays_as_it_is() -> None:
    store = memory_store().bind(agent_id="a1")
    memory = store.remember("one", title="t", tags=["x"])
    for _ in range(3):
        store.touch(memory.id)
    store.compact(before=4, confirm=True)
    before = left(store)
    assert [type(each) for each in before.values()] == [Carried]
    store.write(key="k", value={})
    store.write(key="k", value={})
    store.compact(before=store.stats().commits, confirm=True)
    assert left(store) == before
