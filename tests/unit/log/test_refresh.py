"""Refreshing: which views are rebuilt when a store is opened, and what others see meanwhile."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import memoranda
from memoranda import Store
from memoranda.calls.core import all_views
from memoranda.log import refresh
from memoranda.log.rebuild import apply_log
from memoranda.log.views import Commit, View
from memoranda.state.view import StateView
from memoranda.storage.files import SIBLING_PREFIX, tag_of, work_folder
from memoranda.storage.port import Reader, Writer
from memoranda.storage.sqlite.connection import Connection
from tests.cores import core_of

GOLDEN = Path(__file__).parents[2] / "golden"
SHARED = {"scope", "event", "blob"}
"""The tables that every view may use: scope ids, and the log."""
TRUTH = {"event", "blob", "erased", "meta", "tree_node", "checkpoint", "scope"}
"""The tables that no view empties."""
TABLE_ACTIONS = {
    apsw.SQLITE_READ,
    apsw.SQLITE_INSERT,
    apsw.SQLITE_UPDATE,
    apsw.SQLITE_DELETE,
}
OF_SQLITE = ("sqlite_", "words_")
"""Prefixes of tables that SQLite and its full-text index use for themselves."""
INDEX = {"shelf", "passage", "vector"}
"""The tables of the search index, which the indexer fills."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a store with every kind of view."""
    path = tmp_path / "store.db"
    with memoranda.open(path, durability="relaxed", embedder=None) as store:
        agent = store.bind(agent_id="a")
        for number in range(5):
            agent.write(key="k", value={"n": number})
        agent.remember("Ann likes tea.")
        agent.assert_fact(subject="Ann", relation="likes", object="tea")
    return path


def execute(path: Path, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(apsw.Connection(str(path))) as database:
        return database.execute(statement, values).fetchall()


def set_version(path: Path, view: str, version: str = "0") -> None:
    execute(path, "UPDATE meta SET value = ? WHERE name = ?", version, f"view:{view}")


def value_of(store: Store) -> object:
    state = store.get_state(agent_id="a", key="k")
    return state and state.value


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the commits that each view applies."""
    counts: Counter[str] = Counter()
    for view in all_views().all:
        count_calls(monkeypatch, type(view), counts)
    return counts


def count_calls(patch: pytest.MonkeyPatch, kind: type[View], counts: Counter[str]) -> None:
    plain: Callable[[View, Writer, Commit], None] = kind.apply

    def apply(view: View, writer: Writer, commit: Commit) -> None:
        counts[view.name] += 1
        plain(view, writer, commit)

    patch.setattr(kind, "apply", apply)


@pytest.mark.parametrize(
    ("outdated", "target"),
    [
        ("log", {"log": 7}),
        ("state", {"state": 5}),
        ("memory", {"memory": 1, "search": 2}),
        ("graph", {"graph": 1, "search": 2}),
        ("keys", {}),
        ("search", {"search": 2}),
    ],
)
def test_only_outdated_views_and_their_dependents_are_rebuilt(
    path: Path, applied: Counter[str], outdated: str, target: dict[str, int]
) -> None:
    set_version(path, outdated)
    with memoranda.open(path, embedder=None) as store:
        assert applied == target
        assert store.rebuild().identical
        store.verify(deep=True)
        assert [hit.text for hit in store.recall("tea", agent_id="a") if hit.text]


def test_a_view_that_is_up_to_date_keeps_its_rows(path: Path) -> None:
    execute(path, "UPDATE memory SET created_at = 1")
    set_version(path, "state")
    memoranda.open(path, embedder=None).close()
    assert execute(path, "SELECT created_at FROM memory") == [(1,)]
    set_version(path, "memory")
    memoranda.open(path, embedder=None).close()
    assert execute(path, "SELECT created_at FROM memory") != [(1,)]


def test_others_read_the_old_rows_until_all_are_new(path: Path) -> None:
    answers: list[object] = []

    def ask(_: int, __: int) -> None:
        answers.append((value_of(other), len(list(other.history(agent_id="a", key="k")))))
        execute(path, "BEGIN IMMEDIATE; ROLLBACK")  # nobody has the write lock

    with memoranda.open(path, embedder=None) as other:
        execute(path, """UPDATE state SET value = CAST('{"n":-1}' AS BLOB)""")
        execute(path, "DELETE FROM state_version WHERE version > 2")
        set_version(path, "state")
        with core_of(other).engine.snapshot() as reader:
            before = reader.rows("state_rows")
            with memoranda.open(path, embedder=None, progress=ask) as newer:
                assert answers == [({"n": -1}, 2)] * 7
                assert value_of(newer) == value_of(other) == {"n": 4}
            assert reader.rows("state_rows") == before, "a snapshot has all old rows"


def test_a_refresh_that_is_given_up_leaves_the_old_rows_and_no_file(path: Path) -> None:
    set_version(path, "state")
    before = execute(path, "SELECT * FROM state")

    def give_up(done: int, _: int) -> None:
        assert [*path.parent.glob(".memoranda-*")]
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memoranda.open(path, embedder=None, progress=give_up)
    assert execute(path, "SELECT * FROM state") == before
    assert [*path.parent.glob(".memoranda-*")] == []


def test_if_the_log_does_not_hold_still_the_views_are_rebuilt_in_place(
    path: Path, monkeypatch: pytest.MonkeyPatch, applied: Counter[str]
) -> None:
    def check(_: refresh._Draft, __: Reader) -> None:
        attempts.append(dict(applied))
        raise refresh._Overtaken

    attempts: list[object] = []
    monkeypatch.setattr(refresh._Draft, "_check", check)
    set_version(path, "state")
    with memoranda.open(path, embedder=None) as store:
        assert attempts == [{}, {}]
        assert applied == {"state": 5}
        store.verify(deep=True)


def test_views_that_others_refresh_meanwhile_are_left_alone(
    path: Path, applied: Counter[str]
) -> None:
    def refresh_too(done: int, _: int) -> None:
        if done == 7:
            set_version(path, "state", str(StateView.version))

    set_version(path, "state")
    execute(path, """UPDATE state SET value = CAST('{"n":-1}' AS BLOB)""")
    with memoranda.open(path, embedder=None, progress=refresh_too) as store:
        assert applied == {"state": 5}
        assert value_of(store) == {"n": -1}, "the rows are theirs"


def test_a_scope_that_the_store_has_no_id_for_gets_one_in_place(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = StateView.apply

    def apply(view: StateView, writer: Writer, commit: Commit) -> None:
        view._scopes.id_of(writer, "new", "somewhere")
        plain(view, writer, commit)

    monkeypatch.setattr(StateView, "apply", apply)
    set_version(path, "state")
    with memoranda.open(path, embedder=None) as store:
        assert value_of(store) == {"n": 4}
        assert ("new", "somewhere") in execute(path, "SELECT agent_id, namespace FROM scope")


def test_the_epoch_comes_with_the_index_of_the_log(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    with memoranda.open(copy, embedder=None) as store:
        store.write(agent_id="a", key="k", value={})
    epoch = execute(copy, "SELECT value FROM meta WHERE name = 'epoch'")
    assert epoch
    execute(copy, "UPDATE meta SET value = '0' WHERE name = 'epoch'")
    set_version(copy, "log")
    memoranda.open(copy, embedder=None).close()
    assert execute(copy, "SELECT value FROM meta WHERE name = 'epoch'") == epoch


def test_folders_of_killed_processes_are_removed_and_no_others(path: Path) -> None:
    with memoranda.open(path, embedder=None) as store:
        tag = tag_of(store.verify().log_id)
    abandoned, backup = (path.parent / f".memoranda-{tag}-{name}" for name in ("one", "two"))
    for folder, file in ((abandoned, refresh._FILE), (backup, "backup.db")):
        folder.mkdir()
        (folder / file).write_bytes(b"content")
    set_version(path, "state")
    with work_folder(path.parent, SIBLING_PREFIX, tag) as folder:
        (folder / refresh._FILE).write_bytes(b"another process writes here")
        memoranda.open(path, embedder=None).close()
        assert folder.exists()
    assert not abandoned.exists()
    assert backup.exists()


# What a view declares: its tables, and the views it depends on.


def test_applying_touches_the_tables_of_the_view_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, touched = tmp_path / "store.db", set[tuple[str, str]]()
    shutil.copy(GOLDEN / "0.9.0.db", path)
    views = all_views()
    for view in views.all:
        note_tables(monkeypatch, type(view), touched)
    with memoranda.open(path, embedder=None) as store:
        core = core_of(store)
        core.engine.write(lambda writer: apply_log(writer, core.log_id, views, None))
    for view in views.all:
        tables = {table for name, table in touched if name == view.name} - SHARED
        assert tables - {"meta"} == {*view.tables}, f"of {view.name}"
        assert ("meta" in tables) == bool(view.meta_names)


def note_tables(patch: pytest.MonkeyPatch, kind: type[View], touched: set[tuple[str, str]]) -> None:
    plain: Callable[[View, Writer, Commit], None] = kind.apply

    def apply(view: View, writer: Writer, commit: Commit) -> None:
        def note(action: int, table: str | None, *_: object) -> int:
            if table and action in TABLE_ACTIONS and not table.startswith(OF_SQLITE):
                touched.add((view.name, table))
            return apsw.SQLITE_OK

        assert isinstance(writer, Connection)
        writer.database.authorizer = note  # statements that are prepared already ask it as well
        try:
            plain(view, writer, commit)
        finally:
            writer.database.authorizer = None

    patch.setattr(kind, "apply", apply)


def test_every_table_is_the_log_s_an_index_s_or_of_one_view(path: Path) -> None:
    statement = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    tables = {name for (name,) in execute(path, statement) if not name.startswith("word")}
    of_views = Counter(table for view in all_views().all for table in view.tables)
    assert tables - TRUTH - INDEX == of_views.keys()
    assert set(of_views.values()) == {1}


def test_a_view_stands_behind_those_it_depends_on() -> None:
    names: list[str] = []
    for view in all_views().all:
        assert {*view.depends_on} <= {*names}
        names.append(view.name)
