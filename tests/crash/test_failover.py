"""PostgreSQL servers that are killed, restarted and replaced under load.

Nothing acknowledged is lost, nothing is there twice, and the clients go on. `MEMORANDA_FAILOVERS`
says how often the primary is killed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import pytest

import memoranda
from memoranda import LogForked, StoreReadOnly
from tests.crash.postgres_pair import Pair
from tests.crash.writing_clients import clients_of
from tests.patience import wait_until

pytestmark = pytest.mark.slow
_FAILOVERS = int(os.environ.get("MEMORANDA_FAILOVERS", "3"))


@pytest.fixture
def pair() -> Iterator[Pair]:
    servers = Pair()
    try:
        yield servers
    finally:
        servers.close()


def test_a_synchronous_standby_takes_over(pair: Pair) -> None:
    url = pair.store_url("acme", "index")
    pauses = []
    pair.add_standby(synchronous=True)
    with clients_of(url) as clients:
        for _ in range(_FAILOVERS):
            began_at = time.monotonic()
            pair.fail_over()
            promoted_at = time.monotonic()
            for client in clients:
                client.wait_for_more()
            resumed_at = max(next(t for t in c.times if t > promoted_at) for c in clients)
            pauses.append((promoted_at - began_at, resumed_at - began_at))
            pair.add_standby(synchronous=True)
            for client in clients:
                client.wait_for_more()
    for promoted, resumed in pauses:
        line = f"promoted after {promoted:.2f} s, all clients went on after {resumed:.2f} s\n"
        sys.stdout.write(line)


def test_what_an_asynchronous_standby_lacks_is_found(pair: Pair) -> None:
    pair.add_standby(synchronous=False)
    with memoranda.open(pair.store_url("acme", "index"), embedder=None) as store:
        store.write(agent_id="a", key="k", value={"n": 1})
        pair.wait_for_replay()
        pair.standby.stop("fast")
        lost = store.write(agent_id="a", key="k", value={"n": 2}).commit_ts
        pair.primary.kill()
        pair.standby.start()
        pair.standby.promote()
        with pytest.raises(LogForked, match=f"commit {lost} was acknowledged"):
            write_until_decided(store, 3)


def write_until_decided(store: memoranda.Store, number: int) -> None:
    """Write, and try again while the database is not there."""
    for _ in range(100):
        try:
            store.write(agent_id="a", key="k", value={"n": number})
        except (memoranda.CommitUnknown, memoranda.Unavailable):
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the database does not come back")


def test_a_standby_is_read(pair: Pair) -> None:
    with memoranda.open(pair.store_url("acme", "index"), embedder=None) as store:
        commit_ts = store.write(agent_id="a", key="k", value={"n": 1}).commit_ts
        pair.add_standby(synchronous=False)
        standby = f"{pair.standby.url}&store=acme&index={pair.folder}/standby-index"
        with memoranda.open(standby, embedder=None, read_only=True) as replica:
            record = replica.get_state(agent_id="a", key="k")
            assert record is not None
            assert (record.value, record.commit_ts) == ({"n": 1}, commit_ts)
            assert replica.verify().commits == commit_ts
            store.write(agent_id="a", key="k", value={"n": 2})
            wait_until(lambda: [*replica.replay(agent_id="a", after_commit=commit_ts)] != [])
            with pytest.raises(StoreReadOnly):
                replica.write(agent_id="a", key="k", value={"n": 3})


def test_backends_are_terminated_in_the_middle_of_commits(pair: Pair) -> None:
    with clients_of(pair.store_url("acme", "index")) as clients:
        for _ in range(10 * _FAILOVERS):
            pair.primary.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
            clients[0].wait_for_more(2)


def test_a_server_is_stopped_at_once_and_started_again(pair: Pair) -> None:
    with clients_of(pair.store_url("acme", "index")) as clients:
        for _ in range(_FAILOVERS):
            pair.primary.stop("immediate")
            pair.primary.start()
            for client in clients:
                client.wait_for_more()
