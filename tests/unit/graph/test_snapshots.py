"""Reads of facts take several queries, and others may write between any two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import Store
from memoranda.graph import as_of, reads
from memoranda.graph.as_of import Belief
from memoranda.storage.port import Reader

_IDS = "SELECT id FROM assertions"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with memoranda.open(tmp_path / "facts.db", durability="relaxed") as opened:
        yield opened.bind(agent_id="a")


@pytest.mark.parametrize(
    "read",
    [
        lambda store: store.facts(),
        lambda store: store.facts(subject="Alice"),
        lambda store: store.facts(object="Acme", include_closed=True),
        lambda store: store.timeline(subject="Alice", relation="works at"),
        lambda store: [store.explain(row["id"]).fact for row in store.sql(_IDS)],
    ],
)
def test_a_fact_that_is_retracted_while_it_is_read_is_still_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch, read: Callable[[Store], Any]
) -> None:
    text = store.assert_fact(subject="Alice", relation="works at", object="Acme")
    backed = as_of.with_assertions

    def interrupted(reader: Reader, beliefs: Sequence[Belief]) -> list[Belief]:
        store.retract_fact(assertion_id=text.assertion_id)
        return backed(reader, beliefs)

    monkeypatch.setattr(as_of, "with_assertions", interrupted)
    (fact,) = read(store)
    assert (fact.object, fact.assertions) == ("Acme", (text.assertion_id,))


def test_a_name_that_is_merged_while_it_is_looked_up_is_still_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.assert_fact(subject="Alice", relation="knows", object="Bob")
    entities_of = reads.entities_of

    def interrupted(*args: Any) -> Any:
        store.merge_entities(source="Alice", into="Bob")
        return entities_of(*args)

    monkeypatch.setattr(reads, "entities_of", interrupted)
    entity = store.entity("alice")
    assert entity is not None
    assert entity.name == "Alice"
