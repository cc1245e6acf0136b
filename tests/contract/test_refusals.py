"""What is refused for a reason of security is noted: by ids, not too often, in nobody's replay."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from memoranda import (
    ALL_AGENTS,
    ALL_NAMESPACES,
    LinkCycle,
    ReflectionTooDeep,
    ReplayEvent,
    Store,
    StoreFull,
)
from memoranda.log.commit import refusals
from memoranda.log.commit.batch import BatchWriter
from memoranda.testing import FixedClock
from tests.contract.opener import Opener
from tests.patience import wait_until


def close_a_cycle(store: Store, first: str, second: str) -> None:
    with pytest.raises(LinkCycle):
        store.link(source=second, target=first, relation="supersedes")


def linked(store: Store) -> tuple[str, str]:
    """Return two memories, of which the first supersedes the second."""
    first, second = (store.remember(text).id for text in ("first secret", "second secret"))
    store.link(source=first, target=second, relation="supersedes")
    return first, second


def noted(store: Store, count: int) -> list[dict[str, Any]]:
    """Return what the log says of refusals, once there are so many: nobody waits for a note."""

    def found() -> list[Any]:
        events = store.replay(agent_id="_engine", namespace="_audit")
        return [operation.value for event in events for operation in event.operations]

    wait_until(lambda: len(found()) >= count)
    assert len(found()) == count
    return found()


def test_a_cycle_is_noted_by_its_ids(agent: Store) -> None:
    first, second = linked(agent)
    close_a_cycle(agent, first, second)
    assert noted(agent, 1) == [
        {"what": "link.cycle_refused", "by": "a1", "about": [second, first], "left_out": 0}
    ]


def test_a_depth_is_noted_by_its_ids(agent: Store) -> None:
    agent.configure(max_reflection_depth=1)
    ground = agent.remember("ground")
    thought = agent.reflect("thought", on=[ground.id])
    with pytest.raises(ReflectionTooDeep) as caught:
        agent.reflect("thought on a thought", on=[thought.id])
    (reports,) = noted(agent, 1)
    assert (reports["what"], reports["by"]) == ("reflection.depth_exceeded", "a1")
    assert reports["about"] == list(caught.value.memory_ids)
    assert reports["about"][1] == thought.id
    agent.configure(max_reflection_depth=0)
    with pytest.raises(ReflectionTooDeep):
        agent.remember("none at all", kind="reflection")
    assert len(noted(agent, 2)[1]["about"]) == 1


def test_it_is_an_event_of_its_own_behind_the_refused_one(store: Store) -> None:
    ann = store.bind(agent_id="ann")
    first, second = linked(ann)
    head = store.stats().commits
    close_a_cycle(ann, first, second)
    noted(store, 1)
    assert store.stats().commits == head + 1
    (event,) = store.replay(agent_id="_engine", namespace="_audit")
    assert (event.commit_ts, event.actor) == (head + 1, "_engine")
    ann.write(key="k", value={})
    assert store.verify().commits == head + 2
    assert store.rebuild().identical


def test_the_words_are_not_in_it(agent: Store) -> None:
    first, second = linked(agent)
    close_a_cycle(agent, first, second)
    assert "secret" not in str(noted(agent, 1))


def test_ids_that_the_actor_may_not_see_are_left_out(store: Store) -> None:
    ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
    ends = [ann.remember("open").id for _ in range(2)]
    hidden = bob.remember("hidden", visibility="private").id
    bob.link(source=ends[0], target=hidden, relation="supersedes")
    bob.link(source=hidden, target=ends[1], relation="supersedes")
    with pytest.raises(LinkCycle):
        ann.link(source=ends[1], target=ends[0], relation="supersedes")
    assert noted(store, 1)[0]["about"] == [ends[1], ends[0]]


def everything(store: Store) -> list[ReplayEvent]:
    return list(store.replay(agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES))


def test_no_replay_and_no_subscription_has_it_unasked(store: Store) -> None:
    ann = store.bind(agent_id="ann")
    following = store.subscribe(
        agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES, after_commit=0, timeout=0
    )
    first, second = linked(ann)
    before = everything(store), list(ann.replay(namespace=ALL_NAMESPACES))
    close_a_cycle(ann, first, second)
    noted(store, 1)
    assert (everything(store), list(ann.replay(namespace=ALL_NAMESPACES))) == before
    assert list(following) == before[0]
    subscription = store.subscribe(
        agent_id=ALL_AGENTS, namespace="_audit", after_commit=0, timeout=0
    )
    assert len(list(subscription)) == 1
    stats = store.stats()
    assert (stats.agents, stats.namespaces) == (1, 1)


def test_too_many_are_counted_instead(agent: Store, clock: FixedClock) -> None:
    first, second = linked(agent)
    for _ in range(refusals.MAX_NOTES + 5):
        close_a_cycle(agent, first, second)
    noted(agent, refusals.MAX_NOTES)
    clock.advance(refusals.WINDOW_SECONDS)
    close_a_cycle(agent, first, second)
    assert noted(agent, refusals.MAX_NOTES + 1)[-1]["left_out"] == 5


def test_what_was_only_counted_is_said_when_the_store_closes(reopen: Opener) -> None:
    store = reopen()
    ann = store.bind(agent_id="ann")
    first, second = linked(ann)
    for _ in range(refusals.MAX_NOTES + 3):
        close_a_cycle(ann, first, second)
    store.close()
    again = reopen()
    last = noted(again, refusals.MAX_NOTES + 1)[-1]
    assert (last["about"], last["left_out"], last["by"]) == ([], 3, "ann")
    assert again.verify().commits == again.stats().commits


def test_a_count_does_not_bring_back_who_was_forgotten(reopen: Opener) -> None:
    with reopen() as store:
        ann = store.bind(agent_id="annzebra")
        first, second = linked(ann)
        for _ in range(15):
            close_a_cycle(ann, first, second)
        noted(store, 10)
        store.forget(whole_agent="annzebra")
    with reopen() as store:
        names = {event.agent_id for event in store.audit_events(event_type="link.cycle_refused")}
        assert "local" in names
        assert not any("annzebra" in name for name in names)
        store.verify(deep=True)


def test_who_is_refused_is_told_so_also_if_it_cannot_be_noted(agent: Store) -> None:
    first, second = linked(agent)
    process_batch = BatchWriter._process_batch

    def full(self: BatchWriter, requests: Any, writer: Any) -> Any:
        if requests[0].actor == "_engine":
            raise StoreFull
        return process_batch(self, requests, writer)

    with mock.patch.object(BatchWriter, "_process_batch", full):
        close_a_cycle(agent, first, second)
        agent.write(key="behind", value={})
    noted(agent, 0)
    close_a_cycle(agent, first, second)
    (reports,) = noted(agent, 1)
    assert reports["left_out"] == 1
    agent.write(key="k", value={})
    agent.verify()


def test_other_refusals_are_not_noted(agent: Store) -> None:
    agent.write(key="k", value={})
    with pytest.raises(Exception, match="version"):
        agent.write(key="k", value={}, expect_version=7)
    noted(agent, 0)


def test_they_are_audit_events_of_who_asked(store: Store) -> None:
    ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
    first, second = linked(ann)
    close_a_cycle(bob, first, second)
    noted(store, 1)
    (event,) = store.audit_events(event_type="link.cycle_refused")
    assert (event.agent_id, event.attest_level) == ("bob", "unsigned")
    assert list(store.audit_events(agent_id="bob")) == [event]
    assert event not in list(store.audit_events(agent_id="ann"))
    assert event in list(store.audit_events(event_type=["link.*"]))
    assert list(store.audit_events(event_type="reflection.depth_exceeded")) == []
