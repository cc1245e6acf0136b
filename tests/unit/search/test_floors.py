"""Floors: what is only a little alike is not found by that alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from memoranda import InvalidInput, Store
from memoranda.search.ranking.fusion import VECTOR_WEIGHT
from memoranda.search.vectors.embedder import DEFAULT_THRESHOLD, similarity_threshold
from memoranda.testing import memory_store


class Fixed:
    """Gives every text that is told the same cosine with every query."""

    name = "fixed"
    dimension = 2

    def __init__(self, cosine: float) -> None:
        self._told = [cosine, (1 - cosine**2) ** 0.5]

    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> list[list[float]]:
        return [[1.0, 0.0] if query else self._told for _ in texts]


class Lower(Fixed):
    floor = 0.05


def store_with(embedder: Fixed) -> Store:
    agent = memory_store(embedder=embedder).bind(agent_id="a1")
    agent.remember("the zebra sleeps")
    return agent


@pytest.mark.parametrize(
    ("embedder", "count"),
    [(Fixed(0.1), 0), (Fixed(0.3), 1), (Lower(0.1), 1), (Lower(0.01), 0), (Fixed(-0.5), 0)],
)
@pytest.mark.parametrize("query", ['"a" NEAR(b', "invoices"])
def test_what_only_a_vector_finds_has_to_be_near(embedder: Fixed, count: int, query: str) -> None:
    agent = store_with(embedder)
    assert len(agent.recall(query)) == count
    agent.reindex()
    assert len(agent.recall(query)) == count


def test_whatever_else_finds_counts_its_vector_too() -> None:
    agent = store_with(Fixed(0.1))
    source = agent.remember("They met at the fair")
    agent.assert_fact(subject="Ann", relation="knows", object="Cleo", source=source.id)
    agent.reindex()
    result = {hit.text: hit.parts for hit in agent.recall("zebra, and Ann")}
    assert set(result) == {"the zebra sleeps", "Ann knows Cleo", "They met at the fair"}
    assert all(parts["vector"] == VECTOR_WEIGHT for parts in result.values()), "all are as near"


@pytest.mark.parametrize("floor", ["0.2", None, True, float("nan"), 1.5, -2])
def test_what_is_no_floor_is_refused_at_once(floor: Any) -> None:
    embedder = Fixed(0.1)
    embedder.floor = floor  # type: ignore[attr-defined]
    with pytest.raises(InvalidInput, match="is not a number from -1 to 1") as caught:
        memory_store(embedder=embedder)
    assert caught.value.field == "embedder.floor"


def test_a_floor_need_not_be_told() -> None:
    assert similarity_threshold(None) == similarity_threshold(Fixed(0.1)) == DEFAULT_THRESHOLD
    assert similarity_threshold(Lower(0.1)) == 0.05
