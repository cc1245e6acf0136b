"""Invalidation: whoever built on what was superseded is told, once, and decides."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memoranda import (
    ALL_AGENTS,
    Conflict,
    IdempotencyMismatch,
    Invalidation,
    InvalidInput,
    Link,
    Memory,
    NotFound,
    OperationType,
    Store,
)
from memoranda.testing import FixedClock

EIGHT = "/".join("abcdefgh")


def reflections(store: Store, *names: str, **scope: Any) -> list[Memory]:
    return [store.remember(name, kind="reflection", **scope) for name in names]


def reflect_on(store: Store, source: Memory, target: Memory) -> Link:
    return store.link(source=source.id, target=target.id, relation="reflects_on")


def notices(store: Store, **filters: Any) -> list[Invalidation]:
    return list(store.invalidations(**{"agent_id": ALL_AGENTS, "status": "all", **filters}))


def audited(store: Store) -> int:
    return len(list(store.audit_events(event_type="reflection.invalidation_notified")))


class TestNotices:
    def test_what_a_notice_says(self, store: Store, clock: FixedClock) -> None:
        old, new = reflections(store, "old", "new", agent_id="a", namespace="team/a")
        dependent = store.remember("d", agent_id="b", namespace="team/b")
        reflect_on(store, dependent, old)
        clock.step(3600)
        link = store.bind(agent_id="c").supersede(old=old.id, new=new.id)
        assert link.notified == (dependent.id,)
        (notice,) = store.invalidations(agent_id="b")
        assert (notice.namespace, notice.agent_id) == ("team/b/_invalidations", "b")
        assert (notice.dependent_id, notice.status) == (dependent.id, "open")
        assert (notice.invalidated_id, notice.invalidating_id) == (old.id, new.id)
        assert notice.by == "c"
        memory = store.get_memory(notice.id)
        assert memory is not None
        assert memory.title == f"invalidation: {old.id} -> {dependent.id} by {new.id}"
        assert memory.content is not None
        for part in (old.id, new.id, dependent.id, "superseded", "re-evaluation"):
            assert part in memory.content
        assert (memory.kind, memory.tier, memory.tags) == ("observation", "mid", ("_invalidation",))
        assert (memory.priority, memory.confidence, memory.source) == (7, 1.0, "notification")
        assert (memory.visibility, memory.agent_id) == ("namespace", "b")
        assert memory.metadata == {
            "notification_kind": "reflection_invalidation",
            "dependent_id": dependent.id,
            "invalidated_id": old.id,
            "invalidating_id": new.id,
            "timestamp": "2026-01-01T01:00:00.000000Z",
            "agent_id": "c",
            "target_agent_id": "b",
        }

    def test_notice_and_link_are_one_event(self, agent: Store) -> None:
        old, new, dependent = reflections(agent, "old", "new", "d")
        reflect_on(agent, dependent, old)
        agent.supersede(old=old.id, new=new.id)
        *_, event = agent.replay(namespace="default")
        assert [operation.type for operation in event.operations] == [OperationType.LINK]
        (reports,) = agent.replay(namespace="default/_invalidations")
        assert reports.commit_ts == event.commit_ts
        assert [operation.type for operation in reports.operations] == [OperationType.NOTIFY]

    def test_nothing_is_cascaded(self, agent: Store) -> None:
        old, new, dependent = reflections(agent, "old", "new", "d")
        reflect_on(agent, dependent, old)
        before = agent.get_memory(dependent.id)
        agent.supersede(old=old.id, new=new.id)
        assert agent.get_memory(dependent.id) == before

    def test_every_dependent_in_any_namespace_in_id_order(self, store: Store) -> None:
        old, new = reflections(store, "old", "new", agent_id="z", namespace="z")
        dependents = [
            store.remember(str(number), agent_id=f"agent-{number}", namespace=f"ns-{9 - number}")
            for number in range(5)
        ]
        for dependent in reversed(dependents):
            reflect_on(store, dependent, old)
        link = store.supersede(old=old.id, new=new.id)
        assert list(link.notified) == sorted(notice.id for notice in dependents)
        assert [notice.dependent_id for notice in notices(store)] == list(link.notified)
        times = {notice.created_at for notice in notices(store)}
        assert times == {link.valid_from}

    def test_the_superseding_one_is_not_told(self, agent: Store) -> None:
        (old,) = reflections(agent, "old")
        new = agent.reflect("new", on=[old.id])
        assert agent.supersede(old=old.id, new=new.id).notified == ()
        assert notices(agent) == []

    def test_only_valid_reflects_on_links_count(self, agent: Store) -> None:
        old, new, related, former = reflections(agent, "old", "new", "related", "former")
        agent.link(source=related.id, target=old.id, relation="related_to")
        reflect_on(agent, former, old)
        agent.unlink(source=former.id, target=old.id, relation="reflects_on")
        assert agent.supersede(old=old.id, new=new.id).notified == ()

    @pytest.mark.parametrize("kinds", [("observation", "reflection"), ("reflection", "claim")])
    def test_others_get_a_notice_of_another_kind(
        self, agent: Store, kinds: tuple[str, str]
    ) -> None:
        old = agent.remember("old", kind=kinds[0])
        new = agent.remember("new", kind=kinds[1])
        dependent = agent.remember("d")
        reflect_on(agent, dependent, old)
        assert agent.supersede(old=old.id, new=new.id).notified == (dependent.id,)
        (notice,) = notices(agent)
        assert (notice.kind, notice.dependent_id) == ("stale_memory", dependent.id)

    @pytest.mark.parametrize("surface", ["link", "supersede", "transaction", "revise"])
    def test_the_rule_fires_whichever_call_wrote_the_link(self, agent: Store, surface: str) -> None:
        old, new, dependent = reflections(agent, "old", "new", "d")
        reflect_on(agent, dependent, old)
        if surface == "link":
            link = agent.link(source=new.id, target=old.id, relation="supersedes")
            assert link.notified == (dependent.id,)
        elif surface == "supersede":
            agent.supersede(old=old.id, new=new.id)
        elif surface == "transaction":
            with agent.begin_transaction() as transaction:
                transaction.supersede(old=old.id, new=new.id)
        else:
            ground, better = reflections(agent, "ground", "better")
            reflect_on(agent, old, ground)
            agent.supersede(old=ground.id, new=better.id)
            (first,) = notices(agent)
            agent.resolve_invalidation(first.id, decision="revise", replacement=new.id)
        assert dependent.id in [notice.dependent_id for notice in notices(agent)]

    def test_a_dependent_in_an_eight_segment_namespace(self, agent: Store) -> None:
        old, new = reflections(agent, "old", "new")
        (dependent,) = reflections(agent, "d", namespace=EIGHT)
        reflect_on(agent, dependent, old)
        agent.supersede(old=old.id, new=new.id)
        (notice,) = notices(agent)
        assert notice.namespace == f"{EIGHT}/_invalidations"
        assert agent.get_memory(notice.id) is not None

    def test_notices_are_never_nested(self, agent: Store) -> None:
        old, new, dependent = reflections(agent, "old", "new", "d")
        reflect_on(agent, dependent, old)
        agent.supersede(old=old.id, new=new.id)
        (notice,) = notices(agent)
        other, newer = reflections(agent, "other", "newer")
        agent.link(source=notice.id, target=other.id, relation="reflects_on")
        agent.supersede(old=other.id, new=newer.id)
        assert [item.namespace for item in notices(agent)] == ["default/_invalidations"] * 2

    def test_notices_are_not_among_the_memories_of_the_namespace(self, agent: Store) -> None:
        old, new, dependent = reflections(agent, "old", "new", "d")
        reflect_on(agent, dependent, old)
        agent.supersede(old=old.id, new=new.id)
        assert len(list(agent.list_memories())) == 3
        inbox = list(agent.list_memories(namespace="default/_invalidations"))
        assert [memory.id for memory in inbox] == [notices(agent)[0].id]


class TestOnce:
    def test_repeating_it_writes_nothing(self, agent: Store) -> None:
        old, new, dependent = reflections(agent, "old", "new", "d")
        reflect_on(agent, dependent, old)
        agent.supersede(old=old.id, new=new.id)
        head = agent.stats().commits
        assert agent.supersede(old=old.id, new=new.id).notified == ()
        assert (len(notices(agent)), audited(agent), agent.stats().commits) == (1, 1, head)

    def test_also_when_the_link_was_closed_in_between(self, agent: Store) -> None:
        old, new, dependent = reflections(agent, "old", "new", "d")
        reflect_on(agent, dependent, old)
        agent.supersede(old=old.id, new=new.id)
        agent.unlink(source=new.id, target=old.id, relation="supersedes")
        assert agent.supersede(old=old.id, new=new.id).notified == ()
        assert (len(notices(agent)), audited(agent)) == (1, 1)
        assert agent.rebuild().identical

    def test_a_second_superseder_makes_its_own(self, agent: Store) -> None:
        old, one, two, dependent = reflections(agent, "old", "one", "two", "d")
        reflect_on(agent, dependent, old)
        agent.supersede(old=old.id, new=one.id)
        assert agent.supersede(old=old.id, new=two.id).notified == (dependent.id,)
        assert [notice.invalidating_id for notice in notices(agent)] == [one.id, two.id]
        assert audited(agent) == 2

    def test_who_reflects_on_what_is_superseded_already_is_told_too(self, store: Store) -> None:
        old, new = reflections(store, "old", "new", agent_id="a")
        store.supersede(old=old.id, new=new.id)
        late = store.reflect("late", on=[old.id], agent_id="b")
        (notice,) = store.invalidations(agent_id="b")
        assert (notice.dependent_id, notice.invalidating_id) == (late.id, new.id)
        assert store.supersede(old=old.id, new=new.id).notified == ()
        assert len(notices(store)) == 1

    def test_a_txn_id_that_had_no_effect_is_remembered(self, agent: Store) -> None:
        old, new = reflections(agent, "old", "new")
        agent.supersede(old=old.id, new=new.id)
        again = agent.supersede(old=old.id, new=new.id, txn_id="again")
        agent.unlink(source=new.id, target=old.id, relation="supersedes")
        head = agent.stats().commits
        assert agent.supersede(old=old.id, new=new.id, txn_id="again") == again
        assert agent.stats().commits == head
        assert agent.links(old.id) == []
        with pytest.raises(IdempotencyMismatch):
            agent.supersede(old=new.id, new=old.id, txn_id="again")
        assert agent.rebuild().identical
        agent.verify()


class TestInbox:
    def test_mine_or_everybodys(self, store: Store) -> None:
        old, new = reflections(store, "old", "new", agent_id="a")
        for name in ("b", "c"):
            reflect_on(store, store.remember(name, agent_id=name), old)
        store.supersede(old=old.id, new=new.id)
        mine = store.bind(agent_id="b")
        assert [invalidation.agent_id for invalidation in mine.invalidations()] == ["b"]
        assert [
            invalidation.agent_id for invalidation in mine.invalidations(agent_id=ALL_AGENTS)
        ] == ["b", "c"]
        with pytest.raises(InvalidInput, match="agent_id"):
            store.invalidations()
        with pytest.raises(InvalidInput, match="status"):
            mine.invalidations(status="closed")

    def test_an_open_notice_does_not_expire_and_a_closed_one_does(
        self, agent: Store, clock: FixedClock
    ) -> None:
        old, new, dependent = reflections(agent, "old", "new", "d")
        reflect_on(agent, dependent, old)
        agent.supersede(old=old.id, new=new.id)
        clock.advance(timedelta(days=400).total_seconds())
        (notice,) = agent.invalidations()
        assert agent.get_memory(notice.id) is not None
        agent.resolve_invalidation(notice.id, decision="keep")
        assert agent.get_memory(notice.id) is not None
        clock.advance(timedelta(days=8).total_seconds())
        assert agent.get_memory(notice.id) is None
        assert [item.id for item in notices(agent)] == [notice.id]

    def test_a_notice_is_nobodys_to_rewrite(self, agent: Store) -> None:
        old, new, dependent = reflections(agent, "old", "new", "d")
        reflect_on(agent, dependent, old)
        agent.supersede(old=old.id, new=new.id)
        (notice,) = agent.invalidations()
        changes: list[Callable[[], object]] = [
            lambda: agent.update_memory(notice.id, content="x"),
            lambda: agent.retract_memory(notice.id),
        ]
        for change in changes:
            with pytest.raises(InvalidInput, match="resolve_invalidation"):
                change()


class TestResolve:
    @pytest.fixture
    def dependent(self, agent: Store) -> Memory:
        return agent.remember("d", kind="reflection")

    @pytest.fixture
    def notice(self, agent: Store, dependent: Memory) -> Invalidation:
        old, new = reflections(agent, "old", "new")
        reflect_on(agent, dependent, old)
        agent.supersede(old=old.id, new=new.id)
        (notice,) = agent.invalidations()
        return notice

    def test_keep_changes_nothing_else(
        self, agent: Store, dependent: Memory, notice: Invalidation, clock: FixedClock
    ) -> None:
        before = agent.get_memory(dependent.id)
        clock.step(60)
        agent.resolve_invalidation(notice.id, decision="keep", note="still true")
        assert agent.get_memory(dependent.id) == before
        assert list(agent.invalidations()) == []
        (closed,) = agent.invalidations(status="resolved")
        assert (closed.decision, closed.note, closed.resolved_by) == ("keep", "still true", "a1")
        assert closed.resolved_at == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
        assert [
            invalidation.id for invalidation in agent.invalidations(at=agent.stats().commits - 1)
        ] == [notice.id]

    def test_retract_retracts_the_dependent(
        self, agent: Store, dependent: Memory, notice: Invalidation
    ) -> None:
        agent.resolve_invalidation(notice.id, decision="retract", note="gone")
        assert agent.get_memory(dependent.id) is None
        *_, last = agent.memory_history(dependent.id)
        assert (last.retracted, last.reason) == (True, "gone")

    def test_revise_links_the_replacement(
        self, agent: Store, dependent: Memory, notice: Invalidation
    ) -> None:
        assert notice.invalidating_id is not None
        better = agent.reflect("better", on=[notice.invalidating_id])
        agent.resolve_invalidation(notice.id, decision="revise", replacement=better.id)
        memory = agent.get_memory(dependent.id)
        assert memory is not None
        assert memory.superseded_by == better.id
        (closed,) = agent.invalidations(status="resolved")
        assert closed.replacement == better.id

    def test_twice_is_once_and_otherwise_a_conflict(
        self, agent: Store, notice: Invalidation
    ) -> None:
        agent.resolve_invalidation(notice.id, decision="keep")
        head = agent.stats().commits
        agent.resolve_invalidation(notice.id, decision="keep")
        assert agent.stats().commits == head
        with pytest.raises(Conflict, match="keep"):
            agent.resolve_invalidation(notice.id, decision="retract")

    def test_what_is_asked_must_make_sense(
        self, agent: Store, dependent: Memory, notice: Invalidation
    ) -> None:
        for text in (
            {"decision": "ignore"},
            {"decision": "revise"},
            {"decision": "keep", "replacement": dependent.id},
        ):
            with pytest.raises(InvalidInput):
                agent.resolve_invalidation(notice.id, **text)
        with pytest.raises(NotFound, match="not a notice"):
            agent.resolve_invalidation(dependent.id, decision="keep")
        with pytest.raises(NotFound, match="nobody"):
            agent.resolve_invalidation("nobody", decision="keep")
        with pytest.raises(NotFound, match="replacement"):
            agent.resolve_invalidation(notice.id, decision="revise", replacement="nobody")
        assert [item.status for item in notices(agent)] == ["open"]

    def test_it_replays_and_rebuilds(self, agent: Store, notice: Invalidation) -> None:
        agent.resolve_invalidation(notice.id, decision="retract")
        *_, event = agent.replay(namespace="default/_invalidations")
        assert [operation.type.name for operation in event.operations] == ["RESOLVE"]
        assert agent.rebuild().identical
