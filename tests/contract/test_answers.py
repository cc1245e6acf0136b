"""Answers: every write returns its commit and what it did, and is a moment to read at."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, cast

import pytest

from memoranda import InvalidInput, KeyRef, Receipt, Store
from memoranda.audit.keys import PublicKey
from memoranda.sdk.as_json import time_text
from memoranda.testing import FixedClock
from tests.contract.opener import Opener

HERE = ("a1", "default")


@pytest.fixture
def agent(open_store: Opener) -> Store:
    return open_store(embedder=None).bind(agent_id="a1")


def check(agent: Store, answer: Any, outcome: str) -> None:
    """Check the fields that all answers have, for the write that was just made."""
    assert answer.outcome == outcome
    (head,) = agent.sql("SELECT commit_ts, committed_at FROM events ORDER BY 1 DESC LIMIT 1")
    assert answer.commit_ts == head["commit_ts"]
    assert time_text(answer.committed_at) == head["committed_at"]


class TestKeys:
    def test_a_key_is_created_updated_and_deleted(self, agent: Store) -> None:
        steps: list[tuple[Callable[[], Receipt], str]] = [
            (lambda: agent.delete(key="k"), "unchanged"),  # a version, but nothing to delete
            (lambda: agent.write(key="k", value={"n": 1}), "created"),
            (lambda: agent.write(key="k", value={"n": 1}), "updated"),
            (lambda: agent.delete(key="k"), "deleted"),
            (lambda: agent.delete(key="k"), "unchanged"),
            (lambda: agent.write(key="k", value={"n": 2}), "created"),
        ]
        for version, (step, outcome) in enumerate(steps, start=1):
            receipt = step()
            assert isinstance(receipt, Receipt)
            check(agent, receipt, outcome)
            assert receipt.version == version
            assert receipt.ref == KeyRef("k", version, *HERE)

    def test_it_is_known_when_others_wrote_the_key_too(self, reopen: Opener) -> None:
        one, other = (reopen(embedder=None).bind(agent_id="a1") for _ in range(2))
        assert one.write(key="k", value={}).outcome == "created"
        assert other.write(key="k", value={}).outcome == "updated"
        assert one.delete(key="k").outcome == "deleted"
        assert other.write(key="k", value={}).outcome == "created"

    def test_a_retry_answers_the_same(self, agent: Store) -> None:
        def write() -> Receipt:
            return agent.write(key="k", value={}, txn_id="once")

        first = write()
        agent.delete(key="k")
        assert write() == first
        removed = agent.write(key="k", value={"n": 2}, txn_id="again")
        assert removed.outcome == "created"
        assert agent.write(key="k", value={"n": 2}, txn_id="again") == removed

    def test_a_retry_of_what_was_forgotten(self, agent: Store) -> None:
        first = agent.write(key="k", value={}, txn_id="once")
        agent.forget(key="k")
        again = agent.write(key="k", value={}, txn_id="once")
        assert (again.commit_ts, again.committed_at) == (first.commit_ts, first.committed_at)
        assert (again.outcome, again.version, again.ref) == ("deleted", None, None)

    def test_a_retry_after_a_compaction(self, agent: Store) -> None:
        agent.write(key="k", value={"n": 1})
        agent.write(key="k", value={"n": 2})
        last = agent.write(key="k", value={"n": 3}, txn_id="once")
        agent.compact(before=last)
        assert agent.write(key="k", value={"n": 3}, txn_id="once") == last

    def test_it_can_be_cited(self, agent: Store) -> None:
        goal = agent.write(key="goal", value={})
        agent.write(key="plan", value={}, because=[goal])
        (version,) = agent.history(key="plan")
        assert version.because == (KeyRef("goal", 1, *HERE),)
        assert agent.why(goal).ref == goal.ref
        settings = agent.configure(max_reflection_depth=1)
        with pytest.raises(InvalidInput, match=r"because\[0\]: .* is not a reference"):
            agent.write(key="plan", value={}, because=[settings])

    def test_words_as_grounds_are_answered_alike(self, agent: Store) -> None:
        talk = agent.store_transcript("I never fly")
        receipt = agent.write(key="plan", value={}, because=talk)
        check(agent, receipt, "created")
        assert receipt.ref == KeyRef("plan", 1, *HERE)


class TestOtherWrites:
    def test_settings_and_names(self, agent: Store) -> None:
        agent.assert_fact(subject="Ann", relation="visits", object="Oslo")
        agent.assert_fact(subject="Anna", relation="visits", object="Oslo")
        calls: list[Callable[[], Receipt]] = [
            lambda: agent.set_cardinality(relation="visits", cardinality="single"),
            lambda: agent.alias(entity="Ann", alias="Annie"),
            lambda: agent.merge_entities(source="Anna", into="Ann"),
            lambda: agent.configure(facts="shared"),
        ]
        for call in calls:
            check(agent, call(), "updated")
            check(agent, call(), "unchanged")
        check(agent, agent.configure(max_reflection_depth=2), "updated")

    def test_a_retry_and_a_named_write_without_effect(self, agent: Store) -> None:
        def classify(txn_id: str) -> Receipt:
            return agent.set_cardinality(relation="visits", cardinality="single", txn_id=txn_id)

        first = classify("one")
        agent.write(key="k", value={})
        assert classify("one") == first
        check(agent, classify("two"), "unchanged")  # it is remembered by an event of its own

    def test_memories(self, agent: Store) -> None:
        memory = agent.remember("Ann likes ferries", title="ann")
        check(agent, memory, "created")
        check(agent, agent.remember("Ann likes ferries", title="ann"), "unchanged")
        check(agent, agent.remember("Ann likes boats", title="ann"), "updated")
        check(agent, agent.update_memory(memory, priority=7), "updated")
        check(agent, agent.touch(memory), "updated")
        check(agent, agent.promote(memory), "unchanged")
        check(agent, agent.reflect("drawn", on=memory), "created")
        check(agent, agent.retract_memory(memory), "deleted")
        check(agent, agent.retract_memory(memory), "unchanged")

    def test_links_and_transcripts(self, agent: Store) -> None:
        old, new = agent.remember("old"), agent.remember("new")
        ends: dict[str, Any] = {"source": old, "target": new, "relation": "related_to"}
        check(agent, agent.link(**ends), "created")
        check(agent, agent.link(**ends), "unchanged")
        check(agent, agent.unlink(**ends), "deleted")
        check(agent, agent.supersede(old=old, new=new), "created")
        talk = agent.store_transcript("I never fly")
        check(agent, talk, "created")
        check(agent, agent.link_transcript(memory_id=new, transcript_id=talk), "created")
        check(agent, agent.link_transcript(memory_id=new, transcript_id=talk), "unchanged")
        spans: dict[str, Any] = {"memory_id": new, "transcript_id": talk, "spans": [(0, 1)]}
        check(agent, agent.link_transcript(**spans), "updated")

    def test_notices(self, agent: Store) -> None:
        ground = agent.remember("ground")
        old, new = agent.reflect("old", on=ground), agent.reflect("new", on=ground)
        agent.reflect("dependent", on=old)
        agent.supersede(old=old, new=new)
        (notice,) = agent.invalidations()
        resolved = agent.resolve_invalidation(notice, decision="keep", note="still so")
        check(agent, resolved, "updated")
        assert (resolved.id, resolved.status, resolved.note) == (notice.id, "resolved", "still so")
        assert resolved.resolved_at == resolved.committed_at
        check(
            agent, agent.resolve_invalidation(notice, decision="keep", note="still so"), "unchanged"
        )

    def test_facts(self, agent: Store) -> None:
        fact: dict[str, Any] = {"subject": "Ann", "relation": "visits", "object": "Oslo"}
        edge = agent.assert_fact(**fact, once="import")
        check(agent, edge, "created")
        assert edge.id == edge.assertion_id is not None
        check(agent, agent.assert_fact(**fact, once="import"), "unchanged")
        check(agent, agent.end_fact(subject="Ann", relation="visits"), "updated")
        check(agent, agent.retract_fact(assertion_id=edge), "deleted")
        rows = [{"subject": f"S{number}", "relation": "is", "object": "o"} for number in range(5)]
        check(agent, agent.assert_facts(rows, batch=2, once="rows"), "created")
        again = agent.assert_facts(rows, batch=2, once="rows")
        assert (again.outcome, again.unchanged, again.commit_ts) == ("unchanged", 5, None)
        assert agent.assert_facts([]).commit_ts is None

    def test_erasures(self, agent: Store) -> None:
        memory = agent.remember("gone")
        preview = agent.forget(memory_id=memory, dry_run=True)
        assert (preview.outcome, preview.commit_ts) == ("unchanged", None)
        certificate = agent.forget(memory_id=memory)
        check(agent, certificate, "deleted")
        assert agent.certificate(certificate.id).id == certificate.erasure_id

    def test_keys_of_signers(self, agent: Store) -> None:
        old, new = (PublicKey("name", bytes([number] * 32)) for number in (1, 2))
        check(agent, agent.trust_key(old), "created")
        check(agent, agent.trust_key(old), "unchanged")
        check(agent, agent.rotate_key(old=old, new=new), "updated")
        check(agent, agent.retire_key(new), "deleted")
        check(agent, agent.retire_key(new), "unchanged")

    def test_a_read_has_no_outcome(self, agent: Store) -> None:
        memory, other = agent.remember("one"), agent.remember("two")
        talk = agent.store_transcript("words")
        agent.link(source=memory, target=other, relation="related_to")
        agent.link_transcript(memory_id=memory, transcript_id=talk)
        for record in (
            agent.get_memory(memory),
            *agent.links(memory),
            *agent.transcripts_for(memory),
            *agent.list_memories(),
        ):
            assert record is not None
            assert (record.outcome, record.commit_ts, record.committed_at) == (None, None, None)
        read = agent.get_transcript(talk)
        assert read is not None
        assert (read.outcome, read.commit_ts) == (None, talk.commit_ts)


class TestMoments:
    def test_an_answer_is_a_moment(self, agent: Store, clock: FixedClock) -> None:
        agent.write(key="k", value={"n": 1})
        memory = agent.remember("one", title="t")
        edge = agent.assert_fact(subject="Ann", relation="is", object="here")
        receipt = agent.write(key="k", value={"n": 2})
        clock.step(10)
        agent.write(key="k", value={"n": 3})
        agent.remember("two", title="t")
        for at, number in ((receipt, 2), (memory, 1), (edge, 1), (receipt.commit_ts, 2)):
            record = agent.get_state(key="k", at=at)
            assert record is not None
            assert record.value == {"n": number}
        latest = agent.get_state(key="k")
        assert agent.get_state(key="k", at=latest) == latest
        then = agent.get_memory(memory, at=receipt)
        assert then is not None
        assert then.content == "one"
        assert [fact.object for fact in agent.facts(known_at=receipt)] == ["here"]
        assert agent.facts(known_at=memory) == []
        (change,) = agent.diff(old=receipt)
        assert change.before is not None
        assert change.before.value == {"n": 2}
        assert len(list(agent.history(key="k", since=receipt))) == 2
        assert list(agent.list_keys(at=receipt)) == ["k"]
        events = list(agent.replay(after_commit=receipt))
        assert [event.commit_ts for event in events] == [
            receipt.commit_ts + 1,
            receipt.commit_ts + 2,
        ]
        assert len(list(agent.replay(through_commit=receipt))) == receipt.commit_ts
        assert agent.get_state(key="k", at=events[0]) == agent.get_state(key="k")

    def test_what_has_no_commit_is_no_moment(self, agent: Store) -> None:
        memory = agent.get_memory(agent.remember("one"))
        with pytest.raises(InvalidInput, match="has no commit") as error:
            agent.get_state(key="k", at=cast(Any, memory))
        assert error.value.field == "at"
        with pytest.raises(InvalidInput) as error:
            agent.facts(known_at=cast(Any, object()))
        assert error.value.field == "known_at"


class TestNames:
    def test_a_handle_names_its_file_and_its_scope(self, open_store: Opener) -> None:
        store = open_store(embedder=None)
        agent = store.bind(agent_id="ann", namespace="team/eng")
        target = getattr(agent, "_target", agent)
        plain = getattr(store, "_target", store)
        kind, path = type(target).__name__, target._core.engine.path or ":memory:"
        assert repr(plain) == f"<{kind} {path} namespace='default'>"
        assert repr(target) == f"<{kind} {path} agent_id='ann' namespace='team/eng'>"
        store.close()
        assert repr(target) == f"<{kind} {path} agent_id='ann' namespace='team/eng', closed>"
        assert os.fspath(path) in repr(plain)

    def test_a_transaction_says_how_it_ended(self, agent: Store) -> None:
        transaction = agent.begin_transaction(txn_id="t")
        target = getattr(transaction, "_target", transaction)
        assert repr(target).startswith(f"<{type(target).__name__} ")
        assert repr(target).endswith(" agent_id='a1' namespace='default' txn_id='t', open>")
        transaction.write(key="k", value={})
        transaction.commit()
        assert repr(target).endswith(" txn_id='t', committed in 1>")
        aborted = agent.begin_transaction(txn_id="u")
        aborted.abort()
        assert repr(getattr(aborted, "_target", aborted)).endswith(" txn_id='u', aborted>")
