"""Recall: what was written is found again, by whoever may see it, as of any moment."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from memoranda import ALL_NAMESPACES, Hit, InvalidInput, MemoryRef, Store, TranscriptRef
from memoranda.testing import FixedClock
from tests.contract.opener import Opener
from tests.embedders import Hashing


@pytest.fixture
def agent(open_store: Opener) -> Store:
    """A new store with an embedder, bound to one agent."""
    return open_store(embedder=Hashing()).bind(agent_id="a1")


@pytest.fixture
def plain(open_store: Opener) -> Store:
    return open_store(embedder=None).bind(agent_id="a1")


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


class TestFinding:
    def test_what_was_just_written_is_found(self, agent: Store) -> None:
        agent.remember("The boiler is serviced every spring")
        memory = agent.remember("Grandma bakes plum cake")
        (first, *_) = agent.recall("who is baking a cake?")
        assert (first.id, first.kind, first.text) == (
            memory.id,
            "memory",
            "Grandma bakes plum cake",
        )
        assert first.memory == agent.get_memory(memory.id)
        assert first.fact is None

    def test_by_title_tags_and_other_forms_of_a_word(self, agent: Store) -> None:
        memory = agent.remember("It has to be renewed", title="Passports", tags=["travelling"])
        assert agent.recall("passport")[0].id == memory.id
        assert agent.recall("travel")[0].id == memory.id

    def test_facts_and_pieces_of_transcripts(self, agent: Store) -> None:
        agent.assert_fact(subject="Ann", relation="works_at", object="Polaris")
        words = agent.store_transcript("Ben: hello\nAnn: I sell lamps\nBen: oh")
        (fact,) = agent.recall("where does Ann work?", kinds=["fact"])
        assert fact.text == "Ann works at Polaris"
        assert fact.fact == agent.facts()[0]
        assert fact.id == agent.facts()[0].ref.assertion_id
        piece = agent.recall("who sells lamps?", kinds=["passage"])[0]
        assert (piece.id, piece.text) == (words.id, "Ann: I sell lamps")
        assert piece.context == ("Ben: hello", "Ben: oh")
        assert piece.provenance == (TranscriptRef(words.id, (words.find("Ann: I sell lamps"),)),)

    def test_a_memory_is_found_by_what_stands_around_the_words_it_cites(self, agent: Store) -> None:
        words = agent.store_transcript("Ben: which city did you like best?\nAnn: Lisbon, by far")
        memory = agent.remember(
            "Lisbon, by far", transcript=words.id, spans=[words.find("Lisbon, by far")]
        )
        hits = agent.recall("best city", kinds=["memory"])
        assert [hit.id for hit in hits] == [memory.id]
        assert "which city" in hits[0].context[0]
        assert hits[0].provenance == (TranscriptRef(words.id, (words.find("Lisbon, by far"),)),)

    def test_what_a_belief_rests_on_is_told(self, agent: Store) -> None:
        memory = agent.remember("Ann carries an umbrella")
        belief = agent.reflect("it rains where Ann is", on=[memory.id])
        (hit, *_) = agent.recall("does it rain?")
        assert hit.id == belief.id
        assert hit.provenance == (MemoryRef(memory.id, 1),)

    def test_facts_around_what_is_named(self, agent: Store) -> None:
        source = agent.remember("They met at the fair")
        agent.assert_fact(subject="Ann", relation="knows", object="Cleo", source=source.id)
        agent.assert_fact(subject="Cleo", relation="lives in", object="Oslo")
        agent.assert_fact(subject="Oslo", relation="is in", object="Norway")
        agent.assert_fact(subject="Dan", relation="knows", object="Eve")
        result = {hit.text: hit.parts["graph"] for hit in agent.recall("tell me about Ann's life")}
        assert result["Ann knows Cleo"] > result["Cleo lives in Oslo"] > 0
        assert result["They met at the fair"] > 0
        assert "Oslo is in Norway" not in result
        assert "Dan knows Eve" not in result

    def test_by_another_name(self, plain: Store) -> None:
        plain.assert_fact(subject="Annabel Lee", relation="lives in", object="Oslo")
        plain.alias(entity="Annabel Lee", alias="Bel")
        assert texts(plain.recall("what of Bel?")) == ["Annabel Lee lives in Oslo"]

    def test_as_many_as_are_asked_for(self, agent: Store) -> None:
        for number in range(30):
            agent.remember(f"note {number} about bees", tags=["even"] if number % 2 == 0 else [])
        assert len(agent.recall("bees", k=7)) == 7
        assert len(agent.recall("bees", k=1000)) == 30
        assert len(agent.recall("bees", k=15, tags=["even"])) == 15

    def test_filters_look_further_until_there_are_enough(self, agent: Store) -> None:
        with agent.begin_transaction() as transaction:
            for number in range(300):
                transaction.remember(f"note {number} about bees", metadata={"n": number})
        hits = agent.recall("note about bees", k=1, metadata={"n": 0})
        assert texts(hits) == ["note 0 about bees"]

    def test_kinds(self, agent: Store) -> None:
        agent.remember("bees: one", kind="decision")
        agent.remember("bees: two", kind="claim")
        agent.assert_fact(subject="bees", relation="like", object="clover")
        agent.store_transcript("we spoke of bees")
        assert {hit.kind for hit in agent.recall("bees")} == {"memory", "fact", "passage"}
        assert texts(agent.recall("bees", kinds=["decision"])) == ["bees: one"]
        hits = agent.recall("bees", kinds=["fact", "claim"])
        assert sorted(texts(hits)) == ["bees like clover", "bees: two"]
        assert {hit.kind for hit in agent.recall("bees", kinds="memory")} == {"memory"}
        assert {hit.kind for hit in agent.recall("bees", tags=["x"])} == set()


class TestScores:
    def test_a_score_is_made_of_its_parts(self, agent: Store, clock: FixedClock) -> None:
        agent.assert_fact(subject="Ann", relation="keeps", object="bees", confidence=0.5)
        agent.remember("Ann keeps bees", priority=9, confidence=0.4, tier="mid")
        agent.store_transcript("Ann: I keep bees")
        clock.advance(90 * 24 * 3600)
        hits = agent.recall("does Ann keep bees?", include_expired=True)
        assert len(hits) == 3
        for hit in hits:
            factors = dict(hit.parts)
            reasons = [factors.pop(name) for name in ("text", "vector", "graph", "conversation")]
            assert hit.score == pytest.approx(sum(reasons) * prod(factors.values()))
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        memory = next(hit for hit in hits if hit.kind == "memory")
        assert memory.parts["priority"] > 1 > memory.parts["confidence"]
        assert memory.parts["tier"] < 1
        assert memory.parts["recency"] < 1

    @pytest.mark.parametrize(
        ("better", "worse"),
        [({"priority": 8}, {"priority": 2}), ({"confidence": 1.0}, {"confidence": 0.3})],
    )
    def test_what_is_known_decides_between_equals(
        self, agent: Store, better: dict[str, Any], worse: dict[str, Any]
    ) -> None:
        first = agent.remember("The red key opens the shed", **better)
        agent.remember(
            "The shed opens with the blue key", **worse, event_time="2020-01-01T00:00:00Z"
        )
        assert agent.recall("key for the shed")[0].id == first.id

    def test_but_never_over_what_answers(self, agent: Store) -> None:
        answer = agent.remember("Ann's blood type is AB", priority=1, confidence=0.1)
        agent.remember("Ann likes tea", priority=10)
        assert agent.recall("what is Ann's blood type?")[0].id == answer.id

    def test_duplicates_are_told(self, agent: Store) -> None:
        first = agent.remember("Bees sleep in winter")
        second = agent.remember("bees sleep, in winter!")
        (hit,) = agent.recall("when do bees sleep?")
        assert {hit.id, *hit.duplicates} == {first.id, second.id}

    def test_a_memory_stands_for_the_words_it_cites(self, agent: Store) -> None:
        words = agent.store_transcript("Ben: hello\nAnn: the bees swarmed on Monday")
        span = words.find("Ann: the bees swarmed on Monday")
        memory = agent.remember("The bees swarmed", transcript=words.id, spans=[span])
        hits = agent.recall("when did the bees swarm?")
        assert hits[0].id == memory.id
        assert [hit.text for hit in hits if hit.kind == "passage"] in ([], ["Ben: hello"])
        assert hits[0].duplicates == (words.id,)


class TestWhoSeesIt:
    def test_a_namespace_and_those_below_unless_they_are_left_out(self, agent: Store) -> None:
        for name in ("team", "team/eng", "teams", "other"):
            agent.remember(f"bees of {name}", namespace=name)
            agent.store_transcript(f"bees were spoken of in {name}", namespace=name)
            agent.assert_fact(subject="bees", relation="are in", object=name, namespace=name)
        assert agent.recall("bees") == []
        assert len(agent.recall("bees", namespace="team")) == 6
        alone = agent.recall("bees", namespace="team", children=False)
        assert len(alone) == 3
        assert "bees of team" in {hit.text for hit in alone}
        context = agent.recall_context("bees", namespace="team")
        assert "bees of team/eng" in context
        assert "bees of team/eng" not in agent.recall_context(
            "bees", namespace="team", children=False
        )
        listed = {memory.namespace for memory in agent.list_memories(namespace="team")}
        assert listed == {"team", "team/eng"}
        assert len(agent.recall("bees", namespace=ALL_NAMESPACES, k=20)) == 12

    def test_private_memories(self, agent: Store) -> None:
        agent.remember("my bees are ill", visibility="private")
        other = agent.bind(agent_id="a2")
        assert len(agent.recall("bees")) == 1
        assert other.recall("bees") == []
        assert other.recall("bees", agent_id="a1") == []
        assert other.recall("bees", namespace=ALL_NAMESPACES) == []

    def test_of_one_agent(self, agent: Store) -> None:
        other = agent.bind(agent_id="a2")
        for item in (agent, other):
            item.remember(f"bees of {item is agent}")
            item.assert_fact(subject="bees", relation="belong to", object=f"{item is agent}")
            item.store_transcript(f"bees, says {item is agent}")
        assert len(agent.recall("bees")) == 6
        hits = agent.recall("bees", agent_id="a2")
        assert len(hits) == 3
        assert all("False" in hit.text for hit in hits)

    def test_a_source_elsewhere_is_not_shown(self, agent: Store) -> None:
        hidden = agent.remember("a secret of bees", visibility="private")
        far = agent.remember("bees are far away", namespace="far")
        for number, source in enumerate((hidden, far)):
            agent.assert_fact(
                subject="Ann", relation="knows", object=f"thing {number}", source=source.id
            )
        hits = agent.bind(agent_id="a2").recall("Ann", k=50)
        assert {hit.kind for hit in hits} == {"fact"}

    def test_a_source_that_was_taken_back_is_not_shown(self, agent: Store) -> None:
        source = agent.remember("they met at the fair")
        agent.assert_fact(subject="Ann", relation="knows", object="Ben", source=source.id)
        assert {hit.kind for hit in agent.recall("Ann")} == {"fact", "memory"}
        agent.retract_memory(source.id)
        assert {hit.kind for hit in agent.recall("Ann")} == {"fact"}

    def test_ground_that_another_may_not_see_is_not_named(self, agent: Store) -> None:
        ground = agent.remember("a secret", visibility="private")
        agent.reflect("bees are well", on=[ground.id])
        assert agent.recall("bees")[0].provenance == (MemoryRef(ground.id, 1),)
        assert agent.bind(agent_id="a2").recall("bees")[0].provenance == ()

    def test_what_another_may_not_see_supersedes_nothing_for_it(self, agent: Store) -> None:
        old = agent.remember("the hive is in the garden")
        new = agent.remember("the hive is on the roof", visibility="private")
        agent.supersede(old=old.id, new=new.id)
        assert [hit.id for hit in agent.recall("hive")] == [new.id]
        assert [hit.id for hit in agent.bind(agent_id="a2").recall("hive")] == [old.id]

    def test_notices_are_not_in_the_way(self, agent: Store) -> None:
        memory = agent.remember("bees", kind="reflection")
        agent.reflect("honey", on=[memory.id])
        agent.supersede(old=memory.id, new=agent.remember("wasps", kind="reflection").id)
        hits = agent.recall("superseded reflection", namespace=ALL_NAMESPACES, children=True)
        assert hits == []
        assert agent.recall("superseded", namespace="default/_invalidations")


def test_every_instance_on_a_file_finds_it_at_once(reopen: Opener) -> None:
    first, second = (reopen(embedder=Hashing()).bind(agent_id="a1") for _ in range(2))
    memory = first.remember("Grandma bakes plum cake")
    assert second.recall("cake")[0].id == memory.id
    second.update_memory(memory.id, content="Grandma bakes apple pie")
    assert first.recall("cake", kinds=["memory"]) == first.recall("plum") == []
    assert first.recall("pie")[0].id == memory.id
    second.forget(memory_id=memory.id, reason="asked to")
    assert first.recall("pie") == []


def test_a_query_that_is_too_long_is_refused(plain: Store) -> None:
    with pytest.raises(InvalidInput, match="102400 bytes of UTF-8, and the limit is 65536"):
        plain.recall("a" * 102_400)


def test_without_vectors_it_is_said_once(plain: Store, caplog: pytest.LogCaptureFixture) -> None:
    plain.recall("bees")
    plain.recall("honey")
    reports = [record for record in caplog.records if record.name == "memoranda.search"]
    assert len(reports) == 1
    assert "words and facts only" in reports[0].getMessage()
