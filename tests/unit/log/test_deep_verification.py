"""Deep verification: what it names, what it leaves as it is, and how it ends early."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import ChainBroken, Corruption, StoreFull, ViewsDiffer


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    path = tmp_path / "store.db"
    with memoranda.open(path, durability="relaxed") as store:
        for number in range(12):
            with store.begin_transaction() as transaction:
                transaction.write(agent_id="a", key=f"k{number % 3}", value={"n": number})
                transaction.write(agent_id="b", key="k", value={"n": number})
        memory = store.remember("one", agent_id="a", title="first")
        store.remember("two", agent_id="a", title="second")
        store.update_memory(memory.id, agent_id="a", content="three")
    return path


def tamper(path: Path, *statements: str) -> None:
    database = apsw.Connection(str(path))
    for statement in statements:
        database.execute(statement)
    database.close()


def deep(path: Path) -> memoranda.Verification:
    with memoranda.open(path, create=False) as store:
        return store.verify(deep=True)


def difference(path: Path) -> ViewsDiffer:
    with pytest.raises(ViewsDiffer) as caught:
        deep(path)
    return caught.value


def test_it_says_how_many_rows_it_compared(path: Path) -> None:
    result = deep(path)
    assert result.commits == 15
    assert result.rows is not None
    assert result.rows > 80


def test_a_changed_row_is_named_by_its_key_and_commit(path: Path) -> None:
    tamper(path, "UPDATE state SET version = 9 WHERE key = 'k1'")
    result = difference(path)
    assert (result.view, result.table, result.commit_ts) == ("state", "state", 11)
    assert result.row == {
        "agent_id": "a", "namespace": "default", "key": "k1", "commit_ts": 11, "value": b'{"n":10}',
    }  # fmt: skip
    assert "agent_id='a', namespace='default', key='k1'" in str(result)
    assert "differs in version" in str(result)
    assert "memoranda rebuild" in str(result)


def test_a_missing_row_is_named(path: Path) -> None:
    tamper(path, "DELETE FROM state_version WHERE commit_ts = 6 AND position = 1")
    result = difference(path)
    assert (result.table, result.commit_ts) == ("state_version", 6)
    assert "is missing" in result.problem


def test_a_row_too_many_is_named(path: Path) -> None:
    tamper(path, "INSERT INTO state_version VALUES (1, 7, 99, 0, 1)")
    result = difference(path)
    assert (result.table, result.commit_ts, result.row["version"]) == ("state_version", 7, 99)
    assert "there should be no row" in result.problem


def test_rows_that_changed_places_are_found(path: Path) -> None:
    swapped = "CASE id WHEN 1 THEN -2 ELSE -1 END"
    tamper(
        path,
        f"UPDATE memory SET id = {swapped}",
        "UPDATE memory SET id = -id",
        "UPDATE memory_state SET memory = 3 - memory",
        "UPDATE memory_title SET memory = 3 - memory",
    )
    result = difference(path)
    assert (result.view, result.table) == ("memory", "memory")
    assert "out of order" in result.problem


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memory_title SET memory = 3 - memory",
        "UPDATE memory_state SET content_in = 2 WHERE content_in IS NULL AND id = 1",
        "INSERT INTO citation VALUES (77, 78, 0, 0, 3)",
        "INSERT INTO graph_edge VALUES (7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7)",
        "INSERT INTO scope VALUES (77, 'nobody', 'nowhere')",
        "UPDATE scope SET agent_id = 'mallory' WHERE agent_id = 'a'",
        "UPDATE state SET key = CAST(x'6bff' AS TEXT) WHERE key = 'k1'",
    ],
)
def test_rebuilding_repairs_what_was_found(path: Path, statement: str) -> None:
    before = deep(path)
    tamper(path, statement)
    difference(path)
    with memoranda.open(path, create=False) as store:
        assert not store.rebuild().identical
        assert store.verify(deep=True).rows == before.rows


def test_the_log_is_looked_at_first(path: Path) -> None:
    tamper(
        path,
        "DELETE FROM state",
        "UPDATE event SET hash = randomblob(32) WHERE commit_ts = 4",
    )
    with pytest.raises(ChainBroken) as caught:
        deep(path)
    assert caught.value.commit_ts == 4


def test_an_end_that_was_cut_off_is_known_to_what_stands_beside_it(path: Path) -> None:
    tamper(path, "DELETE FROM event WHERE commit_ts > 9")
    with memoranda.open(path, create=False) as store, pytest.raises(ChainBroken) as caught:
        store.verify()
    assert caught.value.commit_ts == 10
    assert "truncated" in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE TRIGGER spy AFTER INSERT ON event BEGIN DELETE FROM txn; END", "spy"),
        ("DROP INDEX memory_by_namespace", "memory_by_namespace"),
        ("CREATE TABLE more (x)", "more"),
    ],
)
def test_tables_that_are_not_ours_are_named(path: Path, statement: str, name: str) -> None:
    """Those that were there before are named when the store is opened."""
    with memoranda.open(path) as store:
        tamper(path, statement)
        with pytest.raises(Corruption, match=f"{name!r} is not what Memoranda makes"):
            store.verify(deep=True)


def test_an_index_that_leads_elsewhere_is_found(path: Path) -> None:
    """The index is cut off from its table for the time of a change, and so misses it."""
    database = apsw.Connection(str(path))
    query = "SELECT sql, rootpage FROM sqlite_schema WHERE name = 'memory_by_namespace'"
    ((stored_item, page),) = database.execute(query).fetchall()
    database.close()
    tamper(
        path,
        "UPDATE memory SET namespace = 'elsewhere' WHERE id = 2",
        "PRAGMA writable_schema = ON",
        "DELETE FROM sqlite_schema WHERE name = 'memory_by_namespace'",
        "PRAGMA writable_schema = RESET",
        "UPDATE memory SET namespace = 'default' WHERE id = 2",
        "PRAGMA writable_schema = ON",
        "INSERT INTO sqlite_schema VALUES ('index', 'memory_by_namespace', 'memory',"
        f" {page}, '{stored_item}')",
        "PRAGMA writable_schema = RESET",
    )
    with pytest.raises(Corruption, match="damaged"):
        deep(path)


class Interrupted(BaseException):
    """What Ctrl-C raises, in its way."""


def test_one_that_is_given_up_leaves_nothing(path: Path) -> None:
    def progress(_: int, __: int) -> None:
        assert [*(path.parent / "temporary").iterdir()]
        raise Interrupted

    with memoranda.open(path, create=False) as store:
        before = path.read_bytes()
        with pytest.raises(Interrupted):
            store.verify(deep=True, progress=progress)
        assert [*(path.parent / "temporary").iterdir()] == []
        store.verify(deep=True)
        assert [*(path.parent / "temporary").iterdir()] == []
        assert path.read_bytes() == before
        store.write(agent_id="a", key="k", value={})


def test_progress_reaches_the_end(path: Path) -> None:
    observations: list[tuple[int, int]] = []
    with memoranda.open(path, create=False) as store:
        store.verify(deep=True, progress=lambda done, whole: observations.append((done, whole)))
    assert observations[-1] == (15, 15)


def test_no_room_for_the_copy_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StoreFull

    monkeypatch.setattr("memoranda.log.verify.compare_views._apply", full)
    with pytest.raises(StoreFull, match="TMPDIR"):
        deep(path)


def test_no_folder_for_temporary_files_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(path.parent / "nowhere"))
    with pytest.raises(memoranda.NotFound, match="nowhere"):
        deep(path)
