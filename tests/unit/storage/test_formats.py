"""Formats: what an older version wrote is brought up to date, once, wholly or not at all."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from unittest import mock

import apsw
import pytest

import memoranda
from memoranda import diagnose, restore
from memoranda.storage.sqlite import schema
from memoranda.storage.sqlite.schema import FORMAT
from tests.patience import HANG_SECONDS

GOLDEN = Path(__file__).parents[2] / "golden" / "0.1.0.db"
KILLED_MIDWAY = """
import os, signal, sys
import memoranda
from memoranda.storage.sqlite import schema

plain = schema._run

def run(database, name):
    plain(database, name)
    os.kill(os.getpid(), signal.SIGKILL)

schema._run = run
memoranda.open(sys.argv[1])
"""
OPENS = """
import sys, memoranda
with memoranda.open(sys.argv[1]) as store:
    store.remember("x", agent_id=sys.argv[2])
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store of the first format."""
    path = tmp_path / "old.db"
    shutil.copy(GOLDEN, path)
    assert format_of(path) == 1
    return path


def format_of(path: Path) -> int:
    with closing(apsw.Connection(str(path))) as database:
        return int(database.pragma("user_version"))


def schema_of(path: Path) -> set[tuple[str, str, str]]:
    with closing(apsw.Connection(str(path))) as database:
        return {
            (kind, name, sql)
            for kind, name, sql in database.execute("SELECT type, name, sql FROM sqlite_schema")
        }


def test_a_migrated_store_has_the_tables_of_a_new_one(old: Path, tmp_path: Path) -> None:
    memoranda.open(tmp_path / "new.db").close()
    memoranda.open(old).close()
    assert format_of(old) == format_of(tmp_path / "new.db") == FORMAT
    assert schema_of(old) == schema_of(tmp_path / "new.db")


def test_what_was_there_is_there_and_the_new_can_be_used(old: Path) -> None:
    with memoranda.open(old) as store:
        commits = store.stats().commits
        assert commits == 5
        before = store.verify().head_hash
        assert store.rebuild().identical
        assert store.verify().head_hash == before
        memory = store.remember("x" * 5000, agent_id="planner", namespace="team/eng")
        assert memory.outcome == "created"
        assert store.verify().commits == commits + 1
        assert store.rebuild().identical


def test_views_that_are_up_to_date_are_not_built_again(old: Path) -> None:
    memoranda.open(old).close()  # the log's index has more in it since
    with mock.patch("memoranda.sdk.open.refresh_views") as refresh:
        memoranda.open(old).close()
    refresh.assert_not_called()


def test_a_migration_that_is_killed_midway_is_none(old: Path) -> None:
    died = subprocess.run([sys.executable, "-c", KILLED_MIDWAY, str(old)], check=False)
    assert died.returncode == -signal.SIGKILL
    assert format_of(old) == 1
    with memoranda.open(old) as store:
        assert store.verify().commits == 5
        assert store.rebuild().identical
    assert format_of(old) == FORMAT


def test_a_migration_that_fails_leaves_the_store_as_it_was(old: Path) -> None:
    before = schema_of(old)
    plain = schema._run

    def run(database: apsw.Connection, name: str) -> None:
        plain(database, name)
        raise apsw.FullError("disk full")

    with mock.patch.object(schema, "_run", run), pytest.raises(memoranda.StoreFull):
        memoranda.open(old)
    assert (format_of(old), schema_of(old)) == (1, before)


@pytest.mark.slow
def test_several_processes_open_an_old_store_at_once(old: Path) -> None:
    command = [sys.executable, "-c", OPENS, str(old)]
    running = [subprocess.Popen([*command, f"agent-{number}"]) for number in range(4)]
    assert [process.wait(HANG_SECONDS) for process in running] == [0, 0, 0, 0]
    with memoranda.open(old) as store:
        assert store.verify().commits == 9
        assert store.rebuild().identical
        agents = {memory.agent_id for memory in store.list_memories()}
    assert agents == {f"agent-{number}" for number in range(4)}


def test_another_process_migrates_in_between(old: Path) -> None:
    plain = schema.is_outdated

    def late(database: apsw.Connection, path: Path | None) -> bool:
        outdated = plain(database, path)
        with mock.patch.object(schema, "is_outdated", plain):
            memoranda.open(old).close()
        return outdated

    with mock.patch.object(schema, "is_outdated", late), memoranda.open(old) as store:
        assert store.remember("x", agent_id="a").outcome == "created"


def test_who_only_looks_migrates_nothing(old: Path, tmp_path: Path) -> None:
    findings = {finding.check: finding for finding in diagnose(old, deep=True)}
    assert "format 1" in findings["store"].message
    assert {finding.status for finding in findings.values()} <= {"ok", "warning"}
    restore(old, tmp_path / "restored.db")
    assert format_of(old) == 1
    with memoranda.open(tmp_path / "restored.db") as store:
        assert store.verify().commits == 5
