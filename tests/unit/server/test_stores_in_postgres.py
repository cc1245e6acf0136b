"""A server whose stores are in PostgreSQL: served, owned by one process, renamed and dropped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

import memoranda
from memoranda.errors import InvalidInput, NotFound, StoreBusy, Unauthenticated, Unavailable
from memoranda.server.control_store import ControlStore
from memoranda.server.database_catalog import DatabaseCatalog, control_store_url
from memoranda.server.folders import error_without
from memoranda.storage.postgres import lease as leases
from memoranda.storage.postgres.catalog import StoreCatalog
from memoranda.storage.postgres.database_url import DatabaseUrl, parse_database
from memoranda.storage.postgres.lease import LeaseKeeper, read_owner
from memoranda.storage.postgres.session import Session, open_session
from tests.patience import wait_until
from tests.postgres_server import new_database
from tests.server_process import ServerThread


@pytest.fixture
def database(tmp_path: Path) -> str:
    """An empty database, with the indexes of its stores in a folder."""
    url = new_database("memoranda_served")
    return f"{url}{'&' if '?' in url else '?'}index={quote(str(tmp_path / 'index'))}"


@pytest.fixture
def session(database: str) -> Iterator[Session]:
    with closing(open_session(parse_database("url", database).conninfo)) as session:
        yield session


def catalog_of(database: str) -> DatabaseCatalog:
    return DatabaseCatalog(parse_database("url", database), "a test")


def store_of(database: str, name: str) -> str:
    return f"{database}&store={name}"


@pytest.mark.parametrize("scheme", ["grpc", "http"])
def test_a_server_serves_the_stores_of_a_database(database: str, scheme: str) -> None:
    with ServerThread(database=database, create=["acme", "globex"]) as server:
        with memoranda.open(server.url(scheme)) as acme:
            acme.write(agent_id="a", key="k", value={"n": 1})
            acme.remember("the cat sat on the mat", agent_id="a")
            assert [hit.text for hit in acme.recall("cat", agent_id="a")]
            assert acme.verify().commits == 2
        with memoranda.open(server.url(scheme, "globex")) as globex:
            assert globex.get_state(agent_id="a", key="k") is None
        with pytest.raises(NotFound, match="no store '_control'"):
            memoranda.open(server.url(scheme, "_control"))
    with memoranda.open(store_of(database, "acme"), embedder=None) as direct:
        assert direct.verify(deep=True).commits == 2


def test_a_server_of_one_store_creates_it(database: str) -> None:
    url = store_of(database, "acme")
    with ServerThread(database=url) as server:
        with memoranda.open(f"grpc://{server.address}") as store:
            store.write(agent_id="a", key="k", value={})
        with pytest.raises(StoreBusy, match="'acme' is owned by process"):
            ServerThread(database=url).__enter__()
    with pytest.raises(InvalidInput, match="has a server's tokens"):
        catalog_of(store_of(database, "_control.acme"))


def test_tokens_are_in_the_database(database: str) -> None:
    with ControlStore(control_store_url(parse_database("url", database))) as control:
        secret, _ = control.tokens.create(
            store="acme", agent="a", covers=(), namespaces=["*"], verbs=["read", "write"]
        )
    with ServerThread(database=database, create=["acme", "globex"]) as server:
        with memoranda.open(server.url("grpc"), token=secret) as store:
            store.write(agent_id="a", key="k", value={"n": 1})
        with pytest.raises(Unauthenticated):
            memoranda.open(server.url("grpc"))
        with pytest.raises(NotFound):
            memoranda.open(server.url("grpc", "globex"), token=secret)


def test_one_server_owns_a_store_and_says_so(database: str) -> None:
    with ServerThread(database=database, create=["acme"]) as first:
        with memoranda.open(first.url("grpc")) as store:
            store.write(agent_id="a", key="k", value={})
        with ServerThread(database=database) as second:
            with pytest.raises(StoreBusy, match=rf"owned by process \d+ on .*{first.address}"):
                memoranda.open(second.url("grpc"))
            with closing(catalog_of(database)) as catalog:
                (summary,) = catalog.summaries()
                assert first.address in str(summary.owner)
                assert (summary.commits, summary.bytes) == (1, None)
                with pytest.raises(StoreBusy, match=first.address):
                    catalog.rename("acme", "globex")
                with pytest.raises(StoreBusy, match=first.address):
                    catalog.drop("acme")
            with memoranda.open(store_of(database, "acme"), embedder=None) as direct:
                findings = direct.stats().warnings
                assert findings == (), "it is this process that serves it"
            first.stop()
            with memoranda.open(second.url("grpc")) as store:
                assert store.write(agent_id="a", key="k", value={"n": 2}).commit_ts == 2


def test_stores_are_created_renamed_and_dropped(database: str) -> None:
    with closing(catalog_of(database)) as catalog:
        catalog.create("acme")
        catalog.create("globex")
        with pytest.raises(InvalidInput, match="already exists"):
            catalog.create("acme")
        with pytest.raises(InvalidInput, match="not the name of a store"):
            catalog.create("_control")
        assert catalog.names() == ["acme", "globex"]
        with memoranda.open(store_of(database, "acme"), embedder=None) as store:
            store.write(agent_id="a", key="k", value={"n": 1})
            catalog.rename("acme", "initech")
            store.write(agent_id="a", key="k", value={"n": 2})
        with pytest.raises(InvalidInput, match="already exists"):
            catalog.rename("globex", "initech")
        assert catalog.summarize("initech").commits == 2
        catalog.drop("initech")
        with pytest.raises(NotFound, match="no store 'initech'"):
            catalog.summarize("initech")
        assert catalog.names() == ["globex"]


def test_whoever_has_a_dropped_store_open_never_reaches_another(database: str) -> None:
    with closing(catalog_of(database)) as catalog:
        catalog.create("acme")
        with memoranda.open(store_of(database, "acme"), embedder=None) as store:
            store.write(agent_id="a", key="k", value={"n": 1})
            catalog.drop("acme")
            catalog.create("acme")
            with pytest.raises(NotFound, match="was removed from its database"):
                store.write(agent_id="a", key="k", value={"n": 2})
        assert catalog.summarize("acme").commits == 0


def test_a_dropped_store_leaves_no_row(database: str, session: Session) -> None:
    with closing(catalog_of(database)) as catalog:
        catalog.create("acme")
        with memoranda.open(store_of(database, "acme"), embedder=None) as store:
            store.remember("the cat sat on the mat", agent_id="a")
        catalog.drop("acme")
    for (table,) in session.rows("store_tables"):
        cursor = session.database.execute(f"SELECT COUNT(*) FROM memoranda.{table}".encode())
        assert cursor.fetchone() == (0,), table


# Leases.


@pytest.fixture
def store_id(database: str, session: Session) -> int:
    catalog_of(database).create("acme")
    return StoreCatalog(session).find("acme").store_id


def keeper_of(database: str, seconds: float = leases.LEASE_SECONDS) -> LeaseKeeper:
    return LeaseKeeper(parse_database("url", database).conninfo, seconds=seconds)


def test_a_lease_is_extended_while_it_is_held(
    database: str, session: Session, store_id: int
) -> None:
    with closing(keeper_of(database, seconds=1)) as keeper:
        lease = keeper.acquire(session, store_id, "'acme'", "here")
        (first,) = session.database.execute("SELECT expires_at FROM memoranda.owner").fetchall()
        wait_until(
            lambda: (
                session.database.execute("SELECT expires_at FROM memoranda.owner").fetchall()
                > [first]
            )
        )
        assert not lease.is_lost
        lease.release()
        assert read_owner(session, store_id) is None


def test_a_lease_that_ended_is_taken_and_its_holder_learns_it(
    database: str, session: Session, store_id: int
) -> None:
    with closing(keeper_of(database, seconds=1)) as keeper, closing(keeper_of(database)) as other:
        lease = keeper.acquire(session, store_id, "'acme'", "here")
        with pytest.raises(StoreBusy, match=r"owned by process .*\(here\).*ends in \d+ seconds"):
            other.acquire(session, store_id, "'acme'", "there")
        session.database.execute("UPDATE memoranda.owner SET holder = 'gone', expires_at = 0")
        wait_until(lambda: lease.is_lost)
        other.acquire(session, store_id, "'acme'", "there")
        lease.release()
        entry = read_owner(session, store_id)
        assert entry is not None, "only its own lease is released"
        assert entry[0].address == "there"


def test_an_old_lease_that_is_released_leaves_the_new_one(
    database: str, session: Session, store_id: int
) -> None:
    """A server that has lost a store can own it again before it has closed the old one."""
    with closing(keeper_of(database, seconds=1)) as keeper:
        old = keeper.acquire(session, store_id, "'acme'", "here")
        session.database.execute("UPDATE memoranda.owner SET holder = 'gone', expires_at = 0")
        wait_until(lambda: old.is_lost)
        new = keeper.acquire(session, store_id, "'acme'", "here")
        old.release()
        assert read_owner(session, store_id) is not None
        session.database.execute("UPDATE memoranda.owner SET holder = 'gone'")
        wait_until(lambda: new.is_lost)


def test_a_server_closes_a_store_that_it_no_longer_owns(
    database: str, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LeaseKeeper.__init__, "__kwdefaults__", {"seconds": 1})
    with (
        ServerThread(database=database, create=["acme"]) as server,
        memoranda.open(server.url("grpc")) as store,
    ):
        store.write(agent_id="a", key="k", value={})
        session.database.execute(
            "UPDATE memoranda.owner SET holder = 'another', expires_at = expires_at + 10 ^ 12"
        )

        def is_refused() -> bool:
            try:
                store.stats()
            except StoreBusy:
                return True
            return False

        wait_until(is_refused)


def test_callers_learn_nothing_of_the_database() -> None:
    error = Unavailable("It does not answer. (PostgreSQL: connection to 10.1.2.3 failed\n)")
    assert str(error_without(None, error)) == "It does not answer."
    error = Unavailable("postgresql://secret-host/db?store=acme ends at another commit")
    assert str(error_without(None, error)) == "acme ends at another commit"


def test_a_password_is_shown_nowhere() -> None:
    url = parse_database("url", "postgresql://me:s3cret@host/db?store=acme&index=/tmp/i")
    assert url.name == "postgresql://host/db?store=acme"
    assert parse_database("url", str(url)) == url
    assert isinstance(url, DatabaseUrl)


def test_a_database_that_is_away_is_said_at_the_start(tmp_path: Path) -> None:
    url = f"postgresql://nobody@/none?host={quote(str(tmp_path))}"
    with pytest.raises(Unavailable, match="PostgreSQL"):
        ServerThread(database=url).__enter__()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
