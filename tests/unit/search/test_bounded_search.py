"""One FTS5 query with a bound finds the same documents as a score for each term."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda import Store
from memoranda.search.index.partitions import KINDS, visibility_of, visible_partitions
from memoranda.search.index.unindexed import scan
from memoranda.search.ranking import bm25
from memoranda.search.ranking.bm25 import TermSearch
from memoranda.storage.port import Reader
from memoranda.testing import memory_store
from tests.cores import core_of

NAMESPACES = ("plain", "talk")
VOCABULARY = [f"w{number:x}" for number in range(400)]
WEIGHTS = [1 / (rank + 2) for rank in range(len(VOCABULARY))]
OPENINGS = (
    "i went to the market with my sister",
    "what did the doctor say about your knee",
    "we should visit the mountains in summer",
    "that sounds wonderful and i am proud of you",
)


def sentences(count: int, seed: int) -> Iterator[str]:
    """Yield texts of uneven lengths: some like talk, others of random words."""
    chance = random.Random(seed)
    for number in range(count):
        words = chance.choices(VOCABULARY, WEIGHTS, k=chance.randint(2, 25))
        if number % 2:
            words = [*OPENINGS[number % len(OPENINGS)].split(), *words[:6]]
        yield " ".join(words)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with memory_store(embedder=None) as store:
        plain = store.bind(agent_id="a", namespace="plain")
        with plain.begin_transaction() as transaction:
            for text in sentences(1_200, seed=1):
                transaction.remember(text)
        talk = store.bind(agent_id="a", namespace="talk")
        talk.store_transcript("\n".join(f"Ann: {text}" for text in sentences(300, seed=2)))
        with talk.begin_transaction() as transaction:
            for text in sentences(200, seed=3):
                transaction.remember(text)
                transaction.assert_fact(subject="ann", relation="said", object=text[:60])
        store.reindex()
        yield store


def search_for(reader: Reader, terms: list[str], *namespaces: str) -> TermSearch:
    """Return a search whose documents are all indexed."""
    visibility = visibility_of(namespaces=namespaces, viewer="a", kinds=KINDS, past=False)
    return TermSearch(
        reader, visible_partitions(reader, visibility), terms, scan(reader, visibility, terms=terms)
    )


def queries(count: int) -> Iterator[tuple[list[str], tuple[str, ...], int]]:
    """Yield terms, namespaces and limits."""
    chance = random.Random(4)
    words = ["market", "sister", "doctor", "knee", "mountain", "summer", "wonder", "proud", "ann"]
    for _ in range(count):
        terms = chance.choices(VOCABULARY, WEIGHTS, k=chance.randint(1, 6))
        terms += chance.sample(words, k=chance.randint(0, 4))
        yield (
            list(dict.fromkeys(terms)),
            chance.choice([NAMESPACES, NAMESPACES[:1], NAMESPACES[1:]]),
            chance.choice([1, 10, 64, 2_000]),
        )


def in_order(rows: Sequence[Sequence[float]]) -> list[tuple[float, int]]:
    """Return scores and documents, best first, without those that tie with the last.

    Scores that differ by an error of rounding are equal.
    """
    scores = [round(score, 9) for _, score in rows]
    pairs = zip(scores, (int(row[0]) for row in rows), strict=True)
    return sorted((pair for pair in pairs if pair[0] > scores[-1]), reverse=True)


@pytest.mark.slow
def test_the_documents_and_their_order_are_the_same(store: Store) -> None:
    bounded = 0
    with core_of(store).engine.snapshot() as reader:
        for terms, namespaces, limit in queries(200):
            search = search_for(reader, terms, *namespaces)
            tokens = [*search._tokens()]
            weighted = [(f'"{token.text}"', token.idf / token.fts5_idf) for token in tokens]
            exact = reader.rows("fulltext_search", terms=weighted, limit=limit)
            rows = search._search_by_bound(tokens, limit) if tokens else []
            if rows is not None:
                bounded += 1
                assert [row[1] for row in rows] == pytest.approx([row[1] for row in exact], 1e-12)
                assert in_order(rows) == in_order(exact), (terms, limit)
    assert bounded > 50, "else the bound is too loose to be of use"


@pytest.mark.slow
def test_recall_has_the_same_hits_in_the_same_order(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the bound and without it; the second call is a moment later, which scores show."""
    taken = 0
    search_by_bound = TermSearch._search_by_bound

    def spy(
        search: TermSearch, tokens: Sequence[bm25._Token], limit: int
    ) -> list[tuple[int, float]] | None:
        nonlocal taken
        rows = search_by_bound(search, tokens, limit)
        taken += rows is not None
        return rows

    monkeypatch.setattr(TermSearch, "_search_by_bound", spy)
    for terms, namespaces, _ in queries(60):
        agent = store.bind(agent_id="a", namespace=namespaces[0])
        question = " ".join(terms)
        monkeypatch.setattr(bm25, "_MIN_OCCURRENCES", 0)
        hits = agent.recall(question)
        monkeypatch.setattr(bm25, "_MIN_OCCURRENCES", 10**9)
        expected = agent.recall(question)
        assert [hit.ref for hit in hits] == [hit.ref for hit in expected], question
        assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected], 1e-6)
    assert taken > 15


IDF = st.floats(1e-6, 20)


@given(
    st.lists(st.tuples(IDF, IDF, st.floats(0, 2.2), st.integers(1, 2)), min_size=1, max_size=8),
    st.integers(1, 2),
)
def test_no_document_is_better_than_its_bound(
    tokens: list[tuple[float, float, float, int]], partition: int
) -> None:
    """Of any idf and any saturated frequencies, which are below k1 + 1."""
    made = [
        bm25._Token(f"{part}.t{number}", part, 1, ours, fts5)
        for number, (ours, fts5, _, part) in enumerate(tokens)
    ]
    own = [item for item in tokens if item[3] == partition]
    score = sum(ours * frequency for ours, _, frequency, _ in own)
    fts5_score = sum(fts5 * frequency for _, fts5, frequency, _ in own)
    assert score <= bm25._highest_score(made, fts5_score)
