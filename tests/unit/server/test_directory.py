"""A directory: a database that spreads its stores over others, and knows where each is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

import memoranda
from memoranda.errors import InvalidInput, NotFound, StoreBusy, Unavailable
from memoranda.sdk import move_store
from memoranda.sdk.move_store import Move, StoreMover
from memoranda.server.database_catalog import DatabaseCatalog
from memoranda.storage.postgres.catalog import StoreCatalog, StoreRow
from memoranda.storage.postgres.database_url import DatabaseUrl, parse_database
from memoranda.storage.postgres.directory import Directory
from memoranda.storage.postgres.lease import Lease, LeaseKeeper
from memoranda.storage.postgres.session import Session, open_session
from tests.patience import HANG_SECONDS, wait_until
from tests.postgres_server import DISTRIBUTE, new_database
from tests.server_process import ServerThread
from tests.unit.cli.runner import Cli

pytestmark = pytest.mark.skipif(DISTRIBUTE, reason="Citus spreads stores itself")


@pytest.fixture
def urls(tmp_path: Path) -> dict[str, str]:
    """Three databases, each with an index folder of its own."""
    return {name: _database(tmp_path, name) for name in ("home", "east", "west")}


def _database(folder: Path, name: str) -> str:
    url = new_database(f"memoranda_{name}")
    return f"{url}{'&' if '?' in url else '?'}index={quote(str(folder / name))}"


@pytest.fixture
def catalog(urls: dict[str, str]) -> Iterator[DatabaseCatalog]:
    """The catalog of the home, with two servers."""
    with closing(DatabaseCatalog(parse_database("url", urls["home"]), "a test")) as catalog:
        catalog.put_server("east", urls["east"])
        catalog.put_server("west", urls["west"])
        yield catalog


def move(catalog: DatabaseCatalog, name: str, to: str) -> Move:
    return catalog.move(name, to, wait=0.0)


def store_of(url: str, name: str = "acme") -> str:
    return f"{url}&store={name}"


def tables_with(url: str, store_id: int) -> list[str]:
    """Return the tables of a database that have rows of a store."""
    with psycopg.connect(parse_database("url", url).conninfo) as database:
        tables = database.execute(
            "SELECT table_name FROM information_schema.columns "
            "WHERE table_schema = 'memoranda' AND column_name = 'store_id' ORDER BY 1"
        ).fetchall()
        return [
            table
            for (table,) in tables
            if database.execute(
                f"SELECT 1 FROM memoranda.{table} WHERE store_id = %s".encode(), (store_id,)
            ).fetchone()
        ]


def id_of(urls: dict[str, str], name: str = "acme") -> int:
    with closing(open_session(parse_database("url", urls["home"]).conninfo)) as session:
        return StoreCatalog(session).find(name).store_id


def test_new_stores_are_spread_over_the_servers(
    catalog: DatabaseCatalog, urls: dict[str, str]
) -> None:
    for name in ("a", "b", "c", "d"):
        catalog.create(name)
    catalog.create("e", "home")
    catalog.create("f", "west")
    assert {summary.name: summary.server for summary in catalog.summaries()} == {
        "a": "east",
        "b": "west",
        "c": "east",
        "d": "west",
        "e": None,
        "f": "west",
    }
    assert [(server.name, server.stores) for server in catalog.servers()] == [
        ("home", 1),
        ("east", 2),
        ("west", 3),
    ]
    with memoranda.open(store_of(urls["home"], "b"), embedder=None) as store:
        store.write(agent_id="a", key="k", value={"n": 1})
    with memoranda.open(store_of(urls["west"], "b"), embedder=None, create=False) as store:
        record = store.get_state(agent_id="a", key="k")
        assert record is not None
        assert record.value == {"n": 1}
    assert tables_with(urls["home"], id_of(urls, "b")) == ["store"]


def test_a_moved_store_is_the_same_store(catalog: DatabaseCatalog, urls: dict[str, str]) -> None:
    catalog.create("acme", "east")
    with memoranda.open(store_of(urls["home"]), embedder=None) as store:
        agent = store.bind(agent_id="a")
        agent.write(key="k", value={"n": 1}, txn_id="first")
        memory = agent.remember("the cat sat on the mat", title="cat")
        agent.assert_fact(subject="s", relation="r", object="o")
        agent.forget(key="k")
        token = next(iter(agent.replay())).token
        before = store.verify(deep=True)
    report = move(catalog, "acme", "west")
    assert (report.source, report.target, report.removed) == ("east", "west", True)
    assert report.commits == before.commits
    with memoranda.open(store_of(urls["home"]), embedder=None) as store:
        agent = store.bind(agent_id="a")
        after = store.verify(deep=True)
        assert (after.commits, after.head_hash) == (before.commits, before.head_hash)
        cat = agent.get_memory(title="cat")
        assert cat is not None
        assert cat.id == memory.id
        assert [hit.text for hit in agent.recall("cat")]
        assert [event.commit_ts for event in agent.replay(after_commit=token)]
        assert agent.get_state(key="k") is None
        agent.write(key="k", value={"n": 2})
        assert store.verify(deep=True).commits == before.commits + 1
    assert tables_with(urls["east"], id_of(urls)) == []
    assert tables_with(urls["home"], id_of(urls)) == ["store"]


def test_a_store_moves_from_home_and_back(catalog: DatabaseCatalog, urls: dict[str, str]) -> None:
    catalog.create("acme", "home")
    for number, server in enumerate(("east", "west", "home", "east"), 1):
        with memoranda.open(store_of(urls["home"]), embedder=None) as store:
            store.remember(f"memory {number}", agent_id="a")
            store.reindex()
        assert move(catalog, "acme", server).removed
        with memoranda.open(store_of(urls["home"]), embedder=None) as store:
            assert store.verify(deep=True).commits == number
            hits = store.recall(f"memory {number}", agent_id="a", k=10)
            assert len({hit.text for hit in hits}) == number
    assert [summary.server for summary in catalog.summaries()] == ["east"]


def test_an_empty_store_is_moved(catalog: DatabaseCatalog, urls: dict[str, str]) -> None:
    catalog.create("acme", "east")
    assert move(catalog, "acme", "west").commits == 0
    with memoranda.open(store_of(urls["home"]), embedder=None) as store:
        assert store.write(agent_id="a", key="k", value={}).commit_ts == 1
    with memoranda.open(store_of(urls["west"]), embedder=None, create=False) as store:
        assert store.stats().commits == 1


def test_whoever_has_a_moved_store_open_writes_nothing(
    catalog: DatabaseCatalog, urls: dict[str, str]
) -> None:
    catalog.create("acme", "east")
    with memoranda.open(store_of(urls["east"]), embedder=None) as store:
        store.write(agent_id="a", key="k", value={"n": 1})
        move(catalog, "acme", "west")
        with pytest.raises((StoreBusy, NotFound), match=r"moved to 'west'|was removed"):
            store.write(agent_id="a", key="k", value={"n": 2})
    with pytest.raises(NotFound, match="no store 'acme'"):
        memoranda.open(store_of(urls["east"]), embedder=None, create=False)


def test_nobody_writes_into_a_copy_that_is_not_complete(
    catalog: DatabaseCatalog, urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is moved away and back: a program that has it open finds a part of its log."""
    catalog.create("acme", "east")
    copy_most = move_store._Copier.copy_most
    refused: list[str] = []

    def write() -> None:
        with pytest.raises(StoreBusy) as error:
            store.write(agent_id="a", key="k", value={"n": 3})
        refused.append(str(error.value))

    def copy_and_write(self: Any, progress: Any) -> None:
        copy_most(self, progress)
        write()
        with (
            pytest.raises(StoreBusy, match="is being moved to 'east'"),
            memoranda.open(store_of(urls["east"]), embedder=None) as other,
        ):
            other.write(agent_id="a", key="k", value={"n": 4})

    with memoranda.open(store_of(urls["home"]), embedder=None) as store:
        for number in range(2):
            store.write(agent_id="a", key="k", value={"n": number})
        assert move(catalog, "acme", "west").removed
        monkeypatch.setattr(move_store._Copier, "copy_most", copy_and_write)
        move(catalog, "acme", "east")
        for _ in range(2):
            write()
    assert "is being moved to 'east'" in refused[0]
    assert all("moved away, and back: open it again" in error for error in refused[1:])
    with memoranda.open(store_of(urls["home"]), embedder=None) as store:
        assert store.verify(deep=True).commits == 2
        assert store.write(agent_id="a", key="k", value={}).commit_ts == 3


def test_cursors_move_with_their_store(catalog: DatabaseCatalog, urls: dict[str, str]) -> None:
    catalog.create("acme", "east")
    with memoranda.open(store_of(urls["home"]), embedder=None) as store:
        for number in range(3):
            store.write(agent_id="a", key="k", value={"n": number})
        subscription = store.subscribe(agent_id="a", cursor="reader", after_commit=0, timeout=0)
        subscription.ack(next(subscription))
    move(catalog, "acme", "west")
    with memoranda.open(store_of(urls["home"]), embedder=None) as store:
        subscription = store.subscribe(agent_id="a", cursor="reader", timeout=0)
        assert [event.commit_ts for event in subscription] == [2, 3]
        store.verify(deep=True)


def test_stores_of_a_directory_are_renamed_and_dropped(
    catalog: DatabaseCatalog, urls: dict[str, str]
) -> None:
    catalog.create("acme", "east")
    store_id = id_of(urls)
    with memoranda.open(store_of(urls["home"]), embedder=None) as store:
        store.write(agent_id="a", key="k", value={"n": 1})
    catalog.rename("acme", "globex")
    with memoranda.open(store_of(urls["home"], "globex"), embedder=None, create=False) as store:
        assert store.stats().commits == 1
    with pytest.raises(InvalidInput, match="move them to another server first"):
        catalog.remove_server("east")
    catalog.drop("globex")
    assert catalog.names() == []
    assert tables_with(urls["east"], store_id) == tables_with(urls["home"], store_id) == []
    catalog.remove_server("east")
    assert [server.name for server in catalog.servers()] == ["home", "west"]


def test_a_refused_name_leaves_a_store_as_it_was(
    catalog: DatabaseCatalog, urls: dict[str, str]
) -> None:
    """The name is taken, but not on the server of the store."""
    catalog.create("acme", "east")
    catalog.create("globex", "west")
    with memoranda.open(store_of(urls["home"]), embedder=None) as store:
        store.write(agent_id="a", key="k", value={"n": 1})
    with pytest.raises(InvalidInput, match="'globex' already exists"):
        catalog.rename("acme", "globex")
    with memoranda.open(store_of(urls["home"]), embedder=None, create=False) as store:
        assert store.stats().commits == 1


def test_a_name_that_a_server_has_for_another_store_is_refused(
    catalog: DatabaseCatalog, urls: dict[str, str]
) -> None:
    memoranda.open(store_of(urls["west"]), embedder=None).close()
    with pytest.raises(InvalidInput, match="already exists in the database"):
        catalog.create("acme", "west")
    assert catalog.names() == []
    catalog.create("acme", "east")
    with memoranda.open(store_of(urls["home"]), embedder=None) as store:
        store.write(agent_id="a", key="k", value={"n": 1})
        with pytest.raises(InvalidInput, match="already exists in the database"):
            move(catalog, "acme", "west")
        assert store.write(agent_id="a", key="k", value={"n": 2}).commit_ts == 2


def test_servers_that_cannot_be_are_refused(catalog: DatabaseCatalog, urls: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="this very database"):
        catalog.put_server("north", urls["home"])
    with pytest.raises(InvalidInput, match="names the database of server 'east'"):
        catalog.put_server("north", urls["east"])
    catalog.put_server("east", urls["east"])
    with (
        closing(DatabaseCatalog(parse_database("url", urls["east"]), "a test")) as other,
        pytest.raises(InvalidInput, match="spreads stores over servers itself"),
    ):
        other.put_server("north", urls["home"])
    with pytest.raises(InvalidInput, match="cannot name a server"):
        catalog.put_server("home", urls["east"])
    with pytest.raises(InvalidInput, match=r"without \?store="):
        catalog.put_server("north", store_of(urls["east"]))
    with pytest.raises(InvalidInput, match="is no PostgreSQL database"):
        catalog.put_server("north", "north.db")
    with pytest.raises(NotFound, match="no server 'north'"):
        catalog.create("acme", "north")
    catalog.create("acme", "home")
    with pytest.raises(NotFound, match="no server 'north'"):
        move(catalog, "acme", "north")


# Moves that do not end well.


class Killed(BaseException):
    """The mover's process has died here."""


def _dies(*_: object, **__: object) -> None:
    raise Killed


@pytest.fixture
def url(catalog: DatabaseCatalog, urls: dict[str, str]) -> str:
    """A store on a server, with some commits."""
    catalog.create("acme", "east")
    with memoranda.open(store_of(urls["home"]), embedder=None) as store:
        for number in range(5):
            store.write(agent_id="a", key="k", value={"n": number})
    return store_of(urls["home"])


def _mover(urls: dict[str, str]) -> StoreMover:
    return StoreMover(parse_database("url", urls["home"]), "a test", wait=0.0)


@pytest.mark.parametrize("step", ["_make_place", "_place", "_thaw_target", "_remove_leftovers"])
def test_a_move_that_was_killed_is_finished_by_the_next(
    catalog: DatabaseCatalog,
    urls: dict[str, str],
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(StoreMover, step, _dies)
        with pytest.raises(Killed):
            _mover(urls).move("acme", "west")
    if step in ("_place", "_thaw_target"):
        with (
            memoranda.open(url, embedder=None) as store,
            pytest.raises(StoreBusy, match="stores move acme --to west` finishes it"),
        ):
            store.write(agent_id="a", key="k", value={})
    assert move(catalog, "acme", "west").removed
    with memoranda.open(url, embedder=None) as store:
        assert store.verify(deep=True).commits == 5
        assert store.write(agent_id="a", key="k", value={}).commit_ts == 6
    assert tables_with(urls["east"], id_of(urls)) == []


def test_a_move_that_was_killed_is_undone(
    catalog: DatabaseCatalog, urls: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(StoreMover, "_place", _dies)
        with pytest.raises(Killed):
            _mover(urls).move("acme", "west")
    report = move(catalog, "acme", "east")
    assert (report.source, report.target, report.commits) == ("east", "east", 5)
    with memoranda.open(url, embedder=None) as store:
        assert store.write(agent_id="a", key="k", value={}).commit_ts == 6
    assert tables_with(urls["west"], id_of(urls)) == []


@pytest.mark.parametrize("error", [StoreBusy, KeyboardInterrupt])
def test_a_failing_move_leaves_the_store_where_it_was(
    urls: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def fails(*_: object) -> None:
        raise error("it is given up")

    monkeypatch.setattr(StoreMover, "_place", fails)
    with pytest.raises(error, match="it is given up"):
        _mover(urls).move("acme", "west")
    with memoranda.open(url, embedder=None) as store:
        assert store.write(agent_id="a", key="k", value={}).commit_ts == 6


def test_a_mover_that_lost_its_lease_places_nothing(
    catalog: DatabaseCatalog, urls: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = StoreMover._place

    def place_late(self: StoreMover, *arguments: object) -> None:
        with psycopg.connect(parse_database("url", urls["home"]).conninfo) as database:
            database.execute("UPDATE memoranda.owner SET holder = 'another'")
        place(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(StoreMover, "_place", place_late)
    with pytest.raises(StoreBusy, match="another process moves 'acme' by now"):
        _mover(urls).move("acme", "west")
    assert [summary.server for summary in catalog.summaries()] == ["east"]


def test_a_mover_that_was_away_removes_nothing(
    catalog: DatabaseCatalog, urls: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another has moved the store on meanwhile, to a place that the first takes for an old one."""
    remove = StoreMover._remove_leftovers
    is_away = True

    def remove_late(self: StoreMover, *arguments: Any) -> bool:
        nonlocal is_away
        if is_away:
            is_away = False
            _end_leases(urls)
            assert move(catalog, "acme", "home").removed
        return remove(self, *arguments)

    monkeypatch.setattr(StoreMover, "_remove_leftovers", remove_late)
    assert not _mover(urls).move("acme", "west").removed
    with memoranda.open(url, embedder=None, create=False) as store:
        assert store.verify(deep=True).commits == 5


def test_a_mover_that_was_away_gives_no_writes_back(
    urls: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written then, between another mover's last copy and its end, would be lost."""
    first, second = _mover(urls), _mover(urls)
    is_away, goes_on = threading.Event(), threading.Event()
    place = StoreMover._place

    def place_at_last(self: StoreMover, *arguments: Any) -> None:
        if self is first:
            is_away.set()
            assert goes_on.wait(HANG_SECONDS)
        else:
            goes_on.set()
            with pytest.raises(StoreBusy, match="another process moves 'acme' by now"):
                late.result()
            with pytest.raises(StoreBusy, match="is being moved to 'west'"):
                store.write(agent_id="a", key="k", value={})
        place(self, *arguments)

    monkeypatch.setattr(StoreMover, "_place", place_at_last)
    with (
        memoranda.open(url, embedder=None) as store,
        ThreadPoolExecutor(1) as threads,
    ):
        late = threads.submit(first.move, "acme", "west")
        assert is_away.wait(HANG_SECONDS)
        _end_leases(urls)
        assert second.move("acme", "west").commits == 5


def test_a_lost_statement_places_no_store_that_has_its_writes_back(
    catalog: DatabaseCatalog, urls: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mover loses its connection, and the statement arrives when the store is used again."""
    place, thaw = StoreMover._place, StoreCatalog.thaw
    late: list[Callable[[], None]] = []

    def lose(self: StoreMover, session: Session, *arguments: Any) -> None:
        late.append(partial(place, self, session, *arguments))
        raise Unavailable

    def thaw_and_place(self: StoreCatalog, *arguments: Any) -> None:
        thaw(self, *arguments)
        with pytest.raises(StoreBusy, match="another process moves 'acme' by now"):
            late.pop()()

    monkeypatch.setattr(StoreMover, "_place", lose)
    monkeypatch.setattr(StoreCatalog, "thaw", thaw_and_place)
    with pytest.raises(Unavailable):
        _mover(urls).move("acme", "west")
    assert not late
    assert [summary.server for summary in catalog.summaries()] == ["east"]
    with memoranda.open(url, embedder=None) as store:
        assert store.write(agent_id="a", key="k", value={}).commit_ts == 6


def test_a_mover_waits_for_the_end_of_a_lost_statement(
    catalog: DatabaseCatalog, urls: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement has run, and its transaction has not ended when the connection is lost."""
    has_ended = threading.Event()
    lost: list[Future[None]] = []

    def place(self: StoreMover, _: Session, lease: Lease, row: StoreRow, location: str) -> None:
        begun = threading.Event()

        def run() -> None:
            conninfo = parse_database("url", urls["home"]).conninfo
            with closing(open_session(conninfo)) as session, session.transaction():
                session.find("store_place", location, lease.holder, store_id=row.store_id)
                begun.set()
                wait_until(lambda: has_ended.is_set() or _is_waited_for(session))

        lost.append(threads.submit(run))
        assert begun.wait(HANG_SECONDS)
        raise Unavailable

    with ThreadPoolExecutor(1) as threads:
        monkeypatch.setattr(StoreMover, "_place", place)
        with pytest.raises(Unavailable):
            _mover(urls).move("acme", "west")
        monkeypatch.undo()
        has_ended.set()
        lost[0].result()
    with (
        pytest.raises(StoreBusy, match="is being moved to 'west'"),
        memoranda.open(store_of(urls["east"]), embedder=None) as store,
    ):
        store.write(agent_id="a", key="k", value={})
    assert move(catalog, "acme", "west").removed
    with memoranda.open(url, embedder=None) as store:
        assert store.write(agent_id="a", key="k", value={}).commit_ts == 6


def _is_waited_for(session: Session) -> bool:
    row = session.database.execute(
        "SELECT 1 FROM pg_locks AS waiting WHERE NOT waiting.granted "
        "AND pg_backend_pid() = ANY (pg_blocking_pids(waiting.pid))"
    ).fetchone()
    return row is not None


def _end_leases(urls: dict[str, str]) -> None:
    with psycopg.connect(parse_database("url", urls["home"]).conninfo) as database:
        database.execute("UPDATE memoranda.owner SET expires_at = 0")


def test_a_store_is_neither_renamed_nor_dropped_while_it_is_copied(
    catalog: DatabaseCatalog, urls: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_most = move_store._Copier.copy_most

    def copy_and_change(self: Any, progress: Any) -> None:
        copy_most(self, progress)
        for change in (partial(catalog.rename, "acme", "globex"), partial(catalog.drop, "acme")):
            with pytest.raises(StoreBusy, match="the move of 'acme' is owned by"):
                change()

    monkeypatch.setattr(move_store._Copier, "copy_most", copy_and_change)
    move(catalog, "acme", "west")
    with memoranda.open(url, embedder=None, create=False) as store:
        assert store.verify(deep=True).commits == 5


def test_what_was_copied_of_a_dropped_store_is_removed(
    catalog: DatabaseCatalog, urls: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_id = id_of(urls)
    monkeypatch.setattr(StoreMover, "_frozen", _dies)
    with pytest.raises(Killed):
        _mover(urls).move("acme", "west")
    assert "event" in tables_with(urls["west"], store_id)
    catalog.drop("acme")
    for place in urls.values():
        assert tables_with(place, store_id) == []
    catalog.create("acme", "west")


def test_one_process_at_a_time_moves_a_store(
    catalog: DatabaseCatalog, urls: dict[str, str], url: str
) -> None:
    conninfo = parse_database("url", urls["home"]).conninfo
    with closing(open_session(conninfo)) as session, closing(LeaseKeeper(conninfo)) as keeper:
        keeper.acquire_move(session, id_of(urls), "'acme'", "another mover")
        with pytest.raises(StoreBusy, match=r"the move of 'acme' is owned by .*another mover"):
            move(catalog, "acme", "west")


def test_no_store_is_placed_on_a_server_that_was_removed(
    catalog: DatabaseCatalog, urls: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is removed once it was chosen: for a new store, and for one that is moved."""
    url_on, place = Directory.url_on, StoreMover._place

    def choose_and_remove(self: Directory, location: str | None, name: str) -> DatabaseUrl:
        chosen = url_on(self, location, name)
        catalog.remove_server("west")
        return chosen

    def remove_and_place(self: StoreMover, *arguments: Any) -> None:
        catalog.remove_server("west")
        place(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Directory, "url_on", choose_and_remove)
        with pytest.raises(NotFound, match="no server 'west'"):
            catalog.create("globex", "west")
    assert catalog.names() == ["acme"]
    catalog.put_server("west", urls["west"])
    with monkeypatch.context() as patch:
        patch.setattr(StoreMover, "_place", remove_and_place)
        with pytest.raises(StoreBusy, match="or its new server was removed"):
            move(catalog, "acme", "west")
    with memoranda.open(url, embedder=None) as store:
        assert store.write(agent_id="a", key="k", value={}).commit_ts == 6


def test_a_server_is_not_removed_while_a_store_is_placed_there(
    catalog: DatabaseCatalog, urls: dict[str, str]
) -> None:
    conninfo = parse_database("url", urls["home"]).conninfo
    with (
        ThreadPoolExecutor(1) as threads,
        closing(open_session(conninfo)) as session,
    ):
        with Directory(session, parse_database("url", urls["home"])).placing("west"):
            StoreCatalog(session).create("name", "acme", "west")
            removal = threads.submit(catalog.remove_server, "west")
            wait_until(lambda: removal.done() or _is_waited_for(session))
        with pytest.raises(InvalidInput, match="'west' has 1 stores"):
            removal.result()


def test_a_store_whose_creation_lost_its_answer_leaves_no_name(
    catalog: DatabaseCatalog, urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    adopt = StoreCatalog.adopt

    def adopt_unheard(self: StoreCatalog, *arguments: Any) -> None:
        adopt(self, *arguments)
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(StoreCatalog, "adopt", adopt_unheard)
        with pytest.raises(Unavailable):
            catalog.create("acme", "east")
    catalog.create("acme", "east")
    with memoranda.open(store_of(urls["home"]), embedder=None) as store:
        assert store.write(agent_id="a", key="k", value={}).commit_ts == 1


def test_a_name_that_is_taken_during_a_rename_is_refused(
    catalog: DatabaseCatalog, urls: dict[str, str]
) -> None:
    catalog.create("acme", "home")
    conninfo = parse_database("url", urls["home"]).conninfo
    with (
        ThreadPoolExecutor(1) as threads,
        closing(open_session(conninfo)) as session,
    ):
        with session.transaction():
            StoreCatalog(session).create("name", "globex")
            rename = threads.submit(catalog.rename, "acme", "globex")
            wait_until(lambda: rename.done() or _is_waited_for(session))
        with pytest.raises(InvalidInput, match="'globex' already exists"):
            rename.result()


# Servers of stores.


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_a_server_follows_a_store_that_is_moved(
    catalog: DatabaseCatalog, urls: dict[str, str], scheme: str
) -> None:
    with ServerThread(database=urls["home"], create=["acme"]) as server:
        with memoranda.open(server.url(scheme)) as store:
            for number in range(3):
                store.write(agent_id="a", key="k", value={"n": number})
            events = store.subscribe(agent_id="a", after_commit=0)
            assert [next(events).commit_ts for _ in range(3)] == [1, 2, 3]
            report = catalog.move("acme", "west", wait=0.0)
            assert (report.source, report.target) == ("east", "west")
            for number in range(3, 6):
                store.write(agent_id="a", key="k", value={"n": number})
            assert [next(events).commit_ts for _ in range(3)] == [4, 5, 6]
            record = store.get_state(agent_id="a", key="k")
            assert record is not None
            assert record.value == {"n": 5}
            events.close()
        wait_until(lambda: move(catalog, "acme", "west").removed)
    with memoranda.open(store_of(urls["west"]), embedder=None, create=False) as store:
        assert store.verify(deep=True).commits == 6
    assert tables_with(urls["east"], id_of(urls)) == []


def test_a_store_that_is_moved_while_it_is_opened_is_found(
    catalog: DatabaseCatalog, urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has asked where it is, and does not own it yet."""
    own = DatabaseCatalog.own

    def own_late(self: DatabaseCatalog, name: str, address: str) -> object:
        monkeypatch.undo()
        assert catalog.move("acme", "west", wait=0.0).removed
        return own(self, name, address)

    catalog.create("acme", "east")
    monkeypatch.setattr(DatabaseCatalog, "own", own_late)
    with (
        ServerThread(database=urls["home"]) as server,
        memoranda.open(server.url("grpc")) as store,
    ):
        assert store.write(agent_id="a", key="k", value={"n": 1}).commit_ts == 1
    with memoranda.open(store_of(urls["west"]), embedder=None, create=False) as store:
        assert store.stats().commits == 1


def test_a_store_that_is_only_read_is_found_again(
    catalog: DatabaseCatalog, urls: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its server learns of the move when it extends its lease."""
    monkeypatch.setattr(LeaseKeeper.__init__, "__kwdefaults__", {"seconds": 1})
    with (
        ServerThread(database=urls["home"], create=["acme"]) as server,
        memoranda.open(server.url("grpc")) as store,
    ):
        store.write(agent_id="a", key="k", value={"n": 1})
        catalog.move("acme", "west", wait=0.0)
        with memoranda.open(store_of(urls["home"]), embedder=None) as direct:
            direct.write(agent_id="a", key="k", value={"n": 2})

        def value() -> object:
            record = store.get_state(agent_id="a", key="k")
            return None if record is None else record.value

        wait_until(lambda: value() == {"n": 2})


# The command line.


def test_commands_of_a_directory(urls: dict[str, str], tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli.env["MEMORANDA_STORES"] = urls["home"]
    for name in ("east", "west"):
        cli("postgres", "add-server", name, urls[name])
    cli("stores", "create", "acme", "--on", "east")
    assert "Moved acme to west: 0 commits" in cli("stores", "move", "acme", "--to", "west")
    assert cli("stores", "move", "acme", "--to", "west") == "acme is on west.\n"
    assert [row["server"] for row in cli.rows("stores", "list")] == ["west"]
    assert "west" in cli("stores", "list")
    servers = cli.rows("postgres", "servers")
    assert [(row["server"], row["stores"]) for row in servers] == [
        ("home", 0),
        ("east", 0),
        ("west", 1),
    ]
    assert "no server 'north'" in cli.fails(4, "stores", "move", "acme", "--to", "north")
    assert "move them to another server first" in cli.fails(2, "postgres", "remove-server", "west")
    assert cli("postgres", "remove-server", "east") == "Removed east.\n"
    assert "is no database" in cli.fails(2, "postgres", "servers", "--stores", str(tmp_path))
    assert "--on" in cli("stores", "create", "--help")
