"""Reads from PostgreSQL: what the server reads for them, and how often it is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memoranda import Store
from memoranda.storage.postgres.database_url import parse_database_url
from memoranda.storage.postgres.statements import number_parameters, query_text
from tests.postgres_server import database_url, new_store_url, open_postgres

AGENTS = 40
EVENTS = 5


@pytest.fixture
def url(tmp_path: Path) -> str:
    return new_store_url(tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_postgres(url)) as store:
        yield store


def rows_scanned(plan: Any, table: str) -> int:
    """Return how many rows of a table a plan has read, in all its loops."""
    own = plan.get("Actual Rows", 0) * plan["Actual Loops"] if _is_of(plan, table) else 0
    removed = plan.get("Rows Removed by Filter", 0) * plan["Actual Loops"]
    parts = sum(rows_scanned(part, table) for part in plan.get("Plans", ()))
    return round(own + (removed if _is_of(plan, table) else 0)) + parts


def _is_of(plan: Any, table: str) -> bool:
    return str(plan.get("Relation Name", "")).startswith(table)


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("has_statistics", [False, True])
def test_a_page_reads_no_events_of_others(
    url: str, store: Store, mode: str, *, has_statistics: bool
) -> None:
    for _ in range(EVENTS):
        for agent in range(AGENTS):
            store.write(agent_id=f"a{agent}", key="k", value={"n": agent})
    name = parse_database_url("url", url).store
    statement = number_parameters(query_text("event_places_of_scope_within"))
    with psycopg.connect(database_url(), autocommit=True) as database:
        (store_id,) = _row(database, f"SELECT store_id FROM memoranda.store WHERE name = '{name}'")
        (scope_id,) = _row(
            database,
            f"SELECT id FROM memoranda.scope WHERE store_id = {store_id} AND agent_id = 'a7'",
        )
        if has_statistics:
            database.execute("ANALYZE memoranda.event, memoranda.event_scope")
        values = {"scope_id": scope_id, "after": AGENTS, "through": 10**9, "limit": 256}
        numbers = [{**values, "budget": 10**6}[name] for name in statement.names]
        database.execute(f"SET plan_cache_mode = {mode}")
        types = ", ".join(["bigint"] * (len(numbers) + 1))
        database.execute(f"PREPARE page ({types}) AS {statement.text}")
        (plan,) = _row(
            database,
            "EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE "
            f"page ({', '.join(map(str, [*numbers, store_id]))})",
        )
    own = json.loads(plan) if isinstance(plan, str) else plan
    assert rows_scanned(own[0]["Plan"], "event_scope") <= 2 * (EVENTS - 1)
    assert rows_scanned(own[0]["Plan"], "event") <= 2 * (EVENTS - 1)


def _row(database: psycopg.Connection[Any], text: str) -> tuple[Any, ...]:
    row = database.execute(text.encode()).fetchone()
    assert row is not None
    return tuple(row)
