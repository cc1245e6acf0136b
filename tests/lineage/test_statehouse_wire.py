"""The calls of Statehouse's service, by the names they have here, and their defaults.

The service itself is in `test_statehouse_service.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import InvalidInput, Store, TransactionClosed, TransactionExpired
from memoranda.testing import FixedClock
from tests.lineage.corrections import corrected


@corrected("timeout-in-seconds")
def test_begin_transaction_gives_thirty_seconds(client: Store, clock: FixedClock) -> None:
    """BeginTransaction: unless told otherwise, a transaction has thirty seconds."""
    in_time, too_late = client.begin_transaction(), client.begin_transaction()
    for transaction in (in_time, too_late):
        transaction.write(agent_id="a1", key="k", value={})
    clock.advance(30)
    assert in_time.commit() == 1

    clock.advance(0.001)
    with pytest.raises(TransactionExpired):
        too_late.commit()

    assert len(list(client.replay(agent_id="a1"))) == 1


@corrected("timeout-in-seconds")
def test_begin_transaction_takes_another_timeout(client: Store, clock: FixedClock) -> None:
    """BeginTransaction: a timeout that is given counts instead, for every call on it."""
    transaction = client.begin_transaction(timeout=2)
    clock.advance(2.5)

    with pytest.raises(TransactionExpired):
        transaction.write(agent_id="a1", key="k", value={})


def test_a_transaction_that_is_over_takes_no_call(client: Store) -> None:
    """Commit and Abort: behind either, every call on the transaction fails."""
    committed, aborted = client.begin_transaction(), client.begin_transaction()
    committed.commit()
    aborted.abort()

    for transaction in (committed, aborted):
        with pytest.raises(TransactionClosed):
            transaction.write(agent_id="a1", key="k", value={})
        with pytest.raises(TransactionClosed):
            transaction.delete(agent_id="a1", key="k")
        with pytest.raises(TransactionClosed):
            transaction.commit()


def test_commit_gives_the_commit_ts(client: Store) -> None:
    """Commit: its answer is the number the event has in replay."""
    transaction = client.begin_transaction()
    transaction.write(agent_id="a1", key="k", value={})
    commit_ts = transaction.commit()

    (event,) = client.replay(agent_id="a1")

    assert event.commit_ts == commit_ts


def test_get_state_gives_value_version_and_commit(client: Store) -> None:
    """GetState: the value, its version, and the commit that made it."""
    client.write(agent_id="a1", key="other", value={})
    client.write(agent_id="a1", key="k", value={"x": 1})
    client.write(agent_id="a1", key="k", value={"x": 2})

    state = client.get_state(agent_id="a1", key="k")

    assert state is not None
    assert (state.value, state.version, state.commit_ts) == ({"x": 2}, 2, 3)


def test_get_state_at_a_version(client: Store) -> None:
    """GetStateAtVersion: every version can be read, also behind later ones."""
    for number in range(1, 4):
        client.write(agent_id="a1", key="k", value={"n": number})

    state = client.get_state(agent_id="a1", key="k", version=2)

    assert state is not None
    assert (state.value, state.version, state.commit_ts) == ({"n": 2}, 2, 2)


@corrected("missing-is-none")
def test_get_state_of_what_is_not_there_is_none(client: Store) -> None:
    """GetState: a key never written, one deleted, and a version never made have no value."""
    client.write(agent_id="a1", key="k", value={})
    client.delete(agent_id="a1", key="k")

    assert client.get_state(agent_id="a1", key="never") is None
    assert client.get_state(agent_id="a1", key="k") is None
    assert client.get_state(agent_id="a1", key="k", version=2) is None
    assert client.get_state(agent_id="a1", key="k", version=3) is None
    assert client.get_state(agent_id="a1", key="k", version=1) is not None


@corrected("answers-are-paged")
def test_list_keys_gives_the_keys_that_have_a_value(client: Store) -> None:
    """ListKeys: the agent's keys in this namespace, in order, without deleted ones."""
    for key in ("b", "a", "gone", "é", "z"):
        client.write(agent_id="a1", key=key, value={})
    client.delete(agent_id="a1", key="gone")
    client.write(agent_id="a2", key="theirs", value={})
    client.write(agent_id="a1", namespace="elsewhere", key="there", value={})

    keys = client.list_keys(agent_id="a1")

    assert next(keys) == "a"
    assert list(keys) == ["b", "z", "é"]


@corrected("answers-are-paged")
def test_scan_prefix_gives_keys_with_their_values(client: Store) -> None:
    """ScanPrefix: what begins with the prefix, with value, version and commit."""
    for key in ("step:2", "step:1", "stop", "step:gone"):
        client.write(agent_id="a1", key=key, value={"of": key})
    client.delete(agent_id="a1", key="step:gone")

    entries = client.scan_prefix(agent_id="a1", prefix="step:")

    assert [(entry.key, entry.value, entry.version, entry.commit_ts) for entry in entries] == [
        ("step:1", {"of": "step:1"}, 1, 2),
        ("step:2", {"of": "step:2"}, 1, 1),
    ]


@corrected("integers-stay-integers")
def test_values_survive_a_round_trip(client: Store) -> None:
    """Write: nested lists and objects come back, and an integer is still one."""
    value = {"list": [1, [2.5, None]], "object": {"deep": {"yes": True}}, "n": 9007199254740993}
    client.write(agent_id="a1", key="k", value=value)

    state = client.get_state(agent_id="a1", key="k")
    (event,) = client.replay(agent_id="a1")

    assert state is not None
    assert state.value == event.operations[0].value == value
    assert isinstance(state.value["n"], int)


@pytest.mark.parametrize("wrong", [{"key": ""}, {"agent_id": ""}, {"namespace": ""}, {"value": []}])
def test_a_bad_request_is_refused(client: Store, wrong: dict[str, Any]) -> None:
    """INVALID_REQUEST: the error names the field, and nothing is staged."""
    transaction = client.begin_transaction()
    queries: dict[str, Any] = {"agent_id": "a1", "key": "k", "value": {}, **wrong}

    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        transaction.write(**queries)

    assert transaction.commit() == 0


def test_without_a_namespace_it_is_the_default_one(client: Store) -> None:
    """Every call: no namespace means the one called `default`."""
    client.write(agent_id="a1", key="k", value={})

    (event,) = client.replay(agent_id="a1")

    assert event.operations[0].namespace == "default"
    assert list(client.replay(agent_id="a1", namespace="default")) == [event]
