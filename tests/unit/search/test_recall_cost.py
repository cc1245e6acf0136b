"""What recall costs: as many reads for many hits as for few."""

from __future__ import annotations

import threading
from pathlib import Path
from unittest import mock

import pytest

import memoranda
from memoranda import Store
from memoranda.search.ranking import dedupe, fusion
from memoranda.storage.sqlite.connection import Connection
from memoranda.testing import memory_store
from tests.cores import core_of


@pytest.fixture
def agent() -> Store:
    agent = memory_store().bind(agent_id="a1")
    words = agent.store_transcript("\n".join(f"line {n} of the tale of bees" for n in range(60)))
    with agent.begin_transaction() as transaction:
        for number in range(150):
            span = words.find(f"line {number % 60} of")
            memory = transaction.remember(
                f"note {number} on bees", transcript=words.id, spans=[span]
            )
            transaction.assert_fact(
                subject="bees", relation="know", object=f"thing {number}", source=memory
            )
    agent.reindex()  # so that nothing is left to do behind the commits
    return agent


def reads(agent: Store, k: int, query: str = "note on bees") -> int:
    """Return how many queries a search makes; threads behind the commits may make others."""
    queries, here = 0, threading.get_ident()
    plain = Connection.rows, Connection.row

    def rows(self: Connection, query: str, /, **values: object) -> list[tuple[object, ...]]:
        nonlocal queries
        queries += threading.get_ident() == here
        return plain[0](self, query, **values)  # type: ignore[arg-type]

    def row(self: Connection, query: str, /, **values: object) -> tuple[object, ...] | None:
        nonlocal queries
        queries += threading.get_ident() == here
        return plain[1](self, query, **values)

    with mock.patch.multiple(Connection, rows=rows, row=row):
        assert len(agent.recall(query, k=k)) == k
    return queries


def test_as_many_reads_for_many_hits_as_for_few(agent: Store) -> None:
    agent.recall("note on bees")
    few, many = reads(agent, 5), reads(agent, 100)
    assert many <= few + 5, "those about pieces of transcripts, where there are any"


def test_a_plain_search_makes_few_reads() -> None:
    """Without facts, citations or vectors: no read is made for what there is nothing of."""
    agent = memory_store(embedder=None).bind(agent_id="a1")
    with agent.begin_transaction() as transaction:
        for number in range(60):
            transaction.remember(f"note {number} on bees")
    agent.reindex()
    agent.recall("note on bees")
    assert reads(agent, 10) <= 20


def test_a_warm_search_by_one_word_makes_four_reads(tmp_path: Path) -> None:
    """The head, the documents that have the word, the best of them, and the states of these."""
    with memoranda.open(tmp_path / "store.db", embedder=None) as store:
        agent = store.bind(agent_id="a1")
        with agent.begin_transaction() as transaction:
            for number in range(60):
                transaction.remember(f"note {number} on bees")
        agent.reindex()
        agent.recall("note")
        assert reads(agent, 10, "bees") == 4


def test_one_term_is_looked_up_with_the_same_result_as_several() -> None:
    agent = memory_store(embedder=None).bind(agent_id="a1")
    with agent.begin_transaction() as transaction:
        for number in range(200):
            transaction.remember(f"bees {'bees ' * (number % 5)}{'of the farm ' * (number % 7)}")
    agent.reindex()
    with core_of(agent).engine.snapshot() as reader:
        token = f'"{reader.rows("partition_checks")[0][0]}.bee"'
        for limit in (1, 50, 1_000):
            one = reader.rows("fulltext_search_one", token=token, weight=0.7, limit=limit)
            several = reader.rows("fulltext_search", terms=[[token, 0.7]], limit=limit)
            assert len(one) == min(limit, 200)
            assert [(row[0], row[-1]) for row in one] == several


def test_few_texts_are_compared_with_one_another() -> None:
    """Neither what says the same nor what answers the same is looked for in all pairs."""
    agent = memory_store().bind(agent_id="a1")
    with agent.begin_transaction() as transaction:
        for number in range(400):
            words = [f"w{number}x{position}" for position in range(number % 12)]
            transaction.remember(f"bees in {' '.join(words)} hive number{number} of the old farm")
    with (
        mock.patch.object(dedupe, "_says_the_same", wraps=dedupe._says_the_same) as same,
        mock.patch.object(fusion, "_compete", wraps=fusion._compete) as contest,
    ):
        assert len(agent.recall("bees", k=400)) == 400
    assert same.call_count <= 400
    assert contest.call_count <= 400 * fusion.MAX_COMPARED_GROUPS
