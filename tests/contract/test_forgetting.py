"""Forgetting: content goes, ids stay, and the chain, the views and everybody else's are whole."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from memoranda import (
    ALL_AGENTS,
    ALL_NAMESPACES,
    FactRef,
    InvalidInput,
    KeyRef,
    MemoryRef,
    NotFound,
    OperationType,
    Signer,
    Store,
    TransactionConflict,
)


def check(store: Store) -> None:
    """The chain holds, and the views are what the log gives."""
    store.verify()
    found = store.rebuild()
    assert found.identical, found.differing


class TestMemory:
    def test_nothing_of_it_is_shown(self, agent: Store) -> None:
        memory = agent.remember("secret words", title="t", tags=["x"])
        agent.update_memory(memory.id, content="more of them")
        certificate = agent.forget(memory_id=memory.id, reason="asked to")
        assert (certificate.operations, certificate.events) == (2, 2)
        assert (certificate.target, certificate.by, certificate.reason) == (
            *("memory", "a1", "asked to"),
        )
        assert agent.get_memory(memory.id) is None
        assert agent.get_memory(memory.id, version=1) is None
        assert agent.get_memory(memory.id, at=1) is None
        assert list(agent.list_memories()) == []
        assert list(agent.list_memories(at=1)) == []
        assert list(agent.memory_history(memory.id)) == []
        assert agent.stats().memories == 0
        assert list(agent.sql("SELECT * FROM memories")) == []
        check(agent)

    def test_its_title_is_free(self, agent: Store) -> None:
        first = agent.remember("old", title="t")
        agent.forget(memory_id=first.id)
        second = agent.remember("new", title="t")
        assert (second.outcome, second.version) == ("created", 1)
        assert second.id != first.id
        check(agent)

    def test_what_rests_on_it_stays_and_is_stale(self, agent: Store) -> None:
        ground = agent.remember("ground")
        drawn = agent.reflect("drawn", on=[ground.id])
        agent.write(key="k", value={}, because=[MemoryRef(drawn.id)])
        agent.update_memory(ground.id, content="ground, revised")
        agent.write(key="own", value={}, because=[MemoryRef(ground.id)])
        agent.forget(memory_id=ground.id)
        shown = agent.get_memory(drawn.id)
        assert shown is not None
        assert shown.reflection_depth == 1
        (link,) = agent.links(drawn.id)
        assert link.target == ground.id
        for key in ("k", "own"):
            reason = agent.why(key)
            assert reason.is_stale
            assert [each.stale for each in reason.walk() if each.stale] == [("forgotten",)]
        assert [reason.ref for reason in agent.stale_keys()] == [
            KeyRef("k", 1, "a1", "default"),
            KeyRef("own", 1, "a1", "default"),
        ]
        assert [each.id for each in agent.dependents(ground.id)] == [drawn.id]
        check(agent)

    def test_it_is_acted_on_no_more(self, agent: Store) -> None:
        gone, other = agent.remember("gone"), agent.remember("other")
        transcript = agent.store_transcript("words")
        link = agent.link(source=other.id, target=gone.id, relation="related_to")
        agent.forget(memory_id=gone.id)
        for act in (
            lambda: agent.update_memory(gone.id, content="x"),
            lambda: agent.retract_memory(gone.id),
            lambda: agent.touch(gone.id),
            lambda: agent.reflect("x", on=[gone.id]),
            lambda: agent.link_transcript(memory_id=gone.id, transcript_id=transcript.id),
            lambda: agent.write(key="k", value={}, because=[MemoryRef(gone.id)]),
            lambda: agent.forget(memory_id=gone.id),
        ):
            with pytest.raises(NotFound):
                act()
        assert agent.links(other.id) == [link]
        agent.unlink(source=other.id, target=gone.id, relation="related_to")
        check(agent)

    def test_its_facts_go_and_what_they_closed_is_open_again(self, agent: Store) -> None:
        agent.set_cardinality(relation="lives in", cardinality="single")
        agent.assert_fact(
            subject="ann", relation="lives in", object="Rome", valid_from="2020-01-01T00:00:00Z"
        )
        source = agent.remember("ann moved to Oslo")
        agent.assert_fact(
            subject="ann",
            relation="lives in",
            object="Oslo",
            valid_from="2021-01-01T00:00:00Z",
            source=source.id,
        )
        before = agent.stats().commits
        assert [fact.object for fact in agent.facts(subject="ann")] == ["Oslo"]
        agent.forget(memory_id=source.id)
        (fact,) = agent.facts(subject="ann")
        assert (fact.object, fact.valid_to) == ("Rome", None)
        (past,) = agent.facts(subject="ann", known_at=before)
        assert past == fact
        assert agent.entity("Oslo") is None
        check(agent)

    def test_private_ones_are_there_for_their_agent_alone(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        memory = ann.remember("mine", visibility="private")
        with pytest.raises(NotFound, match="there is no memory"):
            bob.forget(memory_id=memory.id)
        with pytest.raises(NotFound, match="there is no memory"):
            bob.forget(memory_id=memory.id, dry_run=True)
        ann.forget(memory_id=memory.id)
        check(store)

    def test_notes_on_it_go(self, agent: Store) -> None:
        old = agent.remember("old", kind="reflection")
        dependent = agent.reflect("dependent", on=[old.id])
        new = agent.remember("new", kind="reflection")
        agent.supersede(old=old.id, new=new.id)
        (notice,) = agent.invalidations()
        agent.resolve_invalidation(notice.id, decision="retract", note="it names him")
        with pytest.raises(InvalidInput, match="is a notice"):
            agent.forget(memory_id=notice.id)
        agent.forget(memory_id=dependent.id)
        (resolved,) = agent.invalidations(status="resolved")
        assert (resolved.decision, resolved.note) == ("retract", None)
        check(agent)


class TestTranscript:
    def test_citations_stay_and_words_go(
        self, agent: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        kept, gone = agent.store_transcript("kept words"), agent.store_transcript("other words")
        memory = agent.remember("m", kind="reflection")
        for transcript in (kept, gone):
            agent.link_transcript(memory_id=memory.id, transcript_id=transcript.id, spans=[(0, 4)])
        agent.write(key="k", value={}, because=[memory])
        agent.forget(transcript_id=gone.id)
        assert agent.get_transcript(gone.id) is None
        assert [each.id for each in agent.list_transcripts()] == [kept.id]
        links = {each.transcript_id: each for each in agent.transcripts_for(memory.id)}
        assert (links[kept.id].erased, links[gone.id].erased) == (False, True)
        assert links[gone.id].spans == ((0, 4),)
        assert [each.erased for each in agent.memories_for(gone.id)] == [True]
        with caplog.at_level(logging.WARNING):
            (entry,) = agent.replay_transcripts(memory.id)
        assert entry.transcript.id == kept.id
        assert "cites is gone" in caplog.text
        origin = agent.origins(memory.id)
        assert origin is not None
        told = {each.transcript_id: (each.excerpts, each.erased) for each in origin.sources}
        assert told == {kept.id: (("kept",), False), gone.id: ((), True)}
        reason = agent.why("k")
        stale = {each.summary: each.stale for each in reason.walk() if each.kind == "transcript"}
        assert stale == {"kept": (), "": ("forgotten",)}
        with pytest.raises(NotFound):
            agent.link_transcript(memory_id=memory.id, transcript_id=gone.id)
        check(agent)


class TestKey:
    def test_it_begins_anew_at_version_1(self, agent: Store) -> None:
        for number in range(3):
            agent.write(key="k", value={"n": number})
        agent.delete(key="k")
        agent.write(key="rests", value={"x": 1}, because=[KeyRef("k", version=2)])
        agent.forget(key="k")
        assert agent.get_state(key="k") is None
        assert agent.get_state(key="k", at=2) is None
        assert list(agent.history(key="k")) == []
        assert list(agent.list_keys(at=3)) == []
        agent.write(key="k", value={"n": 7})
        agent.write(key="k", value={"n": 8})
        found = agent.get_state(key="k")
        assert found is not None
        assert (found.value, found.version) == ({"n": 8}, 2)
        reason = agent.why("rests")
        assert [(each.kind, each.ref, each.stale) for each in reason.because] == [
            ("key", None, ("forgotten",))
        ]
        assert str(reason).splitlines()[1] == "└── because key  STALE: forgotten"
        rests = agent.get_state(key="rests")
        assert rests is not None
        assert rests.value == {"x": 1}
        check(agent)

    def test_replay_gives_the_state_that_there_is(self, agent: Store) -> None:
        agent.write(key="gone", value={"n": 1})
        agent.write(key="kept", value={"n": 2}, because=[KeyRef("gone")])
        agent.forget(key="gone")
        told = [(op.type, op.key, op.value) for event in agent.replay() for op in event.operations]
        assert told == [
            (OperationType.ERASED, "", None),
            (OperationType.WRITE, "kept", {"n": 2}),
        ]
        assert [row["type"] for row in agent.sql("SELECT type FROM operations")][1:] == [
            *("erased", "write", "erase"),
        ]
        assert list(agent.replay(kinds=["erased"])) == list(agent.replay())[:1]
        assert [each.event_type for each in agent.audit_events()][1:] == [
            *("content.erased", "content.erased", "erasure.carried_out"),
        ]

    def test_a_transaction_that_read_it_is_run_again(self, agent: Store) -> None:
        agent.write(key="k", value={})
        transaction = agent.begin_transaction()
        transaction.get_state(agent_id="a1", key="k")
        transaction.write(agent_id="a1", key="other", value={})
        agent.forget(key="k")
        with pytest.raises(TransactionConflict, match="erased"):
            transaction.commit()

    def test_the_keys_of_others_are_not_touched(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        ann.write(key="k", value={"of": "ann"})
        bob.write(key="k", value={"of": "bob"}, because=[KeyRef("k", agent_id="ann")])
        ann.forget(key="k")
        found = bob.get_state(key="k")
        assert found is not None
        assert found.value == {"of": "bob"}
        check(store)


class TestAgent:
    def test_a_shared_event_keeps_the_others_part(self, store: Store) -> None:
        with store.bind(agent_id="bob").begin_transaction(txn_id="both") as transaction:
            transaction.write(agent_id="ann", key="k", value={"of": "ann"})
            transaction.write(agent_id="bob", key="k", value={"of": "bob"})
        store.forget(agent_id="ann")
        (event,) = store.replay(agent_id="bob")
        assert event.txn_id == "both"
        assert [op.value for op in event.operations] == [{"of": "bob"}]
        assert list(store.replay(agent_id="ann", namespace=ALL_NAMESPACES)) == []
        check(store)

    def test_its_name_is_a_pseudonym_everywhere(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann", namespace="team"), store.bind(agent_id="bob")
        old = ann.remember("old", kind="reflection")
        bob.reflect("by bob", on=[old.id])
        new = ann.remember("new", kind="reflection")
        ann.supersede(old=old.id, new=new.id)
        ann.configure(max_reflection_depth=5)
        ann.set_cardinality(relation="is", cardinality="single")
        ann.assert_fact(subject="s", relation="is", object="o")
        ann.write(key="k", value={})
        ann.store_transcript("words")
        bob.write(key="k", value={}, because=[KeyRef("k", agent_id="ann", namespace="team")])
        certificate = store.forget(agent_id="ann")
        name = certificate.pseudonym
        assert name is not None
        events = list(store.replay(agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES))
        assert "ann" not in {event.actor for event in events}
        assert "ann" not in {op.agent_id for event in events for op in event.operations}
        assert {event.txn_id for event in events if event.actor == name} == {""}
        (notice,) = bob.invalidations()
        assert notice.by == name
        assert [link.target for link in bob.links(notice.dependent_id)] == [old.id]
        assert store.cardinalities(namespace="team") != {}
        assert bob.facts(agent_id="ann", namespace="team") == []
        assert bob.why("k").because[0].stale == ("forgotten",)
        assert bob.stats().agents == 2
        check(store)
        again = store.bind(agent_id="ann", namespace="team")
        again.write(key="k", value={"new": True})
        assert [event.operations[0].version for event in again.replay()] == [1]
        check(store)

    def test_others_facts_from_its_memories_go(self, store: Store) -> None:
        ann, bob = store.bind(agent_id="ann"), store.bind(agent_id="bob")
        memory, own = ann.remember("said by ann"), bob.remember("said by bob")
        fact: dict[str, Any] = {
            "subject": "x",
            "relation": "is",
            "valid_from": "2020-01-01T00:00:00Z",
        }
        bob.assert_fact(**fact, object="both", source=memory.id)
        bob.assert_fact(**fact, object="both", source=own.id)
        bob.assert_fact(**fact, object="alone", source=memory.id)
        store.forget(agent_id="ann")
        (left,) = bob.facts(subject="x")
        assert (left.object, left.sources) == ("both", (MemoryRef(own.id, 1),))
        check(store)

    def test_who_forgets_itself_is_not_named(self, store: Store) -> None:
        ann = store.bind(agent_id="ann")
        ann.write(key="k", value={})
        certificate = ann.forget(agent_id="ann", txn_id="farewell")
        assert certificate.by == certificate.pseudonym
        assert ann.forget(agent_id="ann", txn_id="farewell") == certificate
        with pytest.raises(NotFound, match="no agent 'ann'"):
            ann.forget(agent_id="ann")
        check(store)

    def test_its_keys_are_the_pseudonyms(self, store: Store) -> None:
        store.write(agent_id="ann", key="k", value={})
        store.trust_key(Signer("example.com/agents", bytes(32)), agent_id="ann")
        name = store.forget(agent_id="ann").pseudonym
        assert [each.agent_id for each in store.trusted_keys()] == [name]
        check(store)

    def test_the_engines_own_are_nobodys(self, store: Store) -> None:
        store.write(agent_id="ann", key="k", value={})
        with pytest.raises(InvalidInput, match="the engine itself"):
            store.forget(agent_id="_engine")


class TestNamespace:
    def test_exactly_that_one(self, store: Store) -> None:
        for namespace in ("team", "team/eng", "teams"):
            bound = store.bind(agent_id="ann", namespace=namespace)
            bound.write(key="k", value={"in": namespace})
            old = bound.remember("old", kind="reflection", title="t")
            bound.reflect("d", on=[old.id])
            bound.supersede(old=old.id, new=bound.remember("new", kind="reflection").id)
            bound.set_cardinality(relation="is", cardinality="single")
            bound.assert_fact(subject="s", relation="is", object="o")
            bound.configure(max_reflection_depth=2)
        certificate = store.forget(namespace="team")
        assert certificate.pseudonym is not None
        for namespace in ("team/eng", "teams"):
            bound = store.bind(agent_id="ann", namespace=namespace)
            assert len(list(bound.list_memories(children=False))) == 3
            assert len(bound.facts()) == 1
            assert len(list(bound.list_keys())) == 1
        gone = store.bind(agent_id="ann", namespace="team")
        assert list(gone.replay()) == []
        assert list(gone.list_keys()) == []
        assert gone.facts() == []
        assert store.cardinalities(namespace="team") == {}
        namespaces = {row["namespace"] for row in store.sql("SELECT namespace FROM operations")}
        assert not namespaces & {"team", "team/_invalidations"}
        check(store)

    def test_what_was_forgotten_before_stays_forgotten(self, store: Store) -> None:
        bound = store.bind(agent_id="ann", namespace="team")
        memory = bound.remember("m")
        bound.update_memory(memory.id, content="n")
        first = bound.forget(memory_id=memory.id)
        store.forget(namespace="team")
        assert store.certificate(first.erasure_id) == first
        check(store)
        store.forget(agent_id="ann")
        assert store.certificate(first.erasure_id).by.startswith("forgotten-")
        check(store)


class TestFactsFrom:
    def test_the_source_stays(self, agent: Store) -> None:
        memory = agent.remember("m")
        fact: dict[str, Any] = {"subject": "a", "relation": "knows", "source": memory.id}
        agent.assert_fact(**fact, object="b", valid_to="2999-01-01T00:00:00Z")
        agent.assert_fact(**fact, object="c")
        agent.retract_fact(subject="a", relation="knows", object="c", reason="a slip")
        certificate = agent.forget(facts_from=memory.id)
        assert certificate.operations == 4
        assert agent.facts(include_closed=True) == []
        assert list(agent.entities()) == []
        assert agent.get_memory(memory.id) is not None
        check(agent)
        with pytest.raises(NotFound, match="no fact has"):
            agent.forget(facts_from=memory.id)

    def test_an_id_that_follows_from_what_was_said_goes_too(self, agent: Store) -> None:
        memory = agent.remember("m")
        with agent.begin_transaction() as transaction:
            said = transaction.assert_fact(
                subject="a", relation="is", object="b", source=memory.id, once="an occasion"
            )
        agent.write(key="k", value={"n": 1}, because=[FactRef(said)])
        agent.forget(facts_from=memory.id)
        assert [row for row in agent.sql("SELECT * FROM operations") if said in str(row)] == []
        reason = agent.why("k")
        assert [(each.kind, each.ref, each.stale) for each in reason.because] == [
            ("fact", None, ("forgotten",))
        ]
        check(agent)

    def test_one_of_two_sources_leaves_the_edge(self, agent: Store) -> None:
        agent.set_cardinality(relation="lives in", cardinality="single")
        sources = [agent.remember("one"), agent.remember("two")]
        said: dict[str, Any] = {"subject": "ann", "relation": "lives in"}
        agent.assert_fact(**said, object="Rome", valid_from="2019-01-01T00:00:00Z")
        for source in sources:
            agent.assert_fact(
                **said, object="Oslo", valid_from="2020-01-01T00:00:00Z", source=source.id
            )
        agent.forget(facts_from=sources[0].id)
        assert [(fact.object, len(fact.sources)) for fact in agent.facts()] == [("Oslo", 1)]
        check(agent)
        agent.forget(facts_from=sources[1].id)
        assert [(fact.object, fact.valid_to) for fact in agent.facts()] == [("Rome", None)]
        check(agent)


class TestAsking:
    def test_exactly_one_thing(self, agent: Store) -> None:
        with pytest.raises(InvalidInput, match="nothing is given"):
            agent.forget()
        with pytest.raises(InvalidInput, match="key and agent_id"):
            agent.forget(key="k", agent_id="a1")

    @pytest.mark.parametrize(
        "target",
        [
            {"memory_id": "m"},
            {"transcript_id": "t"},
            {"key": "k"},
            {"agent_id": "a"},
            {"namespace": "n"},
            {"facts_from": "m"},
        ],
    )
    def test_what_is_not_there(self, agent: Store, target: dict[str, Any]) -> None:
        agent.write(key="other", value={})
        commits = agent.stats().commits
        for dry_run in (True, False):
            with pytest.raises(NotFound):
                agent.forget(**target, dry_run=dry_run)
        assert agent.stats().commits == commits

    def test_a_dry_run_changes_nothing(self, agent: Store) -> None:
        memory = agent.remember("m")
        agent.touch(memory.id)
        drawn = agent.reflect("on it", on=[memory.id])
        agent.assert_fact(subject="a", relation="b", object="c", source=memory.id)
        agent.write(key="k", value={}, because=[memory])
        agent.write(key="was", value={}, because=[memory])
        agent.write(key="was", value={})
        commits = agent.stats().commits
        found = agent.forget(memory_id=memory.id, dry_run=True)
        assert found.preview is not None
        assert found.preview.by_type == {"assert": 1, "remember": 1, "touch": 1}
        assert found.preview.resting == ("key:default|a1|k", f"memory:{drawn.id}")
        assert (found.erasure_id, found.commit_ts) == ("", None)
        assert agent.stats().commits == commits
        real = agent.forget(memory_id=memory.id)
        assert (real.operations, real.events) == (found.operations, found.events)

    def test_once_under_a_txn_id(self, agent: Store) -> None:
        agent.write(key="k", value={})
        first = agent.forget(key="k", txn_id="once")
        assert agent.forget(key="k", txn_id="once") == first
        assert list(agent.erasures()) == [first]
        assert agent.certificate(first.erasure_id) == first
        with pytest.raises(NotFound, match="no erasure 'x'"):
            agent.certificate("x")

    def test_a_retried_write_that_was_erased_is_not_made_again(self, agent: Store) -> None:
        first = agent.write(key="k", value={"n": 1}, txn_id="w")
        agent.forget(key="k")
        assert agent.write(key="k", value={"n": 1}, txn_id="w") == first
        assert agent.get_state(key="k") is None
