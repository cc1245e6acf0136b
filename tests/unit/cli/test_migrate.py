"""`memoranda migrate`: a file of an older format, and a PostgreSQL database."""

from __future__ import annotations

import shutil
from pathlib import Path

import psycopg

from memoranda.storage.sqlite.schema import FORMAT, read_format
from tests.postgres_server import new_database, new_store_url, open_postgres
from tests.unit.cli.runner import Cli

GOLDEN = Path(__file__).parents[2] / "golden"


def test_a_file_is_planned_then_migrated(tmp_path: Path) -> None:
    cli, path = Cli(tmp_path), tmp_path / "old.db"
    shutil.copy(min(GOLDEN.glob("*.db")), path)
    old = read_format(path)
    assert old < FORMAT
    before = path.read_bytes()
    plan = cli.row("migrate", "--plan", "--db", path)
    assert (plan["format"], plan["target"]) == (old, FORMAT)
    assert [step["format"] for step in plan["steps"]] == [*range(old + 1, FORMAT + 1)]
    assert all(step["description"] for step in plan["steps"])
    assert path.read_bytes() == before, "a plan changes nothing"
    assert "Would bring" in cli.run("migrate", "--plan", "--db", path).output
    assert "Brought" in cli.run("migrate", "--db", path).output
    assert read_format(path) == FORMAT
    assert "nothing to do" in cli.run("migrate", "--db", path).output


def test_a_database_is_planned_and_a_newer_one_refused(tmp_path: Path) -> None:
    cli, database = Cli(tmp_path), new_database("memoranda_migrated", has_tables=False)
    assert cli.run("migrate", "--plan", "--db", database).exit_code == 4, "there is nothing yet"
    url = new_store_url(tmp_path, database=database)
    open_postgres(url).close()
    for name in (database, url):
        plan = cli.row("migrate", "--plan", "--db", name)
        assert (plan["format"], plan["steps"], plan["views"]) == (FORMAT, [], [])
        assert "nothing to do" in cli.run("migrate", "--db", name).output
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE memoranda.format SET number = number + 1")
    result = cli.run("migrate", "--db", database)
    assert result.exit_code != 0
    assert "upgrade Memoranda" in result.output
