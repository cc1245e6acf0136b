"""What a compaction leaves of a memory's operations cannot be told from its hashes."""

from __future__ import annotations

from memoranda import Store
from memoranda.log.pages import events
from memoranda.model import codec
from memoranda.model.operations import ChangeResidue, Redacted, RememberResidue, effective_operation
from memoranda.testing import memory_store
from tests.cores import core_of


def left(store: Store) -> dict[tuple[int, int], RememberResidue | ChangeResidue]:
    result: dict[tuple[int, int], RememberResidue | ChangeResidue] = {}
    with core_of(store).engine.reading() as reader:
        for event in events(reader, after=0, through=1000):
            for position, operation in enumerate(codec.decode_operations(event.operations)):
                left = effective_operation(operation)
                if isinstance(operation, Redacted) and isinstance(
                    left, (RememberResidue, ChangeResidue)
                ):
                    result[event.commit_ts, position] = left
    return result


def test_what_is_left_becomes_less_when_less_is_needed() -> None:
    store = memory_store().bind(agent_id="a1")
    memory = store.remember("one", title="t", tags=["x"])
    store.update_memory(memory.id, content="two")
    store.compact(before=2, confirm=True)
    (first,) = left(store).values()
    assert isinstance(first, RememberResidue)
    assert (first.title, first.details is None) == ("t", False)
    store.update_memory(memory.id, content="three", tags=["y"], title="u")
    store.compact(before=store.stats().commits, confirm=True)
    again = left(store)[1, 1]  # behind the epoch
    assert isinstance(again, RememberResidue)
    assert (again.title, again.details) == (None, None)
    assert store.rebuild().identical


def test_what_is_left_and_needed_stays_as_it_is() -> None:
    store = memory_store().bind(agent_id="a1")
    memory = store.remember("one", title="t", tags=["x"])
    for _ in range(3):
        store.touch(memory.id)
    store.compact(before=4, confirm=True)
    before = left(store)
    assert [type(value) for value in before.values()] == [ChangeResidue]
    store.write(key="k", value={})
    store.write(key="k", value={})
    store.compact(before=store.stats().commits, confirm=True)
    assert left(store) == before
