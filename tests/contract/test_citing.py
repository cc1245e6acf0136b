"""Citing: whatever a read or a write returns is a ground, a source or an id as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from memoranda import (
    ALL_AGENTS,
    FactRef,
    Hit,
    InvalidInput,
    KeyRef,
    Memory,
    MemoryRef,
    NotFound,
    OperationType,
    Reason,
    Store,
    Transcript,
    TranscriptRef,
)
from memoranda.testing import FixedClock
from tests.answers import as_read
from tests.contract.opener import Opener
from tests.logs import exported, verdicts

WORDS = "Ben: hello\nAnn: I adore fjörds and ferries\nBen: oh"
QUOTE = "Ann: I adore fjörds and ferries"
HERE = ("a1", "default")


@pytest.fixture
def agent(open_store: Opener) -> Store:
    return open_store(embedder=None).bind(agent_id="a1")


class World(NamedTuple):
    """One thing of each kind that can be cited."""

    memory: Memory
    transcript: Transcript
    fact_id: str
    quotation: TranscriptRef


@pytest.fixture
def world(agent: Store) -> World:
    memory = agent.remember("Ann likes ferries")
    transcript = agent.store_transcript(WORDS)
    edge = agent.assert_fact(subject="Ann", relation="visits", object="Bergen", source=memory)
    assert edge.assertion_id is not None
    agent.write(key="goal", value={"city": "Bergen"})
    quotation = TranscriptRef(transcript.id, (transcript.find(QUOTE),))
    return World(memory, transcript, edge.assertion_id, quotation)


def grounds(agent: Store, key: str = "plan") -> list[object]:
    """Return what the last version of a key cites."""
    *_, version = agent.history(key=key)
    return list(version.because)


def hit(agent: Store, query: str, kind: str) -> Hit:
    return agent.recall(query, kinds=[kind])[0]


def quotations(reason: Reason) -> list[str]:
    return [node.summary for node in reason.walk() if node.kind == "transcript"]


class TestGrounds:
    def test_the_hits_of_a_search_are_grounds(self, agent: Store, world: World) -> None:
        hits = agent.recall("ferries Ann Bergen")
        assert {item.kind for item in hits} == {"memory", "fact", "passage"}
        agent.write(key="plan", value={"by": "ferry"}, because=hits)
        assert grounds(agent) == [item.ref for item in hits]
        assert set(grounds(agent)) >= {
            MemoryRef(world.memory.id, 1),
            FactRef(world.fact_id),
            world.quotation,
        }
        reason = agent.why("plan")
        assert {node.kind for node in reason.because} == {"memory", "fact", "transcript"}
        assert QUOTE in quotations(reason)
        assert not reason.is_stale

    def test_a_list_a_single_one_and_an_iterator(self, agent: Store, world: World) -> None:
        for because in (
            [world.memory],
            (world.memory,),
            world.memory,
            list(agent.list_memories()),
            (item for item in [world.memory.ref]),
        ):
            agent.write(key="plan", value={}, because=cast(Any, because))
            assert grounds(agent) == [MemoryRef(world.memory.id, 1)]
        agent.write(key="plan", value={}, because=[])
        assert grounds(agent) == []

    def test_a_hit_cites_what_it_is(self, agent: Store, world: World) -> None:
        for query, kind, ref in (
            ("ferries", "memory", MemoryRef(world.memory.id, 1)),
            ("Bergen", "fact", FactRef(world.fact_id)),
            ("fjörds", "passage", world.quotation),
        ):
            found_hit = hit(agent, query, kind)
            agent.write(key="plan", value={}, because=found_hit)
            assert grounds(agent) == [ref]
            assert agent.why(found_hit).ref == ref

    def test_records_of_keys(self, agent: Store, world: World) -> None:
        goal = KeyRef("goal", 1, *HERE)
        record = agent.get_state(key="goal")
        assert record is not None
        (entry,) = agent.scan_prefix(prefix="goal")
        (version,) = agent.history(key="goal")
        (change,) = agent.diff(old=0)
        assert change.after is not None
        for citable in (record, entry, version, change.after, agent.why("goal")):
            agent.write(key="plan", value={}, because=[citable])
            assert grounds(agent) == [goal]
        agent.write(key="goal", value={"city": "Oslo"})
        agent.write(key="plan", value={}, because=[record])  # at the version that was read
        assert grounds(agent) == [goal]
        assert agent.why("plan").is_stale

    def test_a_record_of_another_scope_is_cited_where_it_is(self, store: Store) -> None:
        ann, ben = store.bind(agent_id="ann", namespace="one"), store.bind(agent_id="ben")
        ann.write(key="k", value={})
        record = ann.get_state(key="k")
        assert record is not None
        ben.write(key="k", value={}, because=record)
        assert grounds(ben, "k") == [KeyRef("k", 1, "ann", "one")]

    def test_records_of_facts(self, agent: Store, world: World) -> None:
        (fact,) = agent.facts()
        explanation = agent.explain(fact)
        edge = agent.assert_fact(subject="Ann", relation="visits", object="Oslo")
        assert edge.assertion_id is not None
        (neighbor, *_) = agent.neighbors("Bergen")
        first = FactRef(world.fact_id)
        for citable, ref in (
            (fact, first),
            (explanation, first),
            (explanation.assertions[0], first),
            (neighbor, first),
            (edge, FactRef(edge.assertion_id)),
        ):
            agent.write(key="plan", value={}, because=cast(Any, citable))
            assert grounds(agent) == [ref]
            assert agent.why(cast(Any, citable)).kind == "fact"

    def test_records_around_memories(self, agent: Store, world: World) -> None:
        memory, transcript = world.memory, world.transcript
        reflection = agent.reflect("Ann travels slowly", on=memory)
        link = agent.link_transcript(
            memory_id=memory, transcript_id=transcript, spans=[transcript.find(QUOTE)]
        )
        (dependent,) = agent.dependents(memory)
        origin = agent.origins(reflection)
        assert origin is not None
        (entry,) = agent.replay_transcripts(reflection)
        for citable, ref in (
            (dependent, MemoryRef(reflection.id, 1)),
            (origin, MemoryRef(reflection.id, 1)),
            (origin.origins[0].sources[0], world.quotation),
            (link, world.quotation),
            (entry, world.quotation),
        ):
            agent.write(key="plan", value={}, because=cast(Any, citable))
            assert grounds(agent) == [ref]

    def test_the_same_in_a_transaction(self, agent: Store, world: World) -> None:
        passage = hit(agent, "fjörds", "passage")
        with agent.begin_transaction() as transaction:
            record = transaction.get_state(key="goal")
            memory_id = transaction.remember("staged")
            transcript_id = transaction.store_transcript("Åse: hei")
            transaction.write(key="one", value={})
            staged = transaction.get_state(key="one")
            transaction.write(
                key="plan",
                value={},
                because=cast(
                    Any,
                    [
                        record,
                        passage,
                        staged,
                        MemoryRef(memory_id),
                        TranscriptRef(transcript_id, ((0, 4),)),
                    ],
                ),
            )
            with pytest.raises(InvalidInput) as error:
                transaction.write(
                    key="x", value={}, because=TranscriptRef(transcript_id, ((0, 1),))
                )
            assert error.value.field == "because[0].spans"
        assert grounds(agent) == [
            KeyRef("goal", 1, *HERE),
            world.quotation,
            KeyRef("one", 1, *HERE),
            MemoryRef(memory_id, 1),
            TranscriptRef(transcript_id, ((0, 4),)),
        ]
        assert quotations(agent.why("plan")) == [QUOTE, "Åse"]

    @pytest.mark.parametrize(
        ("because", "field"),
        [
            (["plan"], "because[0]"),
            ("plan", "because"),
            (5, "because"),
            (None, "because"),
            ([MemoryRef("m"), 5], "because[1]"),
            ([[MemoryRef("m")]], "because[0]"),
            ([TranscriptRef(cast(str, 5))], "because[0].transcript_id"),
        ],
    )
    def test_what_is_no_reference_is_refused(
        self, agent: Store, because: object, field: str
    ) -> None:
        for write in (agent.write, agent.begin_transaction().write):
            with pytest.raises(InvalidInput) as error:
                write(key="plan", value={}, because=cast(Any, because))
            assert error.value.field == field

    def test_what_has_nothing_to_cite_is_refused(self, agent: Store, world: World) -> None:
        with agent.begin_transaction() as transaction:
            transaction.end_fact(subject="Ann", relation="visits")
        link = agent.link(source=world.memory, target=agent.remember("else"), relation="related_to")
        entity = agent.entity("Ann")
        for nothing in (link, entity, agent.stats()):
            with pytest.raises(InvalidInput, match="is not a reference: use what a read returned"):
                agent.write(key="plan", value={}, because=[cast(Any, nothing)])

    def test_the_end_of_a_fact_is_no_fact(self, agent: Store, world: World) -> None:
        end = agent.end_fact(subject="Ann", relation="visits")
        with pytest.raises(NotFound):
            agent.write(key="plan", value={}, because=end)


class TestIds:
    def test_reflecting_on_what_was_read(self, agent: Store, world: World) -> None:
        memory, other = world.memory, agent.remember("Ann owns a ferry")
        for on in (
            [memory, other],
            [memory.id, other],
            [memory.ref, other.id, other],
            agent.recall("ferry", kinds=["memory"]),
            list(agent.list_memories(kind="observation")),
        ):
            reflection = agent.reflect("drawn", on=cast(Any, on))
            targets = {link.target for link in agent.links(reflection)}
            assert targets == {memory.id, other.id}
        alone = agent.reflect("drawn", on=memory)
        assert [link.target for link in agent.links(alone)] == [memory.id]
        with agent.begin_transaction() as transaction:
            staged = transaction.reflect("drawn", on=agent.recall("ferry", kinds=["memory"]))
        assert {link.target for link in agent.links(staged)} == {memory.id, other.id}

    def test_only_memories_are_reflected_on(self, agent: Store, world: World) -> None:
        (fact,) = agent.facts()
        passage = hit(agent, "fjörds", "passage")
        for wrong, kind in ((fact, "fact"), (passage, "transcript"), (KeyRef("goal"), "key")):
            on = [world.memory, world.memory.id, wrong]
            with pytest.raises(
                InvalidInput, match=f"is a {kind}: give a memory or its id"
            ) as error:
                agent.reflect("drawn", on=cast(Any, on))
            assert error.value.field == "on[2]"
        for bad, field in (([5], "on[0]"), (5, "on"), (world.memory.id, "on"), ([], "on")):
            with pytest.raises(InvalidInput) as error:
                agent.reflect("drawn", on=cast(Any, bad))
            assert error.value.field == field

    def test_links_between_what_was_read(self, agent: Store, world: World) -> None:
        memory, other = world.memory, agent.remember("Ann owns a boat")
        boat = hit(agent, "boat", "memory")
        ends = (memory.id, other.id)
        link = agent.link(source=memory, target=boat, relation="related_to")
        assert (link.source, link.target) == ends
        closed = agent.unlink(source=memory.ref, target=other, relation="related_to")
        assert (closed.source, closed.target) == ends
        assert agent.supersede(old=memory, new=boat).source == other.id
        with agent.begin_transaction() as transaction:
            transaction.link(source=memory, target=boat, relation="contradicts")
            assert len(transaction.links(memory)) == 2
            transaction.unlink(source=memory, target=boat, relation="contradicts")
        with pytest.raises(InvalidInput) as error:
            agent.link(source=memory, target=cast(Any, agent.facts()[0]), relation="related_to")
        assert error.value.field == "target"

    def test_calls_about_one_memory(self, agent: Store, world: World) -> None:
        memory = world.memory
        assert agent.get_memory(memory) == agent.get_memory(hit(agent, "ferries", "memory"))
        updated = agent.update_memory(memory, content="Ann likes ships")
        assert (updated.id, updated.version) == (memory.id, 2)
        assert agent.get_memory(memory) == agent.get_memory(memory.id)  # its newest version
        assert agent.touch(memory).access_count == 1
        assert agent.promote(memory).tier == "long"
        assert [version.version for version in agent.memory_history(memory)] == [1, 2]
        assert agent.links(memory) == []
        assert agent.dependents(memory) == []
        assert agent.transcripts_for(memory) == agent.replay_transcripts(memory) == []
        origin = agent.origins(memory)
        assert origin is not None
        assert origin.memory.id == memory.id
        with agent.begin_transaction() as transaction:
            transaction.update_memory(memory, content="Ann likes boats")
            staged = transaction.get_memory(memory)
            assert staged is not None
            assert staged.content == "Ann likes boats"
            transaction.touch(memory)
            transaction.promote(memory)
            transaction.retract_memory(memory)
        assert agent.retract_memory(memory).retracted
        agent.forget(memory_id=memory)
        assert agent.get_memory(memory) is None

    def test_transcripts_and_passages(self, agent: Store, world: World) -> None:
        memory, transcript = world.memory, world.transcript
        passage = hit(agent, "fjörds", "passage")
        link = agent.link_transcript(memory_id=memory, transcript_id=passage)
        assert link.ref == world.quotation  # the passage, not all of the transcript
        assert agent.memories_for(transcript) == [as_read(link)]
        found_transcript = agent.get_transcript(passage)
        assert found_transcript is not None
        assert found_transcript.id == transcript.id
        quoting = agent.remember("Ann adores fjords", transcript=passage)
        (citation,) = agent.transcripts_for(quoting)
        assert citation.ref == world.quotation
        whole = agent.remember("They talked", transcript=transcript)
        assert agent.transcripts_for(whole)[0].spans == ()
        start = transcript.find("Ben: hello")
        chosen = agent.remember("Ben said hello", transcript=passage, spans=[start])
        assert agent.transcripts_for(chosen)[0].spans == (start,)
        assert agent.extract(transcript, extractor="rules").transcript_id == transcript.id
        agent.forget(transcript_id=passage)
        assert agent.why(memory).is_stale

    def test_sources_of_facts(self, agent: Store, world: World) -> None:
        memory, transcript = world.memory, world.transcript
        passage = hit(agent, "fjörds", "passage")
        for number, (source, ref) in enumerate(
            (
                (memory, MemoryRef(memory.id, 1)),
                (hit(agent, "ferries", "memory"), MemoryRef(memory.id, 1)),
                (transcript, TranscriptRef(transcript.id)),
                (passage, world.quotation),
            )
        ):
            edge = agent.assert_fact(
                subject=f"S{number}", relation="is", object="seen", source=cast(Any, source)
            )
            (fact,) = agent.facts(subject=f"S{number}")
            assert fact.sources == (ref,)
            agent.end_fact(subject=f"S{number}", relation="is", source=cast(Any, source))
            ending = agent.explain(edge).end
            assert ending is not None
            assert ending.source == ref
        for wrong in (agent.facts(subject="Ann")[0], FactRef(world.fact_id), KeyRef("goal")):
            with pytest.raises(InvalidInput, match="give a memory or a transcript") as error:
                agent.assert_fact(subject="X", relation="is", object="y", source=cast(Any, wrong))
            assert error.value.field == "source"
        with pytest.raises(InvalidInput) as error:
            agent.assert_fact(subject="X", relation="is", object="y", source=cast(Any, 5))
        assert error.value.field == "source"
        assert agent.forget(facts_from=memory).operations == 5

    def test_one_assertion_is_retracted_by_what_made_it(self, agent: Store, world: World) -> None:
        edge = agent.assert_fact(subject="Ann", relation="visits", object="Oslo")
        agent.retract_fact(assertion_id=edge)
        (fact,) = agent.facts()
        assert fact.object == "Bergen"
        agent.retract_fact(assertion_id=hit(agent, "Bergen", "fact"))
        assert agent.facts() == []

    def test_a_fact_with_several_assertions_is_no_single_one(
        self, agent: Store, world: World
    ) -> None:
        agent.assert_fact(subject="Ann", relation="visits", object="Bergen")
        (fact,) = agent.facts()
        for call in (
            lambda: agent.retract_fact(assertion_id=fact),
            lambda: agent.retract_fact(assertion_id=hit(agent, "Bergen", "fact")),
            lambda: agent.forget(fact=fact),
        ):
            with pytest.raises(InvalidInput, match="has 2 assertions: give the id of one of them"):
                call()
        assert agent.explain(hit(agent, "Bergen", "fact")).ref == fact.ref

    def test_notices_are_resolved_as_they_are_read(self, agent: Store) -> None:
        ground = agent.remember("ground")
        old, new = agent.reflect("old", on=ground), agent.reflect("new", on=ground)
        dependent = agent.reflect("dependent", on=old)
        agent.supersede(old=old, new=new)
        (notice,) = agent.invalidations()
        better = agent.reflect("better", on=new)
        agent.resolve_invalidation(notice, decision="revise", replacement=better)
        assert list(agent.invalidations()) == []
        revised = agent.get_memory(dependent)
        assert revised is not None
        assert revised.superseded_by == better.id

    @pytest.mark.parametrize(
        "call",
        [
            lambda agent, thing: agent.get_memory(thing),
            lambda agent, thing: agent.update_memory(thing, content="x"),
            lambda agent, thing: agent.retract_memory(thing),
            lambda agent, thing: agent.touch(thing),
            lambda agent, thing: agent.promote(thing),
            lambda agent, thing: agent.dependents(thing),
            lambda agent, thing: agent.links(thing),
            lambda agent, thing: agent.memory_history(thing),
            lambda agent, thing: agent.replay_transcripts(thing),
            lambda agent, thing: agent.origins(thing),
            lambda agent, thing: agent.transcripts_for(thing),
            lambda agent, thing: agent.forget(memory_id=thing),
            lambda agent, thing: agent.begin_transaction().touch(thing),
        ],
    )
    def test_another_kind_is_refused_by_its_argument(
        self, agent: Store, world: World, call: Any
    ) -> None:
        for wrong in (world.transcript, agent.facts()[0], agent.get_state(key="goal")):
            with pytest.raises(InvalidInput, match="give a memory or its id") as error:
                call(agent, wrong)
            assert error.value.field == "memory_id"
        with pytest.raises(InvalidInput) as error:
            call(agent, 5)
        assert error.value.field == "memory_id"


class TestWordsAsGrounds:
    def test_all_of_a_transcript_or_some_spans(self, agent: Store, world: World) -> None:
        transcript = world.transcript
        spans = (transcript.find("Ben: hello"), transcript.find("Ben: oh"))
        agent.write(key="all", value={}, because=transcript)
        agent.write(key="some", value={}, because=[TranscriptRef(transcript.id, spans)])
        assert quotations(agent.why("all")) == [WORDS]
        assert quotations(agent.why("some")) == ["Ben: hello", "Ben: oh"]
        assert [node.relation for node in agent.why("some").because] == ["because", "because"]
        assert agent.why(TranscriptRef(transcript.id, spans)).summary == "Ben: hello … Ben: oh"
        assert agent.why(transcript).summary == WORDS
        (operation,) = (
            operation
            for event in agent.replay()
            for operation in event.operations
            if operation.key == "some"
        )
        assert operation.type is OperationType.WRITE
        assert cast(Any, operation).because == (TranscriptRef(transcript.id, spans),)

    def test_messages_are_quoted(self, agent: Store) -> None:
        talk = agent.store_transcript([{"role": "user", "content": "I never fly"}])
        agent.write(key="plan", value={}, because=TranscriptRef(talk.id, (talk.find("never"),)))
        assert quotations(agent.why("plan")) == ["never"]

    @pytest.mark.parametrize(
        "spans",
        [
            ((0, 10_000),),
            ((5, 5),),
            ((-1, 3),),
            ((0, 1), (0, 27)),  # it ends within ö
            ((0, 1, 2),),
            (0, 1),
            "ab",
            [],
            [("0", "1")],
        ],
    )
    def test_spans_are_checked(self, agent: Store, world: World, spans: object) -> None:
        ref = TranscriptRef(world.transcript.id, cast(Any, spans))
        before = agent.stats().commits
        for write in (agent.write, agent.begin_transaction().write):
            with pytest.raises(InvalidInput) as error:
                write(key="plan", value={}, because=[world.memory, ref])
            assert error.value.field == "because[1].spans"
        assert agent.stats().commits == before

    def test_a_list_of_spans_is_stored_in_one_form(self, agent: Store, world: World) -> None:
        spans = cast(Any, [[0, 3], [0, 3], (5, 10)])
        agent.write(key="plan", value={}, because=TranscriptRef(world.transcript.id, spans))
        assert grounds(agent) == [TranscriptRef(world.transcript.id, ((0, 3), (5, 10)))]

    def test_words_that_are_not_there(self, agent: Store, world: World) -> None:
        agent.forget(transcript_id=world.transcript)
        for gone in (world.transcript, world.quotation, TranscriptRef("nowhere")):
            with pytest.raises(NotFound, match="there is no transcript"):
                agent.write(key="plan", value={}, because=cast(Any, gone))

    def test_a_retry_is_the_same_write(self, agent: Store, world: World) -> None:
        def write(because: object) -> object:
            return agent.write(key="plan", value={}, because=cast(Any, because), txn_id="once")

        first = write([world.quotation])
        assert write(world.quotation) == first
        assert write(hit(agent, "fjörds", "passage")) == first
        assert len(list(agent.history(key="plan"))) == 1

    def test_forgetting_the_words_makes_the_value_stale(self, agent: Store, world: World) -> None:
        agent.write(key="plan", value={"by": "ferry"}, because=[world.quotation, world.memory])
        preview = agent.forget(transcript_id=world.transcript, dry_run=True).preview
        assert preview is not None
        assert preview.resting == ("key:default|a1|plan",)
        agent.forget(transcript_id=world.transcript)
        reason = agent.why("plan")
        assert reason.is_stale
        assert [node.stale for node in reason.because] == [("forgotten",), ()]
        assert quotations(reason) == [""]
        assert grounds(agent) == [world.quotation, MemoryRef(world.memory.id, 1)]
        assert [node.ref for node in agent.stale_keys()] == [KeyRef("plan", 1, *HERE)]
        agent.verify(deep=True)

    def test_forgetting_the_agent_leaves_the_reference_of_another(self, store: Store) -> None:
        ann, ben = store.bind(agent_id="ann"), store.bind(agent_id="ben")
        talk = ann.store_transcript("I never fly")
        ben.write(key="plan", value={}, because=talk)
        store.forget(whole_agent="ann")
        assert grounds(ben, "plan") == [TranscriptRef(talk.id)]
        assert [node.stale for node in ben.why("plan").because] == [("forgotten",)]
        store.verify(deep=True)

    def test_forgetting_a_key_beside_the_words(self, agent: Store, world: World) -> None:
        agent.write(key="plan", value={}, because=[KeyRef("goal"), world.quotation])
        agent.forget(key="goal")
        reason = agent.why("plan")
        assert [node.kind for node in reason.because] == ["key", "transcript"]
        assert quotations(reason) == [QUOTE]
        agent.verify(deep=True)

    def test_a_compaction_leaves_the_words(self, agent: Store, world: World) -> None:
        for number in range(3):
            agent.write(key="plan", value={"n": number}, because=world.quotation)
        agent.compact(before=agent.stats().commits)
        assert quotations(agent.why("plan")) == [QUOTE]
        assert agent.get_state(key="plan") is not None
        agent.verify(deep=True)

    def test_exported_logs_are_verified_without_the_store(
        self, agent: Store, world: World, tmp_path: Path
    ) -> None:
        agent.write(key="plan", value={}, because=[world.quotation, KeyRef("goal")])
        assert verdicts(exported(agent), tmp_path) == (None, None)
        agent.forget(key="goal")  # leaves a part of the write, with a reference that still opens
        agent.forget(transcript_id=world.transcript)
        assert verdicts(exported(agent), tmp_path) == (None, None)

    def test_it_is_as_of_a_moment(self, agent: Store, world: World, clock: FixedClock) -> None:
        agent.write(key="plan", value={}, because=world.quotation)
        written = agent.stats().commits
        agent.write(key="plan", value={}, because=world.memory)
        assert quotations(agent.why("plan", at=written)) == [QUOTE]
        with pytest.raises(NotFound):
            agent.why(world.quotation, at=1)

    def test_other_agents_see_words_but_no_private_grounds(self, store: Store) -> None:
        ann, ben = store.bind(agent_id="ann"), store.bind(agent_id="ben")
        talk = ann.store_transcript("I never fly")
        secret = ann.remember("secret", visibility="private")
        ann.write(key="plan", value={}, because=[talk, secret])
        events = ben.replay(agent_id=ALL_AGENTS, kinds=["write"])
        (operation,) = (operation for event in events for operation in event.operations)
        assert cast(Any, operation).because == (TranscriptRef(talk.id),)
        reason = ben.why("plan", agent_id="ann")
        assert reason.because[0].summary == "I never fly"
        seen = store.bind(agent_id="ben").why(KeyRef("plan", 1, "ann", "default"))
        assert [node.hidden for node in seen.because] == [False, True]
