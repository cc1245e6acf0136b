"""Contests: of two memories that answer the same question, the newer comes first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from memoranda import Hit, Store
from memoranda.search.candidates import Candidate
from memoranda.search.contests import settle
from memoranda.search.hits import ADDED, MULTIPLIED
from memoranda.search.shelves import MEMORY
from memoranda.search.words import terms
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
    said = list(zip(CONTESTS[query], dates, strict=True))
    for text, date in said[:: 1 if way == "in order" else -1]:
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
    assert [each.text for each in settle(candidates, frozenset(terms(query)))] == [newer, older]
    assert [each.score for each in sorted(candidates, key=Candidate.rank)] == [1.0, 0.6]


def test_common_words_alone_are_no_contest() -> None:
    older = "The bees are in the garden of the sister of Ann"
    newer = "As the rain is over, the bees are back in it and of the mind to stay"
    candidates = [candidate(older, 1, 1.0), candidate(newer, 2, 0.6)]
    assert settle(candidates, frozenset(terms("the bees"))) == candidates


def candidate(text: str, time: int, score: float) -> Candidate:
    """Return a memory that was found, as a search scores it."""
    found = Candidate((MEMORY, text, 0))
    found.about = cast("Any", SimpleNamespace(namespace="default"))
    found.load, found.time = text.__str__, time
    found.parts = {**dict.fromkeys(ADDED, 0.0), **dict.fromkeys(MULTIPLIED, 1.0), "text": score}
    found.score = score
    return found
