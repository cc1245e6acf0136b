"""An explanation of a recall: what found the candidates, and why some are no hits."""

from __future__ import annotations

import pytest

from memoranda import DroppedCandidate, RecallExplanation, Store
from memoranda.testing import FixedClock
from tests.contract.opener import Opener
from tests.embedders import Hashing


@pytest.fixture
def agent(open_store: Opener) -> Store:
    """A new store with an embedder, bound to one agent; it is the first of January 2026."""
    return open_store(embedder=Hashing()).bind(agent_id="a1")


def reasons(explanation: RecallExplanation) -> dict[str, str]:
    return {dropped.text: dropped.reason for dropped in explanation.dropped}


class TestDropped:
    def test_a_superseded_memory_names_what_took_its_place(self, agent: Store) -> None:
        old = agent.reflect("bees are late", on=[agent.remember("no bees in May").id])
        new = agent.reflect("bees are early", on=[agent.remember("some bees in March").id])
        agent.supersede(old=old.id, new=new.id)
        explanation = agent.explain_recall("bees")
        assert explanation.dropped == (
            DroppedCandidate(old.id, "memory", "bees are late", "superseded", new.id),
        )
        assert explanation.candidates == 4
        assert explanation.accepted == 3
        assert list(explanation.hits) == agent.recall("bees")

    def test_what_is_retracted_or_expired(self, agent: Store, clock: FixedClock) -> None:
        agent.retract_memory(agent.remember("bees that never were").id)
        agent.remember("bees for a day", ttl=24 * 3600)
        agent.remember("bees that stay")
        clock.advance(3 * 24 * 3600)
        explanation = agent.explain_recall("bees")
        assert reasons(explanation)["bees for a day"] == "expired"
        assert [hit.text for hit in explanation.hits] == ["bees that stay"]
        assert "bees for a day" not in reasons(agent.explain_recall("bees", include_expired=True))

    def test_a_fact_that_ended_and_one_that_is_not_true_yet(self, agent: Store) -> None:
        agent.set_cardinality(relation="lives in", cardinality="single")
        for place, year in (("Rome", 2020), ("Oslo", 2024), ("Paris", 2030)):
            agent.assert_fact(
                subject="Ann", relation="lives in", object=place, valid_from=f"{year}-01-01"
            )
        explanation = agent.explain_recall("where does Ann live?")
        assert [hit.text for hit in explanation.hits] == ["Ann lives in Oslo"]
        assert reasons(explanation) == {"Ann lives in Rome": "ended", "Ann lives in Paris": "later"}
        past = agent.explain_recall("where does Ann live?", valid_at="2021-01-01T00:00:00Z")
        assert reasons(past) == {"Ann lives in Oslo": "later", "Ann lives in Paris": "later"}

    def test_what_was_not_asked_for(self, agent: Store) -> None:
        agent.remember("bees of mine", tags=["garden"], event_time="2024-05-01T00:00:00Z")
        agent.bind(agent_id="a2").remember("bees of others")
        assert reasons(agent.explain_recall("bees", tags=["garden"])) == {"bees of others": "tags"}
        assert reasons(agent.explain_recall("bees", agent_id="a1")) == {"bees of others": "agent"}
        assert reasons(agent.explain_recall("bees", kinds=["reflection"])) == {
            "bees of mine": "kind",
            "bees of others": "kind",
        }
        assert reasons(agent.explain_recall("bees", until="2025-01-01")) == {
            "bees of others": "time"
        }
        assert reasons(agent.explain_recall("bees", valid_at="2025-01-01T00:00:00Z")) == {
            "bees of others": "later"
        }
        assert reasons(agent.explain_recall("bees", speaker="Ann")) == {
            "bees of mine": "speaker",
            "bees of others": "speaker",
        }
        assert set(reasons(agent.explain_recall("bees", min_score=99)).values()) == {"score"}

    def test_what_says_the_same(self, agent: Store) -> None:
        talk = agent.store_transcript("Ann: the bees are back in the garden")
        span = talk.find("the bees are back in the garden")
        note = agent.remember("the bees are back in the garden", transcript=talk, spans=[span])
        agent.remember("The bees are back in the garden!")
        explanation = agent.explain_recall("bees in the garden")
        assert len(explanation.hits) == 1
        assert {dropped.reason for dropped in explanation.dropped} == {"duplicate"}
        assert {dropped.kind for dropped in explanation.dropped} == {"memory", "passage"}
        assert {dropped.by for dropped in explanation.dropped} == {explanation.hits[0].id}
        assert note.id in {explanation.hits[0].id, *(item.id for item in explanation.dropped)}

    def test_a_passage_from_which_nothing_stands(self, agent: Store) -> None:
        talk = agent.store_transcript("Ann: the bees live in the attic")
        span = talk.find("the bees live in the attic")
        note = agent.remember("bees live in the attic", transcript=talk, spans=[span])
        other = agent.remember("no insects at all")
        agent.supersede(old=note.id, new=other.id)
        explanation = agent.explain_recall("bees attic")
        assert {(item.kind, item.reason) for item in explanation.dropped} == {
            ("memory", "superseded"),
            ("passage", "withdrawn"),
        }


class TestCounts:
    def test_each_search_is_counted(self, agent: Store) -> None:
        agent.remember("bees in the garden")
        agent.assert_fact(subject="Ann", relation="keeps", object="bees", valid_from="2020-01-01")
        explanation = agent.explain_recall("what bees does Ann keep?")
        assert explanation.found_by["text"] == 2
        assert explanation.found_by["graph"] == 1
        assert explanation.found_by["vector"] <= explanation.candidates == 2

    def test_nothing_private_of_others_is_named_or_counted(self, agent: Store) -> None:
        other = agent.bind(agent_id="a2")
        secret = other.remember("secret bees", visibility="private")
        newer = other.remember("secret wasps", visibility="private")
        other.supersede(old=secret.id, new=newer.id)
        explanation = agent.explain_recall("secret bees")
        assert (explanation.candidates, explanation.dropped) == (0, ())
        assert other.explain_recall("secret bees").candidates > 0

    def test_the_past_is_explained_as_it_was(self, agent: Store) -> None:
        old = agent.remember("bees are late")
        before = agent.stats().commits
        new = agent.remember("bees are early")
        agent.supersede(old=old.id, new=new.id)
        assert reasons(agent.explain_recall("bees")) == {"bees are late": "superseded"}
        past = agent.explain_recall("bees", known_at=before)
        assert ([hit.text for hit in past.hits], past.dropped) == (["bees are late"], ())
