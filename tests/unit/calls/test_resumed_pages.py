"""Pages that go on from a position are the pages that one object would have read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import memoranda
from memoranda import Compacted
from memoranda.calls.call import Call, call_name
from memoranda.calls.grant import EVERYTHING, Grant
from memoranda.calls.keys import Diff, History, ListKeys, ScanPrefix
from memoranda.calls.log import Replay
from memoranda.calls.maintenance import Sql
from memoranda.calls.memories import ListMemories, MemoryHistory
from memoranda.calls.registry import CALLS, handle
from memoranda.log.pages import ResumablePages
from memoranda.testing import FixedClock
from tests.cores import core_of
from tests.grant_reads import CASES
from tests.grant_worlds import GRANTS, MARK, World
from tests.unit.calls.test_grant_matrix import linked

PAGED = sorted(
    call_name(kind)
    for kind in CALLS.values()
    if kind.shape == "pages" and kind is not Sql and kind.local_only is None
)
NARROW = GRANTS["one agent in a namespace"]


@pytest.fixture(scope="module")
def world() -> World:
    return linked(MARK)


def whole(world: World, call: Call[Any], grant: Grant = EVERYTHING) -> list[Any]:
    pages: Any = handle(core_of(world.store), grant, call)
    return [item for page in iter(pages.next_page, []) for item in page]


def resumed(world: World, call: Call[Any], rows: int, grant: Grant = EVERYTHING) -> list[Any]:
    """Return what objects of their own have read, each of them one page."""
    items: list[Any] = []
    position = None
    while True:
        pages: Any = handle(core_of(world.store), grant, call)
        assert isinstance(pages, ResumablePages)
        pages.limit(rows)
        if position is not None:
            pages.position = msgspec.json.decode(msgspec.json.encode(position))
        page = pages.next_page()
        if not page:
            assert pages.next_page() == []
            return items
        items += page
        position = pages.position


def questions(world: World, name: str) -> list[Call[Any]]:
    row = CASES[name]
    if row is not None:
        return row(world.ids)
    return [CALLS[name]()]


@pytest.mark.parametrize("name", PAGED)
def test_every_listing_goes_on_where_it_was(world: World, name: str) -> None:
    for number, call in enumerate(questions(world, name)):
        try:
            answer = whole(world, call)
        except Compacted:
            with pytest.raises(Compacted):
                resumed(world, call, 2)
            continue
        assert resumed(world, call, 1 + number % 3) == answer
        if CASES[name] is not None and number % 5 == 0:
            assert resumed(world, call, 2, NARROW) == whole(world, call, NARROW)


def test_sql_is_the_only_listing_that_does_not() -> None:
    store = memoranda.open(":memory:", embedder=None)
    with store:
        pages: Any = handle(core_of(store), EVERYTHING, Sql("SELECT 1"))
        assert not isinstance(pages, ResumablePages)


def test_what_is_committed_between_two_pages_does_not_show() -> None:
    clock = FixedClock()
    with memoranda.open(":memory:", embedder=None, clock=clock) as store:
        agent = store.bind(agent_id="a")
        memory = agent.remember("version", title="t")
        for number in range(5):
            agent.write(key=f"k{number}", value={"n": number})
            agent.remember(f"version {number}", title="t")
            agent.remember(f"memory {number}", ttl="1h")
        calls: list[Call[Any]] = [
            ListKeys("a", "default"),
            ScanPrefix("a", "default", "k"),
            History("a", "default", "k1"),
            Diff("a", "default", 1),
            ListMemories("default"),
            MemoryHistory(memory.id),
            Replay("a", "default"),
        ]
        world = World(store, {}, {})
        for call in calls:
            answer = whole(world, call)
            first: Any = handle(core_of(store), EVERYTHING, call)
            first.limit(2)
            items, position = first.next_page(), first.position
            agent.write(key="k1", value={"new": call_name(type(call))})
            agent.delete(key="k4")
            agent.write(key="k9", value={})
            agent.remember(f"version of {call_name(type(call))}", title="t")
            if isinstance(call, ListMemories):
                clock.advance(7200)  # what expires meanwhile still shows
            second: Any = handle(core_of(store), EVERYTHING, call)
            second.position = position
            items += [item for page in iter(second.next_page, []) for item in page]
            assert items == answer, call


def test_a_replay_goes_on_behind_a_compaction() -> None:
    with memoranda.open(":memory:", embedder=None) as store:
        for number in range(12):
            store.write(agent_id="a", key=f"k{number % 3}", value={"n": number})
        store.compact(namespace="default", before=9, confirm=True)
        world = World(store, {}, {})
        events = resumed(world, Replay("a", "default"), 1)
        assert events == whole(world, Replay("a", "default"))
        assert [event.summary for event in events] == [True, False, False, False]
