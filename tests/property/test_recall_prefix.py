"""However many hits are requested, the first ones are the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import Store
from memoranda.testing import memory_store
from tests.embedders import Hashing
from tests.patience import wait_until

WORDS = ("bees", "honey", "Ann", "Kiel", "rent", "lives", "thanks", "sleeps", "May", "900", "not")
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
items = st.lists(
    st.tuples(st.sampled_from(["memory", "cited", "line", "fact"]), sentences, st.integers(0, 400)),
    min_size=1,
    max_size=90,
)
queries = st.one_of(
    sentences,
    st.sampled_from(
        [
            "where does Ann live?",
            "how many bees are there?",
            "what bees did Ann recommend in May 2023?",
            "what should I give Ann?",
            "what did you say after the rent?",
            "where does Ann live now?",
        ]
    ),
)


def fill(agent: Store, entries: list[tuple[str, str, int]]) -> None:
    """Store memories, facts and transcripts."""
    lines = [text for kind, text, _ in entries if kind in ("line", "cited")]
    words = agent.store_transcript("\n".join(lines)) if lines else None
    with agent.begin_transaction() as transaction:
        for number, (kind, text, day) in enumerate(entries):
            time = f"20{20 + day // 100}-{1 + day % 12:02}-{1 + day % 28:02}T00:00:00Z"
            details: dict[str, Any] = {"event_time": time, "tags": ["odd"] if number % 2 else []}
            if kind == "memory":
                transaction.remember(text, **details)
            elif kind == "cited" and words is not None:
                span = words.find(text)
                transaction.remember(text, transcript=words.id, spans=[span], **details)
            elif kind == "fact":
                transaction.assert_fact(subject="Ann", relation="knows", object=text)


@pytest.mark.slow
@pytest.mark.parametrize("embedder", [None, Hashing()], ids=["words", "words and vectors"])
@settings(max_examples=25, deadline=None)
@given(entries=items, query=queries, tags=st.sampled_from([[], ["odd"]]))
def test_few_hits_are_the_first_of_many(
    embedder: Any, entries: list[tuple[str, str, int]], query: str, tags: list[str]
) -> None:
    store = memory_store(embedder=embedder)
    agent = store.bind(agent_id="a1")
    fill(agent, entries)
    many = [(hit.kind, hit.id, hit.text) for hit in agent.recall(query, k=1_000, tags=tags)]
    scores = [hit.score for hit in agent.recall(query, k=1_000, tags=tags)]
    assert scores == sorted(scores, reverse=True)
    for k in (1, 3, 10, 50):
        few = [(hit.kind, hit.id, hit.text) for hit in agent.recall(query, k=k, tags=tags)]
        assert few == many[:k]
    store.close()


def test_also_beyond_the_first_round() -> None:
    agent = memory_store(embedder=Hashing()).bind(agent_id="a1")
    with agent.begin_transaction() as transaction:
        for number in range(700):
            words = " ".join(f"word{number * factor % 797}" for factor in (1, 3, 7))
            transaction.remember(f"bees {words} {'honey' * (number % 5 == 0)} and more")
    wait_until(lambda: _is_indexed(agent))  # until then, each vector that is added moves scores
    many = [(hit.id, hit.score) for hit in agent.recall("bees and honey", k=650)]
    assert len(many) == 650
    assert [score for _, score in many] == sorted((score for _, score in many), reverse=True)
    for k in (3, 50, 200):
        assert [(hit.id, hit.score) for hit in agent.recall("bees and honey", k=k)] == many[:k]


def _is_indexed(store: Store) -> bool:
    stats = store.stats()
    return stats.index_backlog == 0 and stats.vector_backlog == 0
