"""Filters of recall: by time, by speaker and by score."""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import InvalidInput, Store
from memoranda.search.text import transcript_chunks
from memoranda.testing import FixedClock
from tests.contract.opener import Opener
from tests.embedders import Hashing

DAY = 24 * 3600


@pytest.fixture
def agent(open_store: Opener) -> Store:
    """A new store with an embedder, bound to one agent; it is the first of January 2026."""
    return open_store(embedder=Hashing()).bind(agent_id="a1")


def texts(agent: Store, query: str, **options: Any) -> set[str]:
    hits = agent.recall(query, k=50, **options)
    return {hit.text.rpartition("] ")[2] for hit in hits}  # without the time of a message


class TestTime:
    def test_a_half_open_range_of_events(self, agent: Store) -> None:
        for day in (1, 2, 3, 4):
            agent.remember(f"bees on day {day}", event_time=f"2024-05-0{day}T00:00:00Z")
        assert texts(agent, "bees", since="2024-05-02", until="2024-05-04") == {
            "bees on day 2",
            "bees on day 3",
        }
        assert texts(agent, "bees", since="2024-05-04") == {"bees on day 4"}
        assert texts(agent, "bees", until="2024-05-02") == {"bees on day 1"}
        assert texts(agent, "bees", since="2025-01-01", until="2026-01-01") == set()

    def test_without_an_event_by_when_it_was_created(self, agent: Store, clock: FixedClock) -> None:
        old = agent.remember("the first bees")
        clock.advance(10 * DAY)
        agent.remember("the second bees")
        agent.update_memory(old.id, content="the first bees, corrected")
        assert texts(agent, "bees", since="2026-01-05") == {"the second bees"}

    def test_messages_by_their_own_time(self, agent: Store) -> None:
        agent.store_transcript(
            [
                {"role": "ann", "content": "bees in May", "timestamp": "2024-05-01T09:00:00Z"},
                {"role": "ann", "content": "bees in June", "timestamp": "2024-06-01T09:00:00Z"},
                {"role": "ann", "content": "bees some day"},
            ],
            occurred_at="2024-05-01T09:00:00Z",
        )
        agent.store_transcript("bees in July", occurred_at="2024-07-01T00:00:00Z")
        assert texts(agent, "bees", since="2024-06-01", until="2024-07-01") == {"ann: bees in June"}
        assert texts(agent, "bees", since="2024-07-01") == {"bees in July"}
        assert texts(agent, "bees", valid_at="2024-05-20") == {
            "ann: bees in May",
            "ann: bees some day",
        }

    def test_facts_by_when_they_began_to_hold(self, agent: Store) -> None:
        for year in (2020, 2024):
            agent.assert_fact(
                subject="Ann",
                relation="keeps",
                object=f"bees{year}",
                valid_from=f"{year}-01-01T00:00:00Z",
            )
        assert texts(agent, "Ann keeps", since="2022-01-01") == {"Ann keeps bees2024"}

    def test_it_looks_further_until_there_are_enough(self, agent: Store) -> None:
        with agent.begin_transaction() as transaction:
            for number in range(400):
                time = "2024-01-01" if number == 7 else "2025-01-01"
                transaction.remember(f"note {number} about bees", event_time=time)
        assert texts(agent, "note about bees", until="2024-06-01") == {"note 7 about bees"}


class TestSpeaker:
    def test_messages_and_what_cites_them(self, agent: Store) -> None:
        words = agent.store_transcript(
            [
                {"role": "user", "content": "my bees are well"},
                {"role": "assistant", "content": "bees need water"},
            ]
        )
        agent.remember(
            "Bees: water them", transcript=words.id, spans=[words.find("bees need water")]
        )
        agent.remember("Bees are insects")
        agent.assert_fact(subject="bees", relation="are", object="insects")
        assert texts(agent, "bees", speaker="Assistant", kinds=["passage"]) == {
            "assistant: bees need water"
        }
        assert texts(agent, "bees", speaker="assistant") == {"Bees: water them"}
        assert texts(agent, "bees", speaker="user") == {"user: my bees are well"}
        assert texts(agent, "bees", speaker="nobody") == set()

    def test_a_passage_says_who_said_it(self, agent: Store) -> None:
        words = agent.store_transcript(
            [
                {"role": "user", "name": "Ann", "content": "my bees are well"},
                {"role": "assistant", "content": "bees need water. " * 60},
                {"role": "user", "content": "Bob: no bees"},
            ]
        )
        agent.store_transcript("Eve: bees sting")
        agent.remember("Ann has bees", transcript=words, spans=[words.find("my bees are well")])
        agent.assert_fact(subject="bees", relation="are", object="insects")
        passages = agent.recall("bees", kinds=["passage"], k=50)
        speakers: dict[str | None, set[str]] = {}
        for hit in passages:
            speakers.setdefault(hit.speaker, set()).add(hit.text.split(":")[0])
        assert speakers == {  # a text has no verified speakers
            "Ann": {"Ann"}, "assistant": {"assistant"}, "user": {"user"}, None: {"Eve"},
        }  # fmt: skip
        others = agent.recall("bees", kinds=["memory", "fact"])
        assert {hit.kind: hit.speaker for hit in others} == {"memory": None, "fact": None}

    @pytest.mark.parametrize(
        ("roles", "speaker"), [(("user", "assistant"), None), (("user", "user"), "user")]
    )
    def test_a_passage_of_several_messages(
        self,
        agent: Store,
        monkeypatch: pytest.MonkeyPatch,
        roles: tuple[str, ...],
        speaker: str | None,
    ) -> None:
        monkeypatch.setattr(transcript_chunks, "_LONG_TRANSCRIPT_LINES", 0)  # lines are joined
        agent.store_transcript([{"role": role, "content": "bees"} for role in roles])
        (hit,) = agent.recall("bees", kinds=["passage"])
        assert len(hit.text.splitlines()) == 2
        assert hit.speaker == speaker

    def test_lines_of_a_text(self, agent: Store) -> None:
        agent.store_transcript("Ann: bees!\nBen Lee: no bees")
        assert texts(agent, "bees", speaker="ben lee") == {"Ben Lee: no bees"}


class TestScore:
    def test_nothing_with_a_lower_score(self, agent: Store) -> None:
        agent.remember("Ann keeps bees in Kiel")
        agent.remember("Ben was in Kiel")
        hits = agent.recall("where does Ann keep bees?")
        everything = agent.recall("Ann keeps bees in Kiel", k=10)
        assert len(everything) == 2
        least = everything[0].score
        assert agent.recall("Ann keeps bees in Kiel", min_score=least) == everything[:1]
        assert agent.recall("Ann keeps bees in Kiel", min_score=100) == []
        assert agent.recall("where does Ann keep bees?", min_score=0) == hits


def test_they_are_in_the_context_too(agent: Store) -> None:
    for year in (2023, 2024):
        agent.remember(f"bees of {year}", event_time=f"{year}-05-01T00:00:00Z")
    context = agent.recall_context("bees", since="2024-01-01")
    assert "bees of 2024" in context
    assert "bees of 2023" not in context
    assert "bees" not in agent.recall_context("bees", min_score=100)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"since": "soon"}, "since"),
        ({"until": 5}, "until"),
        ({"since": "2024-01-02", "until": "2024-01-01"}, "until"),
        ({"since": "2024-01-01", "until": "2024-01-01"}, "until"),
        ({"speaker": " "}, "speaker"),
        ({"speaker": 5}, "speaker"),
        ({"min_score": -1}, "min_score"),
        ({"min_score": True}, "min_score"),
        ({"min_score": "0.5"}, "min_score"),
        ({"min_score": float("nan")}, "min_score"),
        ({"min_score": float("inf")}, "min_score"),
    ],
)
def test_bad_filters_are_refused(agent: Store, options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        agent.recall("bees", **options)
    assert caught.value.field == field
