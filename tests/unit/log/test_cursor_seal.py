"""Cursors that were changed behind the store's back: found, whatever they were changed to."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import Corruption, Store

GOLDEN = Path(__file__).parents[2] / "golden"
UNSEALED = [
    path for path in sorted(GOLDEN.glob("*.db")) if [*map(int, path.stem.split("."))] < [0, 7]
]
"""Stores of the versions that sealed no cursors."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with four commits and two cursors, of which one has moved."""
    path = tmp_path / "s.db"
    with memoranda.open(path) as store:
        for number in range(4):
            store.write(agent_id="a", key="k", value={"n": number})
        read(store, "moved", 2)
        read(store, "begun", 0)
    return path


def read(store: Store, cursor: str, count: int) -> None:
    feed = store.subscribe(agent_id="a", cursor=cursor, after_commit=0, timeout=0)
    for event, _ in zip(feed, range(max(count, 1)), strict=False):
        if count:
            feed.ack(event)


def tamper(path: Path, statement: str, *values: object) -> None:
    with closing(apsw.Connection(str(path))) as database:
        database.execute(statement, values)
        assert database.changes()


def token(path: Path, commit_ts: int) -> str:
    with memoranda.open(path) as store:
        return [event.token for event in store.replay(agent_id="a")][commit_ts - 1]


def check_found(path: Path) -> None:
    with memoranda.open(path) as store:
        for deep in (False, True):
            with pytest.raises(Corruption, match="cursor"):
                store.verify(deep=deep)


def test_untouched_ones_hold(path: Path) -> None:
    with memoranda.open(path) as store:
        assert dict(store.cursors()) == {"moved": 2, "begun": 0}
        store.verify(deep=True)
        store.drop_cursor(cursor="moved")
        store.drop_cursor(cursor="moved")
        store.verify(deep=True)
        read(store, "moved", 4)
        read(store, "begun", 1)
        store.verify(deep=True)


@pytest.mark.parametrize("to", [1, 3, 4])
def test_one_that_was_put_elsewhere_is_found(path: Path, to: int) -> None:
    value = token(path, to)
    tamper(path, "UPDATE meta SET value = ? WHERE name = 'cursor:moved'", value)
    check_found(path)


@pytest.mark.parametrize("value", ["3", "0", "2", "02"])
def test_a_bare_number_is_found(path: Path, value: str) -> None:
    tamper(path, "UPDATE meta SET value = ? WHERE name = 'cursor:moved'", value)
    check_found(path)


def test_another_spelling_is_found(path: Path) -> None:
    tamper(path, "UPDATE meta SET value = upper(value) WHERE name = 'cursor:moved'")
    check_found(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE meta SET name = 'cursor:other' WHERE name = 'cursor:moved'",
        "DELETE FROM meta WHERE name = 'cursor:moved'",
        "DELETE FROM meta WHERE name LIKE 'cursor:%'",
        "INSERT INTO meta SELECT 'cursor:more', value FROM meta WHERE name = 'cursor:moved'",
        "DELETE FROM meta WHERE name = 'cursors'",
        "UPDATE meta SET value = 'x' WHERE name = 'cursors'",
        "UPDATE meta SET value = value || '0' WHERE name = 'cursors'",
    ],
)
def test_whatever_else_was_done_is_found(path: Path, statement: str) -> None:
    tamper(path, statement)
    check_found(path)


def test_dropping_all_begins_anew(path: Path) -> None:
    tamper(path, "UPDATE meta SET value = '3' WHERE name = 'cursor:moved'")
    with memoranda.open(path) as store:
        for name, _ in store.cursors():
            store.drop_cursor(cursor=name)
        store.verify(deep=True)
        read(store, "moved", 1)
        store.verify(deep=True)


def test_a_backup_has_them_and_a_fork_has_none(path: Path) -> None:
    with memoranda.open(path) as store:
        store.backup(path.with_name("backup.db"))
        store.fork(path.with_name("fork.db"), at=4)
    for name in ("backup.db", "fork.db"):
        with memoranda.open(path.with_name(name)) as copy:
            copy.verify(deep=True)


def test_forgetting_an_agent_takes_its_cursors(path: Path) -> None:
    with memoranda.open(path) as store:
        read(store.bind(agent_id="a"), "own", 1)
        store.forget(whole_agent="a")
        store.verify(deep=True)


@pytest.mark.parametrize("golden", UNSEALED, ids=lambda path: path.stem)
def test_those_of_older_versions_are_sealed_when_one_moves(golden: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    shutil.copy(golden, path)
    with closing(apsw.Connection(str(path))) as database:
        database.execute("INSERT OR REPLACE INTO meta VALUES ('cursor:old', '1')")
    with memoranda.open(path) as store:
        store.verify(deep=True)
        store.drop_cursor(cursor="no such one")
        store.verify(deep=True)
    tamper(path, "UPDATE meta SET value = '2' WHERE name = 'cursor:old'")
    check_found(path)
