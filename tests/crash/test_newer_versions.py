"""Two versions of the library on one file: the older one does not write under the newer one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import Store, UnsupportedFormat
from memoranda.storage.port import Writer
from memoranda.storage.sqlite import schema
from tests.cores import core_of
from tests.patience import HANG_SECONDS

PACKAGE = Path(memoranda.__file__).parent
WRITE = """
import sys, memoranda
with memoranda.open(sys.argv[1], embedder=None) as store:
    store.write(agent_id="b", key="k", value={"by": "newer"})
print(memoranda.__file__)
"""
VERIFY = """
import sys, memoranda
with memoranda.open(sys.argv[1], embedder=None) as store:
    assert store.purge()
    print(store.verify(deep=True).commits)
"""


def newer(folder: Path, file: str, pattern: str, replacement: str) -> Path:
    """Make a copy of the package with one line changed, as a newer version would have it."""
    copy = folder / "memoranda"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    changed = copy / file
    text, count = re.subn(pattern, replacement, changed.read_text("utf-8"), flags=re.MULTILINE)
    assert count == 1
    changed.write_text(text, "utf-8")
    return copy


def run_with(package: Path, script: str, path: Path) -> str:
    """Run a script with a version of the package in another process, and return what it prints."""
    return subprocess.run(
        [sys.executable, "-c", script, str(path)],
        env=os.environ | {"PYTHONPATH": str(package.parent)},
        timeout=HANG_SECONDS,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.strip()


def write_with(package: Path, path: Path) -> None:
    """Let the version of a package open the store, and write to it."""
    assert Path(run_with(package, WRITE, path)) == package / "__init__.py"


def write(store: Store) -> None:
    store.write(agent_id="a", key="k", value={})


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of all tables in the file."""
    with closing(apsw.Connection(str(path))) as database:
        tables = [*database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {
            name: [*database.execute(f'SELECT * FROM "{name}"')]
            for (name,) in tables
            if name != "words"  # its rows are in the tables that SQLite makes for it
        }


def refuse_to_write(store: Store, package: Path, path: Path, message: str) -> None:
    """Let the newer version write, and check that this one writes nothing any more, and reads."""
    for _ in range(2):
        write(store)
    for number in range(3):
        store.remember(
            f"memory {number}", title=f"title {number}", agent_id="a", txn_id=f"{number}"
        )
    (memory, *_) = store.list_memories(agent_id="a")
    store.forget(memory_id=memory.id, agent_id="a", purge=False)
    begun = store.begin_transaction()
    begun.write(agent_id="a", key="staged", value={})
    events = [*store.replay(agent_id="a")]
    write_with(package, path)
    rows = rows_of(path)
    attempts: list[Callable[[], object]] = [
        lambda: write(store),
        begun.commit,
        store.purge,
        lambda: store.forget(whole_agent="a"),
        lambda: store.compact(before=events[-1].commit_ts, confirm=True),
        store.rebuild,
        lambda: core_of(store).engine.write(lambda _: None),  # as the indexer does
        core_of(store).engine.purge,  # which changes bytes, and no row
    ]
    for attempt in (*attempts, *attempts[:1]):
        with pytest.raises(UnsupportedFormat, match=message):
            attempt()
    assert rows_of(path) == rows
    state = store.get_state(agent_id="b", key="k")
    assert state is not None
    assert state.value == {"by": "newer"}, "reads go on"
    assert [*store.replay(agent_id="a")] == events
    store.close()
    assert rows_of(path) == rows
    assert run_with(package, VERIFY, path) == str(len(rows["event"]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_an_open_store_is_not_written_to_after_a_newer_version_migrated_it(
    path: Path, tmp_path: Path
) -> None:
    number = schema.FORMAT + 1
    package = newer(tmp_path, "storage/sqlite/schema.py", r"^FORMAT = \d+$", f"FORMAT = {number}")
    migration = package / "storage" / "sqlite" / "migrations" / f"{number}.sql"
    migration.write_text("CREATE TABLE newer (id INTEGER PRIMARY KEY) STRICT;\n", "utf-8")
    with memoranda.open(path, embedder=None) as store:
        refuse_to_write(store, package, path, f"has format {number} by now.*upgrade")
    with pytest.raises(UnsupportedFormat, match="upgrade Memoranda"):
        memoranda.open(path)


@pytest.mark.slow
def test_an_open_store_is_not_written_to_after_a_newer_version_derived_a_view_otherwise(
    path: Path, tmp_path: Path
) -> None:
    package = newer(tmp_path, "state/view.py", r"^    version = \d+$", "    version = 999")
    with memoranda.open(path, embedder=None) as store:
        message = "the view 'state' has version 999 by now.*upgrade"
        refuse_to_write(store, package, path, message)


def test_versions_are_compared_only_after_somebody_else_wrote(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store, memoranda.open(path) as other:
        compared: list[str] = []

        def check(writer: Writer) -> None:
            compared.append("once")
            core_of(store).views.check_versions(writer)

        core_of(store).engine.guard_writes(check)
        for _ in range(3):
            write(store)
        assert len(compared) <= 1, "of the first write alone"
        compared.clear()
        write(other)
        for _ in range(3):
            write(store)
        assert compared == ["once"]
