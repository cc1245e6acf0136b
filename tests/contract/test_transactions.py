"""Transactions: all or nothing, serializable, exactly once, in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoranda import (
    IdempotencyMismatch,
    InvalidInput,
    Limits,
    StateRecord,
    Store,
    Transaction,
    TransactionClosed,
    TransactionConflict,
    TransactionExpired,
    VersionMismatch,
)
from memoranda.testing import FixedClock
from tests.contract.opener import Opener


def value_of(store: Store, key: str) -> Any:
    record = store.get_state(key=key)
    return record.value if record else None


def test_commits_are_numbered_from_one_without_a_gap(agent: Store) -> None:
    assert [agent.write(key="k", value={"n": n}).commit_ts for n in range(5)] == [1, 2, 3, 4, 5]


def test_a_failed_transaction_leaves_no_gap(agent: Store) -> None:
    agent.write(key="k", value={})
    with pytest.raises(VersionMismatch):
        agent.write(key="k", value={}, expect_version=7)
    assert agent.write(key="k", value={}).commit_ts == 2


def test_times_grow_when_the_clock_stands_still_or_steps_back(
    agent: Store, clock: FixedClock
) -> None:
    agent.write(key="k", value={})
    agent.write(key="k", value={})
    clock.step(-3600)
    agent.write(key="k", value={})
    clock.step(7200)
    agent.write(key="k", value={})
    times = [event.committed_micros for event in agent.replay()]
    start = times[0]
    assert times == [start, start + 1, start + 2, start + 3_600_000_000]


def test_an_aborted_transaction_leaves_nothing(agent: Store) -> None:
    transaction = agent.begin_transaction()
    transaction.write(key="k", value={"x": 1})
    transaction.abort()
    transaction.abort()
    assert agent.get_state(key="k") is None
    assert list(agent.replay()) == []


def test_the_context_manager_commits(agent: Store) -> None:
    with agent.begin_transaction() as transaction:
        transaction.write(key="k", value={"x": 1})
        before = transaction.commit_ts
    assert (before, transaction.commit_ts) == (None, 1)
    assert value_of(agent, "k") == {"x": 1}


def test_the_context_manager_aborts_on_an_exception(agent: Store) -> None:
    def fail_inside() -> None:
        with agent.begin_transaction() as transaction:
            transaction.write(key="k", value={})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    assert agent.get_state(key="k") is None


def test_the_context_manager_respects_what_was_done_inside(agent: Store) -> None:
    with agent.begin_transaction() as transaction:
        transaction.write(key="k", value={"x": 1})
        transaction.commit()
    with agent.begin_transaction() as transaction:
        transaction.write(key="k", value={"x": 2})
        transaction.abort()
    assert value_of(agent, "k") == {"x": 1}


CALLS: list[Callable[[Transaction], object]] = [
    lambda transaction: transaction.write(key="k", value={}),
    lambda transaction: transaction.delete(key="k"),
    lambda transaction: transaction.get_state(key="k"),
    lambda transaction: list(transaction.list_keys()),
    lambda transaction: list(transaction.scan_prefix(prefix="")),
    lambda transaction: transaction.commit(),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_finished_transaction_is_closed(
    agent: Store, call: Callable[[Transaction], object]
) -> None:
    committed, aborted = agent.begin_transaction(), agent.begin_transaction()
    committed.commit()
    aborted.abort()
    for transaction in (committed, aborted):
        with pytest.raises(TransactionClosed, match="begin a new one"):
            call(transaction)


def test_a_committed_transaction_cannot_be_aborted(agent: Store) -> None:
    transaction = agent.begin_transaction()
    transaction.write(key="k", value={})
    transaction.commit()
    with pytest.raises(TransactionClosed):
        transaction.abort()


@pytest.mark.parametrize("call", CALLS)
def test_an_expired_transaction_writes_nothing(
    agent: Store, clock: FixedClock, call: Callable[[Transaction], object]
) -> None:
    transaction = agent.begin_transaction(timeout=5.0)
    transaction.write(key="k", value={})
    clock.advance(5.1)
    with pytest.raises(TransactionExpired):
        call(transaction)
    assert agent.get_state(key="k") is None


def test_a_timeout_does_not_follow_the_wall_clock(agent: Store, clock: FixedClock) -> None:
    transaction = agent.begin_transaction(timeout=5.0)
    clock.step(3600)
    transaction.write(key="k", value={})
    assert transaction.commit() == 1


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan"), "5", None])
def test_a_timeout_must_be_a_positive_number(agent: Store, timeout: Any) -> None:
    with pytest.raises(InvalidInput, match="timeout"):
        agent.begin_transaction(timeout=timeout)


def test_nothing_staged_is_no_event(agent: Store) -> None:
    assert agent.begin_transaction().commit() == 0
    agent.write(key="k", value={})
    assert agent.begin_transaction().commit() == 1
    assert agent.begin_transaction(txn_id="empty").commit() == 1
    assert agent.write(key="k", value={}).commit_ts == 2


class TestExactlyOnce:
    def test_a_repeated_txn_id_applies_once(self, agent: Store) -> None:
        first = agent.write(key="k", value={"x": 1}, txn_id="t-1").commit_ts
        agent.write(key="k", value={"x": 2})
        assert agent.write(key="k", value={"x": 1}, txn_id="t-1").commit_ts == first
        assert value_of(agent, "k") == {"x": 2}
        assert len(list(agent.replay())) == 2

    def test_the_same_name_for_something_else_is_refused(self, agent: Store) -> None:
        agent.write(key="k", value={"x": 1}, txn_id="t-1")
        with pytest.raises(IdempotencyMismatch, match="t-1"):
            agent.write(key="k", value={"x": 2}, txn_id="t-1")
        with pytest.raises(IdempotencyMismatch):
            agent.begin_transaction(txn_id="t-1").commit()
        assert value_of(agent, "k") == {"x": 1}

    def test_a_name_belongs_to_its_actor(self, store: Store) -> None:
        one, other = store.bind(agent_id="one"), store.bind(agent_id="other")
        assert one.write(key="k", value={}, txn_id="t-1").commit_ts == 1
        assert other.write(key="k", value={}, txn_id="t-1").commit_ts == 2

    def test_it_holds_across_a_restart(self, reopen: Opener) -> None:
        first = reopen()
        commit_ts = first.write(agent_id="a", key="k", value={"x": 1}, txn_id="t-1").commit_ts
        first.close()
        again = reopen()
        assert (
            again.write(agent_id="a", key="k", value={"x": 1}, txn_id="t-1").commit_ts == commit_ts
        )
        assert len(list(again.replay(agent_id="a"))) == 1

    def test_a_retry_is_not_stopped_by_what_it_did_itself(self, agent: Store) -> None:
        first = agent.write(key="k", value={}, expect_version=0, txn_id="t-1").commit_ts
        assert agent.write(key="k", value={}, expect_version=0, txn_id="t-1").commit_ts == first

    def test_a_transaction_says_its_name(self, agent: Store) -> None:
        with agent.begin_transaction(txn_id="named") as transaction:
            transaction.write(key="k", value={})
        with agent.begin_transaction() as other:
            other.write(key="k", value={})
        assert [event.txn_id for event in agent.replay()] == ["named", other.txn_id]


class TestSerializable:
    def test_reads_are_as_of_the_beginning(self, agent: Store) -> None:
        agent.write(key="k", value={"x": 1})
        transaction = agent.begin_transaction()
        agent.write(key="k", value={"x": 2})
        agent.write(key="new", value={})
        record = transaction.get_state(key="k")
        assert record is not None
        assert (record.value, record.version) == ({"x": 1}, 1)
        assert list(transaction.list_keys()) == ["k"]

    def test_reads_see_the_transactions_own_writes(self, agent: Store) -> None:
        agent.write(key="a", value={"old": 1})
        agent.write(key="b", value={"old": 1})
        transaction = agent.begin_transaction()
        transaction.write(key="a", value={"new": 1})
        transaction.write(key="a", value={"new": 2})
        transaction.write(key="c", value={"new": 3})
        transaction.delete(key="b")
        record = transaction.get_state(key="a")
        assert record is not None
        assert (record.value, record.version, record.commit_ts) == ({"new": 2}, 3, None)
        assert transaction.get_state(key="b") is None
        assert [(entry.key, entry.value) for entry in transaction.scan_prefix(prefix="")] == [
            ("a", {"new": 2}),
            ("c", {"new": 3}),
        ]
        transaction.commit()
        assert list(agent.list_keys()) == ["a", "c"]
        committed = agent.get_state(key="a")
        assert committed is not None
        assert committed.version == 3

    @pytest.mark.parametrize("before", [None, {"x": 1}])
    def test_a_key_that_changed_conflicts(self, agent: Store, before: Any) -> None:
        if before:
            agent.write(key="k", value=before)
        transaction = agent.begin_transaction()
        transaction.get_state(key="k")
        agent.write(key="k", value={"x": 2})
        transaction.write(key="other", value={})
        with pytest.raises(TransactionConflict, match="'k'") as caught:
            transaction.commit()
        assert caught.value.retryable
        assert agent.get_state(key="other") is None

    def test_a_key_that_changed_and_changed_back_conflicts(self, agent: Store) -> None:
        agent.write(key="k", value={"x": 1})
        transaction = agent.begin_transaction()
        transaction.get_state(key="k")
        agent.delete(key="k")
        agent.write(key="k", value={"x": 1})
        transaction.write(key="other", value={})
        with pytest.raises(TransactionConflict):
            transaction.commit()

    @pytest.mark.parametrize("read", ["list_keys", "scan_prefix"])
    @pytest.mark.parametrize("change", ["insert", "update", "delete"])
    def test_a_prefix_that_changed_conflicts(self, agent: Store, read: str, change: str) -> None:
        agent.write(key="p/1", value={})
        transaction = agent.begin_transaction()
        list(getattr(transaction, read)(prefix="p/"))
        if change == "delete":
            agent.delete(key="p/1")
        else:
            agent.write(key="p/2" if change == "insert" else "p/1", value={"x": 1})
        transaction.write(key="other", value={})
        with pytest.raises(TransactionConflict, match="p/"):
            transaction.commit()

    def test_other_keys_and_other_agents_do_not_conflict(self, store: Store) -> None:
        agent = store.bind(agent_id="a1")
        transaction = agent.begin_transaction()
        transaction.get_state(key="k")
        list(transaction.list_keys(prefix="p/"))
        agent.write(key="k2", value={})
        agent.write(key="p", value={})
        store.write(agent_id="a2", key="k", value={})
        agent.write(key="k", value={}, namespace="elsewhere")
        transaction.write(key="k", value={})
        assert transaction.commit() == 5

    def test_a_blind_write_never_conflicts(self, agent: Store) -> None:
        transaction = agent.begin_transaction()
        transaction.write(key="k", value={"x": 1})
        agent.write(key="k", value={"x": 2})
        assert transaction.commit() == 2
        assert value_of(agent, "k") == {"x": 1}

    def test_only_reading_never_conflicts(self, agent: Store) -> None:
        transaction = agent.begin_transaction()
        transaction.get_state(key="k")
        agent.write(key="k", value={})
        assert transaction.commit() == 1

    def test_write_skew_is_prevented(self, agent: Store) -> None:
        agent.write(key="on-call/ann", value={})
        agent.write(key="on-call/bob", value={})
        one, other = agent.begin_transaction(), agent.begin_transaction()
        for transaction, name in ((one, "ann"), (other, "bob")):
            assert len(list(transaction.list_keys(prefix="on-call/"))) == 2
            transaction.delete(key=f"on-call/{name}")
        one.commit()
        with pytest.raises(TransactionConflict):
            other.commit()
        assert list(agent.list_keys()) == ["on-call/bob"]


class TestCompareAndSet:
    def test_it_takes_the_version_it_expects(self, agent: Store) -> None:
        agent.write(key="k", value={"x": 1}, expect_version=0)
        agent.write(key="k", value={"x": 2}, expect_version=1)
        agent.delete(key="k", expect_version=2)
        assert agent.get_state(key="k") is None

    @pytest.mark.parametrize("expected", [0, 1, 3])
    def test_it_refuses_any_other(self, agent: Store, expected: int) -> None:
        agent.write(key="k", value={})
        agent.write(key="k", value={})
        with pytest.raises(VersionMismatch) as refused_write:
            agent.write(key="k", value={}, expect_version=expected)
        with pytest.raises(VersionMismatch) as refused_delete:
            agent.delete(key="k", expect_version=expected)
        for caught in (refused_write, refused_delete):
            assert (caught.value.expected, caught.value.actual) == (expected, 2)

    def test_a_deleted_key_has_no_version_to_expect(self, agent: Store) -> None:
        agent.write(key="k", value={})
        agent.delete(key="k")
        with pytest.raises(VersionMismatch) as caught:
            agent.write(key="k", value={}, expect_version=2)
        assert caught.value.actual == 0
        agent.write(key="k", value={}, expect_version=0)
        record = agent.get_state(key="k")
        assert record is not None
        assert record.version == 3

    def test_it_is_against_the_live_value_not_the_transactions_beginning(
        self, agent: Store
    ) -> None:
        transaction = agent.begin_transaction()
        transaction.write(key="k", value={}, expect_version=1)
        agent.write(key="k", value={})
        assert transaction.commit() == 2

    def test_it_sees_earlier_writes_of_its_transaction(self, agent: Store) -> None:
        with agent.begin_transaction() as transaction:
            transaction.write(key="k", value={"x": 1}, expect_version=0)
            transaction.write(key="k", value={"x": 2}, expect_version=1)
        record = agent.get_state(key="k")
        assert record is not None
        assert (record.value, record.version) == ({"x": 2}, 2)

    def test_one_refusal_undoes_the_whole_transaction(self, agent: Store) -> None:
        transaction = agent.begin_transaction()
        transaction.write(key="a", value={})
        transaction.write(key="k", value={}, expect_version=9)
        transaction.write(key="z", value={})
        with pytest.raises(VersionMismatch):
            transaction.commit()
        assert list(agent.list_keys()) == []
        assert list(agent.replay()) == []
        agent.verify()


class TestTransact:
    def test_it_returns_what_the_work_returned(self, agent: Store) -> None:
        def work(transaction: Transaction) -> str:
            transaction.write(key="k", value={"x": 1})
            return "done"

        assert agent.transact(work) == "done"
        assert value_of(agent, "k") == {"x": 1}

    def test_it_runs_again_after_a_conflict(self, agent: Store) -> None:
        attempts: list[StateRecord | None] = []

        def work(transaction: Transaction) -> None:
            record = transaction.get_state(key="n")
            if not attempts:
                agent.write(key="n", value={"n": 10})
            attempts.append(record)
            transaction.write(key="n", value={"n": (record.value["n"] if record else 0) + 1})

        agent.transact(work)
        assert len(attempts) == 2
        assert value_of(agent, "n") == {"n": 11}

    def test_it_gives_up_after_its_retries(self, agent: Store, clock: FixedClock) -> None:
        attempts = []

        def work(transaction: Transaction) -> None:
            attempts.append(transaction.txn_id)
            raise TransactionConflict

        with pytest.raises(TransactionConflict):
            agent.transact(work, retries=3)
        assert len(attempts) == 4

    def test_it_does_not_repeat_what_cannot_succeed(self, agent: Store) -> None:
        attempts = []

        def work(transaction: Transaction) -> None:
            attempts.append(1)
            transaction.write(key="k", value={}, expect_version=5)

        with pytest.raises(VersionMismatch):
            agent.transact(work)
        assert attempts == [1]


def test_one_transaction_may_touch_several_agents_and_namespaces(store: Store) -> None:
    with store.begin_transaction() as transaction:
        transaction.write(agent_id="a", key="k", value={"who": "a"})
        transaction.write(agent_id="b", key="k", value={"who": "b"})
        transaction.write(agent_id="a", namespace="team/eng", key="k", value={"who": "a, eng"})
    observations = {}
    for agent_id, namespace in [("a", "default"), ("b", "default"), ("a", "team/eng")]:
        (event,) = store.replay(agent_id=agent_id, namespace=namespace)
        (operation,) = event.operations
        observations[agent_id, namespace] = operation.value
        assert event.txn_id == transaction.txn_id
        assert (operation.agent_id, operation.namespace) == (agent_id, namespace)
    assert observations == {
        ("a", "default"): {"who": "a"},
        ("b", "default"): {"who": "b"},
        ("a", "team/eng"): {"who": "a, eng"},
    }


class TestLimits:
    def test_operations_in_a_transaction(self, open_store: Opener) -> None:
        agent = open_store(limits=Limits(transaction_operations=2)).bind(agent_id="a")
        transaction = agent.begin_transaction()
        transaction.write(key="1", value={})
        transaction.delete(key="2")
        with pytest.raises(InvalidInput, match="over 2 operations"):
            transaction.write(key="3", value={})
        assert transaction.commit() == 1

    def test_bytes_in_a_transaction(self, open_store: Opener) -> None:
        agent = open_store(limits=Limits(transaction_bytes=300)).bind(agent_id="a")
        transaction = agent.begin_transaction()
        transaction.write(key="1", value={"text": "x" * 100})
        with pytest.raises(InvalidInput, match="limit is 300"):
            transaction.write(key="2", value={"text": "x" * 200})
        assert transaction.commit() == 1
        assert list(agent.list_keys()) == ["1"]


def test_a_repeated_function_that_reads_what_it_changes_is_told_of_its_first_commit(
    agent: Store,
) -> None:
    agent.write(key="budget", value={"left": 90})

    def spend(tx: Any) -> int:
        left = int(tx.get_state(key="budget").value["left"]) - 30
        tx.write(key="budget", value={"left": left})
        return left

    with agent.begin_transaction(txn_id="tickets") as first:
        spend(first)
    again = agent.begin_transaction(txn_id="tickets")
    spend(again)
    with pytest.raises(IdempotencyMismatch, match="if this is a retry, its work is done") as caught:
        again.commit()
    assert caught.value.commit_ts == first.commit_ts
    state = agent.get_state(key="budget")
    assert state is not None
    assert state.value == {"left": 60}
