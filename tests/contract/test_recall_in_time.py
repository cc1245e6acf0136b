"""Recall and time: the newer first, the past as it was, and nothing of what came later."""

from __future__ import annotations

import pytest

from memoranda import Compacted, Hit, Store
from memoranda.testing import FixedClock
from tests.contract.opener import Opener
from tests.embedders import Hashing

DAY = 24 * 3600


@pytest.fixture
def agent(open_store: Opener) -> Store:
    """A new store with an embedder, bound to one agent."""
    return open_store(embedder=Hashing()).bind(agent_id="a1")


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


def told(hits: list[Hit]) -> list[object]:
    """What was found: how rare its words were then is not kept, so scores may differ."""
    return [(hit.id, hit.text, hit.memory, hit.fact, hit.provenance, hit.context) for hit in hits]


class TestTheNewerComesFirst:
    def test_without_dates_by_when_it_was_said(self, agent: Store, clock: FixedClock) -> None:
        for city in ("Paris", "Rome", "Berlin"):
            agent.remember(f"Alice lives in {city}")
            clock.advance(DAY)
        hits = agent.recall("where does Alice live?")
        assert texts(hits) == [f"Alice lives in {city}" for city in ("Berlin", "Rome", "Paris")]

    def test_what_was_said_again_is_newer(self, agent: Store, clock: FixedClock) -> None:
        agent.remember("Alice lives in Paris", title="Alice's home")
        clock.advance(DAY)
        agent.remember("Alice lives in Rome")
        clock.advance(DAY)
        agent.remember("Alice lives in Berlin", title="Alice's home")
        result = texts(agent.recall("where does Alice live?"))
        assert result == ["Alice lives in Berlin", "Alice lives in Rome"]

    def test_what_was_only_tagged_again_is_not_newer(self, agent: Store, clock: FixedClock) -> None:
        old = agent.remember("Alice lives in Paris")
        clock.advance(DAY)
        agent.remember("Alice lives in Berlin")
        clock.advance(DAY)
        agent.update_memory(old.id, tags=["people"], priority=6)
        agent.touch(old.id)
        first, second = agent.recall("where does Alice live?")
        assert (first.text, second.text) == ("Alice lives in Berlin", "Alice lives in Paris")
        assert second.time is not None
        assert first.time is not None
        assert second.time < first.time
        clock.advance(DAY)
        agent.update_memory(old.id, content="Alice lives in Rome")
        assert texts(agent.recall("where does Alice live?"))[0] == "Alice lives in Rome"

    def test_what_answers_another_question_stays_behind(
        self, agent: Store, clock: FixedClock
    ) -> None:
        agent.remember("Alice lives in Paris with her sister")
        clock.advance(100 * DAY)
        agent.remember("Alice likes green tea")
        assert texts(agent.recall("where does Alice live?"))[0].startswith("Alice lives")


class TestSuperseded:
    def test_hidden_unless_it_is_asked_for(self, agent: Store) -> None:
        old = agent.remember("The safe opens with 1234", kind="reflection")
        new = agent.remember("The safe opens with 9876", kind="reflection")
        agent.supersede(old=old.id, new=new.id)
        assert [hit.id for hit in agent.recall("what opens the safe?")] == [new.id]
        first, second = agent.recall("what opens the safe?", include_superseded=True)
        assert (first.id, second.id) == (new.id, old.id)
        assert second.parts["superseded"] < 1 == first.parts["superseded"]
        assert second.memory is not None
        assert second.memory.superseded_by == new.id

    def test_not_before_it_was(self, agent: Store) -> None:
        old = agent.remember("Ann works at Polaris", event_time="2020-01-01T00:00:00Z")
        new = agent.remember("Ann works at Nordlys", event_time="2022-01-01T00:00:00Z")
        agent.supersede(old=old.id, new=new.id)
        hits = agent.recall("where does Ann work?", valid_at="2021-01-01T00:00:00Z")
        assert [hit.id for hit in hits] == [old.id]

    def test_facts_that_hold(self, agent: Store) -> None:
        agent.set_cardinality(relation="works at", cardinality="single")
        for year, place in ((2020, "Polaris"), (2022, "Nordlys")):
            agent.assert_fact(
                subject="Ann",
                relation="works at",
                object=place,
                valid_from=f"{year}-01-01T00:00:00Z",
            )
        query = "where does Ann work?"
        assert texts(agent.recall(query)) == ["Ann works at Nordlys"]
        assert texts(agent.recall(query, valid_at="2021-01-01T00:00:00Z")) == [
            "Ann works at Polaris"
        ]
        assert agent.recall(query, valid_at="2019-01-01T00:00:00Z") == []
        both = agent.recall(query, include_superseded=True)
        assert texts(both) == ["Ann works at Nordlys", "Ann works at Polaris"]


class TestWhatIsGone:
    def test_expired(self, agent: Store, clock: FixedClock) -> None:
        agent.remember("The parcel comes on Tuesday", tier="short")
        assert len(agent.recall("parcel")) == 1
        before = agent.stats().commits
        clock.advance(DAY)
        assert agent.recall("parcel") == []
        assert len(agent.recall("parcel", include_expired=True)) == 1
        assert len(agent.recall("parcel", known_at=before)) == 1

    def test_retracted(self, agent: Store) -> None:
        memory = agent.remember("The parcel is lost")
        agent.assert_fact(subject="Ann", relation="has", object="the parcel")
        agent.retract_memory(memory.id)
        agent.retract_fact(subject="Ann", relation="has", object="the parcel")
        assert agent.recall("parcel", include_superseded=True, include_expired=True) == []

    def test_forgotten(self, agent: Store) -> None:
        memory = agent.remember("The parcel is lost")
        words = agent.store_transcript("Ann: where is the parcel?")
        agent.assert_fact(subject="Ann", relation="lost", object="parcel", source=memory.id)
        assert len(agent.recall("parcel")) == 3
        head = agent.stats().commits
        agent.forget(memory_id=memory.id, reason="asked to")
        agent.forget(transcript_id=words.id, reason="asked to")
        assert agent.recall("parcel") == []
        assert agent.recall("parcel", known_at=head) == []

    def test_edited(self, agent: Store) -> None:
        memory = agent.remember("The parcel is lost")
        head = agent.stats().commits
        agent.update_memory(memory.id, content="The package was found")
        assert agent.recall("parcel") == []
        assert texts(agent.recall("package")) == ["The package was found"]
        assert texts(agent.recall("parcel", known_at=head)) == ["The parcel is lost"]
        assert agent.recall("package", known_at=head) == []


class TestWhatWasKnown:
    def test_nothing_later_leaks_in(self, agent: Store, clock: FixedClock) -> None:
        old = agent.remember("Ann keeps bees", tags=["garden"])
        agent.assert_fact(subject="Ann", relation="keeps", object="bees")
        head, time = agent.stats().commits, agent.stats().last_committed_at
        before = agent.recall("what does Ann keep?")
        clock.advance(DAY)
        new = agent.remember("Ann keeps goats")
        agent.update_memory(old.id, tags=["roof"])
        agent.supersede(old=old.id, new=new.id)
        agent.store_transcript("Ann: I keep goats")
        agent.retract_fact(subject="Ann", relation="keeps", object="bees")
        agent.assert_fact(subject="Ann", relation="keeps", object="goats")
        assert "goats" in texts(agent.recall("what does Ann keep?"))[0]
        for moment in (head, time):
            then = agent.recall("what does Ann keep?", known_at=moment)
            assert told(then) == told(before)
            assert agent.recall("what does Ann keep?", known_at=moment, tags=["garden"])
            assert not agent.recall("what does Ann keep?", known_at=moment, tags=["roof"])
            assert agent.recall("goats", known_at=moment) == []

    def test_names_as_they_were_known(self, agent: Store) -> None:
        agent.assert_fact(subject="Annabel", relation="keeps", object="bees")
        head = agent.stats().commits
        agent.alias(entity="Annabel", alias="Bel")
        assert texts(agent.recall("Bel")) == ["Annabel keeps bees"]
        assert agent.recall("Bel", known_at=head) == []

    def test_below_a_horizon_it_is_refused(self, agent: Store) -> None:
        memory = agent.remember("Ann keeps bees")
        for place in ("garden", "roof", "yard"):
            agent.update_memory(memory.id, content=f"Ann keeps bees in the {place}")
        assert agent.compact(before=3, confirm=True).commit_ts is not None
        with pytest.raises(Compacted):
            agent.recall("bees", known_at=1)
        assert texts(agent.recall("bees")) == ["Ann keeps bees in the yard"]
