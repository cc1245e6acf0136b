"""SQL that somebody put into a store's file: it is never run, and the store is not opened."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import memoranda
from memoranda import Corruption, Store
from memoranda.sdk.doctor import diagnose
from memoranda.storage.sqlite import schema
from memoranda.storage.sqlite.connection import open_untrusted
from tests.leftovers import leftovers

GOLDEN = Path(__file__).parents[2] / "golden"
SECRET = b"the cat is called Mimi"
SPY = """
CREATE TABLE kept (content);
CREATE TRIGGER spy AFTER UPDATE ON event BEGIN INSERT INTO kept VALUES (OLD.operations); END;
CREATE TRIGGER spy_of_state AFTER DELETE ON state BEGIN INSERT INTO kept VALUES (OLD.value); END;
"""
EXTRA = {
    "trigger": "CREATE TRIGGER spy AFTER INSERT ON event BEGIN DELETE FROM txn; END",
    "table": "CREATE TABLE spy (x)",
    "view": "CREATE VIEW spy AS SELECT * FROM event",
    "index": "CREATE INDEX spy ON event (envelope)",
    "virtual table": "CREATE VIRTUAL TABLE spy USING fts5vocab(words, col)",
    "partial index": "CREATE INDEX spy ON state (key) WHERE abs(version) > 0",
}
CHANGED = {
    "default": ("transcript", "form INTEGER NOT NULL DEFAULT 0", "form INTEGER NOT NULL DEFAULT 1"),
    "check": ("meta", "value TEXT NOT NULL", "value TEXT NOT NULL CHECK (length(value) >= 0)"),
    "generated": (
        "meta",
        "value TEXT NOT NULL",
        "value TEXT NOT NULL, more TEXT AS (upper(value))",
    ),
    "column": ("txn", "actor     TEXT NOT NULL", "actor TEXT NOT NULL, more TEXT"),
    "index": ("memory_by_namespace", "(namespace, id)", "(id, namespace)"),
    "full text": ("words", "ascii", "porter"),
    "shadow": ("words_docsize", "sz BLOB", "sz BLOB CHECK (length(sz) >= 0)"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with memoranda.open(path) as store:
        write_secret(store)
    return path


def write_secret(store: Store) -> None:
    store.write(agent_id="a", key="k", value={"text": SECRET.decode()})


def tamper(path: Path, *statements: str) -> None:
    with closing(apsw.Connection(str(path))) as database:
        for statement in statements:
            database.execute(statement)


def redefine(path: Path, name: str, old: str, new: str) -> None:
    with closing(apsw.Connection(str(path))) as database:
        database.pragma("writable_schema", True)
        query = "SELECT sql FROM sqlite_schema WHERE name = ?"
        ((text,),) = database.execute(query, (name,)).fetchall()
        text = " ".join(str(text).split())
        old = " ".join(old.split())
        assert old in text
        changed = text.replace(old, new)
        database.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (changed, name))
        database.execute("PRAGMA writable_schema = RESET")


@pytest.mark.parametrize("kind", EXTRA)
def test_what_is_not_ours_is_named_and_nothing_opened(path: Path, kind: str) -> None:
    tamper(path, EXTRA[kind])
    target = rf"the {kind.split()[-1]} 'spy', which Memoranda did not make.*DROP"
    with pytest.raises(Corruption, match=target):
        memoranda.open(path)
    (result,) = [finding for finding in diagnose(path, quick=True) if finding.check == "store"]
    assert (result.status, result.error) == ("problem", "Corruption")
    assert "'spy'" in result.message
    with pytest.raises(Corruption, match="'spy'"):
        memoranda.restore(path, path.with_name("new.db"))
    tamper(path, f"DROP {kind.split()[-1]} spy")
    with memoranda.open(path) as store:
        store.verify(deep=True)


@pytest.mark.parametrize("what", CHANGED)
def test_what_was_changed_is_named(path: Path, what: str) -> None:
    name, old, new = CHANGED[what]
    redefine(path, name, old, new)
    with pytest.raises(Corruption, match=f"{name!r} of .* is not defined as"):
        memoranda.open(path)


def test_what_is_missing_is_named(path: Path) -> None:
    tamper(path, "DROP INDEX memory_by_namespace")
    with pytest.raises(Corruption, match="lacks the index 'memory_by_namespace'"):
        memoranda.open(path)


def test_a_name_that_seems_to_be_sqlites_own_is_no_disguise(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as database:
        database.execute("CREATE TRIGGER spy AFTER INSERT ON event BEGIN DELETE FROM txn; END")
        database.pragma("writable_schema", True)
        database.execute(
            "UPDATE sqlite_schema SET name = 'sqlite_stat1', sql = replace(sql, 'spy', "
            "'sqlite_stat1') WHERE name = 'spy'"
        )
    with pytest.raises(Corruption, match="sqlite_stat1"):
        memoranda.open(path)


def test_statistics_are_nobodys_harm(path: Path) -> None:
    tamper(path, "ANALYZE")
    with memoranda.open(path) as store:
        store.verify(deep=True)


def test_a_full_text_index_that_sqlite_spells_otherwise_is_one(path: Path) -> None:
    redefine(path, "words_docsize", "sz BLOB", "sz BLOB, origin INTEGER")
    with memoranda.open(path) as store:
        write_secret(store)


def test_a_trigger_planted_while_the_store_is_open_keeps_nothing(path: Path) -> None:
    with memoranda.open(path) as store:
        tamper(path, SPY)
        write_secret(store)
        assert store.bind(agent_id="a").forget(key="k").operations == 2
    with closing(apsw.Connection(str(path))) as database:
        assert database.execute("SELECT count(*) FROM kept").fetchall() == [(0,)]
    assert leftovers(path, [SECRET]) == set()


def test_no_connection_runs_what_a_file_says(path: Path) -> None:
    tamper(path, "CREATE VIEW spy AS SELECT 1 AS x", SPY)
    with closing(open_untrusted(str(path))) as database:
        with pytest.raises(apsw.SQLError, match="view"):
            database.execute("SELECT * FROM spy")
        database.execute("UPDATE event SET salts = salts")
        assert database.execute("SELECT count(*) FROM kept").fetchall() == [(0,)]
        database.execute("CREATE TEMP VIEW ours AS SELECT 1 AS x")
        assert database.execute("SELECT * FROM ours").fetchall() == [(1,)]


def test_users_still_have_their_views(path: Path) -> None:
    with memoranda.open(path) as store:
        assert [row["key"] for row in store.sql("SELECT key FROM state")] == ["k"]


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.db")), ids=lambda path: path.stem)
def test_an_older_store_is_looked_at_before_it_is_migrated(golden: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    shutil.copy(golden, path)
    tamper(path, "CREATE TRIGGER spy AFTER INSERT ON meta BEGIN DELETE FROM event; END")
    content = path.read_bytes()
    with pytest.raises(Corruption, match="'spy'"):
        memoranda.open(path)
    assert path.read_bytes() == content


def test_what_a_format_defines_is_found_out_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance: list[int] = []
    create = schema.create

    def count(database: apsw.Connection, number: int = schema.FORMAT) -> None:
        instance.append(number)
        create(database, number)

    monkeypatch.setattr(schema, "create", count)
    schema._format_image.cache_clear()
    schema._format_definitions.cache_clear()
    for _ in range(3):
        memoranda.open(path).close()
    assert instance == [schema.FORMAT]
    for _ in range(3):
        memoranda.open(":memory:").close()  # a copy of what was made then
    assert instance == [schema.FORMAT]


def test_a_format_that_never_was_is_refused(path: Path) -> None:
    tamper(path, "PRAGMA user_version = 0")
    with pytest.raises(Corruption, match="format 0"):
        memoranda.open(path)
