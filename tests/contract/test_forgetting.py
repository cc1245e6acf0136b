"""Forgetting: content goes, ids stay, and the chain, the views and everybody else's are whole."""

from __future__ import annotations

import logging
from typing import Any, cast

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
from tests.answers import as_read


def check(store: Store) -> None:
    """The chain holds, and the views are what the log gives."""
    store.verify()
    result = store.rebuild()
    assert result.identical, result.differing


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
        reflection = agent.reflect("drawn", on=[ground.id])
        agent.write(key="k", value={}, because=[MemoryRef(reflection.id)])
        agent.update_memory(ground.id, content="ground, revised")
        agent.write(key="own", value={}, because=[MemoryRef(ground.id)])
        agent.forget(memory_id=ground.id)
        memory = agent.get_memory(reflection.id)
        assert memory is not None
        assert memory.reflection_depth == 1
        (link,) = agent.links(reflection.id)
        assert link.target == ground.id
        for key in ("k", "own"):
            reason = agent.why(key)
            assert reason.is_stale
            assert [dependent.stale for dependent in reason.walk() if dependent.stale] == [
                ("forgotten",)
            ]
        assert [reason.ref for reason in agent.stale_keys()] == [
            KeyRef("k", 1, "a1", "default"),
            KeyRef("own", 1, "a1", "default"),
        ]
        assert [dependent.id for dependent in agent.dependents(ground.id)] == [reflection.id]
        check(agent)

    def test_it_is_acted_on_no_more(self, agent: Store) -> None:
        target, other = agent.remember("gone"), agent.remember("other")
        transcript = agent.store_transcript("words")
        link = agent.link(source=other.id, target=target.id, relation="related_to")
        agent.forget(memory_id=target.id)
        for act in (
            lambda: agent.update_memory(target.id, content="x"),
            lambda: agent.retract_memory(target.id),
            lambda: agent.touch(target.id),
            lambda: agent.reflect("x", on=[target.id]),
            lambda: agent.link_transcript(memory_id=target.id, transcript_id=transcript.id),
            lambda: agent.write(key="k", value={}, because=[MemoryRef(target.id)]),
            lambda: agent.forget(memory_id=target.id),
        ):
            with pytest.raises(NotFound):
                act()
        assert agent.links(other.id) == [as_read(link)]
        agent.unlink(source=other.id, target=target.id, relation="related_to")
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
        with pytest.raises(NotFound, match="not found: memory"):
            bob.forget(memory_id=memory.id)
        with pytest.raises(NotFound, match="not found: memory"):
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
        stored_item, target = (
            agent.store_transcript("kept words"),
            agent.store_transcript("other words"),
        )
        memory = agent.remember("m", kind="reflection")
        for transcript in (stored_item, target):
            agent.link_transcript(memory_id=memory.id, transcript_id=transcript.id, spans=[(0, 4)])
        agent.write(key="k", value={}, because=[memory])
        agent.forget(transcript_id=target.id)
        assert agent.get_transcript(target.id) is None
        assert [source.id for source in agent.list_transcripts()] == [stored_item.id]
        links = {source.transcript_id: source for source in agent.transcripts_for(memory.id)}
        assert (links[stored_item.id].erased, links[target.id].erased) == (False, True)
        assert links[target.id].spans == ((0, 4),)
        assert [source.erased for source in agent.memories_for(target.id)] == [True]
        with caplog.at_level(logging.WARNING):
            (entry,) = agent.replay_transcripts(memory.id)
        assert entry.transcript.id == stored_item.id
        assert "cites a transcript that is no longer stored" in caplog.text
        origin = agent.origins(memory.id)
        assert origin is not None
        reports = {
            source.transcript_id: (source.excerpts, source.erased) for source in origin.sources
        }
        assert reports == {stored_item.id: (("kept",), False), target.id: ((), True)}
        reason = agent.why("k")
        stale = {
            source.summary: source.stale for source in reason.walk() if source.kind == "transcript"
        }
        assert stale == {"kept": (), "": ("forgotten",)}
        with pytest.raises(NotFound):
            agent.link_transcript(memory_id=memory.id, transcript_id=target.id)
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
        record = agent.get_state(key="k")
        assert record is not None
        assert (record.value, record.version) == ({"n": 8}, 2)
        reason = agent.why("rests")
        assert [(item.kind, item.ref, item.stale) for item in reason.because] == [
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
        reports = [
            (op.type, op.key, op.value) for event in agent.replay() for op in event.operations
        ]
        assert reports == [
            (OperationType.ERASED, "", None),
            (OperationType.WRITE, "kept", {"n": 2}),
        ]
        assert [row["type"] for row in agent.sql("SELECT type FROM operations")][1:] == [
            *("erased", "write", "erase"),
        ]
        assert list(agent.replay(kinds=["erased"])) == list(agent.replay())[:1]
        assert [audit_event.event_type for audit_event in agent.audit_events()][1:] == [
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
        record = bob.get_state(key="k")
        assert record is not None
        assert record.value == {"of": "bob"}
        check(store)


class TestAgent:
    def test_a_shared_event_keeps_the_others_part(self, store: Store) -> None:
        with store.bind(agent_id="bob").begin_transaction(txn_id="both") as transaction:
            transaction.write(agent_id="ann", key="k", value={"of": "ann"})
            transaction.write(agent_id="bob", key="k", value={"of": "bob"})
        store.forget(whole_agent="ann")
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
        certificate = store.forget(whole_agent="ann")
        name = certificate.pseudonym
        assert name is not None
        events = list(store.replay(agent_id=ALL_AGENTS, namespace=ALL_NAMESPACES))
        assert "ann" not in {event.actor for event in events}
        assert "ann" not in {op.agent_id for event in events for op in event.operations}
        assert {event.txn_id for event in events if event.actor == name} == {""}
        (notice,) = bob.invalidations()
        assert notice.by == name
        assert notice.dependent_id is not None
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
        store.forget(whole_agent="ann")
        (remainder,) = bob.facts(subject="x")
        assert (remainder.object, remainder.sources) == ("both", (MemoryRef(own.id, 1),))
        check(store)

    def test_who_forgets_itself_is_not_named(self, store: Store) -> None:
        ann = store.bind(agent_id="ann")
        ann.write(key="k", value={})
        certificate = ann.forget(whole_agent="ann", txn_id="farewell")
        assert certificate.by == certificate.pseudonym
        assert ann.forget(whole_agent="ann", txn_id="farewell") == certificate
        with pytest.raises(NotFound, match="not found: agent 'ann'"):
            ann.forget(whole_agent="ann")
        check(store)

    def test_its_keys_are_the_pseudonyms(self, store: Store) -> None:
        store.write(agent_id="ann", key="k", value={})
        store.trust_key(Signer("example.com/agents", bytes(32)), agent_id="ann")
        name = store.forget(whole_agent="ann").pseudonym
        assert [trusted_key.agent_id for trusted_key in store.trusted_keys()] == [name]
        check(store)

    def test_the_engines_own_are_nobodys(self, store: Store) -> None:
        store.write(agent_id="ann", key="k", value={})
        with pytest.raises(InvalidInput, match="the engine itself"):
            store.forget(whole_agent="_engine")


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
        certificate = store.forget(whole_namespace="team")
        assert certificate.pseudonym is not None
        for namespace in ("team/eng", "teams"):
            bound = store.bind(agent_id="ann", namespace=namespace)
            assert len(list(bound.list_memories(children=False))) == 3
            assert len(bound.facts()) == 1
            assert len(list(bound.list_keys())) == 1
        agent = store.bind(agent_id="ann", namespace="team")
        assert list(agent.replay()) == []
        assert list(agent.list_keys()) == []
        assert agent.facts() == []
        assert store.cardinalities(namespace="team") == {}
        namespaces = {row["namespace"] for row in store.sql("SELECT namespace FROM operations")}
        assert not namespaces & {"team", "team/_invalidations"}
        check(store)

    def test_what_was_forgotten_before_stays_forgotten(self, store: Store) -> None:
        bound = store.bind(agent_id="ann", namespace="team")
        memory = bound.remember("m")
        bound.update_memory(memory.id, content="n")
        first = bound.forget(memory_id=memory.id)
        store.forget(whole_namespace="team")
        assert store.certificate(first.erasure_id) == first
        check(store)
        store.forget(whole_agent="ann")
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
        with pytest.raises(NotFound, match="not found: a fact with"):
            agent.forget(facts_from=memory.id)

    def test_an_id_that_follows_from_what_was_said_goes_too(self, agent: Store) -> None:
        memory = agent.remember("m")
        with agent.begin_transaction() as transaction:
            fact = transaction.assert_fact(
                subject="a", relation="is", object="b", source=memory.id, once="an occasion"
            )
        agent.write(key="k", value={"n": 1}, because=[FactRef(fact)])
        agent.forget(facts_from=memory.id)
        assert [row for row in agent.sql("SELECT * FROM operations") if fact in str(row)] == []
        reason = agent.why("k")
        assert [(item.kind, item.ref, item.stale) for item in reason.because] == [
            ("fact", None, ("forgotten",))
        ]
        check(agent)

    def test_one_of_two_sources_leaves_the_edge(self, agent: Store) -> None:
        agent.set_cardinality(relation="lives in", cardinality="single")
        sources = [agent.remember("one"), agent.remember("two")]
        text: dict[str, Any] = {"subject": "ann", "relation": "lives in"}
        agent.assert_fact(**text, object="Rome", valid_from="2019-01-01T00:00:00Z")
        for source in sources:
            agent.assert_fact(
                **text, object="Oslo", valid_from="2020-01-01T00:00:00Z", source=source.id
            )
        agent.forget(facts_from=sources[0].id)
        assert [(fact.object, len(fact.sources)) for fact in agent.facts()] == [("Oslo", 1)]
        check(agent)
        agent.forget(facts_from=sources[1].id)
        assert [(fact.object, fact.valid_to) for fact in agent.facts()] == [("Rome", None)]
        check(agent)


class TestAsking:
    def test_a_key_or_an_entity_of_another_scope(self, store: Store) -> None:
        ann = store.bind(agent_id="ann", namespace="team")
        bob = store.bind(agent_id="bob")
        for agent in (ann, bob):
            agent.write(key="k", value={"of": "both"})
            agent.assert_fact(subject="Kim", relation="is", object="here")
        bob.forget(key="k", agent_id="ann", namespace="team")
        bob.forget(entity="Kim", agent_id="ann", namespace="team")
        assert ann.get_state(key="k") is None
        assert not ann.facts()
        assert bob.get_state(key="k") is not None
        assert bob.facts()

    def test_an_agent_acts_on_what_it_sees(self, store: Store, owner: Store, other: Store) -> None:
        memory = owner.remember("x", visibility="private")
        for agent_id in (None, "owner"):  # a bound handle sees what its own agent sees
            with pytest.raises(NotFound):
                other.forget(memory_id=memory.id, agent_id=agent_id)
        store.forget(memory_id=memory.id, agent_id="owner")
        assert owner.get_memory(memory.id) is None

    @pytest.mark.parametrize("target", ["whole_agent", "whole_namespace"])
    @pytest.mark.parametrize("scope", ["agent_id", "namespace"])
    def test_a_whole_agent_or_namespace_has_no_scope(
        self, agent: Store, target: str, scope: str
    ) -> None:
        """Else `forget(whole_namespace=…, agent_id=…)` might seem to erase one agent there."""
        agent.write(key="k", value={})
        arguments: dict[str, Any] = {target: "a1", scope: "a1"}
        with pytest.raises(InvalidInput, match="leave it out") as refusal:
            agent.forget(**arguments)
        assert refusal.value.field == scope
        with pytest.raises(InvalidInput) as refusal:
            agent.forget(**{target: cast(Any, "")})
        assert refusal.value.field == target
        assert agent.get_state(key="k") is not None

    def test_exactly_one_thing(self, agent: Store) -> None:
        with pytest.raises(InvalidInput, match="nothing is given"):
            agent.forget()
        with pytest.raises(InvalidInput, match="key and whole_agent"):
            agent.forget(key="k", whole_agent="a1")

    @pytest.mark.parametrize(
        "target",
        [
            {"memory_id": "m"},
            {"transcript_id": "t"},
            {"key": "k"},
            {"whole_agent": "a"},
            {"whole_namespace": "n"},
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
        reflection = agent.reflect("on it", on=[memory.id])
        agent.assert_fact(subject="a", relation="b", object="c", source=memory.id)
        agent.write(key="k", value={}, because=[memory])
        agent.write(key="was", value={}, because=[memory])
        agent.write(key="was", value={})
        commits = agent.stats().commits
        certificate = agent.forget(memory_id=memory.id, dry_run=True)
        assert certificate.preview is not None
        assert certificate.preview.by_type == {"assert": 1, "remember": 1, "touch": 1}
        assert certificate.preview.resting == ("key:default|a1|k", f"memory:{reflection.id}")
        assert (certificate.erasure_id, certificate.commit_ts) == ("", None)
        assert agent.stats().commits == commits
        real = agent.forget(memory_id=memory.id)
        assert (real.operations, real.events) == (certificate.operations, certificate.events)

    def test_once_under_a_txn_id(self, agent: Store) -> None:
        agent.write(key="k", value={})
        first = agent.forget(key="k", txn_id="once")
        assert agent.forget(key="k", txn_id="once") == first
        assert list(agent.erasures()) == [first]
        assert agent.certificate(first.erasure_id) == first
        with pytest.raises(NotFound, match="no erasure 'x'"):
            agent.certificate("x")

    def test_a_retried_write_that_was_erased_is_not_made_again(self, agent: Store) -> None:
        first = agent.write(key="k", value={"n": 1}, txn_id="w").commit_ts
        agent.forget(key="k")
        assert agent.write(key="k", value={"n": 1}, txn_id="w").commit_ts == first
        assert agent.get_state(key="k") is None
