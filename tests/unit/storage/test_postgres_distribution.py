"""Distributing a database over several nodes: which tables, and beside which.

There is no Citus here. Functions of its names write down how they are called; with
`MEMORANDA_TEST_DISTRIBUTE=citus` the tests of stores run on a cluster (tests/postgres_server.py).
"""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from memoranda.errors import InvalidInput, NotFound
from memoranda.sdk.distribution import distribute_database
from memoranda.storage.postgres.engine import PostgresEngine
from tests.cores import core_of
from tests.postgres_server import DISTRIBUTE, new_database, new_store_url, open_postgres
from tests.unit.cli.runner import Cli

pytestmark = pytest.mark.skipif(DISTRIBUTE, reason="the tables are distributed in earnest")

STAND_IN = """
CREATE TABLE pg_dist_partition (logicalrelid REGCLASS);
CREATE TABLE call (number SERIAL, name TEXT, col TEXT, place TEXT);
CREATE FUNCTION create_reference_table(name REGCLASS) RETURNS VOID LANGUAGE SQL AS $$
    INSERT INTO call (name) VALUES (name);
    INSERT INTO pg_dist_partition VALUES (name)
$$;
CREATE FUNCTION create_distributed_table(name REGCLASS, col TEXT, colocate_with TEXT)
RETURNS VOID LANGUAGE SQL AS $$
    INSERT INTO call (name, col, place) VALUES (name, col, colocate_with);
    INSERT INTO pg_dist_partition VALUES (name)
$$;
"""


@pytest.fixture
def database() -> str:
    return new_database("memoranda_distributed", has_tables=False)


def calls_of(database: str) -> list[tuple[str, str | None, str | None]]:
    with psycopg.connect(database) as connection:
        return connection.execute("SELECT name, col, place FROM call ORDER BY number").fetchall()


def test_every_table_is_distributed_by_its_store_beside_the_head(
    database: str, tmp_path: Path
) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(STAND_IN)
    url = new_store_url(tmp_path, database=database)
    with open_postgres(url) as store:
        store.bind(agent_id="a1").write(key="k", value={"n": 1})
    distribution = distribute_database(database)
    calls = calls_of(database)
    assert {name for name, column, _ in calls if column is None} == {
        "memoranda.format",
        "memoranda.server",
        "memoranda.store",
    }
    distributed = [call for call in calls if call[1] is not None]
    assert distributed[0] == ("memoranda.head", "store_id", "default")
    assert {call[1:] for call in distributed[1:]} == {("store_id", "memoranda.head")}
    with psycopg.connect(database) as connection:
        tables = connection.execute(
            "SELECT CAST(oid AS REGCLASS)::TEXT FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'memoranda'::REGNAMESPACE"
        ).fetchall()
    assert {name for name, *_ in calls} == {name for (name,) in tables}
    assert len(distribution.distributed) == len(distributed)
    again = distribute_database(database)
    assert (again.distributed, again.copied) == ((), ())
    assert calls_of(database) == calls, "nothing is distributed twice"


@pytest.mark.parametrize("is_distributed", [False, True])
def test_no_statement_of_a_distributed_store_changes_several_tables(
    database: str,
    tmp_path: Path,
    is_distributed: bool,  # noqa: FBT001
) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(STAND_IN)
    if is_distributed:
        distribute_database(database)
    with open_postgres(new_store_url(tmp_path, database=database)) as store:
        agent = store.bind(agent_id="a1")
        for number in range(5):
            assert agent.write(key="k", value={"n": number}).commit_ts == number + 1
        engine = core_of(store).engine
        assert isinstance(engine, PostgresEngine)
        writer = engine._writer
        assert writer is not None
        rows = writer.database.execute("SELECT statement FROM pg_prepared_statements").fetchall()
        assert any("WITH head AS" in text for (text,) in rows) is not is_distributed
        store.verify(deep=True)


def test_without_citus_it_says_so(database: str, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"has no Citus.*CREATE EXTENSION citus"):
        distribute_database(database)
    result = Cli(tmp_path).run("postgres", "distribute", "--db", database)
    assert result.exit_code == 4
    assert "CREATE EXTENSION citus" in result.output
    with pytest.raises(InvalidInput, match="is no PostgreSQL database"):
        distribute_database(str(tmp_path / "store.db"))
