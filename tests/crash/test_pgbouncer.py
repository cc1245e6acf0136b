"""Stores behind PgBouncer in transaction mode: clients share a few connections to the server.

Whatever a client leaves in a session, another one would find: so nothing may depend on one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

import memoranda
from memoranda import InvalidInput, Store, Transaction
from tests.patience import HANG_SECONDS
from tests.pgbouncer import PROGRAM, SERVER_CONNECTIONS, pgbouncer
from tests.postgres_server import database_url, new_store_url, open_postgres

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="THERE IS NO pgbouncer: poolers are NOT TESTED"),
]
CLIENTS = 5


@pytest.fixture(scope="module")
def pooled() -> Iterator[str]:
    with pgbouncer() as url:
        yield f"{url}&pooler=transaction"


@pytest.fixture
def url(pooled: str, tmp_path: Path) -> str:
    return new_store_url(tmp_path, database=pooled)


def increment(transaction: Transaction) -> None:
    record = transaction.get_state(agent_id="a", key="count")
    number = 0 if record is None else record.value["n"]
    transaction.write(agent_id="a", key="count", value={"n": number + 1})


def work(store: Store, name: str) -> None:
    """Use every part of a store; what is said often is prepared where that is allowed."""
    agent = store.bind(agent_id=name)
    memory = agent.remember("a first cat")
    for number in range(8):
        agent.write(key="k", value={"n": number})
        store.transact(increment, retries=1000)
        memory = agent.remember(f"{name} has seen {number} cats", title=f"cats of {name}")
        agent.assert_fact(subject=name, relation="has_seen", object=str(number))
        assert [event.commit_ts for event in agent.replay()]
    reflection = agent.reflect("so many cats", on=[memory.id])
    assert memory.id in {hit.id for hit in agent.recall("cats")}
    assert [fact.object for fact in agent.facts(subject=name)]
    assert agent.why(reflection) is not None
    agent.forget(memory_id=memory.id, reason="asked to")
    assert agent.get_memory(memory.id) is None


def test_clients_share_connections(url: str) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(CLIENTS) as threads:
        stores = [stack.enter_context(open_postgres(url)) for _ in range(CLIENTS)]
        for task in [
            threads.submit(work, store, f"agent-{number}") for number, store in enumerate(stores)
        ]:
            task.result()
        record = stores[0].get_state(agent_id="a", key="count")
        assert record is not None
        assert record.value == {"n": 8 * CLIENTS}
        assert server_connections() <= SERVER_CONNECTIONS
        stores[1].verify(deep=True)


def server_connections() -> int:
    """Return how many connections the pooler has to the server."""
    with psycopg.connect(database_url()) as database:
        row = database.execute(
            "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        ).fetchone()
        assert row is not None
        return int(row[0])


def test_relaxed_commits_leave_no_setting_behind(url: str, pooled: str) -> None:
    with open_postgres(url, durability="relaxed") as store:
        for number in range(5):
            store.write(agent_id="a", key="k", value={"n": number})
            store.remember("a", agent_id="a")
        for _ in range(5):
            with psycopg.connect(pooled.partition("&pooler")[0], prepare_threshold=None) as other:
                rows = other.execute(
                    "SELECT name, source FROM pg_settings "
                    "WHERE name IN ('lock_timeout', 'synchronous_commit') AND source = 'session'"
                )
                assert rows.fetchall() == []


def test_a_subscription_polls(url: str) -> None:
    """What is announced goes to whoever has the connection: LISTEN is of no use."""
    with open_postgres(url) as reader, open_postgres(url) as writer:
        events = reader.subscribe(agent_id="a", timeout=HANG_SECONDS)
        for number in range(3):
            writer.write(agent_id="a", key="k", value={"n": number})
            assert next(events).operations[0].value == {"n": number}


def test_asyncio(url: str) -> None:
    async def run() -> None:
        async with await memoranda.open_async(url, embedder=None) as store:
            await asyncio.gather(
                *(store.write(agent_id=f"a{n}", key="k", value={"n": n}) for n in range(20))
            )
            records = await asyncio.gather(
                *(store.get_state(agent_id=f"a{n}", key="k") for n in range(20))
            )
            assert [record.value["n"] for record in records if record] == [*range(20)]

    asyncio.run(run())


def test_without_the_parameter_prepared_statements_are_missed(pooled: str, tmp_path: Path) -> None:
    """So the tests above would find out if anything were prepared there."""
    direct = new_store_url(tmp_path, database=pooled.replace("&pooler=transaction", ""))
    with pytest.raises(psycopg.Error, match="prepared statement"):
        read_often(direct)


def read_often(url: str) -> None:
    with ExitStack() as stack:
        for _ in range(CLIENTS):
            store = stack.enter_context(open_postgres(url))
            for number in range(10):
                store.get_state(agent_id="a", key=f"k{number}")


def test_an_unknown_pooler(url: str) -> None:
    with pytest.raises(InvalidInput, match="pooler=transaction"):
        memoranda.open(url.replace("pooler=transaction", "pooler=session"), embedder=None)
