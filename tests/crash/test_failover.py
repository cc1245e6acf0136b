"""PostgreSQL servers that are killed, restarted and replaced under load.

Nothing acknowledged is lost, nothing is there twice, and the clients go on. `MEMORANDA_FAILOVERS`
says how often the primary is killed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import memoranda
from memoranda import LogForked, StoreReadOnly
from tests.crash.postgres_pair import Pair
from tests.patience import wait_until

pytestmark = pytest.mark.slow
_CLIENTS = 3
_FAILOVERS = int(os.environ.get("MEMORANDA_FAILOVERS", "3"))


@pytest.fixture
def pair() -> Iterator[Pair]:
    servers = Pair()
    try:
        yield servers
    finally:
        servers.close()


class Client:
    """A process that writes, and what it was told."""

    def __init__(self, url: str, name: str) -> None:
        self.name = name
        self.commits: list[int] = []
        """The commit of each number that was acknowledged."""
        self.times: list[float] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.failover_client", url, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                number, commit_ts = map(int, line.split())
                assert number == len(self.commits)
                self.commits.append(commit_ts)
                self.times.append(time.monotonic())

    def wait_for_more(self, count: int = 5) -> None:
        """Wait until more writes are acknowledged."""
        goal = len(self.commits) + count
        wait_until(lambda: len(self.commits) >= goal)

    def stop(self) -> None:
        """Let the process end after its last write."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait() == 0
        self._reader.join()


@contextmanager
def clients_of(url: str) -> Iterator[list[Client]]:
    """Run clients, and check what they leave."""
    memoranda.open(url, embedder=None).close()
    clients = [Client(url, f"client-{number}") for number in range(_CLIENTS)]
    try:
        for client in clients:
            client.wait_for_more()
        yield clients
        for client in clients:
            client.wait_for_more()
    finally:
        for client in clients:
            client.stop()
    check(url, clients)


def check(url: str, clients: list[Client]) -> None:
    """Check that every acknowledged write is in the log once, and that the log is whole."""
    with memoranda.open(url, embedder=None) as store:
        verification = store.verify(deep=True)
        for client in clients:
            events = [*store.replay(agent_id=client.name)]
            values = [event.operations[0].value or {} for event in events]
            numbers = [value["n"] for value in values]
            assert numbers == [*range(len(numbers))], "nothing is lost or doubled"
            acknowledged = [event.commit_ts for event in events[: len(client.commits)]]
            assert acknowledged == client.commits
            assert len(events) - len(client.commits) <= 1, "one write was perhaps on its way"
        assert verification.commits >= sum(len(client.commits) for client in clients)


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
