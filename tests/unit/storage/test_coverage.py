"""Covered queries read tables through row policies, by the same indexes."""

from __future__ import annotations

import re

import apsw
import pytest

import memoranda
from memoranda import Store
from memoranda.log.read.kind_counts import FIRST_KIND
from memoranda.model.coverage import Coverage
from memoranda.sdk.open import load_queries
from memoranda.storage.coverage import CoveredEngine, covered_name
from memoranda.storage.sqlite import row_policies
from memoranda.storage.sqlite.row_policies import Queries, with_policies
from tests.cores import core_of

QUERIES = Queries(load_queries())
READS = [
    name
    for name, text in QUERIES.items()
    if re.match(r"SELECT|WITH", text) and "TABLE_NAME" not in text
]
OF_WHOLE_TABLES = re.compile(r"_(rows|clear|census|counts?|size|totals)$")
"""Queries that go through whole tables anyway."""


WITHOUT_POLICY = {
    "memory_title": "is read with its memory",
    "memory_member": "is read with its memory",
    "setting": "is read by rules alone",
    "graph_node": "is found by its graph, which has a policy",
    "graph_sharing": "holds in the namespaces below, too",
    "state_reference": "is read by erasures alone, whose reach is the whole log",
    "public_key": "is read by calls about the whole store alone",
}
"""Why the rows of a table that belong to somebody have no policy of their own."""


@pytest.fixture(scope="module")
def store() -> Store:
    return memoranda.open(":memory:", embedder=None)


def plan(database: apsw.Connection, query: str) -> list[str]:
    """Return the steps of a query's plan that go through more rows than it asks for."""
    values = {name: "x" if name == "header" else None for name in re.findall(r":(\w+)", query)}
    query = query.replace("X'FF'", "'z'")  # the driver reads the text of a plan as UTF-8
    steps = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {query}", values)]
    costly = ("SCAN", "MATERIALIZE", "CO-ROUTINE")
    cheap = ("VIRTUAL TABLE", "CONSTANT ROW")
    return [
        step
        for step in steps
        if (step.startswith(costly) or "AUTOMATIC" in step)
        and not any(word in step for word in cheap)
    ]


@pytest.mark.parametrize("name", READS)
def test_a_covered_query_uses_the_indexes_of_the_query(store: Store, name: str) -> None:
    database = core_of(store).engine._writer.database  # type: ignore[attr-defined]
    covered = plan(database, QUERIES[covered_name(name)])
    if not OF_WHOLE_TABLES.search(name):
        assert len(covered) <= len(plan(database, QUERIES[name])), covered


def test_every_table_of_somebody_has_a_policy(store: Store) -> None:
    database = core_of(store).engine._writer.database  # type: ignore[attr-defined]
    columns = database.execute(
        "SELECT tables.name, columns.name FROM sqlite_schema AS tables "
        "JOIN pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'"
    )
    owned = {table for table, column in columns if column in {"namespace", "agent_id", "scope_id"}}
    assert owned - row_policies.policies().keys() == WITHOUT_POLICY.keys()


def test_every_table_of_a_query_is_read_through_its_policy() -> None:
    tables = "|".join(row_policies.policies())
    for name in READS:
        plain = QUERIES[name]
        mentions = set(re.findall(rf"(?:FROM|JOIN|,) ({tables})\b(?!\.)(?= |$|\))", plain))
        assert all(f"{table} AS NOT MATERIALIZED (" in with_policies(plain) for table in mentions)


def test_policies_join_the_expressions_of_a_query() -> None:
    assert with_policies("SELECT 1 FROM event") == "SELECT 1 FROM event"
    plain = with_policies("SELECT id FROM shelf INDEXED BY some WHERE id = :id")
    assert plain.startswith("WITH covered (namespaces, agents) AS (VALUES (:covered_namespaces")
    assert plain.endswith(") SELECT id FROM shelf WHERE id = :id")
    recursive = with_policies("WITH RECURSIVE part AS (SELECT 1) SELECT * FROM part JOIN scope")
    assert recursive.startswith("WITH RECURSIVE covered (")
    assert recursive.endswith("), part AS (SELECT 1) SELECT * FROM part JOIN scope")


def test_there_is_no_covered_query_without_a_query() -> None:
    with pytest.raises(KeyError):
        QUERIES["nothing"]
    with pytest.raises(KeyError):
        QUERIES[covered_name("nothing")]
    assert row_policies.covered_queries().keys() <= QUERIES.keys()


def test_counts_are_of_covered_agents(store: Store) -> None:
    for agent_id in ("a", "b"):
        with store.begin_transaction() as transaction:  # as many as are counted at once
            for number in range(20):
                transaction.write(agent_id=agent_id, namespace="team", key=f"k{number}", value={})
    for coverage, rows in (
        (Coverage(frozenset("a"), frozenset(["team"])), ["a"]),
        (Coverage(None, frozenset(["team"])), ["a", "b"]),
        (Coverage(None, frozenset(["tea"])), []),
    ):
        with CoveredEngine(core_of(store).engine, coverage).reading() as reader:
            scopes = reader.rows("scopes_after", after=0)
            values = {"first_kind": FIRST_KIND, "public_only": 0}
            assert rows == [
                agent_id
                for scope_id, agent_id, _ in scopes
                if reader.row("first_block_of_kinds", scope_id=scope_id, **values) is not None
            ]
