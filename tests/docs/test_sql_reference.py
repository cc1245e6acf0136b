"""The SQL reference names every view and column there is, and its queries run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from memoranda import KeyRef, Store
from memoranda.model.trace import TraceContext, Tracing
from memoranda.testing import memory_store

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "sql.md").read_text("utf-8")
SECTION = re.compile(r"^## (\w+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
COLUMN = re.compile(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", re.MULTILINE)
QUERY = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
TYPES = {"integer": int, "real": float, "text": str, "JSON": str}

DOCUMENTED = {
    name: COLUMN.findall(text) for name, text in SECTION.findall(PAGE) if COLUMN.search(text)
}


@pytest.fixture
def store() -> Iterator[Store]:
    with memory_store() as opened:
        planner = opened.bind(agent_id="planner")
        with Tracing(TraceContext(b"t" * 16, b"s" * 8)):
            planner.write(key="goal", value={"city": "Oslo"})
        planner.write(key="step", value={"n": 1}, because=[KeyRef("goal")])
        planner.delete(key="step")
        planner.write(key="step", value={"n": 2}, because=[KeyRef("goal")])
        planner.write(key="goal", value={"city": "Rome"})
        believe(planner)
        assert_facts(planner)
        yield opened


def believe(planner: Store) -> None:
    """Fill every column about memories at least once."""
    words = planner.store_transcript("I never fly", occurred_at="2026-01-01T00:00:00Z", ttl=60)
    ground = planner.remember(
        "never flies", title="t", tier="mid", tags=["ann"], transcript=words.id
    )
    planner.touch(ground.id)
    old, new = (planner.reflect(item, on=[ground.id]) for item in ("slowly", "é" * 5000))
    for _ in range(2):
        planner.reflect("by train", on=[old.id])
    planner.supersede(old=old.id, new=new.id)
    _, notice, _ = planner.invalidations()
    planner.resolve_invalidation(
        notice.id, decision="revise", replacement=planner.remember("x").id, note="calmer"
    )


def assert_facts(planner: Store) -> None:
    """Fill every column about facts at least once."""
    planner.assert_fact(
        subject="Ann", relation="lives in", object="Oslo", valid_from="2025-01-01T00:00:00Z"
    )
    planner.end_fact(subject="Ann", relation="lives in", at="2026-01-01T00:00:00Z")
    planner.assert_fact(subject="Ann", relation="lives in", object="Rome")
    planner.retract_fact(subject="Ann", relation="lives in", object="Rome", reason="a joke")


def test_every_view_is_documented() -> None:
    source = (files("memoranda.storage.sqlite") / "views.sql").read_text("utf-8")
    assert re.findall(r"^CREATE TEMP VIEW (\w+)", source, re.MULTILINE) == list(DOCUMENTED)


@pytest.mark.parametrize("view", DOCUMENTED)
def test_the_columns_are_those_documented(store: Store, view: str) -> None:
    rows = list(store.sql(f"SELECT * FROM {view}"))
    assert rows
    for row in rows:
        assert list(row) == [name for name, _, _ in DOCUMENTED[view]]
        for name, kind, _ in DOCUMENTED[view]:
            assert row[name] is None or isinstance(row[name], TYPES[kind])
    for name, _, meaning in DOCUMENTED[view]:
        nullable = "NULL" in meaning
        assert nullable or all(row[name] is not None for row in rows)
        assert any(row[name] is not None for row in rows), "shown with content at least once"


@pytest.mark.parametrize("query", QUERY.findall(PAGE))
def test_the_queries_run_and_find_something(store: Store, query: str) -> None:
    assert list(store.sql(query))


def test_the_kinds_of_operation_are_those_documented() -> None:
    from memoranda import OperationType

    (row,) = re.findall(r"^\| `type` .*$", PAGE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == {"type", *(kind.value for kind in OperationType)}
