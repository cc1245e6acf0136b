"""How much of a replay is read in one turn of a thread."""

from __future__ import annotations

from typing import Any

import pytest

import memoranda
from memoranda import Store
from memoranda.calls.grant import EVERYTHING
from memoranda.calls.log import Replay
from memoranda.calls.registry import handle
from memoranda.log.pages import PAGE_ROWS
from memoranda.log.read.replay import Replay as LogReplay
from memoranda.sdk.local.calls import LocalCalls
from memoranda.server.event_streams import next_pages


@pytest.fixture
def store() -> Store:
    return memoranda.open(":memory:", embedder=None).bind(agent_id="a")


def replay_of(store: Store) -> LogReplay:
    calls = store._calls
    assert isinstance(calls, LocalCalls)
    replay: Any = handle(calls.core, EVERYTHING, Replay(agent_id="a", namespace="default"))
    assert isinstance(replay, LogReplay)
    return replay


def test_small_pages_are_read_some_at_a_time(store: Store) -> None:
    count = 5 * PAGE_ROWS + 1
    for number in range(count):
        store.write(key=f"k{number % 10}", value={})
    replay = replay_of(store)
    turns = []
    while pages := next_pages(replay):
        turns.append([[event.commit_ts for event in page] for page in pages])
    assert [[len(page) for page in pages] for pages in turns] == [[PAGE_ROWS] * 4, [PAGE_ROWS, 1]]
    assert [commit for pages in turns for page in pages for commit in page] == [
        *range(1, count + 1)
    ]


def test_large_pages_are_read_one_by_one(store: Store) -> None:
    for number in range(4):
        store.write(key=f"k{number}", value={"text": "x" * 600_000})
    replay = replay_of(store)
    while pages := next_pages(replay):
        assert len(pages) == 1
    assert replay.at == replay.through
