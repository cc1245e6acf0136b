"""Large stores: what would derive very much anew is refused, and the rest is found by an index."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import memoranda
from memoranda import InvalidInput, Limits, Store
from memoranda.sdk.open import load_queries, open_engine


@pytest.fixture
def store() -> Iterator[Store]:
    with memoranda.open(":memory:", limits=Limits(derived_statements=5)) as opened:
        yield opened.bind(agent_id="a")


def _say(store: Store, subject: str, relation: str, count: int) -> None:
    for number in range(count):
        store.assert_fact(subject=subject, relation=relation, object=f"o{number}")


def test_a_merge_counts_what_it_is_joined_to(store: Store) -> None:
    _say(store, "Large", "knows", 5)
    _say(store, "Small", "knows", 1)
    with pytest.raises(InvalidInput, match="6 statements"):
        store.merge_entities(source="Small", into="Large")
    with pytest.raises(InvalidInput, match="6 statements"):
        store.merge_entities(source="Large", into="Small")
    store.merge_entities(source="Small", into="Large", allow_large=True)
    assert len(store.timeline(subject="small", relation="knows")) == 6


def test_a_merge_does_not_count_what_it_leaves_as_it_is(store: Store) -> None:
    _say(store, "Large", "knows", 6)
    _say(store, "Small", "likes", 1)
    store.merge_entities(source="Small", into="Large")
    assert len(store.facts(subject="Small")) == 7


@pytest.mark.parametrize(
    "query",
    [
        "graph_entities_page",
        "graph_private_entities_page",
        "graph_entity_size",
        "graph_timeline_changed",
        "graph_private_changed",
        "graph_private_assertions",
        "graph_nodes_in",
        "graph_private_statements_as_of",
        "graph_private_subjects_naming",
    ],
)
def test_no_statement_looks_at_every_row(query: str) -> None:
    names = ("scope_id", "as_of_commit", "after", "limit", "agent_id", "namespace", "key", "into")
    more = (
        "subject",
        "relation",
        "since",
        "graph",
        "overlay",
        "ids",
        "subjects",
        "objects",
        "public_only",
    )
    values = dict.fromkeys((*names, *more), 1)
    engine = open_engine(":memory:")
    with engine.reading() as reader:
        plan = reader.database.execute(f"EXPLAIN QUERY PLAN {load_queries()[query]}", values)  # type: ignore[attr-defined]
        steps = [step for _, _, _, step in plan]
    engine.close()
    whole = ("(scope_id=?)", "(scope_id=? AND kind=?)")
    assert not [step for step in steps if step.startswith("SCAN graph") or step.endswith(whole)]
