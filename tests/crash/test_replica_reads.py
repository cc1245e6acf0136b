"""Reads from a standby: they see what the process was told of, or say that they cannot."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import memoranda
from memoranda import InvalidInput, ReplicaBehind, Store, Unavailable
from memoranda.storage.postgres.database_url import parse_database_url
from tests.crash.postgres_pair import Pair
from tests.patience import HANG_SECONDS, LONG_SECONDS, wait_until
from tests.postgres_server import new_store_url

pytestmark = pytest.mark.slow
AGENT = "a1"


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    servers = Pair()
    try:
        servers.add_standby(synchronous=False)
        yield servers
    finally:
        servers.close()


@pytest.fixture
def options(pair: Pair) -> dict[str, Any]:
    """How a store is opened that reads from the standby."""
    return {"embedder": None, "read_url": pair.standby.url, "read_wait": LONG_SECONDS}


@pytest.fixture
def url(pair: Pair, request: pytest.FixtureRequest) -> str:
    return pair.store_url(request.node.name, "index")


@pytest.fixture
def store(url: str, options: dict[str, Any]) -> Iterator[Store]:
    with memoranda.open(url, **options) as opened:
        yield opened.bind(agent_id=AGENT)


def value_of(store: Store) -> Any:
    record = store.get_state(key="k")
    return None if record is None else record.value["n"]


def test_every_read_sees_the_last_write(store: Store) -> None:
    for number in range(50):
        store.write(key="k", value={"n": number})
        assert value_of(store) == number
    assert len([*store.replay()]) == 50


def test_memories_and_facts_are_found_there(store: Store) -> None:
    memory = store.remember("the cat sat on the mat", title="cat")
    store.assert_fact(subject="cat", relation="sits_on", object="mat")
    assert store.recall("cat")[0].id == memory.id
    store.reindex()
    assert store.recall("cat")[0].id == memory.id
    assert [fact.object for fact in store.facts(subject="cat")] == ["mat"]
    store.forget(memory_id=memory.id)
    assert [hit.id for hit in store.recall("cat") if hit.id == memory.id] == []


def test_reads_go_to_the_standby(pair: Pair, url: str, store: Store) -> None:
    """It is what only the standby can answer: something that the primary has moved on from."""
    store.write(key="k", value={"n": 1})
    assert value_of(store) == 1
    with pair.replay_paused(), memoranda.open(url, embedder=None) as other:
        other.write(agent_id=AGENT, key="k", value={"n": 2})
        assert value_of(store) == 1
        assert other.bind(agent_id=AGENT).get_state(key="k").version == 2  # type: ignore[union-attr]


def test_a_standby_that_stays_behind_is_said(pair: Pair, url: str, options: dict[str, Any]) -> None:
    with memoranda.open(url, **{**options, "read_wait": 0.2}) as opened:
        store = opened.bind(agent_id=AGENT)
        store.write(key="k", value={"n": 1})
        with pair.replay_paused():
            last = store.write(key="k", value={"n": 2}).commit_ts
            with pytest.raises(ReplicaBehind, match=f"commit {last} must be seen") as caught:
                value_of(store)
            assert (caught.value.min_commit, caught.value.retryable) == (last, True)
            assert caught.value.replica_commit < last
            assert f"at commit {caught.value.replica_commit} " in str(caught.value)
            with store.begin_transaction() as transaction:
                record = transaction.get_state(key="k")
                assert record is not None
                assert record.value == {"n": 2}, "a transaction reads from the primary"


def test_a_read_waits_for_the_standby(pair: Pair, store: Store) -> None:
    store.write(key="k", value={"n": 1})
    values: list[Any] = []
    with pair.replay_paused():
        store.write(key="k", value={"n": 2})
        reader = threading.Thread(target=lambda: values.append(value_of(store)))
        reader.start()
        reader.join(0.3)
        assert values == [], "it waits"
    reader.join()
    assert values == [2]


def test_a_commit_of_another_process_is_waited_for(
    pair: Pair, url: str, options: dict[str, Any]
) -> None:
    with (
        memoranda.open(url, embedder=None) as writer,
        memoranda.open(url, **{**options, "read_wait": 0.2}) as opened,
    ):
        reader = opened.bind(agent_id=AGENT)
        writer.write(agent_id=AGENT, key="k", value={"n": 1})
        with pair.replay_paused():
            receipt = writer.write(agent_id=AGENT, key="k", value={"n": 2})
            with pytest.raises(ReplicaBehind):
                value_of(reader.bind(min_commit=receipt))
        assert value_of(reader.bind(min_commit=receipt.commit_ts)) == 2
        with pytest.raises(ReplicaBehind, match="commit 99 must be seen"):
            value_of(reader.bind(min_commit=99).bind(namespace="default"))


def test_a_subscription_to_a_standby_polls(pair: Pair, url: str) -> None:
    """A standby has no LISTEN."""
    name = parse_database_url("url", url).store
    with memoranda.open(url, embedder=None) as writer:
        receipt = writer.write(agent_id=AGENT, key="k", value={"n": 1})
        store_there = f"SELECT 1 FROM memoranda.store WHERE name = '{name}'"
        wait_until(lambda: pair.standby.execute(store_there) != [])
        standby = f"{pair.standby.url}&store={name}&index={pair.folder}/standby"
        with memoranda.open(standby, embedder=None, read_only=True) as store:
            events = store.subscribe(agent_id=AGENT, after_commit=0, timeout=HANG_SECONDS)
            assert next(events).commit_ts == receipt.commit_ts
            last = writer.write(agent_id=AGENT, key="k", value={"n": 2}).commit_ts
            assert next(events).commit_ts == last


def test_it_holds_for_asyncio(url: str, options: dict[str, Any]) -> None:
    async def run() -> None:
        async with await memoranda.open_async(url, **options) as opened:
            store = opened.bind(agent_id=AGENT)
            for number in range(10):
                receipt = await store.write(key="k", value={"n": number})
                record = await store.bind(min_commit=receipt).get_state(key="k")
                assert record is not None
                assert record.value == {"n": number}

    asyncio.run(run())


def test_a_lost_standby_is_connected_again(pair: Pair, store: Store) -> None:
    store.write(key="k", value={"n": 1})
    assert value_of(store) == 1
    pair.standby.stop("fast")
    pair.standby.start()
    assert value_of(store) == 1
    pair.standby.stop("fast")
    with pytest.raises(Unavailable):
        value_of(store)
    pair.standby.start()
    store.write(key="k", value={"n": 2})
    assert value_of(store) == 2


def test_of_several_hosts_one_is_read_until_it_is_lost(
    pair: Pair, url: str, options: dict[str, Any]
) -> None:
    """Here the second one is the primary, so that reads go on without a standby."""
    hosts = quote(",".join(str(server.folder) for server in (pair.standby, pair.primary)), safe="/")
    replicas = f"postgresql://postgres@/postgres?host={hosts}"
    with (
        memoranda.open(url, **{**options, "read_url": replicas}) as opened,
        memoranda.open(url, embedder=None) as other,
    ):
        store = opened.bind(agent_id=AGENT)
        store.write(key="k", value={"n": 1})
        with pair.replay_paused():
            other.write(agent_id=AGENT, key="k", value={"n": 2})
            assert value_of(store) == 1
        pair.standby.stop("fast")
        assert value_of(store) == 2
        pair.standby.start()
        with pair.replay_paused():
            other.write(agent_id=AGENT, key="k", value={"n": 3})
            assert value_of(store) == 3, "it stays with the server that it has chosen"


class TestRefusals:
    def test_a_database_without_the_store(self, url: str, tmp_path: Path) -> None:
        other = new_store_url(tmp_path).partition("?store=")[0].partition("&store=")[0]
        with pytest.raises((ReplicaBehind, InvalidInput)):
            memoranda.open(url, embedder=None, read_url=other, read_wait=0.0)

    def test_another_store(self, pair: Pair, url: str) -> None:
        with pytest.raises(InvalidInput, match="read_url: names store 'other'"):
            memoranda.open(url, embedder=None, read_url=f"{pair.standby.url}&store=other")

    def test_a_store_in_a_file(self, tmp_path: Path, pair: Pair) -> None:
        with pytest.raises(InvalidInput, match="read_url: is for a store in PostgreSQL"):
            memoranda.open(tmp_path / "s.db", embedder=None, read_url=pair.standby.url)

    def test_no_url(self, url: str) -> None:
        with pytest.raises(InvalidInput, match="read_url: is no URL"):
            memoranda.open(url, embedder=None, read_url="replica")
