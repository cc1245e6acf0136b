"""Transactions that the server keeps: bounded by age, number and bytes, and dropped in the end."""

from __future__ import annotations

import pytest

from memoranda.errors import (
    InvalidInput,
    NotFound,
    TooManyRequests,
    TransactionClosed,
    TransactionExpired,
)
from memoranda.model.limits import Limits
from memoranda.model.scope import Scope
from memoranda.server.statehouse.transactions import (
    ServerTransactions,
    TransactionBounds,
    check_timeout,
)
from memoranda.state.requests import DeleteKey, WriteKey
from memoranda.testing import FixedClock

LIMITS = Limits()
SCOPE = Scope("default", "a")


def begun(
    bounds: TransactionBounds | None = None, *, owner: str = "me", timeout: float = 30.0
) -> tuple[ServerTransactions, FixedClock]:
    """Return transactions, of which `t` is open."""
    clock = FixedClock()
    transactions = ServerTransactions(bounds, clock)
    transactions.check_room(owner)
    transactions.add("t", owner, LIMITS, timeout)
    return transactions, clock


def write(size: int, key: str = "k") -> WriteKey:
    return WriteKey(SCOPE, key, b"x" * size)


def test_one_that_is_open_is_found_by_its_owner() -> None:
    transactions, _ = begun()
    assert transactions.find("t", "me").txn_id == "t"
    with pytest.raises(NotFound, match="there is no transaction 't'"):
        transactions.find("t", "another")
    with pytest.raises(NotFound, match="there is no transaction 'u'"):
        transactions.find("u", "me")


def test_the_timeout_is_thirty_seconds_unless_one_is_given() -> None:
    assert check_timeout(None) == 30.0
    assert check_timeout(1) == 0.001
    assert check_timeout(3_600_000) == 3600.0


@pytest.mark.parametrize("timeout_ms", [0, 3_600_001, 2**64 - 1])
def test_a_timeout_that_is_none_or_too_long_is_refused(timeout_ms: int) -> None:
    with pytest.raises(InvalidInput, match=f"timeout_ms: {timeout_ms} is not"):
        check_timeout(timeout_ms)


def test_it_expires_when_its_time_is_over() -> None:
    transactions, clock = begun(timeout=2.0)
    clock.advance(2.0)
    assert transactions.seconds_left(transactions.find("t", "me")) == 0.0
    clock.advance(0.001)
    for _ in range(2):
        with pytest.raises(TransactionExpired, match="'t' has expired, and nothing was written"):
            transactions.find("t", "me")
    with pytest.raises(NotFound):
        transactions.find("t", "another")


def test_one_that_is_committed_is_over() -> None:
    transactions, _ = begun()
    transactions.commit(transactions.find("t", "me"), 7)
    for attempt in (transactions.find, transactions.abort):
        with pytest.raises(TransactionClosed, match="'t' is committed already, as commit 7"):
            attempt("t", "me")


def test_one_that_is_aborted_can_be_aborted_again_and_nothing_else() -> None:
    transactions, _ = begun()
    transactions.abort("t", "me")
    transactions.abort("t", "me")
    with pytest.raises(TransactionClosed, match="'t' is aborted"):
        transactions.find("t", "me")
    with pytest.raises(NotFound):
        transactions.abort("t", "another")


def test_one_that_is_being_committed_is_not_dropped_and_takes_nothing() -> None:
    transactions, clock = begun()
    transaction = transactions.find("t", "me")
    transaction.is_committing = True
    clock.advance(60)
    transactions.sweep()
    with pytest.raises(TransactionClosed, match="is being committed"):
        transactions.find("t", "me")
    transactions.commit(transaction, 1)
    assert transactions.count == 0


def test_how_one_ended_is_remembered_for_a_while() -> None:
    bounds = TransactionBounds(ends=2, end_seconds=60.0)
    transactions, clock = begun(bounds)
    transactions.abort("t", "me")
    assert len(transactions._ends) == 1
    clock.advance(60.0)
    transactions.sweep()
    assert transactions.is_empty
    with pytest.raises(NotFound):
        transactions.find("t", "me")

    for name in ("x", "y", "z"):
        transactions.add(name, "me", LIMITS, 30)
        transactions.abort(name, "me")
    with pytest.raises(NotFound):
        transactions.find("x", "me")
    with pytest.raises(TransactionClosed):
        transactions.find("y", "me")


def test_callers_have_so_many_and_all_of_them_so_many() -> None:
    transactions, clock = begun(TransactionBounds(of_caller=2, in_all=3), timeout=5.0)
    transactions.add("u", "me", LIMITS, 10.0)
    with pytest.raises(TooManyRequests, match="2 transactions of this caller are open"):
        transactions.check_room("me")
    transactions.check_room("another")
    transactions.add("v", "another", LIMITS, 10.0)
    with pytest.raises(TooManyRequests, match="3 in all"):
        transactions.check_room("a third")

    clock.advance(6.0)  # the first one has expired
    transactions.check_room("me")
    transactions.check_room("a third")
    assert transactions.count == 2


def test_callers_stage_so_many_bytes_and_all_of_them_so_many() -> None:
    bounds = TransactionBounds(bytes_of_caller=10_000, bytes_in_all=15_000)
    transactions, _ = begun(bounds)
    transactions.add("u", "another", LIMITS, 30)
    mine, theirs = transactions.find("t", "me"), transactions.find("u", "another")
    transactions.stage(mine, write(8_000))
    with pytest.raises(TooManyRequests, match="bytes are staged in open transactions"):
        transactions.stage(mine, write(8_000))
    transactions.stage(theirs, write(4_000))
    with pytest.raises(TooManyRequests):
        transactions.stage(theirs, write(4_000))
    assert len(mine.requests) == len(theirs.requests) == 1

    transactions.abort("t", "me")
    transactions.stage(theirs, write(4_000))
    transactions.abort("u", "another")
    assert (transactions.count, transactions.size) == (0, 0)


def test_a_transaction_has_the_limits_of_its_store() -> None:
    clock = FixedClock()
    transactions = ServerTransactions(None, clock)
    limits = Limits(transaction_operations=2, transaction_bytes=4_000)
    transactions.add("t", "me", limits, 30)
    transaction = transactions.find("t", "me")
    with pytest.raises(InvalidInput, match="and the limit is 4000"):
        transactions.stage(transaction, write(4_000))
    transactions.stage(transaction, write(10))
    transactions.stage(transaction, DeleteKey(SCOPE, "k"))
    with pytest.raises(InvalidInput, match="2 operations already"):
        transactions.stage(transaction, write(1))


@pytest.mark.slow
def test_ten_thousand_that_are_left_are_dropped() -> None:
    clock = FixedClock()
    transactions = ServerTransactions(None, clock)
    for number in range(10_000):
        transactions.check_room("me")
        transactions.add(f"t{number}", "me", LIMITS, 30)
        transactions.stage(transactions.find(f"t{number}", "me"), write(100))
    with pytest.raises(TooManyRequests):
        transactions.check_room("me")
    assert transactions.count == 10_000
    assert transactions.size > 10_000 * 100

    clock.advance(31)
    transactions.sweep()
    assert (transactions.count, transactions.size) == (0, 0)
    with pytest.raises(TransactionExpired):
        transactions.find("t0", "me")
    clock.advance(61)
    transactions.sweep()
    assert transactions.is_empty
