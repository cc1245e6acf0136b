"""Contests: of two memories that answer the same question, the newer comes first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda import Hit, Store
from memoranda.search.index.partitions import MEMORY
from memoranda.search.ranking.candidates import Candidate
from memoranda.search.ranking.fusion import prefer_newer
from memoranda.search.ranking.score_parts import ScoreParts
from memoranda.search.text.tokenizer import query_terms
from memoranda.testing import memory_store
from tests.embedders import Hashing


@pytest.fixture(params=["words", "words and vectors"])
def agent(request: pytest.FixtureRequest) -> Store:
    embedder = None if request.param == "words" else Hashing()
    return memory_store(embedder=embedder).bind(agent_id="a1")


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


CONTESTS = {
    "Where does Alice live?": ("Alice lives in Paris", "Alice now lives in Berlin"),
    "where is alice living": (
        "Alice lives in Paris",
        "Since the first of May, and after a long search, Alice lives in a small flat in Berlin",
    ),
    "Alice's home": ("Alice's home is in Paris", "Alice's home is in Berlin these days"),
    "What is Bob's favourite colour?": (
        "Bob's favourite colour is blue",
        "Bob's favourite colour is green",
    ),
    "Which editor does Carol use?": (
        "Carol uses vim",
        "Carol has switched over and uses Emacs for everything she writes",
    ),
    "how much is the rent": ("The rent is 900 euros", "The rent is 950 euros from now on"),
    "deadline": ("Deadline: Friday", "The deadline was moved to Monday"),
    "Who leads the project Aurora?": (
        "Dana leads the project Aurora together with Erik and the whole team in Oslo",
        "Farah leads the project Aurora",
    ),
    "who is our contact at Polaris": (
        "Our contact at Polaris is Ann",
        "Our contact at Polaris is Ben",
    ),
    "what phone number does the office have": (
        "The phone number of the office is 555 0100",
        "The phone number of the office is 555 0199, as of this week",
    ),
    "What car does Lee drive?": ("Lee drives a red Toyota", "Lee drives a blue Tesla"),
    "When is the meeting?": ("The meeting is on Tuesday at 10", "The meeting is on Thursday at 14"),
    "Who is the CEO of Acme?": ("The CEO of Acme is Jane Roe.", "The new CEO of Acme is John Doe."),
    "Does Sam eat meat?": ("Sam eats meat", "Sam no longer eats meat, he is a vegetarian now"),
    "爱丽丝住在哪里": ("爱丽丝住在巴黎", "爱丽丝住在柏林"),
}


@pytest.mark.parametrize("query", CONTESTS)
@pytest.mark.parametrize("way", ["in order", "told late"])
def test_of_two_answers_the_newer_comes_first(agent: Store, query: str, way: str) -> None:
    agent.remember("Something else that has nothing to do with it")
    dates = ("2023-01-10T00:00:00Z", "2023-09-10T00:00:00Z")
    statement = list(zip(CONTESTS[query], dates, strict=True))
    for text, date in statement[:: 1 if way == "in order" else -1]:
        agent.remember(text, event_time=date)
    older, newer = CONTESTS[query]
    assert texts(agent.recall(query))[:2] == [newer, older]
    assert texts(agent.recall(query, k=1)) == [newer]
    assert older in texts(agent.recall(query, valid_at="2023-05-01T00:00:00Z"))
    assert newer not in texts(agent.recall(query, valid_at="2023-05-01T00:00:00Z"))


@pytest.mark.parametrize(
    ("query", "older", "newer"),
    [
        ("who is the CEO of Acme", "John Smith is CEO of Acme", "Jane Doe is CEO of Acme"),
        ("when is the meeting", "The meeting is on Monday at 10", "The meeting is on Friday at 14"),
    ],
)
def test_what_is_worded_alike_contests_though_it_scores_less(
    query: str, older: str, newer: str
) -> None:
    candidates = [candidate(older, 1, 1.0), candidate(newer, 2, 0.6)]
    assert [item.text for item in prefer_newer(candidates, frozenset(query_terms(query)))] == [
        newer,
        older,
    ]
    assert [item.score for item in sorted(candidates, key=Candidate.rank)] == [1.0, 0.6]


def test_common_words_alone_are_no_contest() -> None:
    older = "The bees are in the garden of the sister of Ann"
    newer = "As the rain is over, the bees are back in it and of the mind to stay"
    candidates = [candidate(older, 1, 1.0), candidate(newer, 2, 0.6)]
    assert prefer_newer(candidates, frozenset(query_terms("the bees"))) == candidates


def candidate(text: str, time: int, score: float) -> Candidate:
    """Return a memory that was found, as a search scores it."""
    result = Candidate((MEMORY, text, 0))
    result.record = cast("Any", SimpleNamespace(namespace="default"))
    result.load_text, result.time = text.__str__, time
    result.parts = ScoreParts(text=score)
    result.score = score
    return result


@pytest.mark.parametrize(
    ("query", "answer", "other"),
    [
        (
            "What did Ann plant behind the old shed last spring?",
            "Ann planted three rows of beans behind the old shed",
            "Ann planted herbs",
        ),
        ("What does Ann think of the shed?", "Ann thinks the shed is too small", "Ann has a shed"),
        ("What pets does Ann have at home?", "Ann has two cats as pets at home", "Ann has pets"),
    ],
)
def test_a_newer_text_that_shares_some_words_answers_nothing(
    agent: Store, query: str, answer: str, other: str
) -> None:
    agent.remember(answer, event_time="2023-01-10T00:00:00Z")
    agent.remember(other, event_time="2023-09-10T00:00:00Z")
    first, second = agent.recall(query)
    assert (first.text, second.text) == (answer, other)
    assert first.parts["newer"] == second.parts["newer"] == 1


def test_the_name_of_the_speaker_is_no_common_word(agent: Store) -> None:
    words = agent.store_transcript("Ann: I painted a fox\nAnn: Off to bed")
    for number, text in enumerate(("Ann: I painted a fox", "Ann: Off to bed")):
        date = f"202{number}-01-10T00:00:00Z"
        agent.remember(text, event_time=date, transcript=words.id, spans=[words.find(text)])
    hits = agent.recall("what did Ann do?", kinds=["memory"])
    assert all(hit.parts["newer"] == 1 for hit in hits)


def test_a_question_about_the_past_prefers_nothing_newer(agent: Store) -> None:
    for year, city in ((2019, "Paris"), (2023, "Berlin")):
        agent.remember(f"Alice lives in {city}", event_time=f"{year}-05-01T00:00:00Z")
    assert texts(agent.recall("where did Alice live in 2019?"))[0] == "Alice lives in Paris"
    assert texts(agent.recall("where does Alice live?"))[0] == "Alice lives in Berlin"


def test_who_asks_for_now_gets_the_newer_of_different_wordings(agent: Store) -> None:
    agent.remember("The office is open from nine to five", event_time="2021-05-01T00:00:00Z")
    agent.remember("Opening hours of the office: ten to four", event_time="2023-05-01T00:00:00Z")
    hits = agent.recall("when is the office open now?")
    newer = next(hit for hit in hits if hit.text.startswith("Opening"))
    older = next(hit for hit in hits if hit.text.startswith("The office"))
    assert newer.parts["date"] == 1 > older.parts["date"]
    assert all(hit.parts["date"] == 1 for hit in agent.recall("when is the office open?"))


def test_who_has_only_a_part_of_the_question_is_not_replaced_by_a_newer_one(agent: Store) -> None:
    agent.remember("The old shed leaks", event_time="2022-01-10T00:00:00Z")
    agent.remember("Ann planted beans", event_time="2023-01-10T00:00:00Z")
    agent.remember(
        "Ann planted herbs and then went on a long journey through Norway",
        event_time="2023-09-10T00:00:00Z",
    )
    hits = agent.recall("what did Ann plant behind the shed?")
    assert all(hit.parts["newer"] == 1 for hit in hits)
    assert texts(hits).index("Ann planted beans") < 2


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_words_of_ascii_are_those_of_any_text(text: str) -> None:
    plain, other = Candidate((MEMORY, "1", 0)), Candidate((MEMORY, "2", 0))
    plain.text, other.text = text, f"{text} \u00fc"
    assert other.words == (*plain.words, "\u00fc")
    assert plain.vocabulary == frozenset(plain.words)
