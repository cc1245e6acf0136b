"""Recall and questions: when, by whom, how many and for whom something is asked."""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import Hit, Store
from memoranda.testing import FixedClock
from tests.contract.opener import Opener
from tests.embedders import Hashing

DAY = 24 * 3600


@pytest.fixture
def agent(open_store: Opener) -> Store:
    """A new store with an embedder, bound to one agent; it is the first of January 2026."""
    return open_store(embedder=Hashing()).bind(agent_id="a1")


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


class TestDates:
    @pytest.mark.parametrize(
        ("query", "day"),
        [
            ("where did Ann go in May 2023?", "2023-05-20"),
            ("where did Ann go in March?", "2025-03-10"),
            ("where did Ann go on 3 June 2024?", "2024-06-03"),
            ("where did Ann go yesterday?", "2025-12-31"),
            ("where did Ann go last week?", "2025-12-23"),
            ("where did Ann go before 2023?", "2021-07-07"),
            ("where did Ann go between 2 June and 9 June 2024?", "2024-06-03"),
            ("where did Ann go since December 30, 2025?", "2025-12-31"),
        ],
    )
    def test_what_happened_then_comes_first(self, agent: Store, query: str, day: str) -> None:
        days = ["2021-07-07", "2023-05-20", "2024-06-03", "2025-03-10", "2025-12-23", "2025-12-31"]
        for number, date in enumerate(days):
            agent.remember(f"Ann went to place{number}", event_time=f"{date}T12:00:00Z")
        hits = agent.recall(query)
        assert hits[0].text == f"Ann went to place{days.index(day)}"
        assert hits[0].parts["date"] == 1
        assert len(hits) == len(days), "a date excludes nothing"
        assert all(hit.parts["date"] < 1 for hit in hits[1:])

    def test_from_the_instant_of_the_query(self, agent: Store) -> None:
        for year in (2019, 2020, 2021):
            agent.remember(f"Ann went to town{year}", event_time=f"{year}-05-05T00:00:00Z")
        hits = agent.recall("where did Ann go in May?", valid_at="2020-08-01T00:00:00Z")
        assert texts(hits)[0] == "Ann went to town2020"

    def test_what_was_told_later_and_names_the_date(self, agent: Store) -> None:
        agent.remember("In May 2023 Ann went to Oslo", event_time="2025-01-01T00:00:00Z")
        agent.remember("Ann went to Rome", event_time="2023-05-02T00:00:00Z")
        agent.remember("Ann went to Kiel", event_time="2022-05-02T00:00:00Z")
        result = texts(agent.recall("where did Ann go in May 2023?"))
        assert result[2] == "Ann went to Kiel"

    def test_the_time_of_a_message(self, agent: Store) -> None:
        agent.store_transcript(
            [
                {"role": "user", "content": "I bought a lamp", "timestamp": "2024-02-10T09:00:00Z"},
                {"role": "user", "content": "I bought a desk", "timestamp": "2024-03-10T09:00:00Z"},
            ]
        )
        hits = agent.recall("what did I buy in February 2024?")
        assert hits[0].text.endswith("I bought a lamp")
        assert hits[0].time is not None
        assert hits[0].time.month == 2

    def test_a_fact_that_held_then(self, agent: Store) -> None:
        agent.set_cardinality(relation="lives in", cardinality="single")
        for year, city in ((2019, "Rome"), (2023, "Oslo")):
            agent.assert_fact(
                subject="Ann",
                relation="lives in",
                object=city,
                valid_from=f"{year}-01-01T00:00:00Z",
            )
        hits = agent.recall("where did Ann live in 2020?", include_superseded=True)
        dates = {hit.text: hit.parts["date"] for hit in hits}
        assert dates["Ann lives in Rome"] == 1 > dates["Ann lives in Oslo"]

    @pytest.mark.parametrize(("word", "city"), [("before", "Rome"), ("after", "Kiel")])
    def test_before_and_after_an_event(self, agent: Store, word: str, city: str) -> None:
        for year, text in (
            (2020, "Ann worked in Rome"),
            (2021, "Ann had her big wedding"),
            (2022, "Ann worked in Kiel"),
        ):
            agent.remember(text, event_time=f"{year}-01-01T00:00:00Z")
        hits = [
            hit
            for hit in agent.recall(f"where did Ann work {word} the wedding?")
            if "worked" in hit.text
        ]
        assert hits[0].text == f"Ann worked in {city}"

    def test_first_and_now(self, agent: Store) -> None:
        for year, text in (
            (2019, "Ann drives a Volvo"),
            (2024, "the car that Ann drives is a Fiat"),
        ):
            agent.remember(text, event_time=f"{year}-01-01T00:00:00Z")
        for query, text in (("at first", "Ann drives a Volvo"), ("these days", "the car that")):
            first, second = agent.recall(f"what was it that Ann drove {query}?")
            assert first.parts["date"] == 1 > second.parts["date"]
            assert first.text.startswith(text)


class TestSpeakers:
    CHAT = (
        {"role": "user", "content": "I think a hammock for the garden would be nice"},
        {"role": "assistant", "content": "For the garden a bench under the apple tree is nice"},
    )

    @pytest.mark.parametrize("kind", ["memory", "passage"])
    @pytest.mark.parametrize(
        ("query", "text"),
        [
            ("what did you suggest for the garden?", "bench"),
            ("what did the assistant recommend for the garden?", "bench"),
            ("remind me what you said about the garden", "bench"),
            ("what did I tell you about the garden?", "hammock"),
        ],
    )
    def test_what_one_side_of_a_chat_said(
        self, agent: Store, kind: str, query: str, text: str
    ) -> None:
        words = agent.store_transcript(self.CHAT)
        for message in self.CHAT if kind == "memory" else ():
            content = message["content"]
            agent.remember(content, transcript=words.id, spans=[words.find(content)])
        hits = agent.recall(query, kinds=[kind])
        assert text in hits[0].text
        assert hits[1].parts["speaker"] < 1

    def test_a_role_stays_one_under_a_name(self, agent: Store) -> None:
        agent.store_transcript(self.CHAT, names={"assistant": "Max", "user": "Ann"})
        hits = agent.recall("what did you suggest for the garden?")
        assert hits[0].text.startswith("Max: ")
        assert hits[1].parts["speaker"] < 1
        for speaker in ("assistant", "max"):
            assert len(agent.recall("garden", speaker=speaker)) == 1

    def test_who_is_named(self, agent: Store) -> None:
        agent.store_transcript(
            "Ann: my favourite tree is the oak\nBen: mine is the favourite of all, the ash tree"
        )
        hits = agent.recall("what is Ben's favourite tree?")
        assert hits[0].text.startswith("Ben")
        assert hits[1].parts["speaker"] < 1

    def test_where_nobody_of_that_role_spoke_nothing_changes(self, agent: Store) -> None:
        agent.store_transcript("Ann: a bench for the garden")
        (hit,) = agent.recall("what did you suggest for the garden?")
        assert hit.parts["speaker"] == 1


class TestLists:
    def fill(self, agent: Store) -> None:
        """Tell of one trip at length, and of two others in passing."""
        agent.store_transcript(
            "\n".join(f"Ann: on the trip to Oslo we saw sight{n}" for n in range(8))
        )
        for city in ("Kiel", "Rome"):
            agent.store_transcript(
                f"Ann: and as for {city}, well, there was a trip to that town, too, last year"
            )

    @pytest.mark.parametrize(
        "query", ["how many trips were there?", "what trips did Ann make?", "list all trips"]
    )
    def test_every_conversation_has_its_turn(self, agent: Store, query: str) -> None:
        self.fill(agent)
        hits = agent.recall(query, k=4)
        assert len({hit.id for hit in hits}) == 3
        assert any(hit.parts["diversity"] < 1 for hit in hits)

    def test_not_for_other_questions(self, agent: Store) -> None:
        self.fill(agent)
        hits = agent.recall("where was the trip?", k=20)
        assert all(hit.parts["diversity"] == 1 for hit in hits)


class TestAdvice:
    @pytest.mark.parametrize(
        "query",
        ["what should I cook for Ann?", "recommend me a gift for Ann", "what would Ann enjoy?"],
    )
    def test_likes_and_dislikes_are_found(self, agent: Store, query: str) -> None:
        agent.remember("Ann really hates mushrooms")
        agent.remember("Ann loves sour cherries")
        for number in range(5):
            agent.remember(f"Ann was in room {number}")
        first, second, *_ = agent.recall(query, k=3)
        assert {first.text, second.text} == {
            "Ann really hates mushrooms",
            "Ann loves sour cherries",
        }

    def test_they_count_less_than_the_words_of_the_query(self, agent: Store) -> None:
        agent.remember("I love and enjoy and prefer swimming")
        answer = agent.remember("A restaurant in Kiel: the Ratskeller")
        assert agent.recall("recommend me a restaurant in Kiel")[0].id == answer.id


def test_other_questions_are_left_alone(agent: Store, clock: FixedClock) -> None:
    for number in range(3):
        agent.remember(f"The key number {number} opens the gate{number}")
        clock.advance(400 * DAY)
    neutral: dict[str, Any] = dict.fromkeys(("speaker", "date", "diversity", "round"), 1.0)
    for hit in agent.recall("which key opens the gate1?"):
        assert {name: hit.parts[name] for name in neutral} == neutral
