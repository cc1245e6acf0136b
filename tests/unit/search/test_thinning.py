"""Thinning: what says the same is left out, and what says the opposite is not."""

from __future__ import annotations

import unicodedata
from unittest import mock

import pytest

from memoranda import Store
from memoranda.search.index.partitions import MEMORY
from memoranda.search.ranking.candidates import Candidate
from memoranda.testing import memory_store


@pytest.fixture
def agent() -> Store:
    return memory_store().bind(agent_id="a1")


LONG = "on the first day of every month the treasurer sends the report to all of the members"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Bees sleep in winter.", "bees sleep in winter"),
        ("Bees  sleep -- in WINTER", "Bees sleep in winter"),
        (LONG, LONG.replace("report", "report promptly")),
        (LONG.replace("all of the", "all the"), LONG),
        ("Cafe\u0301 Central is open", "Café Central is open"),
    ],
)
def test_the_same(agent: Store, first: str, second: str) -> None:
    ids = {agent.remember(text).id for text in (first, second)}
    query = " ".join(first.split()[-4:])
    (hit,) = agent.recall(query)
    assert {hit.id, *hit.duplicates} == ids


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ann likes bees", "Ann does not like bees"),
        ("Ann likes Ben", "Ben likes Ann"),
        ("turn the heater on", "turn the heater off"),
        (LONG, LONG.replace("sends", "never sends")),
        (LONG, LONG.replace("sends", "doesn't send")),
        (LONG, LONG + " 12"),
        (LONG, LONG.replace("treasurer", "chairman")),
        ("meeting at 10 in room 4", "meeting at 11 in room 4"),
    ],
)
def test_not_the_same(agent: Store, first: str, second: str) -> None:
    for text in (first, second):
        agent.remember(text)
    hits = agent.recall(first)
    assert {hit.text for hit in hits} == {first, second}
    assert all(hit.duplicates == () for hit in hits)


def test_long_texts_are_the_same_only_to_the_letter(agent: Store) -> None:
    beginning = "zebra " + "and so on " * 1_000
    for ending in ("one", "two", "two"):
        agent.remember(beginning + ending)
    first, second = agent.recall("zebra")
    assert len(first.duplicates) + len(second.duplicates) == 1


def test_long_runs_of_marks_are_compared_as_they_are() -> None:
    candidate = Candidate((MEMORY, "1", 0))
    candidate.load_text = ("Cafe\u0301 a" + "\u0323\u0300" * 1_900 + " Bo").__str__
    with mock.patch(
        "memoranda.search.ranking.candidates.unicodedata.normalize", wraps=unicodedata.normalize
    ) as put_in_order:
        assert (candidate.words[0], candidate.words[-1]) == ("café", "bo")
    assert max(len(call.args[1]) for call in put_in_order.call_args_list) <= 256


def test_no_more_than_twenty_are_named(agent: Store) -> None:
    ids = [agent.remember("bees sleep in winter").id for _ in range(30)]
    (hit,) = agent.recall("where do bees sleep?")
    assert len(hit.duplicates) == 20
    assert {hit.id, *hit.duplicates} < set(ids)


def test_a_passage_does_not_name_its_own_transcript(agent: Store) -> None:
    words = agent.store_transcript("Ann: the bees sleep\n" * 3)
    (hit,) = agent.recall("where do bees sleep?")
    assert (hit.id, hit.duplicates) == (words.id, ())


def test_a_passage_of_which_little_is_cited_stays(agent: Store) -> None:
    words = agent.store_transcript("Ann: the bees swarmed on Monday, and I was at the fair all day")
    agent.remember("The bees swarmed", transcript=words.id, spans=[words.find("bees swarmed")])
    agent.remember("What Ann said", transcript=words.id)
    assert {hit.kind for hit in agent.recall("bees swarmed")} == {"memory", "passage"}


def test_a_fact_is_not_a_memory(agent: Store) -> None:
    agent.remember("Ann keeps bees")
    agent.assert_fact(subject="Ann", relation="keeps", object="bees")
    assert {hit.kind for hit in agent.recall("who keeps bees?")} == {"memory", "fact"}


@pytest.mark.parametrize(
    "words",
    [
        "Ann: I live in Kiel.",
        "[2024-05-03 10:21] Ann: I live in Kiel.",
        "Ann: I live in Kiel. I work at Acme.",
    ],
)
def test_a_message_whose_sentences_are_memories_is_not_said_again(agent: Store, words: str) -> None:
    report = agent.import_chat(words, extractor="rules")
    hits = agent.recall("Kiel, Acme", kinds=["memory", "passage"])
    assert {hit.kind for hit in hits} == {MEMORY}
    assert any(report.transcript_id in hit.duplicates for hit in hits)


def test_a_message_of_which_little_is_a_memory_is_said(agent: Store) -> None:
    agent.import_chat(
        "Ann: Kiel has a lovely harbour with many old ships, said the guide. I live in Kiel.",
        extractor="rules",
    )
    hits = agent.recall("Kiel harbour", kinds=["memory", "passage"])
    assert {hit.kind for hit in hits} == {MEMORY, "passage"}
