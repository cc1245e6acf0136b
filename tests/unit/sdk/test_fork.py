"""Forks: the same past under another id, and a future of their own."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

import memoranda
from memoranda import ALL_NAMESPACES, ChainBroken, InvalidInput, KeyRef, LogForked, Store
from memoranda.log import chain
from memoranda.log.erasure.redact_operations import Replacement, redact
from memoranda.log.field_commitments import SaltSource
from memoranda.model import codec
from memoranda.model.event import Envelope
from memoranda.model.operations import Write
from memoranda.testing import FixedClock, FixedIds, memory_store

AGENTS = ("planner", "helper", "local")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path, clock: FixedClock) -> Iterator[Store]:
    """A store in which every kind of operation stands, two epochs among them."""
    with memoranda.open(path, clock=clock, ids=FixedIds(), durability="relaxed") as first:
        planner = first.bind(agent_id="planner", namespace="team/eng")
        planner.write(key="goal", value={"city": "Oslo"})
        clock.advance(60)
        with planner.begin_transaction(txn_id="named") as transaction:
            transaction.write(key="step", value={"n": 1}, because=[KeyRef("goal")])
            transaction.write(key="step", value={"n": 2})
            transaction.write(agent_id="helper", key="k:%/'\"\x01\uffff", value={})
        clock.advance(60)
        planner.delete(key="goal")
        first.backup(path.with_name("moved.db"))
    moved = path.with_name("moved.db")
    with memoranda.open(moved, clock=clock, ids=FixedIds("2"), durability="relaxed") as second:
        clock.advance(60)
        second.write(agent_id="local", key="goal", value={"city": "Bergen"})
        second.delete(agent_id="helper", key="never")
        yield second


def past(store: Store, at: int) -> list[Any]:
    """Return everything a store tells about its past up to a commit, but for what names the log."""
    reports: list[Any] = []
    for agent in AGENTS:
        bounds: dict[str, Any] = {"agent_id": agent, "namespace": ALL_NAMESPACES}
        events = store.replay(**bounds, through_commit=at)
        reports.extend(msgspec.structs.replace(event, hash=b"", log_id="") for event in events)
        for namespace in ("default", "team/eng"):
            scope = {"agent_id": agent, "namespace": namespace}
            reports.append([*store.scan_prefix(prefix="", at=at, **scope)])
            for key in ("goal", "step", "never"):
                steps = store.history(key=key, **scope)
                reports.append([step for step in steps if step.commit_ts <= at])
    return reports


def epochs(store: Store) -> list[dict[str, Any]]:
    events = store.replay(agent_id="_engine", namespace="_log")
    return [operation.value or {} for event in events for operation in event.operations]


def token(store: Store, commit: int) -> str:
    for agent in AGENTS:
        bounds: dict[str, Any] = {"after_commit": commit - 1, "through_commit": commit}
        for event in store.replay(agent_id=agent, namespace=ALL_NAMESPACES, **bounds):
            return event.token
    raise AssertionError(commit)


@pytest.mark.parametrize("at", range(1, 6))
def test_a_fork_at_each_commit_is_the_past(store: Store, path: Path, at: int) -> None:
    assert store.stats().commits == 5
    result = store.fork(path.with_name("fork.db"), at=at)
    assert (result.commits, result.origin) == (at, token(store, at))
    with memoranda.open(path.with_name("fork.db"), create=False) as fork:
        verification = fork.verify()
        assert (verification.commits, verification.log_id) == (at, result.log_id)
        assert result.log_id != store.verify().log_id
        assert past(fork, at) == past(store, at)
        assert fork.rebuild().identical
        first, *others = epochs(fork)
        assert (first["cause"], first["origin"]) == ("forked", result.origin)
        assert others == epochs(store)[1 : at // 4 + 1]
        assert fork.stats().epoch == 1 + at // 4


def test_the_stored_bytes_are_the_same_but_for_the_epoch(store: Store, path: Path) -> None:
    store.fork(path.with_name("fork.db"), at=5)

    def rows(name: str) -> list[Any]:
        database = apsw.Connection(str(path.with_name(name)))
        columns = "committed_at, salts, envelope, operations"
        return database.execute(f"SELECT {columns} FROM event ORDER BY commit_ts").fetchall()

    ours, theirs = rows("moved.db"), rows("fork.db")
    assert ours[1:] == theirs[1:]
    assert ours[0][:3] == theirs[0][:3]
    assert codec.split(ours[0][3])[1:] == codec.split(theirs[0][3])[1:]


def test_a_fork_needs_no_rebuilding(store: Store, path: Path) -> None:
    store.fork(path.with_name("fork.db"), at=3)

    def versions(name: str) -> list[Any]:
        database = apsw.Connection(str(path.with_name(name)))
        query = "SELECT name, value FROM meta WHERE name LIKE 'view:%' ORDER BY name"
        return database.execute(query).fetchall()

    assert versions("fork.db") == versions("moved.db") != []


def test_a_fork_goes_its_own_way(store: Store, path: Path, clock: FixedClock) -> None:
    store.fork(path.with_name("fork.db"), at=3)
    before = past(store, 5)
    with memoranda.open(path.with_name("fork.db"), clock=clock) as fork:
        assert (
            fork.write(agent_id="planner", namespace="team/eng", key="goal", value={}).commit_ts
            == 4
        )
        record = fork.get_state(agent_id="planner", namespace="team/eng", key="goal")
        assert record is not None
        assert record.version == 3
        assert fork.stats().epoch == 1, "it is at home where it was made"
        assert fork.verify().commits == 4
        assert fork.rebuild().identical
    assert past(store, 5) == before
    assert store.write(agent_id="local", key="k", value={}).commit_ts == 6


def test_tokens_do_not_fit_the_other_log(store: Store, path: Path) -> None:
    store.fork(path.with_name("fork.db"), at=5)
    with memoranda.open(path.with_name("fork.db")) as fork:
        for commit in range(1, 6):
            with pytest.raises(LogForked):
                fork.replay(agent_id="planner", after_commit=token(store, commit))
            with pytest.raises(LogForked):
                store.replay(agent_id="planner", after_commit=token(fork, commit))


def test_a_transaction_of_the_past_still_happens_once(store: Store, path: Path) -> None:
    store.fork(path.with_name("fork.db"), at=2)
    with memoranda.open(path.with_name("fork.db")) as opened:
        fork = opened.bind(agent_id="planner", namespace="team/eng")
        transaction = fork.begin_transaction(txn_id="named")
        transaction.write(key="step", value={"n": 1}, because=[KeyRef("goal")])
        transaction.write(key="step", value={"n": 2})
        transaction.write(agent_id="helper", key="k:%/'\"\x01\uffff", value={})
        assert transaction.commit() == 2


def test_moments(store: Store, path: Path, clock: FixedClock) -> None:
    times = [event.committed_at for event in store.replay(agent_id="planner", namespace="team/eng")]
    assert store.fork(path.with_name("time.db"), at=times[1]).commits == 2
    assert store.fork(path.with_name("text.db"), at="2026-01-01T00:01:30Z").commits == 2
    assert store.fork(path.with_name("beyond.db"), at=1000).commits == 5
    for early in (0, "1999-01-01T00:00:00Z"):
        with pytest.raises(InvalidInput, match=r"at: .* is before the first commit"):
            store.fork(path.with_name("early.db"), at=early)
    with pytest.raises(InvalidInput, match="at"):
        store.fork(path.with_name("early.db"), at=-1)
    assert not path.with_name("early.db").exists()


def test_an_empty_log_cannot_be_forked(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="at"):
        memory_store().fork(tmp_path / "fork.db", at=1)
    assert list(tmp_path.iterdir()) == []


def test_a_store_in_memory_can_be_forked(tmp_path: Path) -> None:
    memory = memory_store()
    memory.write(agent_id="a", key="k", value={"n": 1})
    memory.write(agent_id="a", key="k", value={"n": 2})
    memory.fork(tmp_path / "fork.db", at=1)
    with memoranda.open(tmp_path / "fork.db") as fork:
        record = fork.get_state(agent_id="a", key="k")
        assert record is not None
        assert record.value == {"n": 1}


def test_a_fork_of_a_fork_names_the_fork(store: Store, path: Path) -> None:
    store.fork(path.with_name("fork.db"), at=4)
    with memoranda.open(path.with_name("fork.db")) as fork:
        result = fork.fork(path.with_name("again.db"), at=2)
        assert result.origin == token(fork, 2)
    with memoranda.open(path.with_name("again.db")) as again:
        again.verify()
        assert epochs(again)[0]["origin"] == result.origin


def test_a_changed_log_is_not_lent_a_new_chain(store: Store, path: Path) -> None:
    beside = apsw.Connection(str(path.with_name("moved.db")))
    beside.execute("UPDATE event SET committed_at = committed_at + 1 WHERE commit_ts = 4")
    beside.close()
    assert store.fork(path.with_name("before.db"), at=3).commits == 3
    with pytest.raises(ChainBroken) as caught:
        store.fork(path.with_name("fork.db"), at=5)
    assert caught.value.commit_ts == 4
    assert not path.with_name("fork.db").exists()


def test_an_erased_operation_keeps_its_hash_in_another_chain() -> None:
    ids = FixedIds()
    here, there = chain.genesis("here"), chain.genesis("there")
    write = Write("default", "a", "k", 1, b"{}")
    salts = SaltSource(ids).draw([write])
    event = chain.seal(here, 1, salts, Envelope("t", "a", b""), [write])
    remainder = redact(write, (salts[17:49], salts[49:]), Replacement("default", "a"), 2, bytes(16))
    erased = msgspec.structs.replace(
        event,
        operations=codec.join([codec.encode(remainder)]),
        salts=salts[:17] + bytes(16),
    )
    chain.check(here, erased)
    again = chain.seal_again(there, erased)
    assert chain.check(there, again).hash != event.hash
    assert again.hash == chain.seal(there, 1, salts, Envelope("t", "a", b""), [write]).hash


def test_a_taken_name_is_refused_and_an_interrupt_leaves_nothing(store: Store, path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"path: .* already exists"):
        store.fork(path, at=1)

    def interrupt(done: int, total: int) -> None:
        assert (done, total) == (5, 5)
        raise KeyboardInterrupt

    before = sorted(path.parent.iterdir())
    with pytest.raises(KeyboardInterrupt):
        store.fork(path.with_name("fork.db"), at=5, progress=interrupt)
    assert sorted(path.parent.iterdir()) == before


@pytest.mark.slow
def test_large_events_are_held_a_few_at_a_time(tmp_path: Path) -> None:
    store = memoranda.open(":memory:").bind(agent_id="a")
    for _ in range(60):
        store.write(key="k", value={"text": "x" * 500_000})
    tracemalloc.start()
    try:
        assert store.fork(tmp_path / "fork.db", at=60).commits == 60
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * 500_000
