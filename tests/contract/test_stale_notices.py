"""Stale beliefs: who rests on what changed is told, in the same event, once per cause."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memoranda import (
    ALL_AGENTS,
    FactRef,
    Invalidation,
    InvalidInput,
    KeyRef,
    MemoryRef,
    OperationType,
    Store,
)
from memoranda.testing import FixedClock

Told = tuple[str, Any, Any, str]


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def past(number: int) -> datetime:
    return datetime(2025, 12, number, tzinfo=UTC)


def notices(store: Store, **options: Any) -> list[Invalidation]:
    return list(store.invalidations(**{"agent_id": ALL_AGENTS, "status": "all", **options}))


def told(store: Store, **options: Any) -> list[Told]:
    return [
        (notice.kind, notice.dependent, notice.evidence, notice.change)
        for notice in notices(store, **options)
    ]


def key(name: str, version: int = 1, agent_id: str = "a1") -> KeyRef:
    return KeyRef(name, version, agent_id, "default")


class TestMemories:
    def test_a_key_is_told_of_a_superseded_memory(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        old = bob.remember("old")
        ann.write(key="k", value={}, because=[old.ref])
        new = bob.remember("new")
        assert bob.supersede(old=old.id, new=new.id).notified == ()  # no memory was told
        (notice,) = ann.invalidations()
        assert (notice.kind, notice.change) == ("stale_key", "superseded")
        assert notice.dependent == key("k", agent_id="ann")
        assert (notice.evidence, notice.invalidated_id) == (old.ref, old.id)
        assert (notice.invalidating_id, notice.by, notice.dependent_id) == (new.id, "bob", None)
        assert (notice.agent_id, notice.namespace) == ("ann", "default/_invalidations")
        memory = store.get_memory(notice.id, agent_id="ann")
        assert memory is not None
        assert memory.metadata is not None
        assert memory.metadata["notification_kind"] == "stale_key"
        assert memory.metadata["dependent_at"] == [2, 0]
        assert "k" not in memory.metadata.values()  # a key is content, a position is not
        assert (memory.tier, memory.tags, memory.source) == (
            "mid",
            ("_invalidation",),
            "notification",
        )
        assert list(bob.invalidations()) == []

    def test_notice_and_cause_are_one_event(self, agent: Store) -> None:
        old, new = agent.remember("old"), agent.remember("new")
        agent.write(key="k", value={}, because=[old.ref])
        link = agent.supersede(old=old.id, new=new.id)
        (event,) = agent.replay(namespace="default/_invalidations")
        *_, cause = agent.replay()
        assert (event.commit_ts, link.valid_from) == (cause.commit_ts, cause.committed_at)
        assert [operation.type for operation in event.operations] == [OperationType.NOTIFY]

    @pytest.mark.parametrize("relation", ["derived_from", "reflects_on"])
    def test_a_memory_is_told_by_either_link(self, agent: Store, relation: str) -> None:
        old, new, dependent = (agent.remember(name) for name in ("old", "new", "d"))
        agent.link(source=dependent.id, target=old.id, relation=relation)
        assert agent.supersede(old=old.id, new=new.id).notified == (dependent.id,)
        assert told(agent) == [
            ("stale_memory", MemoryRef(dependent.id), old.ref, "superseded"),
        ]

    def test_other_links_do_not_count(self, agent: Store) -> None:
        old, new, related, closed = (agent.remember(name) for name in "abcd")
        agent.link(source=related.id, target=old.id, relation="related_to")
        agent.link(source=closed.id, target=old.id, relation="derived_from")
        agent.unlink(source=closed.id, target=old.id, relation="derived_from")
        agent.supersede(old=old.id, new=new.id)
        assert told(agent) == []

    def test_the_owner_of_a_fact_is_told(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        old = bob.remember("old")
        ann.assert_fact(subject="x", relation="is", object="y", source=old.ref)
        (fact,) = ann.facts()
        bob.retract_memory(old.id)
        assert told(ann, agent_id=None) == [("stale_fact", fact.ref, old.ref, "retracted")]

    def test_retracting_and_revising(self, agent: Store) -> None:
        one, two = agent.remember("one"), agent.remember("two")
        agent.write(key="k", value={}, because=[one.ref, two.ref])
        agent.retract_memory(one.id, reason="wrong")
        agent.update_memory(two.id, content="two, again")
        agent.update_memory(two.id, content="two, and again")
        assert told(agent) == [
            ("stale_key", key("k"), one.ref, "retracted"),
            ("stale_key", key("k"), two.ref, "revised"),
        ]

    def test_whoever_supersedes_what_it_rests_on_knows(self, agent: Store) -> None:
        old, new = agent.remember("old"), agent.remember("new")
        agent.link(source=new.id, target=old.id, relation="derived_from")
        agent.supersede(old=old.id, new=new.id)
        assert told(agent) == []

    def test_each_superseder_once(self, agent: Store) -> None:
        old, one, two = (agent.remember(name) for name in ("old", "one", "two"))
        agent.write(key="k", value={}, because=[old.ref])
        for new in (one, one, two):
            agent.supersede(old=old.id, new=new.id)
        agent.unlink(source=one.id, target=old.id, relation="supersedes")
        agent.supersede(old=old.id, new=one.id)
        assert [notice.invalidating_id for notice in notices(agent)] == [one.id, two.id]

    def test_either_may_come_last(self, agent: Store) -> None:
        old, new = agent.remember("old"), agent.remember("new")
        agent.supersede(old=old.id, new=new.id)
        agent.write(key="k", value={}, because=[old.ref])
        agent.assert_fact(subject="x", relation="is", object="y", source=old.ref)
        dependent = agent.remember("d")
        agent.link(source=dependent.id, target=old.id, relation="derived_from")
        assert [kind for kind, *_ in told(agent)] == ["stale_key", "stale_fact", "stale_memory"]

    def test_all_in_one_transaction(self, agent: Store) -> None:
        with agent.begin_transaction() as tx:
            old, new = tx.remember(content="old"), tx.remember(content="new")
            tx.write(key="k", value={}, because=[MemoryRef(old)])
            tx.write(key="kept", value={}, because=[MemoryRef(old)])
            tx.write(key="kept", value={})
            tx.supersede(old=old, new=new)
        assert told(agent) == [("stale_key", key("k"), MemoryRef(old, 1), "superseded")]

    def test_nothing_is_cascaded(self, agent: Store) -> None:
        old, new, middle = (agent.remember(name) for name in ("old", "new", "middle"))
        agent.link(source=middle.id, target=old.id, relation="derived_from")
        agent.write(key="k", value={}, because=[middle.ref])
        agent.supersede(old=old.id, new=new.id)
        assert [kind for kind, *_ in told(agent)] == ["stale_memory"]
        assert agent.why("k").is_stale

    def test_only_what_stands_is_told(self, agent: Store) -> None:
        old, new, gone, replaced, better = (agent.remember(name) for name in "abcde")
        for memory in (gone, replaced):
            agent.link(source=memory.id, target=old.id, relation="derived_from")
        agent.retract_memory(gone.id)
        agent.supersede(old=replaced.id, new=better.id)
        agent.write(key="k", value={}, because=[old.ref])
        agent.write(key="k", value={})
        agent.assert_fact(subject="x", relation="is", object="y", source=old.ref)
        agent.retract_fact(subject="x", relation="is", object="y")
        agent.supersede(old=old.id, new=new.id)
        assert told(agent) == []

    def test_what_stands_again_is_told_of_what_it_missed(self, agent: Store) -> None:
        old, dependent, better = (agent.remember(name) for name in "abc")
        agent.link(source=dependent.id, target=old.id, relation="derived_from")
        agent.supersede(old=dependent.id, new=better.id)
        agent.retract_memory(old.id)
        assert told(agent) == []
        agent.unlink(source=better.id, target=dependent.id, relation="supersedes")
        assert told(agent) == [("stale_memory", MemoryRef(dependent.id), old.ref, "retracted")]


class TestKeys:
    def test_overwritten_and_deleted(self, agent: Store) -> None:
        agent.write(key="base", value={"n": 1})
        agent.write(key="k", value={}, because=[KeyRef("base")])
        for number in (2, 3):
            agent.write(key="base", value={"n": number})
        agent.delete(key="base")
        assert told(agent) == [
            ("stale_key", key("k"), key("base"), "overwritten"),
            ("stale_key", key("k"), key("base"), "deleted"),
        ]

    def test_a_key_of_another_agent(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        bob.write(key="base", value={})
        ann.write(key="k", value={}, because=[KeyRef("base", agent_id="bob")])
        bob.write(key="base", value={"n": 2})
        (notice,) = ann.invalidations()
        assert notice.evidence == key("base", agent_id="bob")

    def test_a_key_is_not_told_of_its_own_next_version(self, agent: Store) -> None:
        agent.write(key="k", value={"n": 1})
        agent.write(key="k", value={"n": 2}, because=[KeyRef("k")])
        agent.write(key="k", value={"n": 3}, because=[KeyRef("k", version=1)])
        assert told(agent) == []

    def test_an_old_version_is_stale_from_the_start(self, agent: Store) -> None:
        agent.write(key="base", value={"n": 1})
        agent.write(key="base", value={"n": 2})
        agent.write(key="k", value={}, because=[KeyRef("base", version=1)])
        assert told(agent) == [("stale_key", key("k"), key("base"), "overwritten")]


class TestFacts:
    def assert_home(self, agent: Store, city: str, **times: Any) -> FactRef:
        agent.assert_fact(subject="Ann", relation="lives in", object=city, **times)
        (fact,) = agent.facts(object=city, include_closed=True)
        return fact.ref

    @pytest.fixture
    def single(self, agent: Store) -> Store:
        agent.set_cardinality(relation="lives in", cardinality="single")
        return agent

    def test_closed_by_a_contradiction(self, single: Store) -> None:
        rome = self.assert_home(single, "Rome")
        single.write(key="k", value={}, because=[rome])
        single.write(key="other", value={}, because=[rome])
        self.assert_home(single, "Paris")
        self.assert_home(single, "Oslo")
        assert told(single) == [
            ("stale_key", key("k"), rome, "closed"),
            ("stale_key", key("other"), rome, "closed"),
        ]
        assert single.why("k").because[0].stale[0].startswith("closed")

    def test_a_late_fact_closes_too(self, single: Store) -> None:
        rome = self.assert_home(single, "Rome", valid_from=day(1))
        paris = self.assert_home(single, "Paris", valid_from=day(20))
        single.write(key="k", value={}, because=[rome])
        single.write(key="now", value={}, because=[paris])
        self.assert_home(single, "Oslo", valid_from=day(10))
        assert told(single) == [("stale_key", key("k"), rome, "closed")]

    def test_a_backdated_fact_that_closes_nothing(self, single: Store) -> None:
        rome = self.assert_home(single, "Rome", valid_from=day(10))
        single.write(key="k", value={}, because=[rome])
        self.assert_home(single, "Oslo", valid_from=day(1))
        assert told(single) == []

    def test_ended_now_or_in_the_future(self, agent: Store, clock: FixedClock) -> None:
        rome, oslo = self.assert_home(agent, "Rome"), self.assert_home(agent, "Oslo")
        agent.write(key="k", value={}, because=[rome])
        agent.write(key="j", value={}, because=[oslo])
        clock.step(60)
        agent.end_fact(subject="Ann", relation="lives in", object="Rome")
        agent.end_fact(subject="Ann", relation="lives in", object="Oslo", at=day(30))
        assert told(agent) == [
            ("stale_key", key("k"), rome, "closed"),
            ("stale_key", key("j"), oslo, "closed"),
        ]

    def test_time_alone_writes_no_notice(self, agent: Store, clock: FixedClock) -> None:
        rome = self.assert_home(agent, "Rome", valid_to=day(3))
        memory = agent.remember("brief", ttl=60.0)
        agent.write(key="k", value={}, because=[rome, memory.ref])
        clock.step(7 * 24 * 3600)
        agent.write(key="other", value={})
        assert [reason.ref for reason in agent.stale_keys()] == [key("k")]
        assert told(agent) == []

    def test_retracted(self, agent: Store) -> None:
        rome = self.assert_home(agent, "Rome")
        agent.write(key="k", value={}, because=[rome])
        agent.retract_fact(assertion_id=rome.assertion_id)
        assert told(agent) == [("stale_key", key("k"), rome, "retracted")]

    def test_another_assertion_of_the_same_fact_withdrawn(self, agent: Store) -> None:
        first = self.assert_home(agent, "Rome", valid_from=past(1), valid_to=past(5))
        agent.assert_fact(subject="Ann", relation="lives in", object="Rome", valid_from=past(2))
        agent.write(key="k", value={}, because=[first])
        (fact,) = agent.facts(object="Rome")
        (other,) = set(fact.assertions) - {first.assertion_id}
        agent.retract_fact(assertion_id=other)
        assert told(agent) == [("stale_key", key("k"), first, "closed")]

    @pytest.mark.parametrize("change", ["classify", "merge"])
    def test_a_timeline_derived_again(self, agent: Store, change: str) -> None:
        rome = self.assert_home(agent, "Rome", valid_from=day(1))
        if change == "merge":
            agent.set_cardinality(relation="lives in", cardinality="single")
            agent.assert_fact(
                subject="Annie", relation="lives in", object="Oslo", valid_from=day(2)
            )
        else:
            self.assert_home(agent, "Oslo", valid_from=day(2))
        agent.write(key="k", value={}, because=[rome])
        if change == "merge":
            agent.merge_entities(source="Annie", into="Ann")
        else:
            agent.set_cardinality(relation="lives in", cardinality="single")
        assert told(agent) == [("stale_key", key("k"), rome, "closed")]

    def test_closed_by_another_agent_who_shares_the_facts(self, store: Store) -> None:
        store.configure(namespace="default", facts="shared", agent_id="ann")
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        ann.set_cardinality(relation="lives in", cardinality="single")
        rome = self.assert_home(ann, "Rome", valid_from=past(1))
        ann.write(key="k", value={}, because=[rome])
        self.assert_home(bob, "Oslo", valid_from=past(2))
        assert ann.why("k").is_stale
        assert told(ann) == [("stale_key", key("k", agent_id="ann"), rome, "closed")]

    def test_sharing_itself_may_close(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        ann.set_cardinality(relation="lives in", cardinality="single")
        rome = self.assert_home(ann, "Rome", valid_from=past(1))
        self.assert_home(bob, "Oslo", valid_from=past(2))
        ann.write(key="k", value={}, because=[rome])
        assert told(ann) == []
        ann.configure(namespace="default", facts="shared")
        assert [notice.change for notice in notices(ann)] == (
            ["closed"] if ann.why("k").is_stale else []
        )

    def test_a_trial_leaves_nothing_behind(self, single: Store) -> None:
        rome = self.assert_home(single, "Rome")
        single.write(key="k", value={}, because=[rome])
        with single.begin_transaction() as tx:  # names and a scope that only the trial knows yet
            tx.assert_fact(subject="Ann", relation="lives in", object="Nowhere")
            tx.assert_fact(subject="New", relation="new", object="newer", agent_id="somebody")
        assert len(told(single)) == 1
        assert single.verify(deep=True).commits


class TestPrivacy:
    def test_a_private_superseder_is_not_told_of(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        old = bob.remember("old")
        ann.write(key="k", value={}, because=[old.ref])
        bob.write(key="k", value={}, because=[old.ref])
        new = bob.remember("secret", visibility="private")
        bob.supersede(old=old.id, new=new.id)
        assert not ann.why("k").is_stale
        assert told(ann, agent_id=None) == []
        assert len(told(bob, agent_id=None)) == 1
        assert notices(ann) == []  # bob's notice names his private memory: only he sees it

    def test_evidence_that_the_owner_may_not_see(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        conclusion = ann.remember("conclusion")
        secret = bob.remember("secret", visibility="private")
        bob.link(source=conclusion.id, target=secret.id, relation="derived_from")
        bob.retract_memory(secret.id)
        assert not ann.why(conclusion).is_stale
        assert notices(ann) == notices(bob) == []

    def test_private_evidence_makes_a_private_notice(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        old = ann.remember("secret", visibility="private")
        ann.write(key="k", value={}, because=[old.ref])
        ann.retract_memory(old.id)
        (notice,) = ann.invalidations()
        assert notices(bob) == []
        assert bob.get_memory(notice.id) is None
        replayed = bob.replay(agent_id="ann", namespace="default/_invalidations")
        assert old.id not in repr(list(replayed))


class TestDecisions:
    @pytest.fixture
    def notice(self, agent: Store) -> Invalidation:
        old, new = agent.remember("old"), agent.remember("new")
        agent.write(key="k", value={}, because=[old.ref])
        agent.supersede(old=old.id, new=new.id)
        (notice,) = agent.invalidations()
        return notice

    def test_keep(self, agent: Store, notice: Invalidation) -> None:
        agent.resolve_invalidation(notice.id, decision="keep", note="still good")
        assert notices(agent, status="open") == []
        (resolved,) = notices(agent, status="resolved")
        assert (resolved.decision, resolved.note) == ("keep", "still good")
        assert agent.get_state(key="k") is not None

    @pytest.mark.parametrize("decision", ["revise", "retract"])
    def test_a_change_that_was_not_made(
        self, agent: Store, notice: Invalidation, decision: str
    ) -> None:
        with pytest.raises(InvalidInput, match="write or delete key 'k'"):
            agent.resolve_invalidation(notice.id, decision=decision)

    def test_a_key_has_no_replacement(self, agent: Store, notice: Invalidation) -> None:
        other = agent.remember("other")
        with pytest.raises(InvalidInput, match="write the key"):
            agent.resolve_invalidation(notice.id, decision="revise", replacement=other.id)

    def test_a_memory_needs_one(self, agent: Store) -> None:
        old, new, dependent = (agent.remember(name) for name in "abc")
        agent.link(source=dependent.id, target=old.id, relation="derived_from")
        agent.supersede(old=old.id, new=new.id)
        (notice,) = agent.invalidations()
        with pytest.raises(InvalidInput, match="replacement"):
            agent.resolve_invalidation(notice.id, decision="revise")
        agent.resolve_invalidation(notice.id, decision="revise", replacement=new.id)
        memory = agent.get_memory(dependent.id)
        assert memory is not None
        assert memory.superseded_by == new.id

    def test_a_later_write_settles_it(self, agent: Store, notice: Invalidation) -> None:
        commit = agent.write(key="k", value={"n": 2}).commit_ts
        (resolved,) = notices(agent)
        assert (resolved.id, resolved.decision, resolved.by) == (notice.id, "revise", "a1")
        (before,) = notices(agent, at=commit - 1)
        assert before.status == "open"
        agent.resolve_invalidation(notice.id, decision="revise")  # again: nothing

    def test_a_write_on_the_same_ground_gets_its_own(
        self, agent: Store, notice: Invalidation
    ) -> None:
        assert notice.evidence is not None
        agent.write(key="k", value={"n": 2}, because=[notice.evidence])
        assert [(item.dependent, item.status) for item in notices(agent)] == [
            (key("k", 1), "resolved"),
            (key("k", 2), "open"),
        ]

    def test_decided_in_the_transaction_that_writes(
        self, agent: Store, notice: Invalidation
    ) -> None:
        with agent.begin_transaction() as tx:
            tx.write(key="k", value={"n": 2})
            tx.resolve_invalidation(notice.id, decision="revise", note="better")
        (resolved,) = notices(agent)
        assert (resolved.decision, resolved.note) == ("revise", "better")

    def test_deleting_a_key_and_retracting_a_fact(self, agent: Store) -> None:
        old = agent.remember("old")
        agent.write(key="k", value={}, because=[old.ref])
        agent.assert_fact(subject="x", relation="is", object="y", source=old.ref)
        agent.retract_memory(old.id)
        assert len(notices(agent, status="open")) == 2
        agent.delete(key="k")
        agent.retract_fact(subject="x", relation="is", object="y")
        assert [item.decision for item in notices(agent)] == ["retract", "retract"]


class TestSubscriptions:
    def test_only_notices_to_the_agent(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob", namespace="team/b")
        old = bob.remember("old")
        for agent, name in ((ann, "k"), (bob, "j")):
            agent.write(key=name, value={}, because=[old.ref])
        bob.retract_memory(old.id)
        (event,) = ann.subscribe(after_commit=0, notices=True, timeout=0)
        (operation,) = event.operations
        assert (operation.type, operation.agent_id) == (OperationType.NOTIFY, "ann")
        assert operation.value is not None
        assert operation.value["change"] == "retracted"
        (own,) = bob.subscribe(after_commit=0, notices=True, timeout=0)
        assert own.operations[0].namespace == "team/b/_invalidations"
        in_team: dict[str, Any] = {
            "namespace": "team/b",
            "after_commit": 0,
            "notices": True,
            "timeout": 0,
        }
        assert list(ann.subscribe(**in_team)) == []
        assert len(list(bob.subscribe(**in_team))) == 1

    @pytest.mark.parametrize("other", [{"kinds": ["write"]}, {"prefix": "k"}])
    def test_of_no_other_kind(self, agent: Store, other: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput, match="notices"):
            agent.subscribe(notices=True, **other)


class TestErasure:
    @pytest.fixture
    def told_store(self, store: Store) -> Store:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        old = bob.remember("old", title="source")
        bob.write(key="base", value={})
        ann.assert_fact(subject="Sue", relation="is", object="y", source=old.ref)
        (fact,) = ann.facts()
        because: list[Any] = [old.ref, fact.ref, KeyRef("base", agent_id="bob")]
        ann.write(key="secret-key", value={}, because=because)
        bob.write(key="base", value={"n": 2})
        bob.retract_memory(old.id)
        ann.end_fact(subject="Sue", relation="is", object="y", at=day(30))
        for notice in list(ann.invalidations()):
            ann.resolve_invalidation(notice.id, decision="keep", note="about secret-key or Sue")
        assert len(notices(store)) == 4
        return store

    @pytest.mark.parametrize(
        ("agent_id", "target"),
        [
            ("ann", {"key": "secret-key"}),
            ("bob", {"key": "base"}),
            ("ann", {"entity": "Sue"}),
            ("bob", {"whole_agent": "ann"}),
            ("ann", {"whole_agent": "bob"}),
            ("ann", {"whole_namespace": "default"}),
        ],
    )
    def test_views_equal_a_rebuild(
        self, told_store: Store, agent_id: str, target: dict[str, Any]
    ) -> None:
        told_store.bind(agent_id=agent_id).forget(**target)
        assert told_store.verify(deep=True).rows
        notices(told_store)  # what is gone is listed as gone
        told_store.write(agent_id="bob", key="base", value={"n": 3})
        assert told_store.rebuild().identical

    def test_a_forgotten_key_leaves_no_name(self, told_store: Store) -> None:
        told_store.bind(agent_id="ann").forget(key="secret-key")
        about = [notice for notice in notices(told_store) if notice.kind == "stale_key"]
        assert [notice.dependent for notice in about] == [None] * 3
        assert {notice.note for notice in about} == {None}
        assert "secret-key" not in repr(about)

    def test_a_forgotten_fact_leaves_no_name(self, told_store: Store) -> None:
        told_store.bind(agent_id="ann").forget(entity="Sue")
        (about,) = [notice for notice in notices(told_store) if notice.kind == "stale_fact"]
        assert (about.dependent, about.note) == (None, None)

    def test_compaction(self, told_store: Store) -> None:
        for number in range(4):
            told_store.write(agent_id="bob", key="base", value={"n": number})
        told_store.compact(before=told_store.stats().commits, namespace="default")
        assert told_store.verify(deep=True).rows
        assert told_store.rebuild().identical
        told_store.write(agent_id="ann", key="secret-key", value={})
        assert told_store.verify(deep=True).rows


def test_sweeping_does_not_repeat_a_notice(agent: Store, clock: FixedClock) -> None:
    old, new = agent.remember("old"), agent.remember("new")
    agent.write(key="k", value={}, because=[old.ref])
    agent.supersede(old=old.id, new=new.id)
    (notice,) = notices(agent)
    agent.resolve_invalidation(notice.id, decision="keep")
    clock.step(365 * 24 * 3600)
    agent.sweep()
    agent.unlink(source=new.id, target=old.id, relation="supersedes")
    agent.supersede(old=old.id, new=new.id)
    assert [notice_.id for notice_ in notices(agent)] == [notice.id]
