"""Two versions of the library on one file: the older one does not write under the newer one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import memoranda
from memoranda import Store, UnsupportedFormat
from memoranda.storage.port import Writer
from memoranda.storage.sqlite import schema
from tests.patience import HANG_SECONDS

PACKAGE = Path(memoranda.__file__).parent
WRITE = """
import sys, memoranda
with memoranda.open(sys.argv[1]) as store:
    store.write(agent_id="b", key="k", value={"by": "newer"})
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


def write_with(package: Path, path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", WRITE, str(path)],
        env=os.environ | {"PYTHONPATH": str(package.parent)},
        timeout=HANG_SECONDS,
        check=True,
    )


def write(store: Store) -> None:
    store.write(agent_id="a", key="k", value={})


def refuse_to_write(store: Store, message: str) -> None:
    for _ in range(2):
        with pytest.raises(UnsupportedFormat, match=message):
            write(store)
        with pytest.raises(UnsupportedFormat, match=message):
            store._core.engine.write(lambda _: None)  # as the indexer does
    state = store.get_state(agent_id="b", key="k")
    assert state is not None
    assert state.value == {"by": "newer"}, "reads go on"
    assert len(list(store.replay(agent_id="a"))) == 1


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
        write(store)
        write_with(package, path)
        refuse_to_write(store, f"has format {number} by now.*upgrade")
    with pytest.raises(UnsupportedFormat, match="upgrade Memoranda"):
        memoranda.open(path)


def test_an_open_store_is_not_written_to_after_a_newer_version_derived_a_view_otherwise(
    path: Path, tmp_path: Path
) -> None:
    package = newer(tmp_path, "state/view.py", r"^    version = \d+$", "    version = 999")
    with memoranda.open(path, embedder=None) as store:
        write(store)
        write_with(package, path)
        refuse_to_write(store, "the view 'state' has version 999 by now.*upgrade")


def test_versions_are_compared_only_after_somebody_else_wrote(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store, memoranda.open(path) as other:
        compared: list[str] = []

        def check(writer: Writer) -> None:
            compared.append("once")
            store._core.views.check_versions(writer)

        store._core.engine.guard_writes(check)
        for _ in range(3):
            write(store)
        assert len(compared) <= 1, "of the first write alone"
        compared.clear()
        write(other)
        for _ in range(3):
            write(store)
        assert compared == ["once"]
