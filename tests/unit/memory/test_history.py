"""Histories: a page costs what it shows, however much was before and comes behind it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import memoranda
from memoranda.storage import query_loader


def test_a_page_is_read_along_the_index(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    memoranda.open(path).close()
    query = query_loader.load("memoranda.memory")["memory_versions"]
    value = {"memory_id": "m", "after": 1, "after_position": 0, "to_commit": 9, "limit": 2}
    connection = sqlite3.connect(path)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", value)]
    connection.close()
    assert not [step for step in plan if step.startswith(("SCAN", "USE TEMP"))]
    assert any("(commit_ts,position)>(?,?)" in step for step in plan)
