"""PostgreSQL servers that are killed, restarted and replaced under load.

Nothing acknowledged is lost, nothing is there twice, and the clients go on. A primary is killed so
often in a whole run; `MEMORANDA_FAILOVERS` says another number.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import count
from statistics import median

import psycopg
import pytest

import memoranda
from memoranda import Store, StoreReadOnly
from tests.crash.postgres_pair import Pair
from tests.crash.writing_clients import clients_of, running_clients
from tests.patience import LONG_SECONDS, wait_until
from tests.quick import some

pytestmark = pytest.mark.slow
_FAILOVERS = int(os.environ.get("MEMORANDA_FAILOVERS", some(24)))


@pytest.fixture
def pair() -> Iterator[Pair]:
    servers = Pair()
    try:
        yield servers
    finally:
        servers.close()


def test_a_synchronous_standby_takes_over(
    pair: Pair, record_property: Callable[[str, object], None]
) -> None:
    url = pair.store_url("acme", "index")
    pauses: list[tuple[float, float]] = []
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
    with memoranda.open(url, embedder=None) as store:
        epochs = [*store.audit_events(event_type="log.epoch_begun")]
    assert len(epochs) == 1 + _FAILOVERS, "the log says where it went on"
    promoted, resumed = ([pause[part] for pause in pauses] for part in (0, 1))
    acknowledged = sum(len(client.commits) for client in clients)
    record_property(
        "figure",
        f"{len(pauses)} failovers, {acknowledged} commits acknowledged, none lost or doubled; "
        f"promoted after {_spread(promoted)}, all clients went on after {_spread(resumed)}",
    )


def _spread(seconds: list[float]) -> str:
    return f"{min(seconds):.2f} to {max(seconds):.2f} s (median {median(seconds):.2f})"


def test_what_an_asynchronous_standby_lacks_is_found(pair: Pair) -> None:
    """By every client that was told of it; who was told of nothing that is lost goes on."""
    pair.add_standby(synchronous=False)
    url = pair.store_url("acme", "index")
    with memoranda.open(url, embedder=None) as bystander, running_clients(url) as clients:
        told = bystander.write(agent_id="a", key="k", value={"n": 1}).commit_ts
        pair.wait_for_replay()
        pair.standby.stop("fast")
        for client in clients:
            client.wait_for_more()
        pair.primary.kill()
        pair.standby.start()
        pair.standby.promote()
        for client in clients:
            wait_until(lambda client=client: client.loss is not None)  # type: ignore[misc]
        head = bystander.stats().commits
        assert head >= told
        for client in clients:
            lost = client.commits[-1]
            assert lost > head, "nobody has written since"
            assert f"commit {lost} was acknowledged" in str(client.loss)
        assert write_until_decided(bystander, 2) == head + 1
        with memoranda.open(url, embedder=None) as successor:
            for client in clients:
                events = [*successor.replay(agent_id=client.name)]
                kept = [event.commit_ts for event in events]
                assert kept == client.commits[: len(kept)]
                assert len(kept) < len(client.commits)
            assert successor.verify(deep=True).commits == head + 1


# Commits that are hit. Each ends a connection at a moment that is known, whatever the load is.


def one_statement(store: Store) -> int:
    return store.write(agent_id="a", key="k", value={"n": 9}, txn_id="t").commit_ts


def several_statements(store: Store) -> int:
    with store.begin_transaction(txn_id="t") as transaction:
        transaction.write(agent_id="a", key="k", value={"n": 9})
        transaction.remember("a cat", agent_id="a", title="cat")
        return transaction.commit()


def terminate(pair: Pair) -> None:
    pair.primary.execute(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
        "WHERE wait_event = 'SyncRep' "
        "OR (wait_event_type = 'Lock' AND backend_type = 'client backend')"
    )


def restart(pair: Pair) -> None:
    pair.primary.stop("immediate")
    pair.primary.start()


@pytest.fixture(scope="module")
def synchronous_pair() -> Iterator[Pair]:
    """A primary and a synchronous standby, in turn for several tests."""
    servers = Pair()
    try:
        servers.add_standby(synchronous=True)
        yield servers
    finally:
        servers.close()


_numbers = count()


@pytest.fixture(params=[1, 2], ids=["alone", "by the shared sender"])
def store(synchronous_pair: Pair, request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store with three commits, alone in its process or one of two."""
    with ExitStack() as stack:
        stores = []
        for _ in range(request.param):
            url = synchronous_pair.store_url(f"store-{next(_numbers)}", "index")
            stores.append(stack.enter_context(memoranda.open(url, embedder=None)))
        for store in stores:
            for number in range(3):
                store.write(agent_id="a", key="k", value={"n": number})
        yield stores[0]


STANDBY = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
EVENTS = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'memoranda.event'::REGCLASS"


def check_that_it_waits(pair: Pair, waiting: str, commit: Future[int]) -> None:
    """Wait until a commit waits, for its standby or a lock; it must not be acknowledged."""
    wait_until(lambda: commit.done() or bool(pair.primary.execute(waiting)))
    assert not commit.done()


def retried(store: Store, work: Callable[[Store], int]) -> int:
    """Return the commit of work that is tried again until it is known."""
    while True:
        try:
            return work(store)
        except (memoranda.CommitUnknown, memoranda.StoreBusy, memoranda.Unavailable):
            time.sleep(0.05)


@contextmanager
def commit_without_standby(
    pair: Pair, store: Store, work: Callable[[Store], int]
) -> Iterator[Future[int]]:
    """Stop the standby, and let a thread commit; it waits for the standby."""
    pair.standby.stop("fast")
    with ThreadPoolExecutor(1) as thread:
        commit = thread.submit(retried, store, work)
        check_that_it_waits(pair, STANDBY, commit)
        yield commit


@pytest.mark.parametrize("work", [one_statement, several_statements])
@pytest.mark.parametrize("hit", [terminate, restart])
def test_a_commit_without_its_standby_is_not_acknowledged(
    synchronous_pair: Pair, store: Store, work: Callable[[Store], int], hit: Callable[[Pair], None]
) -> None:
    """Its connection ends while it waits for the standby: from then on, everybody sees it."""
    pair = synchronous_pair
    with commit_without_standby(pair, store, work) as commit:
        for _ in range(2):
            hit(pair)
            check_that_it_waits(pair, STANDBY, commit)
        pair.standby.start()
        assert commit.result(LONG_SECONDS) == 4
    assert len([*store.replay(agent_id="a")]) == 4
    store.verify(deep=True)


@pytest.mark.parametrize("work", [one_statement, several_statements])
def test_a_commit_that_its_standby_lacks_is_made_again(
    synchronous_pair: Pair, store: Store, work: Callable[[Store], int]
) -> None:
    pair = synchronous_pair
    with commit_without_standby(pair, store, work) as commit:
        terminate(pair)
        check_that_it_waits(pair, STANDBY, commit)
        pair.primary.kill()
        pair.standby.start()
        pair.standby.promote()
        pair.primary, pair.standby = pair.standby, pair.primary
        assert commit.result(LONG_SECONDS) == 4
        pair.add_standby(synchronous=True)
    (*_, last) = store.replay(agent_id="a")
    assert (last.commit_ts, last.txn_id) == (4, "t")
    store.verify(deep=True)


@pytest.mark.parametrize("work", [one_statement, several_statements])
def test_a_connection_that_ends_before_the_commit_does_no_harm(
    synchronous_pair: Pair, store: Store, work: Callable[[Store], int]
) -> None:
    pair = synchronous_pair
    with ThreadPoolExecutor(1) as thread, psycopg.connect(pair.primary.url) as gate:
        gate.execute("LOCK TABLE memoranda.event IN EXCLUSIVE MODE")
        commit = thread.submit(retried, store, work)
        for _ in range(2):
            check_that_it_waits(pair, EVENTS, commit)
            terminate(pair)
        check_that_it_waits(pair, EVENTS, commit)
        gate.rollback()
        assert commit.result(LONG_SECONDS) == 4
    assert len([*store.replay(agent_id="a")]) == 4
    store.verify(deep=True)


def write_until_decided(store: Store, number: int) -> int:
    """Write, and try again while the database is not there; return the commit."""
    txn_id = f"until-{number}"
    return retried(
        store,
        lambda store: (
            store.write(agent_id="a", key="k", value={"n": number}, txn_id=txn_id).commit_ts
        ),
    )


# Standbys that are read, and connections and servers that end under load.


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
        for _ in range(5 * _FAILOVERS):
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
