"""The tables of a PostgreSQL database: one process migrates them, and newer ones are refused."""

from __future__ import annotations

import re
import threading
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest

from memoranda.errors import NotFound, StoreBusy, UnsupportedFormat
from memoranda.storage.postgres.catalog import StoreCatalog
from memoranda.storage.postgres.schema import FIRST_FORMAT, Schema, Step, stored_steps
from memoranda.storage.postgres.session import open_session
from memoranda.storage.sqlite.schema import FORMAT, describe_steps
from tests.patience import wait_until
from tests.postgres_server import new_database, new_store_url, open_postgres

GATE = 4711
"""An advisory lock that a migration of the tests waits for."""


@pytest.fixture
def database() -> str:
    """An empty database, for tests that change its format."""
    return new_database("memoranda_schema", has_tables=False)


@pytest.fixture
def url(database: str, tmp_path: Path) -> str:
    """A store in it, with one commit."""
    url = new_store_url(tmp_path, database=database)
    with open_postgres(url) as store:
        store.bind(agent_id="a1").write(key="k", value={"n": 1})
    return url


def execute(database: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(database, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def set_format(database: str, number: int) -> None:
    execute(database, f"UPDATE memoranda.format SET number = {number}")
    execute(database, f"UPDATE memoranda.head SET format = {number}, stamp = stamp # 1")


def migrate(database: str, script: str) -> None:
    with closing(open_session(database)) as session:
        Schema(session).migrate(lambda number: [Step(FORMAT, script)] if number < FORMAT else [])


def test_both_engines_have_the_same_formats() -> None:
    numbers = [step.number for step in stored_steps(FIRST_FORMAT)]
    assert numbers == [number for number, _ in describe_steps(FIRST_FORMAT)]
    folder = files("memoranda.storage.postgres") / "migrations"
    names = {file.name for file in folder.iterdir()} if folder.is_dir() else set()
    assert names == {f"{number}.sql" for number in numbers}


def test_of_two_processes_one_migrates_and_the_other_waits(url: str, database: str) -> None:
    set_format(database, FORMAT - 1)
    script = f"SELECT pg_advisory_xact_lock({GATE}); CREATE TABLE memoranda.added (number BIGINT)"
    threads = [threading.Thread(target=migrate, args=(database, script)) for _ in range(2)]
    waiting = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with psycopg.connect(database, autocommit=True) as gate:
        gate.execute("SELECT pg_advisory_lock(%s)", (GATE,))
        for thread in threads:
            thread.start()
        wait_until(lambda: execute(database, waiting) == [(2,)])  # for the gate, and for the other
        gate.execute("SELECT pg_advisory_unlock(%s)", (GATE,))
    for thread in threads:
        thread.join()
    assert execute(database, "SELECT number FROM memoranda.format") == [(FORMAT,)]
    assert execute(database, "SELECT COUNT(*) FROM memoranda.added") == [(0,)], "made once"
    with open_postgres(url) as store:
        assert store.bind(agent_id="a1").write(key="k", value={"n": 2}).commit_ts == 2


def test_a_migration_waits_for_writers_and_misses_none(url: str, database: str) -> None:
    """A writer that has locked its store writes to a table that the migration changes."""
    set_format(database, FORMAT - 1)
    script = "CREATE TABLE memoranda.copied AS SELECT name FROM memoranda.meta WHERE name = 'late'"
    migration = threading.Thread(target=migrate, args=(database, script))
    with psycopg.connect(database) as writer:
        ((store_id,),) = writer.execute("SELECT store_id FROM memoranda.head FOR UPDATE").fetchall()
        migration.start()
        waiting = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted"
        wait_until(lambda: execute(database, waiting) == [(1,)])
        writer.execute("INSERT INTO memoranda.meta VALUES (%s, 'late', '')", (store_id,))
    migration.join()
    assert execute(database, "SELECT name FROM memoranda.copied") == [("late",)]


def test_a_store_that_is_made_meanwhile_is_refused(url: str, database: str) -> None:
    """It would have the format of before, which nobody writes any more."""
    script = f"SELECT pg_advisory_xact_lock({GATE})"
    errors: list[str] = []

    def migrate_to_next() -> None:
        with closing(open_session(database)) as session:
            Schema(session).migrate(lambda number: [Step(number + 1, script)])

    def create() -> None:
        with closing(open_session(database)) as session:
            try:
                StoreCatalog(session).create("name", "late")
            except UnsupportedFormat as error:
                errors.append(str(error))
            else:
                errors.append("none")

    threads = [threading.Thread(target=work) for work in (migrate_to_next, create)]
    waiting = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with psycopg.connect(database, autocommit=True) as gate:
        gate.execute("SELECT pg_advisory_lock(%s)", (GATE,))
        for number, thread in enumerate(threads, start=1):
            thread.start()
            goal = [(number,)]
            wait_until(lambda goal=goal: execute(database, waiting) == goal or errors != [])  # type: ignore[misc]
        gate.execute("SELECT pg_advisory_unlock(%s)", (GATE,))
    for thread in threads:
        thread.join()
    (error,) = errors
    assert "upgrade Memoranda" in error
    assert execute(database, "SELECT DISTINCT format FROM memoranda.head") == [(FORMAT + 1,)]


def test_a_failed_migration_changes_nothing(url: str, database: str) -> None:
    set_format(database, FORMAT - 1)
    with pytest.raises(psycopg.Error, match="no_such_table"):
        migrate(database, "CREATE TABLE memoranda.added (n INT); SELECT 1 FROM no_such_table")
    assert execute(database, "SELECT number FROM memoranda.format") == [(FORMAT - 1,)]
    with pytest.raises(UnsupportedFormat, match=f"has format {FORMAT - 1}.*memoranda migrate"):
        open_postgres(url)


def test_a_newer_format_is_refused(url: str, database: str) -> None:
    set_format(database, FORMAT + 1)
    with pytest.raises(UnsupportedFormat, match=f"has format {FORMAT + 1}.*upgrade Memoranda"):
        open_postgres(url)
    with pytest.raises(UnsupportedFormat, match="upgrade Memoranda"):
        migrate(database, "SELECT 1")


def test_an_open_store_of_an_older_version_no_longer_writes(url: str, database: str) -> None:
    with open_postgres(url) as store:
        agent = store.bind(agent_id="a1")
        agent.write(key="k", value={"n": 2})
        set_format(database, FORMAT + 1)
        with pytest.raises(UnsupportedFormat, match="was migrated; close the store, upgrade"):
            agent.write(key="k", value={"n": 3})
        set_format(database, FORMAT)
        assert agent.write(key="k", value={"n": 4}).commit_ts == 3


def test_a_program_notices_that_two_formats_came(url: str, database: str) -> None:
    """Each of them, one after the other, gives its store another stamp."""
    with open_postgres(url) as store:
        agent = store.bind(agent_id="a1")
        agent.write(key="k", value={"n": 2})
        execute(database, f"UPDATE memoranda.format SET number = {FORMAT - 1}")
        for _ in range(2):
            with closing(open_session(database)) as session:
                Schema(session).migrate(lambda number: [Step(number + 1, "SELECT 1")])
        with pytest.raises(UnsupportedFormat, match="was migrated; close the store, upgrade"):
            agent.write(key="k", value={"n": 3})


def test_a_frozen_store_says_why(url: str, database: str) -> None:
    with open_postgres(url) as store:
        agent = store.bind(agent_id="a1")
        agent.write(key="k", value={"n": 2})
        execute(database, "UPDATE memoranda.head SET frozen = 'it rests', stamp = stamp # 1")
        with pytest.raises(StoreBusy, match="takes no writes here: it rests"):
            agent.write(key="k", value={"n": 3})
        state = agent.get_state(key="k")
        assert state is not None
        assert state.value == {"n": 2}


def test_an_empty_database_is_not_migrated(database: str) -> None:
    with pytest.raises(NotFound, match="no Memoranda stores"):
        migrate(database, "SELECT 1")


def test_every_text_is_compared_by_its_bytes(url: str, database: str) -> None:
    columns = execute(
        database,
        "SELECT table_name, column_name, collation_name FROM information_schema.columns "
        "WHERE table_schema = 'memoranda' AND data_type = 'text'",
    )
    assert len(columns) > 50
    assert [column for column in columns if column[2] != "C"] == []
    keys = ["B", "Z", "a", "b", "é", "ﬀ", "\U0001f40d"]
    with open_postgres(url) as store:
        agent = store.bind(agent_id="sorted")
        for key in reversed(keys):
            agent.write(key=key, value={})
        assert [*agent.list_keys()] == keys


OPTIONAL = re.compile(
    r"\b(SEQUENCE|(?:BIG|SMALL)?SERIAL|IDENTITY|TRIGGER|FUNCTION|PROCEDURE|LANGUAGE|DO \$|"
    r"REFERENCES|FOREIGN|PARTITION|EXTENSION|INHERITS|NEXTVAL|ADVISORY_XACT_LOCK)\b",
    re.IGNORECASE,
)
"""What CockroachDB, YugabyteDB or Aurora DSQL lack, or have only as an option."""


def test_the_tables_need_nothing_that_distributed_databases_lack() -> None:
    assert OPTIONAL.findall("CREATE TABLE t (id BIGSERIAL REFERENCES other)")
    folder = files("memoranda.storage.postgres")
    scripts = [folder / "schema.sql", folder / "commit_statement.sql"]
    migrations = folder / "migrations"
    scripts += [*migrations.iterdir()] if migrations.is_dir() else []
    for script in scripts:
        text = re.sub(r"--.*", "", script.read_text("utf-8"))
        assert OPTIONAL.findall(text) == [], script.name


def test_the_database_has_tables_and_indexes_only(url: str, database: str) -> None:
    """Whatever defined it: no sequence, trigger, function or key of another table is there."""
    assert url
    own = "(SELECT oid FROM pg_namespace WHERE nspname = 'memoranda')"
    kinds = execute(database, f"SELECT DISTINCT relkind FROM pg_class WHERE relnamespace = {own}")
    assert {kind for (kind,) in kinds} <= {"r", "i"}
    assert execute(database, f"SELECT proname FROM pg_proc WHERE pronamespace = {own}") == []
    assert (
        execute(
            database,
            "SELECT conname FROM pg_constraint "
            f"WHERE connamespace = {own} AND contype NOT IN ('p', 'u', 'c', 'n')",
        )
        == []
    )
    triggers = "SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
    assert execute(database, f"{triggers} WHERE relnamespace = {own}") == []
