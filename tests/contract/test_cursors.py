"""Cursors: readers that resume where they were, after any end."""

from __future__ import annotations

import pytest

from memoranda import InvalidInput, LogForked, ReplayEvent, Store
from memoranda.calls.core import Core
from memoranda.model.event import ResumeToken
from tests.contract.events import commits_of, keys_of, write_all
from tests.contract.opener import Opener
from tests.cores import core_of


def test_it_resumes_behind_the_last_acknowledged_event(agent: Store) -> None:
    first = agent.subscribe(cursor="indexer", timeout=0)
    write_all(agent, "a", "b", "c", "d")
    first.ack(next(first))
    first.ack(next(first))
    next(first)
    again = agent.subscribe(cursor="indexer", timeout=0)
    assert keys_of(again) == ["c", "d"], "received is not done"


def test_across_a_restart(reopen: Opener) -> None:
    store = reopen().bind(agent_id="a")
    write_all(store, "a", "b", "c")
    subscription = store.subscribe(cursor="indexer", after_commit=0, timeout=0)
    subscription.ack(next(subscription))
    store.close()
    store = reopen().bind(agent_id="a")
    assert store.cursors() == [("indexer", 1)]
    assert keys_of(store.subscribe(cursor="indexer", timeout=0)) == ["b", "c"]


def test_one_that_was_dropped_is_made_again_for_the_same_agent(store: Store) -> None:
    store.write(agent_id="a", key="k", value={})
    subscription = store.subscribe(agent_id="a", cursor="indexer", after_commit=0, timeout=0)
    event = next(subscription)
    store.drop_cursor(cursor="indexer")
    subscription.ack(event)
    assert store.cursors() == [("indexer", 1)]
    store.forget(whole_agent="a")
    assert store.cursors() == []


def test_it_only_moves_forward(agent: Store) -> None:
    write_all(agent, "a", "b", "c")
    subscription = agent.subscribe(cursor="indexer", after_commit=0, timeout=0)
    first, second, third = subscription
    for event in (second, first, second):
        subscription.ack(event)
        assert agent.cursors() == [("indexer", 2)]
    subscription.ack(third)
    assert agent.cursors() == [("indexer", 3)]


def test_where_a_new_one_begins_is_kept_before_anything_is_given(agent: Store) -> None:
    write_all(agent, "before")
    subscription = agent.subscribe(cursor="indexer", timeout=0)
    write_all(agent, "a", "b")
    assert keys_of(subscription) == ["a", "b"]
    write_all(agent, "c")
    again = agent.subscribe(cursor="indexer", timeout=0)
    assert keys_of(again) == ["a", "b", "c"], "nothing was acknowledged"


def test_a_new_one_in_an_empty_store(agent: Store) -> None:
    assert list(agent.subscribe(cursor="indexer", timeout=0)) == []
    write_all(agent, "a")
    assert keys_of(agent.subscribe(cursor="indexer", timeout=0)) == ["a"]


def test_only_a_new_one_asks_where_to_begin(agent: Store) -> None:
    write_all(agent, "a", "b", "c")
    for target in (["a", "b", "c"], ["b", "c"], ["c"]):
        subscription = agent.subscribe(cursor="indexer", after_commit=0, timeout=0)
        events = list(subscription)
        assert keys_of(events) == target
        subscription.ack(events[0])


def test_a_new_one_behind_a_commit_that_is_yet_to_come(agent: Store) -> None:
    for beyond in (2, 2**70):
        agent.drop_cursor(cursor="indexer")
        assert list(agent.subscribe(cursor="indexer", after_commit=beyond, timeout=0)) == []
        write_all(agent, "a", "b")
        result = commits_of(agent.subscribe(cursor="indexer", timeout=0))
        assert result == [commit for commit in result if commit > beyond]


def test_each_is_its_own(agent: Store) -> None:
    write_all(agent, "a", "b")
    for name, count in (("x", 1), ("y", 2), ("cursor:x", 2), ("ü/;\n", 1), ("x" * 512, 1)):
        subscription = agent.subscribe(cursor=name, after_commit=0, timeout=0)
        for _ in range(count):
            subscription.ack(next(subscription))
    expected = {"x": 1, "y": 2, "cursor:x": 2, "ü/;\n": 1, "x" * 512: 1}
    assert dict(agent.cursors()) == expected
    assert agent.cursors() == sorted(agent.cursors())


def test_one_that_is_dropped_begins_anew(agent: Store) -> None:
    write_all(agent, "a")
    subscription = agent.subscribe(cursor="indexer", after_commit=0, timeout=0)
    subscription.ack(next(subscription))
    for _ in range(2):
        agent.drop_cursor(cursor="indexer")
        assert agent.cursors() == []
    assert keys_of(agent.subscribe(cursor="indexer", after_commit=0, timeout=0)) == ["a"]
    with pytest.raises(InvalidInput, match=r"^cursor: is empty"):
        agent.drop_cursor(cursor="")


def test_moving_one_is_no_event(agent: Store) -> None:
    write_all(agent, "a")
    subscription = agent.subscribe(cursor="indexer", after_commit=0, timeout=0)
    subscription.ack(next(subscription))
    assert agent.verify().commits == 1
    assert agent.rebuild().identical
    assert agent.cursors() == [("indexer", 1)]


def test_without_one_nothing_is_acknowledged(agent: Store) -> None:
    write_all(agent, "a")
    subscription = agent.subscribe(after_commit=0, timeout=0)
    with pytest.raises(InvalidInput, match=r"^cursor: is missing"):
        subscription.ack(next(subscription))


def test_only_this_logs_events_are_acknowledged(agent: Store) -> None:
    write_all(agent, "a")
    subscription = agent.subscribe(cursor="indexer", after_commit=0, timeout=0)
    event = next(subscription)
    with pytest.raises(InvalidInput, match=r"^event: 7 is no event"):
        subscription.ack(7)  # type: ignore[arg-type]
    for other in ({"log_id": "other"}, {"hash": b"other"}, {"commit_ts": 9}):
        fields = {name: getattr(event, name) for name in event.__struct_fields__}
        with pytest.raises(LogForked, match="resume token"):
            subscription.ack(ReplayEvent(**(fields | other)))
    assert agent.cursors() == [("indexer", 0)]


def test_one_that_does_not_fit_the_log_is_refused(agent: Store) -> None:
    write_all(agent, "a")
    core = core_of(agent)
    event = next(agent.replay())
    for misfit in (
        ResumeToken("other", 1, event.hash),
        ResumeToken(core.log_id, 1, b"other"),
        ResumeToken(core.log_id, 2, event.hash),
    ):
        set_cursor(core, str(misfit))
        with pytest.raises(LogForked, match=r"cursor 'indexer' .* drop the cursor"):
            agent.subscribe(cursor="indexer", after_commit=0, timeout=0)
    agent.drop_cursor(cursor="indexer")
    assert keys_of(agent.subscribe(cursor="indexer", after_commit=0, timeout=0)) == ["a"]


def set_cursor(core: Core, token: str) -> None:
    core.engine.write(lambda writer: writer.run("meta_set", name="cursor:indexer", value=token))


def test_one_that_waits_beyond_the_end_is_no_damage(agent: Store) -> None:
    agent.write(key="k", value={})
    with agent.subscribe(cursor="early", after_commit=9, timeout=0) as subscription:
        assert list(subscription) == []
    assert agent.cursors() == [("early", 9)]
    assert agent.verify(deep=True).commits == 1
