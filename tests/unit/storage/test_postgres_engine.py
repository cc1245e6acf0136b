"""The PostgreSQL engine: stores that share a database, lost connections, and other formats."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import memoranda
from memoranda import Store
from memoranda.errors import (
    CommitUnknown,
    InvalidInput,
    LogForked,
    MemorandaError,
    NotFound,
    StoreBusy,
    StoreReadOnly,
    Unavailable,
    UnsupportedFormat,
)
from memoranda.storage.port import Reader
from memoranda.storage.postgres.database_url import parse_database_url
from tests.cores import core_of
from tests.postgres_server import database_url, new_database, new_store_url, open_postgres

pytestmark = pytest.mark.slow


@pytest.fixture
def url(tmp_path: Path) -> str:
    return new_store_url(tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_postgres(url) as opened:
        yield opened.bind(agent_id="a1")


def end_connections() -> None:
    """Let the server end every other connection to the database."""
    with psycopg.connect(database_url(), autocommit=True) as database:
        database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def fill(store: Store, word: str) -> None:
    store.write(key="k", value={"word": word})
    memory = store.remember(f"{word} is remembered", title="title")
    store.reflect(f"about {word}", on=[memory.id])
    store.store_transcript(f"{word} was said")
    store.assert_fact(subject="subject", relation="relation", object=word)
    store.configure(max_reflection_depth=5)


class TestStoresOfOneDatabase:
    def test_none_sees_another(self, tmp_path: Path) -> None:
        first_url, second_url = new_store_url(tmp_path), new_store_url(tmp_path)
        with open_postgres(first_url) as first, open_postgres(second_url) as second:
            fill(first.bind(agent_id="a1"), "apple")
            assert second.stats().commits == 0
            assert [*second.bind(agent_id="a1").replay()] == []
            fill(second.bind(agent_id="a1"), "pear")
            for own, other, store in (("apple", "pear", first), ("pear", "apple", second)):
                agent = store.bind(agent_id="a1")
                assert agent.facts()[0].object == own
                assert other not in str([*agent.replay()])
                assert [hit for hit in agent.recall(other) if other in hit.text] == []

    def test_forgetting_touches_none_other(self, tmp_path: Path) -> None:
        first_url, second_url = new_store_url(tmp_path), new_store_url(tmp_path)
        with open_postgres(first_url) as first, open_postgres(second_url) as second:
            for store in (first, second):
                fill(store.bind(agent_id="a1"), "apple")
            events = [*second.bind(agent_id="a1").replay()]
            first.forget(whole_agent="a1", reason="asked to")
            first.compact(before=first.stats().commits, namespace="default")
            first.sweep()
            first.purge()
            assert [*second.bind(agent_id="a1").replay()] == events
            assert second.bind(agent_id="a1").recall("apple")
            second.verify(deep=True)
            first.verify(deep=True)

    @pytest.mark.parametrize(
        "name", ["a' OR 1=1 --", '"; DROP SCHEMA memoranda', "%s $1 :x", "ü/☃"]
    )
    def test_names_are_values(self, tmp_path: Path, name: str) -> None:
        with open_postgres(new_store_url(tmp_path, name)) as store:
            agent = store.bind(agent_id=name)
            agent.write(key=name, value={name: name})
            agent.remember(name, title=name)
            agent.assert_fact(subject=name, relation=name, object=name)
            record = agent.get_state(key=name)
            assert record is not None
            assert record.value == {name: name}
            store.verify(deep=True)


class TestOpening:
    def test_a_store_that_is_not_there(self, url: str) -> None:
        with pytest.raises(NotFound, match="no store"):
            open_postgres(url, create=False)

    def test_a_url_without_a_store(self) -> None:
        with pytest.raises(InvalidInput, match="store=name"):
            parse_database_url("url", "postgresql://user:secret@host/db")

    def test_a_password_is_not_repeated(self) -> None:
        with pytest.raises(InvalidInput) as caught:
            parse_database_url("url", "postgresql://user:secret@host/db")
        assert "secret" not in str(caught.value)

    def test_a_server_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(Unavailable):
            open_postgres(f"postgresql:///db?host={tmp_path}&store=s&index={tmp_path}")

    def test_another_format(self, tmp_path: Path) -> None:
        database = new_database("memoranda_format")
        url = new_store_url(tmp_path, database=database)
        open_postgres(url).close()
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("UPDATE memoranda.format SET number = number + 1")
        with pytest.raises(UnsupportedFormat, match="upgrade"):
            open_postgres(url)

    def test_only_to_read(self, url: str, store: Store) -> None:
        store.write(key="k", value={"n": 1})
        with open_postgres(url, read_only=True) as reader:
            agent = reader.bind(agent_id="a1")
            assert agent.get_state(key="k") is not None
            with pytest.raises(StoreReadOnly):
                agent.write(key="k", value={"n": 2})


class TestSeveralHandles:
    def test_commits_have_no_gap(self, url: str) -> None:
        stores = [open_postgres(url) for _ in range(3)]

        def write(store: Store, number: int) -> None:
            for count in range(10):
                store.bind(agent_id=f"a{number}").write(key="k", value={"count": count})

        threads = [
            threading.Thread(target=write, args=(store, number))
            for number, store in enumerate(stores)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        commits = [
            event.commit_ts
            for number in range(3)
            for event in stores[0].bind(agent_id=f"a{number}").replay()
        ]
        assert sorted(commits) == [*range(1, 31)]
        assert stores[0].verify(deep=True).commits == 30
        for store in stores:
            store.close()

    def test_no_update_is_lost(self, url: str) -> None:
        stores = [open_postgres(url).bind(agent_id="a1") for _ in range(2)]
        stores[0].write(key="k", value={"n": 0})

        def count(store: Store) -> None:
            for _ in range(10):
                store.transact(_increment, retries=100)

        threads = [threading.Thread(target=count, args=(store,)) for store in stores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        record = stores[0].get_state(key="k")
        assert record is not None
        assert record.value == {"n": 20}
        for store in stores:
            store.close()

    def test_a_program_that_was_refused_is_refused_again(self, url: str) -> None:
        """Another version may have written, which derives views otherwise."""

        def refuse(_: Reader) -> None:
            raise UnsupportedFormat("it was derived otherwise")

        with open_postgres(url) as store, open_postgres(url) as other:
            store.write(agent_id="a1", key="k", value={"n": 1})
            core_of(store).engine.guard_writes(refuse)
            other.write(agent_id="a1", key="k", value={"n": 2})
            for _ in range(2):
                with pytest.raises(UnsupportedFormat, match="derived otherwise"):
                    store.write(agent_id="a1", key="k", value={"n": 3})


def _increment(tx: memoranda.Transaction) -> None:
    record = tx.get_state(key="k")
    assert record is not None
    tx.write(key="k", value={"n": record.value["n"] + 1})


class TestLostConnections:
    def test_between_calls(self, store: Store) -> None:
        store.write(key="k", value={"n": 1})
        end_connections()
        assert store.write(key="k", value={"n": 2}).version == 2
        end_connections()
        assert len([*store.history(key="k")]) == 2
        store.verify()

    def test_in_the_middle_of_commits(self, store: Store) -> None:
        """What was acknowledged is there, once; the rest is there or not, and the chain holds."""
        done, acknowledged = threading.Event(), set[int]()

        def write() -> None:
            for number in range(60):
                try:
                    store.write(key=f"k{number}", value={"n": number}, txn_id=f"t{number}")
                except (CommitUnknown, Unavailable, StoreBusy):
                    continue
                acknowledged.add(number)
            done.set()

        thread = threading.Thread(target=write)
        thread.start()
        while not done.wait(0.05):
            end_connections()
        thread.join()
        keys = _listed(store)
        assert {f"k{number}" for number in acknowledged} <= set(keys)
        assert len(keys) == len(set(keys))
        store.write(key="last", value={"n": 0})
        store.verify(deep=True)


def _listed(store: Store) -> list[str]:
    for _ in range(10):
        try:
            return [*store.list_keys()]
        except MemorandaError:
            continue
    return [*store.list_keys()]


def test_a_lost_acknowledged_commit_is_said(url: str, store: Store) -> None:
    """As after a failover to a copy that lacks it."""
    store.write(key="k", value={"n": 1})
    receipt = store.write(key="k", value={"n": 2})
    with psycopg.connect(database_url(), autocommit=True) as database:
        name = parse_database_url("url", url).store
        database.execute(
            "WITH own AS (UPDATE memoranda.head SET stamp = stamp + 1 WHERE store_id = "
            "(SELECT store_id FROM memoranda.store WHERE name = %s) RETURNING store_id) "
            "DELETE FROM memoranda.event WHERE commit_ts = %s "
            "AND store_id = (SELECT store_id FROM own)",
            (name, receipt.commit_ts),
        )
    with pytest.raises(LogForked, match="no longer has it"):
        store.write(key="k", value={"n": 3})


def test_an_acknowledged_commit_that_another_one_replaced_is_said(url: str, store: Store) -> None:
    """As after a failover to a copy without it, on which others have gone on."""
    store.write(key="k", value={"n": 1})
    lost = store.write(key="k", value={"n": 2}).commit_ts
    with psycopg.connect(database_url(), autocommit=True) as database:
        database.execute(
            "WITH own AS (UPDATE memoranda.head SET stamp = stamp # 1 WHERE store_id = "
            "(SELECT store_id FROM memoranda.store WHERE name = %s) RETURNING store_id) "
            "UPDATE memoranda.event SET hash = SHA256(hash) WHERE commit_ts = %s "
            "AND store_id = (SELECT store_id FROM own)",
            (parse_database_url("url", url).store, lost),
        )
    with pytest.raises(LogForked, match=f"commit {lost} was acknowledged"):
        store.write(key="k", value={"n": 3})
    with pytest.raises(LogForked, match="open the store again"):
        store.remember("nothing is written any more")


def test_the_longest_title_is_found(store: Store) -> None:
    """It has more bytes than an index of PostgreSQL takes."""
    title = "".join(chr(0x10000 + number * 37) for number in range(512))
    namespace = "n" * 512
    first = store.remember("one", title=title, namespace=namespace)
    second = store.remember("two", title=title, namespace=namespace)
    assert (second.id, second.outcome) == (first.id, "updated")
    store.verify(deep=True)


def test_a_lost_index_is_filled_again(tmp_path: Path, url: str) -> None:
    with open_postgres(url) as store:
        store.bind(agent_id="a1").remember("the cat sat on the mat")
        store.reindex()
    for file in (tmp_path / "index").iterdir():
        file.unlink()
    with open_postgres(url) as store:
        assert [hit.text for hit in store.bind(agent_id="a1").recall("cat")]
        store.reindex()
        assert [hit.text for hit in store.bind(agent_id="a1").recall("cat")]
        store.verify(deep=True)
