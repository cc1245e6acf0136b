"""What the index knows of a text saves tokenizing it, and changes no answer."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import Hit, Store
from memoranda.search.ranking.candidates import Candidate
from memoranda.testing import FixedClock, memory_store
from tests.quick import often

WORDS = ("bees", "bee", "goats", "hum", "the", "of", "foo_bar", "café", "東京", "bäume")
OTHERS = tuple(f"w{number}" for number in range(28))
QUERIES = ("bees", "goats", "hum", "mill", "the bees", "bees hum", "東", "cafe", "recommend bees")
STORED = "Ann: bees hum by the old mill and nobody minds them much at all these days"
HOUR = 3600.0

TEXTS = st.tuples(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
    st.sampled_from(((), OTHERS[:14], OTHERS[4:18], OTHERS[14:])),
).map(lambda parts: " ".join((*parts[0], *parts[1])))
MEMORIES = st.lists(
    st.tuples(
        TEXTS,
        st.sampled_from(("plain", "titled", "tagged", "cites", "long", "revised", "tagged later")),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)
LANGUAGES = st.sampled_from((None, "german"))


def write(store: Store, clock: FixedClock, number: int, text: str, how: str) -> None:
    """Remember a text in one of several ways."""
    clock.advance(HOUR)
    if how == "titled":
        store.remember(text, title=f"bees {number}")
    elif how == "tagged":
        store.remember(text, tags=["bees"])
    elif how == "cites":
        words = store.store_transcript(f"{STORED} {number}")
        store.remember(text, transcript=words.id, spans=[(0, 8)])
    elif how == "long":
        store.remember(f"{'hum ' * 1_001}{text[:40]}")
    elif how == "revised":
        memory = store.remember("goats hum")
        store.update_memory(memory.id, content=text)
    elif how == "tagged later":
        memory = store.remember(text)
        store.update_memory(memory.id, tags=["bees"])
    else:
        store.remember(text)


def answers(store: Store) -> list[list[Hit]]:
    return [store.recall(query, k=50) for query in QUERIES]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(memories=MEMORIES, language=LANGUAGES)
def test_every_answer_is_that_of_tokenized_texts(
    memories: list[tuple[str, str, bool]], language: str | None
) -> None:
    clock = FixedClock()
    with memory_store(clock=clock) as opened:
        store = opened.bind(namespace="n", agent_id="ann")
        if language == "german":
            store.reindex(language="german", namespace="n")
        for number, (text, how, is_indexed) in enumerate(memories):
            write(store, clock, number, text, how)
            if is_indexed:
                store.reindex()
        by_index = answers(store)
        with patch.object(Candidate, "set_indexed", lambda *_: None):
            assert answers(store) == by_index


test_every_answer_of_many_is = often(
    test_every_answer_is_that_of_tokenized_texts, 400, memories=MEMORIES, language=LANGUAGES
)
