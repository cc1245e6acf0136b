"""The lists of agents and namespaces: read along indexes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import memoranda
from memoranda.storage import query_loader


@pytest.mark.parametrize("name", ["agents_page", "namespaces_page"])
def test_a_page_of_names_is_read_along_an_index(tmp_path: Path, name: str) -> None:
    path = tmp_path / "store.db"
    memoranda.open(path, embedder=None).close()
    query = query_loader.load("memoranda.log")[name]
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(f"EXPLAIN QUERY PLAN {query}", {"after": "a", "limit": 2})
        plan = [row[3] for row in rows]
    assert not [step for step in plan if step.startswith(("SCAN", "USE TEMP"))]


@pytest.mark.parametrize("name", ["activity_of_agent", "activity_of_namespace"])
def test_the_scopes_of_a_name_are_found_by_an_index(tmp_path: Path, name: str) -> None:
    path = tmp_path / "store.db"
    memoranda.open(path, embedder=None).close()
    query = query_loader.load("memoranda.log")[name]
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(f"EXPLAIN QUERY PLAN {query}", {"name": "a"})
        plan = [row[3] for row in rows]
    assert [step for step in plan if step.startswith("SEARCH scope")]
