"""What the rules read, and what they leave alone."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoranda import Message, RuleExtractor
from memoranda.model.memory import replace_line_breaks
from tests.unit.extract.saying import SAID, extracted, told

STATED = [
    ("I work at Acme.", ["Alice works at Acme"]),
    ("I work for Globex Corp. in Berlin.", ["Alice works at Globex Corp"]),
    ("I'm working at Acme now.", ["Alice works at Acme"]),
    ("i work at Acme", ["Alice works at Acme"]),
    ("I currently work at Bank of America.", ["Alice works at Bank of America"]),
    ("I work at McDonald's.", ["Alice works at McDonald's"]),
    ("I\u2019ve worked at Acme since March.", ["Alice works at Acme @2024-03-01"]),
    ("Bob has been working at Acme since 2019.", ["Bob works at Acme @2019-01-01"]),
    ("I started working at Initech in January 2024.", ["Alice works at Initech @2024-01-01"]),
    ("I worked at Acme from 2019 to 2022.", ["Alice works at Acme @2019-01-01 ..2022-01-01"]),
    ("Bob Smith works for Acme.", ["Bob Smith works at Acme"]),
    ("Hi, I work at Acme.", ["Alice works at Acme"]),
    ("Actually I work at Acme.", ["Alice works at Acme"]),
    ("Bob lives in New York with his dog.", ["Bob lives in New York"]),
    ("I live in London, UK.", ["Alice lives in London"]),
    ("I\u2019m based in São Paulo.", ["Alice lives in São Paulo"]),
    ("I've lived in Zürich for three years.", ["Alice lives in Zürich @2021-05-20"]),
    ("My sister Anna lives in Oslo.", ["Anna lives in Oslo"]),
    ("My best friend Ben works at Acme.", ["Ben works at Acme"]),
    ("I report to Carol Danvers.", ["Alice reports to Carol Danvers"]),
    ("Bob reports to Ann", ["Bob reports to Ann"]),
    ("My manager is Bob.", ["Alice reports to Bob"]),
    ("My new boss is now Carol.", ["Alice reports to Carol"]),
    ("I like tea.", ["Alice likes tea"]),
    ("I really love hiking in the mountains!", ["Alice likes hiking in the mountains"]),
    ("I like to swim", ["Alice likes to swim"]),
    ("I like the Beatles.", ["Alice likes the Beatles"]),
    ("Bob loves jazz, and I like tea.", ["Bob likes jazz", "Alice likes tea"]),
    ("I prefer tea over coffee.", ["Alice prefers tea"]),
    ("Bob prefers tea to coffee", ["Bob prefers tea"]),
    ("I prefer to work at night.", ["Alice prefers to work at night"]),
    ("I'm a nurse.", ["Alice is nurse"]),
    ("I am the CTO of Acme.", ["Alice is CTO of Acme"]),
    ("Alice is a vegetarian.", ["Alice is vegetarian"]),
    ("Bob Smith is the head of sales.", ["Bob Smith is head of sales"]),
    ("I moved to Berlin.", ["- Alice lives in *", "Alice lives in Berlin"]),
    (
        "I moved to Berlin last year.",
        ["- Alice lives in * @2023-01-01", "Alice lives in Berlin @2023-01-01"],
    ),
    (
        "I moved from Paris to Berlin two weeks ago.",
        ["- Alice lives in Paris @2024-05-06", "Alice lives in Berlin @2024-05-06"],
    ),
    (
        "In 2019, I moved to Oslo.",
        ["- Alice lives in * @2019-01-01", "Alice lives in Oslo @2019-01-01"],
    ),
    ("I just moved to Berlin, and I love it.", ["- Alice lives in *", "Alice lives in Berlin"]),
    ("I moved out of Paris in April.", ["- Alice lives in Paris @2024-04-01"]),
    (
        "I left Acme in March 2024.",
        ["- Alice works at Acme @2024-03-01", "- Alice lives in Acme @2024-03-01"],
    ),
    ("Bob left Acme.", ["- Bob works at Acme", "- Bob lives in Acme"]),
    ("I quit my job at Acme last week.", ["- Alice works at Acme @2024-05-13"]),
    ("I no longer work at Acme.", ["- Alice works at Acme"]),
    ("Bob no longer lives in Rome", ["- Bob lives in Rome"]),
    ("I am no longer a nurse.", ["- Alice is nurse"]),
    ("I don't like coffee anymore.", ["- Alice likes coffee"]),
    ("Bob doesn't work at Acme any more.", ["- Bob works at Acme"]),
    ("I do not live in Paris any longer.", ["- Alice lives in Paris"]),
    ("I used to live in Paris.", ["- Alice lives in Paris"]),
    ("I stopped working at Acme yesterday.", ["- Alice works at Acme @2024-05-19"]),
    ("I'm living in Oslo until June.", ["Alice lives in Oslo"]),
    ("I'm living in Oslo until August 2024.", ["Alice lives in Oslo ..2024-08-01"]),
    ("I worked at Acme until 2020.", ["- Alice works at Acme @2020-01-01"]),
    ("I work at Acme and live in Oslo.", ["Alice works at Acme", "Alice lives in Oslo"]),
    ("I work at Acme. I live in Oslo.", ["Alice works at Acme", "Alice lives in Oslo"]),
]
LEFT_ALONE = [
    # questions
    "Do you work at Acme?", "Where does Bob work", "Is Bob a nurse", "You know I work at Acme?",
    # what is imagined, wanted, planned
    "If I lived in Paris, I would be happy.", "I might work at Acme.", "I'd like a coffee.",
    "I wish I lived in Rome.", "I want to live in Rome.", "I could move to Berlin.",
    "Imagine I work at Acme.", "I will move to Berlin.", "I'm moving to Berlin.",
    "I'll work at Acme.", "I am going to live in Rome.", "Let's say I work at Acme.",
    "I almost moved to Berlin.", "I have to work at Acme.", "I hope Bob likes tea.",
    # what somebody else said
    'He said "I work at Acme. I live in Rome." Then it was over.', "“I live in Rome.”",
    "Bob said he works at Acme.", "I heard Bob works at Acme.", "> I work at Acme.",
    "```\nI work at Acme.\n```", "Bob thinks I live in Rome.",
    # what is denied
    "I don't like coffee.", "I am not working at Acme.", "I never lived in Paris.",
    "I do not work at Acme.", "Bob isn't a nurse.", "I like no tea.",
    # what names nobody or nothing
    "You work at Acme.", "She works at Acme.", "We moved to Berlin.", "They like tea.",
    "It is a dog.", "This is a test.", "Everyone likes Bob.", "My boss lives in Rome.",
    "I live in a small house.", "I live in Bob's house.", "I work at 9am.", "I work at home.",
    "I love you.", "I love my job.", "I like it when it rains.", "I like the idea.",
    "I had fun and love everywhere.", "I love the sun and love themes.", "I like to",
    "I'm a mix of both.", "I'm a bit tired.", "I am a big fan of jazz.", "Life is a journey.",
    "I like that one.", "I love being in",
    # what may be over, or is only a trip
    "I worked at Acme.", "I have worked at Acme.", "I left London this morning.",
    "I left Berlin today.", "I left Tom a message.", "I left Anna at home.",
    # no sentences
    "", "ok", "…", "🙂", "I", "I work at", "moved", "lives in Paris",
]  # fmt: skip


@pytest.mark.parametrize(("text", "facts"), STATED, ids=[text for text, _ in STATED])
def test_what_is_stated(text: str, facts: list[str]) -> None:
    assert told(text) == facts


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_is_left_alone(text: str) -> None:
    result = extracted(text)
    assert (result.facts, result.memories) == ((), ())


@pytest.mark.parametrize(
    "text", ["Maybe Bob works at Acme.", "I think Bob works at Acme", "Bob works at Acme, I think."]
)
def test_doubt_lowers_the_confidence(text: str) -> None:
    sure = extracted("Bob works at Acme.")
    result = extracted(text)
    assert told(text) == ["Bob works at Acme"]
    assert result.facts[0].confidence < sure.facts[0].confidence
    assert (result.memories[0].kind, sure.memories[0].kind) == ("claim", "observation")


def test_who_speaks_is_i() -> None:
    assert told("I like tea.", "Bob") == ["Bob likes tea"]
    assert told("I like tea.", "user") == ["user likes tea"]
    assert told("I like tea.", "") == []
    assert told("Bob likes tea.", "") == ["Bob likes tea"]


@pytest.mark.parametrize("role", ["assistant", "System", "tool"])
def test_machines_do_not_speak_of_themselves(role: str) -> None:
    assert told("I like to help. Bob works at Acme.", role) == []


def test_who_takes_part_is_known_by_name() -> None:
    bob = Message("Bob", "hi", (100, 102))
    assert told("Bob is a nurse.") == []
    assert len(extracted("Bob is a nurse.", "Alice", bob).facts) == 1


def test_dated_statements_are_remembered() -> None:
    (memory,) = extracted("I ran a marathon on 3 May 2024.").memories
    assert (memory.content, memory.kind) == ("Alice: I ran a marathon on 3 May 2024.", "event")
    assert memory.event_time is not None
    assert memory.event_time.isoformat() == "2024-05-03T00:00:00+00:00"
    (planned,) = extracted("I will fly to Rome on 3 June.").memories
    assert planned.event_time is not None
    assert planned.event_time.isoformat() == "2024-06-03T00:00:00+00:00"
    assert not extracted("I will fly to Rome on 3 June.").facts


def test_what_is_said_twice_is_one_memory_of_two_places() -> None:
    result = extracted("I like tea. Yes. I like tea.")
    (memory,) = result.memories
    assert memory.spans == ((0, 11), (17, 28))


def test_a_message_with_a_time_of_its_own() -> None:
    text = "I moved to Berlin yesterday."
    message = Message("Alice", text, (0, len(text)), SAID.replace(year=2020))
    report = RuleExtractor().extract([message], occurred_at=SAID)
    assert report.facts[-1].valid_from is not None
    assert report.facts[-1].valid_from.isoformat() == "2020-05-19T00:00:00+00:00"


SENTENCES = (
    [text for text, _ in STATED] + LEFT_ALONE + ["Größe ist 5 €.", "日本に住んでいます。", "😀!"]
)


@settings(max_examples=60, deadline=None)
@example(parts=["B\r", "I work at Acme."], offset=0)
@example(parts=["Bob no longer lives in Rome", "", "I work at Acme."], offset=0)
@given(
    st.lists(
        st.sampled_from(SENTENCES) | st.text(st.characters(codec="utf-8"), max_size=30), max_size=5
    ),
    st.integers(0, 50),
)
def test_spans_are_exactly_on_the_words(parts: list[str], offset: int) -> None:
    text = " ".join(parts)
    encoded = text.encode()
    message = Message("Alice", text, (offset, offset + len(encoded)))
    report = RuleExtractor().extract([message], occurred_at=SAID)
    for memory in report.memories:
        for first, beyond in memory.spans:
            words = encoded[first - offset : beyond - offset].decode()
            assert memory.content == f"Alice: {replace_line_breaks(words)}"
    for fact in report.facts:
        for first, beyond in fact.spans:
            words = encoded[first - offset : beyond - offset].decode()
            assert (fact.object or "") in " ".join(words.split()), "names have single spaces"


class TestSaidAgain:
    def test_once_is_enough_and_cites_all(self) -> None:
        result = extracted("I like tea. I like tea! Really. I like tea.")
        (fact,) = result.facts
        assert len(fact.spans) == 3
        assert told("I moved from Rome to Oslo. I moved from Rome to Oslo.") == [
            "- Alice lives in Rome", "Alice lives in Oslo",
        ]  # fmt: skip

    def test_the_last_word_counts(self) -> None:
        text = told("I live in Rome. I live in Oslo. I live in Rome.")
        assert text == ["Alice lives in Rome", "Alice lives in Oslo", "Alice lives in Rome"]
