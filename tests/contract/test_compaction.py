"""Compaction: a namespace forgets the way it came, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import (
    ALL_AGENTS,
    ALL_NAMESPACES,
    RETENTION,
    Compacted,
    InvalidInput,
    KeyRef,
    MemoryRef,
    Store,
)
from memoranda.model.operations import Write
from memoranda.testing import FixedClock

LONG = "a long story " * 1000


def write(store: Store, key: str, number: int, **more: Any) -> int:
    return store.write(key=key, value={"n": number}, **more).commit_ts


def grow(store: Store, key: str = "k", times: int = 5) -> int:
    """Give a key some versions, and return the last commit."""
    return [write(store, key, number) for number in range(1, times + 1)][-1]


class TestAsking:
    def test_nothing_happens_without_confirmation(self, agent: Store) -> None:
        horizon = grow(agent)
        compaction = agent.compact(before=horizon)
        assert (compaction.erased, compaction.retained, compaction.commit_ts) == (4, 1, None)
        assert [version.version for version in agent.history(key="k")] == [1, 2, 3, 4, 5]
        assert agent.stats().commits == horizon

    def test_it_says_what_it_did(self, agent: Store) -> None:
        horizon = grow(agent)
        compaction = agent.compact(before=horizon, confirm=True, reason="enough")
        assert (compaction.namespace, compaction.horizon, compaction.erased) == (
            "default",
            horizon,
            4,
        )
        assert compaction.commit_ts == horizon + 1 == agent.stats().commits
        record = agent.get_state(key="k")
        assert record is not None
        assert compaction.horizon_at == record.committed_at

    def test_it_can_be_read_up_what_was_done(self, agent: Store) -> None:
        agents = agent.stats().agents
        grow(agent)
        agent.compact(before=5, confirm=True, reason="enough")
        (done,) = agent.erasures()
        assert (done.target, done.reason, done.operations) == ("compaction", "enough", 4)
        assert [audit_event.event_type for audit_event in agent.audit_events(after_commit=5)] == [
            "erasure.carried_out",
            "log.compacted",
        ]
        assert agent.stats().agents == agents + 1

    def test_again_is_nothing(self, agent: Store) -> None:
        horizon = grow(agent)
        agent.compact(before=horizon, confirm=True)
        for before in (horizon, horizon - 2, 0):
            assert agent.compact(before=before, confirm=True).commit_ts is None

    def test_nothing_to_give_up_is_no_event(self, agent: Store) -> None:
        write(agent, "k", 1)
        head = write(agent, "l", 1)
        assert agent.compact(before=head, confirm=True).commit_ts is None
        assert agent.stats().commits == head
        assert agent.get_state(key="k", at=1) is not None

    def test_a_moment_beyond_the_head_is_the_head(self, agent: Store) -> None:
        horizon = grow(agent)
        assert agent.compact(before=horizon + 100, confirm=True).horizon == horizon

    def test_the_engines_own_namespaces_are_not_touched(self, agent: Store) -> None:
        with pytest.raises(InvalidInput, match="engine's own"):
            agent.compact(namespace="_log", before=1, confirm=True)

    def test_by_retention(self, agent: Store, clock: FixedClock) -> None:
        with pytest.raises(InvalidInput, match="has no log_retention"):
            agent.compact(namespace="team/eng", before=RETENTION)
        agent.configure(namespace="team", log_retention=timedelta(days=30))
        eng = agent.bind(namespace="team/eng")
        horizon = grow(eng)
        clock.step(29 * 86400)
        write(eng, "k", 6)
        assert eng.compact(before=RETENTION).erased == 0
        clock.step(2 * 86400)
        compaction = eng.compact(before=RETENTION, confirm=True)
        assert (compaction.horizon, compaction.erased) == (horizon, 4)


class TestState:
    def test_from_the_horizon_on_it_is_as_it_was(self, agent: Store) -> None:
        grow(agent, "k", 3)
        agent.delete(key="gone")
        write(agent, "gone", 1)
        horizon = agent.delete(key="gone").commit_ts
        write(agent, "k", 4)

        def asked() -> list[Any]:
            return [
                [
                    agent.get_state(key="k", at=at),
                    list(agent.list_keys(at=at)),
                    list(agent.scan_prefix(prefix="", at=at)),
                    list(agent.diff(old=at)),
                    list(agent.history(key="k", since=at)),
                    list(agent.history(key="gone", since=at)),
                ]
                for at in (horizon, horizon + 1)
            ]

        before = asked()
        assert agent.compact(before=horizon, confirm=True).erased == 4
        assert asked() == before
        assert write(agent, "gone", 9) == horizon + 3
        again = agent.get_state(key="gone")
        assert again is not None
        assert again.version == 4

    def test_below_the_horizon_it_is_gone(self, agent: Store) -> None:
        horizon = grow(agent)
        agent.compact(before=horizon, confirm=True)
        for ask in (
            lambda: agent.get_state(key="k", at=horizon - 1),
            lambda: agent.get_state(key="k", version=4),
            lambda: list(agent.list_keys(at=horizon - 1)),
            lambda: list(agent.scan_prefix(prefix="k", at=horizon - 1)),
            lambda: list(agent.diff(old=horizon - 1)),
            lambda: list(agent.history(key="k")),
            lambda: list(agent.history(key="k", since=horizon - 1)),
            lambda: agent.why("k", at=horizon - 1),
        ):
            with pytest.raises(Compacted, match=f"summed up to commit {horizon}") as refused:
                ask()
            assert refused.value.horizon == horizon
        assert agent.get_state(key="k", version=5) == agent.get_state(key="k")

    def test_a_key_that_nothing_of_is_gone_has_its_history(self, agent: Store) -> None:
        write(agent, "once", 1)
        horizon = grow(agent)
        write(agent, "once", 2)
        agent.compact(before=horizon, confirm=True)
        assert [version.version for version in agent.history(key="once")] == [1, 2]

    def test_what_a_value_rests_on_stays(self, agent: Store) -> None:
        grow(agent, "base", 2)
        write(agent, "middle", 1, because=[KeyRef("base", 1)])
        write(agent, "top", 1, because=[KeyRef("middle")])
        grow(agent, "middle", 2)
        horizon = grow(agent, "base", 2)
        before = agent.why("top")
        assert agent.compact(before=horizon, confirm=True).erased == 3
        assert agent.why("top") == before
        assert before.because[0].because[0].ref == KeyRef("base", 1, "a1", "default")

    def test_what_is_gone_is_no_ground(self, agent: Store) -> None:
        horizon = grow(agent)
        memory = agent.remember("x")
        agent.update_memory(memory.id, content="y")
        agent.compact(before=horizon + 2, confirm=True)
        for ref in (KeyRef("k", 4), MemoryRef(memory.id, 1)):
            with pytest.raises(Compacted, match=r"^because\[0\]: "):
                write(agent, "l", 1, because=[ref])
        write(agent, "l", 1, because=[KeyRef("k", 5), MemoryRef(memory.id, 2)])


class TestMemories:
    def test_a_memory_is_as_it_was(self, agent: Store, clock: FixedClock) -> None:
        memory = agent.remember(LONG, title="story", tier="mid", tags=["t"], metadata={"m": 1})
        transcript = agent.store_transcript("they said so")
        agent.link_transcript(memory_id=memory.id, transcript_id=transcript.id, spans=[(0, 4)])
        for _ in range(3):
            clock.step(60)
            agent.touch(memory.id)
        agent.update_memory(memory.id, title="tale")
        clock.step(60)
        agent.touch(memory.id)
        clock.step(60)
        agent.touch(memory.id)
        horizon = agent.stats().commits
        before = agent.get_memory(memory.id)
        compaction = agent.compact(before=horizon, confirm=True)
        assert compaction.erased == 4
        assert agent.get_memory(memory.id) == agent.get_memory(title="tale") == before
        assert before is not None
        assert before.content == LONG
        assert agent.get_memory(title="story") is None
        assert [item.version for item in agent.memory_history(memory.id, since=horizon)] == [2]
        assert agent.replay_transcripts(memory.id)[0].excerpts() == ("they",)
        clock.step(60)
        assert agent.touch(memory.id).access_count == 6
        assert agent.rebuild().identical

    def test_it_lasts_as_long_as_it_was_given(self, agent: Store, clock: FixedClock) -> None:
        memory = agent.remember("x", ttl=timedelta(hours=6))
        clock.step(60)
        agent.touch(memory.id)
        for number in (1, 2, 3):
            clock.step(600)
            agent.update_memory(memory.id, content=str(number), tags=[str(number)])
        assert agent.compact(before=agent.stats().commits, confirm=True).erased
        clock.step(60)
        again = agent.touch(memory.id)
        assert again.expires_at is not None
        assert again.last_accessed_at is not None
        assert again.expires_at - again.last_accessed_at == timedelta(hours=6)

    def test_content_that_was_replaced_is_gone(self, agent: Store) -> None:
        memory = agent.remember(LONG, tags=["t"])
        agent.update_memory(memory.id, content="short", tags=["u"])
        horizon = agent.stats().commits
        agent.compact(before=horizon, confirm=True)
        for ask in (
            lambda: agent.get_memory(memory.id, version=1),
            lambda: agent.get_memory(memory.id, at=1),
            lambda: list(agent.memory_history(memory.id)),
            lambda: list(agent.list_memories(at=1)),
            lambda: list(agent.list_memories(namespace=ALL_NAMESPACES, at=1)),
            lambda: agent.get_memory(title="x", at=1),
            lambda: agent.links(memory.id, at=1),
            lambda: agent.origins(memory.id, at=1),
            lambda: agent.dependents(memory.id, at=1),
            lambda: agent.why(MemoryRef(memory.id), at=1),
        ):
            with pytest.raises(Compacted):
                ask()
        assert agent.verify().commits == horizon + 1

    def test_details_stay_without_the_words_they_came_with(self, agent: Store) -> None:
        memory = agent.remember("first words", title="t", tags=["kept"], metadata={"m": 1})
        agent.update_memory(memory.id, content="second words")
        agent.update_memory(memory.id, content="third words", tags=["new"])
        agent.update_memory(memory.id, content="last words")
        for _ in range(2):
            before = agent.get_memory(memory.id)
            agent.compact(before=agent.stats().commits, confirm=True)
            assert agent.get_memory(memory.id) == before
            assert agent.rebuild().identical
            reports = repr([event.operations for event in agent.replay()])
            assert "last words" in reports
            assert not [word for word in ("first", "second", "third") if f"{word} words" in reports]
            agent.update_memory(memory.id, content="fourth words")
            agent.update_memory(memory.id, content="last words")

    def test_it_is_found_by_the_metadata_that_stay(self, agent: Store) -> None:
        memory = agent.remember("words", metadata={"m": 1, "stays": True})
        for number in (2, 3):
            agent.touch(memory.id)
            agent.update_memory(memory.id, metadata={"m": number, "stays": True})
        agent.update_memory(memory.id, content="others")
        agent.touch(memory.id)
        agent.compact(before=agent.stats().commits, confirm=True)
        listed = [[*agent.list_memories(metadata={"m": number})] for number in (1, 2, 3)]
        assert [len(memories) for memories in listed] == [0, 0, 1]
        assert len([*agent.list_memories(metadata={"stays": True})]) == 1
        assert agent.rebuild().identical

    def test_links_lead_into_and_out_of_it(self, agent: Store) -> None:
        other = agent.bind(namespace="other")
        below = agent.remember("below")
        middle = other.reflect("middle", on=[below.id])
        top = agent.reflect("top", on=[middle.id])
        agent.update_memory(top.id, content="higher")
        agent.update_memory(top.id, content="highest")
        newer = agent.reflect("newer", on=[below.id])
        agent.supersede(old=top.id, new=newer.id)
        other.supersede(old=middle.id, new=newer.id)
        horizon = agent.stats().commits

        def asked() -> list[Any]:
            return [
                agent.origins(top.id),
                agent.dependents(below.id, depth=None),
                agent.links(middle.id),
                agent.get_memory(top.id),
                list(agent.invalidations()),
                agent.why(MemoryRef(top.id)),
            ]

        before = asked()
        assert agent.compact(before=horizon, confirm=True).erased
        assert asked() == before
        with pytest.raises(Compacted):  # it leads where nothing is known of that time
            other.origins(middle.id, at=horizon - 3)
        assert agent.rebuild().identical


class TestFacts:
    def test_what_is_believed_is_as_it_was(self, agent: Store) -> None:
        agent.set_cardinality(relation="lives in", cardinality="single")
        for city in ("Rome", "Oslo", "Bern"):
            agent.assert_fact(subject="bob", relation="lives in", object=city)
        agent.assert_fact(subject="eve", relation="likes", object="tea")
        agent.retract_fact(subject="eve", relation="likes", object="tea")
        agent.retract_fact(subject="bob", relation="lives in", object="Oslo")
        horizon = agent.stats().commits

        def asked() -> list[Any]:
            return [
                agent.facts(include_closed=True),
                agent.timeline(subject="bob", relation="lives in", known_at=horizon),
                list(agent.entities()),
                [agent.explain(fact) for fact in agent.facts()],
            ]

        before = asked()
        assert agent.compact(before=horizon, confirm=True).erased == 4
        assert asked() == before
        assert [entity.name for entity in agent.entities()][-2:] == ["eve", "tea"]
        for ask in (
            lambda: agent.facts(known_at=horizon - 1),
            lambda: list(agent.iter_facts(known_at=horizon - 1)),
            lambda: agent.timeline(subject="bob", relation="lives in", known_at=1),
            lambda: list(agent.entities(known_at=1)),
            lambda: agent.entity("bob", known_at=1),
            lambda: agent.neighbors("bob", known_at=horizon - 1),
        ):
            with pytest.raises(Compacted):
                ask()


class TestTheLog:
    def test_replay_begins_with_a_summary(self, agent: Store) -> None:
        horizon = grow(agent)
        write(agent, "k", 6)
        agent.compact(before=horizon, confirm=True)
        first, second = agent.replay()
        assert (first.commit_ts, first.summary, len(first.operations)) == (horizon, True, 1)
        assert first.operations[0].version == 5
        assert (second.commit_ts, second.summary) == (horizon + 1, False)

    def test_a_summary_names_no_private_evidence_of_others(self, agent: Store) -> None:
        diary = agent.remember("for me alone", visibility="private")
        agent.write(key="resting", value={}, because=diary)
        horizon = grow(agent)
        agent.compact(before=horizon, confirm=True)
        for reader, evidence in ((agent, (diary.ref,)), (agent.bind(agent_id="other"), ())):
            first, *_ = reader.replay(agent_id=ALL_AGENTS)
            writes = [op for op in first.operations if isinstance(op, Write)]
            assert first.summary
            assert [op.because for op in writes if op.key == "resting"] == [evidence]

    def test_resuming_inside_and_behind(self, agent: Store) -> None:
        grow(agent)
        tokens = [event.token for event in agent.replay()]
        write(agent, "k", 6)
        agent.compact(before=5, confirm=True)

        def resumed(token: int | str) -> list[tuple[int, bool]]:
            return [(item.commit_ts, item.summary) for item in agent.replay(after_commit=token)]

        for inside in (0, 2, tokens[1], tokens[3]):
            assert resumed(inside) == [(5, True), (6, False)]
        for behind in (5, tokens[4]):
            assert resumed(behind) == [(6, False)]
        assert agent.replay(after_commit=tokens[1]).__next__().token == tokens[4]

    def test_a_replay_that_ends_before_cannot_be_given(self, agent: Store) -> None:
        horizon = grow(agent)
        agent.compact(before=horizon, confirm=True)
        with pytest.raises(Compacted, match="cannot be replayed up to commit 3"):
            list(agent.replay(through_commit=3))
        assert [event.commit_ts for event in agent.replay(through_commit=horizon)] == [horizon]

    def test_who_missed_nothing_gets_no_summary(self, agent: Store) -> None:
        grow(agent)
        other = agent.bind(agent_id="a2")
        horizon = write(other, "k", 1)
        write(agent, "k", 6)
        agent.compact(before=horizon, confirm=True)
        assert [event.commit_ts for event in agent.replay(after_commit=5)] == [horizon + 1]
        assert [event.commit_ts for event in other.replay(after_commit=5)] == [horizon]

    def test_subscriptions_and_cursors_get_past_it(self, agent: Store) -> None:
        grow(agent)
        subscription = agent.subscribe(after_commit=0, cursor="c", timeout=0)
        event = next(iter(subscription))
        subscription.ack(event)
        subscription.close()
        agent.compact(before=5, confirm=True)
        write(agent, "k", 6)
        with agent.subscribe(cursor="c", timeout=0) as resumed:
            result = list(resumed)
            resumed.ack(result[0])
        assert [(item.commit_ts, item.summary) for item in result] == [(5, True), (7, False)]
        with agent.subscribe(cursor="c", timeout=0) as again:
            assert [item.commit_ts for item in again] == [7]
        with agent.subscribe(last=2, timeout=0) as last:
            assert [item.commit_ts for item in last] == [5, 7]

    def test_what_others_did_in_the_same_event_stays(self, agent: Store) -> None:
        for number in (1, 2, 3):
            with agent.begin_transaction() as tx:
                for namespace in ("mine", "theirs"):
                    tx.write(key="k", value={"n": number}, namespace=namespace)
        agent.compact(namespace="mine", before=3, confirm=True)
        theirs = list(agent.replay(namespace="theirs"))
        assert [their.operations[0].value for their in theirs] == [{"n": 1}, {"n": 2}, {"n": 3}]
        everything = list(agent.replay(agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES))
        output = [
            (
                their.commit_ts,
                their.summary,
                [(op.namespace, op.version) for op in their.operations],
            )
            for their in everything
        ]
        assert output[:3] == [
            (1, False, [("theirs", 1)]),
            (2, False, [("theirs", 2)]),
            (3, True, [("mine", 3), ("theirs", 3)]),
        ]

    def test_what_was_done_once_is_not_done_again(self, agent: Store) -> None:
        first = write(agent, "k", 1, txn_id="once")
        memory = agent.remember("x", title="t", txn_id="thought")
        agent.assert_fact(subject="bob", relation="likes", object="tea", txn_id="said")
        grow(agent)
        agent.update_memory(memory.id, content="y")
        agent.retract_fact(subject="bob", relation="likes", object="tea")
        head = agent.stats().commits
        agent.compact(before=head, confirm=True)
        assert write(agent, "k", 1, txn_id="once") == first
        again = agent.remember("x", title="t", txn_id="thought")
        assert (again.id, again.content, again.outcome) == (memory.id, "y", "unchanged")
        fact = agent.assert_fact(subject="bob", relation="likes", object="tea", txn_id="said")
        assert (fact.commit_ts, fact.open) == (3, None)
        assert agent.stats().commits == head + 1

    def test_the_chain_holds_and_no_hash_changes(self, agent: Store) -> None:
        horizon = grow(agent)
        before = {event.commit_ts: event.hash for event in agent.replay()}
        agent.compact(before=horizon, confirm=True)
        assert agent.verify().commits == horizon + 1
        (summary,) = agent.replay()
        assert summary.hash == before[horizon]
        assert agent.rebuild().identical

    def test_again_and_elsewhere(self, agent: Store) -> None:
        other = agent.bind(namespace="other")
        memory = agent.remember("x", title="t")
        for _ in range(3):
            grow(agent)
            grow(other)
            agent.touch(memory.id)
            agent.touch(memory.id)
            agent.touch(memory.id)
            agent.update_memory(memory.id, title=f"t{agent.stats().commits}")
            reference = agent.get_memory(memory.id)
            assert agent.compact(before=agent.stats().commits, confirm=True).erased
            assert other.compact(before=agent.stats().commits - 3, confirm=True).erased
            assert agent.get_memory(memory.id) == reference
            assert agent.rebuild().identical
            agent.verify()

    def test_a_fork_takes_all_of_it(self, agent: Store, tmp_path: Path) -> None:
        horizon = grow(agent)
        done = agent.compact(before=horizon, confirm=True)
        write(agent, "k", 6)
        with pytest.raises(Compacted, match="which compacted namespace 'default'"):
            agent.fork(tmp_path / "early.db", at=horizon)
        agent.fork(tmp_path / "fork.db", at=done.commit_ts or 0)
        with memoranda.open(tmp_path / "fork.db") as fork:
            bound = fork.bind(agent_id="a1")
            assert bound.get_state(key="k", at=horizon) == agent.get_state(key="k", at=horizon)
            with pytest.raises(Compacted):
                bound.get_state(key="k", at=horizon - 1)
            fork.verify()
            assert fork.rebuild().identical
