"""What Statehouse's replay document promises outside its Python blocks.

A test's docstring names the section and the sentence, in our words.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from memoranda import Compacted, InvalidInput, OperationType, ReplayEvent, Store, VersionMismatch
from memoranda.testing import FixedClock
from tests.cores import core_of
from tests.lineage.corrections import corrected


def replayed(client: Store, **bounds: Any) -> list[str]:
    """Return the keys of everything the agent did, in order."""
    events = client.replay(agent_id="a1", **bounds)
    return [operation.key for event in events for operation in event.operations]


def write_at(client: Store, clock: FixedClock, seconds: float, key: str) -> ReplayEvent:
    """Let time pass, write, and return the event."""
    clock.advance(seconds)
    commit = client.write(agent_id="a1", key=key, value={}).commit_ts
    (event,) = client.replay(agent_id="a1", after_commit=commit - 1)
    return event


def test_completeness_every_commit_is_recorded(connect: Callable[[], Store]) -> None:
    """Completeness: whatever was committed is there, also for who opens the store later."""
    first = connect()
    commits = [first.write(agent_id="a1", key=f"{n}", value={"n": n}).commit_ts for n in range(300)]
    first.close()

    events = list(connect().replay(agent_id="a1"))

    assert [event.commit_ts for event in events] == commits
    assert [event.operations[0].value for event in events] == [{"n": n} for n in range(300)]


def test_completeness_aborted_transactions_are_not_included(client: Store) -> None:
    """Completeness: neither what was aborted nor what an exception ended is replayed."""
    aborted = client.begin_transaction()
    aborted.write(agent_id="a1", key="aborted", value={})
    aborted.abort()

    def fail() -> None:
        with client.begin_transaction() as tx:
            tx.write(agent_id="a1", key="failed", value={})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    client.write(agent_id="a1", key="kept", value={})

    assert replayed(client) == ["kept"]


def test_ordering_commit_ts_grows_with_every_commit(client: Store) -> None:
    """Ordering: the number of a commit is one more than that of the commit before it."""
    for number in range(5):
        client.write(agent_id="a1", key=f"{number}", value={})

    assert [event.commit_ts for event in client.replay(agent_id="a1")] == [1, 2, 3, 4, 5]


def test_ordering_is_not_that_of_staging(client: Store) -> None:
    """Ordering: what was staged first and committed last comes last."""
    early = client.begin_transaction()
    late = client.begin_transaction()
    late.write(agent_id="a1", key="staged first", value={})
    early.write(agent_id="a1", key="staged second", value={})
    early.commit()
    late.commit()

    assert replayed(client) == ["staged second", "staged first"]


def test_ordering_is_not_that_of_the_clients_clock(client: Store, clock: FixedClock) -> None:
    """Ordering: a clock that is set back changes no order, and no time goes back."""
    client.write(agent_id="a1", key="first", value={})
    clock.step(-3600)
    client.write(agent_id="a1", key="second", value={})

    first, second = client.replay(agent_id="a1")

    assert [first.operations[0].key, second.operations[0].key] == ["first", "second"]
    assert first.committed_at < second.committed_at


def test_atomicity_one_number_and_one_name_for_all_operations(client: Store) -> None:
    """Atomicity: the operations of a transaction share their commit_ts and their txn_id."""
    with client.begin_transaction(txn_id="shared") as tx:
        tx.write(agent_id="a1", key="k", value={})
        tx.write(agent_id="a1", namespace="elsewhere", key="k", value={})
        tx.write(agent_id="a2", key="k", value={})

    parts = [
        *client.replay(agent_id="a1"),
        *client.replay(agent_id="a1", namespace="elsewhere"),
        *client.replay(agent_id="a2"),
    ]

    assert [(part.commit_ts, part.txn_id) for part in parts] == [(1, "shared")] * 3


def test_atomicity_all_or_nothing(client: Store) -> None:
    """Atomicity: if one operation cannot be done, none is."""
    tx = client.begin_transaction()
    tx.write(agent_id="a1", key="fine", value={})
    tx.write(agent_id="a1", key="stale", value={}, expect_version=7)
    with pytest.raises(VersionMismatch):
        tx.commit()

    assert replayed(client) == []
    assert client.get_state(agent_id="a1", key="fine") is None


@corrected("only-the-agents-own-part")
def test_isolation_of_agents_that_share_a_transaction(client: Store) -> None:
    """Isolation: also of a shared transaction, an agent is shown its own part only."""
    with client.begin_transaction() as tx:
        tx.write(agent_id="a2", key="theirs", value={})
        tx.write(agent_id="a1", key="mine", value={})

    (event,) = client.replay(agent_id="a1")

    assert [(operation.agent_id, operation.key) for operation in event.operations] == [
        ("a1", "mine")
    ]


def test_isolation_of_namespaces_works_the_same_way(client: Store) -> None:
    """Isolation: a namespace's replay and state have nothing of another namespace."""
    with client.begin_transaction() as tx:
        tx.write(agent_id="a1", namespace="dev", key="k", value={"x": 1})
        tx.write(agent_id="a1", namespace="prod", key="k", value={"x": 2})

    (event,) = client.replay(agent_id="a1", namespace="dev")
    state = client.get_state(agent_id="a1", namespace="prod", key="k")

    assert [(operation.namespace, operation.value) for operation in event.operations] == [
        ("dev", {"x": 1})
    ]
    assert state is not None
    assert state.value == {"x": 2}
    assert list(client.replay(agent_id="a1", namespace="test")) == []


@pytest.mark.parametrize("luck", range(5))
def test_consistency_applying_all_events_gives_the_state(client: Store, luck: int) -> None:
    """Consistency: replay everything, apply it in order, and it is the current state."""
    random = Random(luck)
    for number in range(60):
        with client.begin_transaction() as tx:
            for _ in range(random.randint(1, 4)):
                key = f"k{random.randint(1, 6)}"
                if random.random() < 0.3:
                    tx.delete(agent_id="a1", key=key)
                else:
                    tx.write(agent_id="a1", key=key, value={"n": number})

    state = {}
    for event in client.replay(agent_id="a1"):
        for operation in event.operations:
            state[operation.key] = (operation.value, operation.version, event.commit_ts)

    assert {
        key: stored_item for key, stored_item in state.items() if stored_item[0] is not None
    } == {
        entry.key: (entry.value, entry.version, entry.commit_ts)
        for entry in client.scan_prefix(agent_id="a1", prefix="")
    }


@corrected("end-bounds")
def test_by_time_range_adjoining_ranges_share_and_miss_nothing(
    client: Store, clock: FixedClock
) -> None:
    """By Time Range: the beginning is in, the end is out, so ranges can be put side by side."""
    writes = [write_at(client, clock, 0.5, f"{n}") for n in range(6)]
    one_before, one_after = (
        writes[at].committed_at + timedelta(microseconds=shift) for at, shift in ((0, 0), (5, 1))
    )
    edges = [one_before, *(event.committed_at for event in writes[2:5]), one_after]

    parts = [
        list(client.replay(agent_id="a1", from_timestamp=start, to_timestamp=end))
        for start, end in pairwise(edges)
    ]

    assert [len(part) for part in parts] == [2, 1, 1, 2]
    assert [event for part in parts for event in part] == writes


@corrected("end-bounds")
def test_by_time_range_commit_numbers_have_names_of_their_own(client: Store) -> None:
    """By Time Range: a commit number resumes behind it, or ends with it."""
    for number in range(1, 6):
        client.write(agent_id="a1", key=f"{number}", value={})

    assert replayed(client, after_commit=2) == ["3", "4", "5"]
    assert replayed(client, through_commit=4) == ["1", "2", "3", "4"]
    assert replayed(client, after_commit=2, through_commit=4) == ["3", "4"]


def test_by_time_range_counts_the_commit_not_the_staging(client: Store, clock: FixedClock) -> None:
    """By Time Range: a transaction is in the range in which it was committed."""
    tx = client.begin_transaction()
    tx.write(agent_id="a1", key="slow", value={})
    noon = write_at(client, clock, 10, "noon").timestamp
    clock.advance(10)
    tx.commit()

    assert replayed(client, to_timestamp=noon) == []
    assert replayed(client, from_timestamp=noon) == ["noon", "slow"]


def test_by_agent_the_agent_is_required(client: Store) -> None:
    """By Agent: a replay without an agent is refused, unless the client is bound to one."""
    client.write(agent_id="a1", key="k", value={})

    with pytest.raises(InvalidInput, match="agent_id"):
        client.replay()

    assert len(list(client.bind(agent_id="a1").replay())) == 1


@pytest.mark.slow
def test_scan_efficiency_a_recent_range_costs_what_it_returns(
    client: Store, clock: FixedClock, effort: Callable[[Callable[[], object]], int]
) -> None:
    """Scan Efficiency: a small range of time is quick, however long the history before it."""

    def last_ten() -> int:
        first, *_ = [write_at(client, clock, 1, "k") for _ in range(10)]
        start = first.timestamp
        return effort(lambda: list(client.replay(agent_id="a1", from_timestamp=start)))

    short = last_ten()
    for number in range(3_000):
        client.write(agent_id="a1", key="k", value={"n": number})
    long = last_ten()

    assert long < 3 * short
    assert effort(lambda: list(client.replay(agent_id="a1"))) > 20 * long


def test_scan_efficiency_resume_from_the_last_known_checkpoint(client: Store) -> None:
    """Scan Efficiency: an event's token is a checkpoint from which a replay goes on."""
    for key in ("known", "also known"):
        client.write(agent_id="a1", key=key, value={})
    *_, checkpoint = client.replay(agent_id="a1")
    client.write(agent_id="a1", key="new", value={})

    assert replayed(client, after_commit=checkpoint.token) == ["new"]
    assert replayed(client, after_commit=checkpoint.commit_ts) == ["new"]


@pytest.mark.slow
def test_backpressure_a_slow_reader_stops_nobody_and_misses_nothing(
    connect: Callable[[], Store],
) -> None:
    """Backpressure: while a reader pauses, others write; it still gets every event it asked for."""
    reader, writer = connect(), connect()
    for number in range(600):
        writer.write(agent_id="a1", key=f"{number}", value={})
    events = reader.replay(agent_id="a1")
    observations = [next(events)]

    for number in range(600):
        writer.write(agent_id="a1", key=f"{number}", value={"changed": True})
    writer.rebuild()
    observations.extend(events)

    assert [event.commit_ts for event in observations] == list(range(1, 601))
    assert all(event.operations[0].value == {} for event in observations)


def write_the_documents_log(client: Store) -> None:
    """Commit the three events of the section on storage."""
    client.write(agent_id="a1", key="k1", value={"v": 1})
    with client.begin_transaction() as tx:
        tx.write(agent_id="a1", key="k2", value={"v": 2})
        tx.delete(agent_id="a1", key="k3")
    client.write(agent_id="a1", key="k1", value={"v": "new"})


def test_storage_the_log_is_append_only(client: Store) -> None:
    """Storage, the log: three commits with their operations; later ones change none of them."""
    write_the_documents_log(client)
    before = list(client.replay(agent_id="a1"))
    client.write(agent_id="a1", key="k1", value={"v": "newer"})
    client.delete(agent_id="a1", key="k2")

    assert [
        (event.commit_ts, [operation.key for operation in event.operations]) for event in before
    ] == [
        (1, ["k1"]),
        (2, ["k2", "k3"]),
        (3, ["k1"]),
    ]
    assert list(client.replay(agent_id="a1", through_commit=3)) == before
    assert client.verify().commits == 5


@corrected("delete-takes-a-version")
def test_storage_the_state_that_follows_from_the_log(client: Store) -> None:
    """Storage, the state: each key's value, its version and the commit that made it."""
    write_the_documents_log(client)

    assert [
        (entry.key, entry.value, entry.version, entry.commit_ts)
        for entry in client.scan_prefix(agent_id="a1", prefix="")
    ] == [("k1", {"v": "new"}, 2, 3), ("k2", {"v": 2}, 1, 2)]
    (deletion,) = client.history(agent_id="a1", key="k3")
    assert (deletion.value, deletion.version, deletion.commit_ts) == (None, 1, 2)


@corrected("delete-takes-a-version")
def test_storage_a_deletion_behind_a_write_has_the_next_version(client: Store) -> None:
    """Storage, the state: a written key that is deleted stands at version 2, not at 1."""
    client.write(agent_id="a1", key="k3", value={})
    client.delete(agent_id="a1", key="k3")

    instance = [event.operations[0] for event in client.replay(agent_id="a1")]

    assert [(operation.type, operation.version) for operation in instance] == [
        (OperationType.WRITE, 1),
        (OperationType.DELETE, 2),
    ]


@corrected("versions-go-on")
def test_storage_versions_never_start_again(connect: Callable[[], Store]) -> None:
    """Event Structure: a key's version is never used twice, also over deletes and restarts."""
    first = connect()
    first.write(agent_id="a1", key="k", value={})
    first.delete(agent_id="a1", key="k")
    first.close()
    second = connect()
    second.write(agent_id="a1", key="k", value={})

    versions = [event.operations[0].version for event in second.replay(agent_id="a1")]

    assert versions == [1, 2, 3]


@corrected("log-first", "nothing-to-snapshot")
def test_snapshots_state_comes_from_the_log_alone(client: Store) -> None:
    """Snapshots: thrown away, the state is rebuilt from the log, the same as before."""
    write_the_documents_log(client)
    before = list(client.scan_prefix(agent_id="a1", prefix=""))
    assert client.rebuild().identical
    _throw_state_away(client)
    assert list(client.scan_prefix(agent_id="a1", prefix="")) == []

    result = client.rebuild()

    assert (result.events, result.differing) == (3, ("state",))
    assert list(client.scan_prefix(agent_id="a1", prefix="")) == before


def test_snapshots_replay_reads_the_log(client: Store) -> None:
    """Snapshots: replay needs no state; without any it gives the same events."""
    write_the_documents_log(client)
    before = list(client.replay(agent_id="a1"))

    _throw_state_away(client)

    assert len(before) == 3
    assert list(client.replay(agent_id="a1")) == before


def _throw_state_away(client: Store) -> None:
    core_of(client).engine.write(lambda writer: writer.run("state_clear"))
    core_of(client).engine.write(lambda writer: writer.run("state_version_clear"))


def test_compaction_keeps_the_state_at_its_horizon(client: Store) -> None:
    """Compaction: old history goes when it is asked for, and the state that it led to stays."""
    for number in range(1, 5):
        client.write(agent_id="a1", key="k", value={"n": number})
    last = client.write(agent_id="a1", key="k", value={"n": 5}).commit_ts

    client.compact(before=last, confirm=True)

    record = client.get_state(agent_id="a1", key="k")
    assert record is not None
    assert (record.value, record.version) == ({"n": 5}, 5)
    with pytest.raises(Compacted):
        client.get_state(agent_id="a1", key="k", at=last - 1)


@corrected("nothing-to-snapshot")
def test_snapshots_every_moment_can_be_read(client: Store) -> None:
    """Snapshots: the state as of any commit is there, though nobody made a snapshot."""
    for number in range(1, 6):
        client.write(agent_id="a1", key="k", value={"n": number})

    records = [client.get_state(agent_id="a1", key="k", at=commit) for commit in range(6)]

    assert records[0] is None
    assert [record.value["n"] for record in records if record] == [1, 2, 3, 4, 5]


@corrected("log-first")
def test_event_sourcing_state_reads_are_fast(
    client: Store, effort: Callable[[Callable[[], object]], int]
) -> None:
    """vs. Event Sourcing: reading a key costs the same behind one event and behind many."""

    def read() -> int:
        return effort(lambda: client.get_state(agent_id="a1", key="k"))

    client.write(agent_id="a1", key="k", value={})
    behind_one = read()
    for number in range(1_000):
        client.write(agent_id="a1", key="k", value={"n": number})

    assert 0 < read() <= behind_one + 10


def test_git_history_is_linear(connect: Callable[[], Store]) -> None:
    """vs. Git: however many write at once, there is one timeline without gap or branch."""
    clients = [connect() for _ in range(3)]

    def write(client: Store) -> list[int]:
        return [client.write(agent_id="a1", key="k", value={}).commit_ts for _ in range(40)]

    with ThreadPoolExecutor(3) as threads:
        commits = [commit for part in threads.map(write, clients) for commit in part]

    events = list(clients[0].replay(agent_id="a1"))
    assert sorted(commits) == [event.commit_ts for event in events] == list(range(1, 121))
    assert [event.operations[0].version for event in events] == list(range(1, 121))
    assert clients[1].verify().commits == 120
