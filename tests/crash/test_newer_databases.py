"""A newer version of the library migrates a PostgreSQL database that an older one has open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memoranda import UnsupportedFormat
from memoranda.storage.sqlite.schema import FORMAT
from tests.crash.test_newer_versions import newer
from tests.patience import HANG_SECONDS
from tests.postgres_server import new_database, new_store_url, open_postgres

pytestmark = pytest.mark.slow
NEXT = FORMAT + 1
STEPS = {
    "sqlite": "-- Add a table. It has nothing yet.\nCREATE TABLE added (number INTEGER);\n",
    "postgres": "CREATE TABLE memoranda.added AS SELECT store_id FROM memoranda.head;\n",
}
COMMAND = "from memoranda.__main__ import main; main()"
READ = """
import sys, memoranda
with memoranda.open(sys.argv[1], embedder=None) as store:
    store.write(agent_id="b", key="k", value={"by": "newer"})
    print(store.verify(deep=True).commits)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The next version, whose format has one table more."""
    folder = tmp_path_factory.mktemp("next")
    copy = newer(folder, "storage/sqlite/schema.py", rf"^FORMAT = {FORMAT}$", f"FORMAT = {NEXT}")
    for engine, script in STEPS.items():
        migrations = copy / "storage" / engine / "migrations"
        migrations.mkdir(exist_ok=True)
        (migrations / f"{NEXT}.sql").write_text(script)
    return copy


def run(package: Path, script: str, *words: str) -> str:
    """Run a script with a version of the package, and return what it prints."""
    return subprocess.run(
        [sys.executable, "-c", script, *words],
        env=os.environ | {"PYTHONPATH": str(package.parent)},
        timeout=HANG_SECONDS,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def command(package: Path, *words: str) -> str:
    """Run a command of a version of the package, and return what it prints."""
    return run(package, COMMAND, *words)


def test_a_database_is_planned_and_migrated_while_an_older_version_has_it_open(
    package: Path, tmp_path: Path
) -> None:
    database = new_database("memoranda_next", has_tables=False)
    url = new_store_url(tmp_path, database=database)
    with open_postgres(url) as store:
        store.write(agent_id="a", key="k", value={"n": 1})
        for _ in range(2):
            plan = json.loads(command(package, "migrate", "--plan", "--json", "--db", database))
            assert (plan["format"], plan["target"]) == (FORMAT, NEXT)
            assert plan["steps"] == [{"format": NEXT, "description": "Add a table"}]
        store.write(agent_id="a", key="k", value={"n": 2})
        assert f"from format {FORMAT} to format {NEXT}" in command(
            package, "migrate", "--db", database
        )
        with pytest.raises(UnsupportedFormat, match="was migrated; close the store, upgrade"):
            store.write(agent_id="a", key="k", value={"n": 3})
        assert "nothing to do" in command(package, "migrate", "--db", database)
    with pytest.raises(UnsupportedFormat, match=f"has format {NEXT}.*upgrade Memoranda"):
        open_postgres(url)
    assert run(package, READ, url) == "3\n"
