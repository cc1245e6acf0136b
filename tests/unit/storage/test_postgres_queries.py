"""The queries for PostgreSQL: each is of one store, and PostgreSQL reads one partition for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import psycopg
import pytest

from memoranda.storage import query_loader
from memoranda.storage.coverage import covered_name
from memoranda.storage.postgres import statements
from tests.postgres_partitions import create_partitioned_tables
from tests.postgres_server import new_database

pytestmark = pytest.mark.slow

STORE = 7
CATALOG = frozenset(
    {"cluster_identity", "column_there", "format_add", "format_read", "schema_create"}
    | {"citus_copy", "citus_distribute", "citus_in_sequence", "citus_tables", "citus_there"}
    | {"format_distribute"}
    | {"format_set", "heads_set_format", "schema_lock", "sizes", "table_there", "lock_wait"}
    | {"server_list", "server_put", "server_remove"}
    | {"head_add", "server_time", "store_add", "store_find", "store_list", "store_tables"}
    | {"table_rows", "table_rows_delete"}
)
"""Queries of the database as a whole, of a new store, and templates for any table."""
COMMANDS = frozenset(
    {"announce", "begin", "begin_reading", "commit", "listen", "relax", "rollback"}
    | {"trial_begin", "trial_end", "trial_undo"}
)
SHARED = frozenset({"format", "pg_extension", "server", "store"})
"""Tables that are not of one store; each node of a distributed database has them."""
INSERT = re.compile(
    r"INSERT INTO memoranda\.\w+ (AS owner )?\(store_id\b[^)]*\) VALUES \(:store_id\b"
)
NAMES = sorted(statements.queries().keys() - CATALOG - COMMANDS)


def reads(name: str) -> bool:
    """Say whether a query only reads: a grant covers nothing else."""
    return statements.query_text(name).startswith(("SELECT", "WITH"))


@cache
def partitioned() -> psycopg.Connection[Any]:
    """Return a connection to a database whose tables are partitioned by the store."""
    url = new_database("memoranda_partitions", has_tables=False)
    create_partitioned_tables(url)
    return psycopg.connect(url, autocommit=True)


def relations_read(text: str) -> set[str]:
    """Return the tables and partitions that a plan touches, for one store and any other values."""
    statement = statements.number_parameters(text)
    numbered = re.sub(rf"\${len(statement.names) + 1}\b", str(STORE), statement.text)
    cursor = partitioned().execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {numbered}".encode())
    row = cursor.fetchone()
    assert row is not None
    return {*relations(row[0])}


def partitions_read(text: str) -> set[str]:
    """Return the partitions that a plan touches, by their numbers."""
    return {name.rpartition("_")[2] for name in relations_read(text) if re.search(r"_p\d$", name)}


def check_plan(text: str) -> None:
    """Check that a plan touches one partition, or shows none for a reason that is known."""
    assert len(partitions_read(text)) <= 1
    if partitions_read(text) or "1 = 0" in text:  # that is false whatever there is
        return
    if INSERT.match(text):  # what it adds is of the store, wherever that is
        return
    assert relations_read(text) <= SHARED, "it touches its partition"


def relations(plan: Any) -> Iterator[str]:
    if isinstance(plan, dict):
        if "Relation Name" in plan:
            yield plan["Relation Name"]
        for part in plan.values():
            yield from relations(part)
    elif isinstance(plan, list):
        for part in plan:
            yield from relations(part)


@pytest.mark.parametrize("name", NAMES)
def test_a_query_reads_one_partition(name: str) -> None:
    check_plan(statements.query_text(name))


@pytest.mark.parametrize("name", [name for name in NAMES if reads(name)])
def test_a_covered_query_reads_one_partition(name: str) -> None:
    check_plan(statements.query_text(covered_name(name)))


@pytest.mark.parametrize("ending", ["durable", "relaxed"])
def test_the_statement_of_a_commit_reads_one_partition(ending: str) -> None:
    script = query_loader.read_sql("memoranda.storage.postgres", "commit_statement.sql")
    parts = query_loader.parse(script)
    several = {"locked", "heads"}  # of several stores
    names = [name for name in parts if name not in {"durable", "relaxed", *several}]
    expressions = ", ".join(f"{name} AS ({parts[name]})" for name in names)
    assert len(partitions_read(f"WITH {expressions} {parts[ending]}")) == 1


def test_a_query_without_the_store_is_seen() -> None:
    assert len(partitions_read("SELECT key FROM memoranda.state WHERE scope_id = :scope_id")) == 4


def test_every_key_and_index_begins_with_the_store() -> None:
    rows = partitioned().execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'memoranda' "
        "AND tablename NOT IN ('format', 'server', 'store')"
    )
    others = [name for name, text in rows if "(store_id" not in text]
    assert others == []
