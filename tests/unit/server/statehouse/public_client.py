"""What the public client of Statehouse does, run by an interpreter that has it and not Memoranda.

    python public_client.py SCENARIO ADDRESS

A scenario fails by an assertion. One that needs a restart of the server writes a line when it is
ready for it, and reads a line when it is done.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from statehouse import Statehouse, StatehouseError, TransactionError

Client = Any
"""The client is not there when types are checked."""


def refused(
    work: Callable[[], object], status: str, kind: type[Exception] = StatehouseError
) -> str:
    """Return what a client is told whose call fails with a status."""
    words = "nothing was refused"
    try:
        work()
    except kind as error:
        words = str(error)
    assert f"StatusCode.{status}" in words, words
    return words


def transactions(client: Client) -> None:
    """Begin, write, delete, commit, abort."""
    assert client.health() == "ok"
    version, _ = client.version()
    assert version

    with client.begin_transaction() as tx:
        tx.write(agent_id="a", key="k1", value={"x": 1})
        tx.write(agent_id="a", key="k2", value={"y": 2})
        assert not client.get_state(agent_id="a", key="k1").exists
    with client.begin_transaction() as tx:
        tx.write(agent_id="a", key="k1", value={"x": 3})
        tx.delete(agent_id="a", key="k2")
    left = client.begin_transaction()
    left.write(agent_id="a", key="k3", value={})
    left.abort()
    left.abort()
    try:
        with client.begin_transaction() as tx:
            tx.write(agent_id="a", key="k3", value={})
            raise ValueError("the agent failed")
    except ValueError:
        pass

    assert client.list_keys(agent_id="a") == ["k1"]
    first, second = client.replay(agent_id="a")
    assert [operation.key for operation in first.operations] == ["k1", "k2"]
    assert [operation.value for operation in second.operations] == [{"x": 3.0}, None]
    assert [operation.version for operation in second.operations] == [2, 2]
    assert (first.commit_ts, second.commit_ts) == (1, 2)
    assert first.txn_id != second.txn_id


def commits_in_order(client: Client) -> None:
    """The order of commits counts, not that of beginnings."""
    tx_a, tx_b = client.begin_transaction(), client.begin_transaction()
    tx_a.write(agent_id="a", key="ka", value={"x": 1})
    tx_b.write(agent_id="a", key="kb", value={"y": 2})
    assert tx_b.commit() < tx_a.commit()
    assert [event.operations[0].key for event in client.replay(agent_id="a")] == ["kb", "ka"]


def double_commits(client: Client) -> None:
    """A transaction that is over takes nothing more, also if the client does not know that."""
    tx = client.begin_transaction()
    tx.write(agent_id="a", key="k", value={"n": 1})
    commit_ts = tx.commit()
    client_side = False
    try:
        tx.commit()
    except TransactionError:
        client_side = True
    assert client_side
    tx._committed = False  # as a second client that shares the id
    words = refused(tx.commit, "FAILED_PRECONDITION", TransactionError)
    assert f"as commit {commit_ts}" in words
    refused(lambda: tx.write(agent_id="a", key="k", value={}), "FAILED_PRECONDITION")
    refused(tx.abort, "FAILED_PRECONDITION")

    tx._txn_id = "never begun"
    for call in (tx.commit, tx.abort, lambda: tx.delete(agent_id="a", key="k")):
        assert "there is no transaction" in refused(call, "NOT_FOUND", TransactionError)
    assert len(list(client.replay(agent_id="a"))) == 1


def timeouts(client: Client) -> None:
    """A transaction past its timeout writes nothing."""
    tx = client.begin_transaction(timeout_ms=50)
    tx.write(agent_id="a", key="k", value={"n": 1})
    time.sleep(0.1)
    assert "has expired" in refused(tx.commit, "DEADLINE_EXCEEDED", TransactionError)
    refused(lambda: tx.write(agent_id="a", key="k", value={}), "DEADLINE_EXCEEDED")
    refused(tx.abort, "DEADLINE_EXCEEDED")
    refused(lambda: client.begin_transaction(timeout_ms=0), "INVALID_ARGUMENT", TransactionError)
    assert not client.get_state(agent_id="a", key="k").exists
    assert list(client.replay(agent_id="a")) == []


def reads(client: Client) -> None:
    """Get, at a version, list, scan; namespaces and agents apart."""
    for number in (1, 2):
        with client.begin_transaction() as tx:
            tx.write(agent_id="a", key="step:1", value={"n": number})
    with client.begin_transaction() as tx:
        tx.write(agent_id="a", key="step:2", value={"n": 3})
        tx.write(agent_id="a", key="stop", value={"n": 4})
        tx.write(agent_id="b", key="step:9", value={"n": 5})
    with client.begin_transaction(namespace="team/eng") as tx:
        tx.write(agent_id="a", key="step:3", value={"n": 6})
    with client.begin_transaction() as tx:
        tx.delete(agent_id="a", key="stop")

    state = client.get_state(agent_id="a", key="step:1")
    assert (state.value, state.version, state.commit_ts, state.exists) == ({"n": 2.0}, 2, 2, True)
    past = client.get_state_at_version(agent_id="a", key="step:1", version=1)
    assert (past.value, past.version, past.commit_ts, past.exists) == ({"n": 1.0}, 1, 1, True)
    for missing in (
        client.get_state(agent_id="a", key="stop"),
        client.get_state(agent_id="a", key="never"),
        client.get_state_at_version(agent_id="a", key="step:1", version=3),
        client.get_state_at_version(agent_id="a", key="stop", version=2),
    ):
        assert (missing.value, missing.exists) == (None, False)
    assert client.list_keys(agent_id="a") == ["step:1", "step:2"]
    scan = client.scan_prefix(agent_id="a", prefix="step:")
    assert [(entry.value, entry.version, entry.commit_ts) for entry in scan] == [
        ({"n": 2.0}, 2, 2),
        ({"n": 3.0}, 1, 3),
    ]
    assert client.list_keys(agent_id="a", namespace="team/eng") == ["step:3"]
    assert client.list_keys(agent_id="nobody") == []
    refused(lambda: client.get_state(agent_id="a", key=""), "INVALID_ARGUMENT")
    refused(
        lambda: client.get_state_at_version(agent_id="a", key="k", version=0), "INVALID_ARGUMENT"
    )


def replays(client: Client) -> None:
    """Both bounds are included; other agents and namespaces are not."""
    for number in range(1, 301):
        with client.begin_transaction() as tx:
            tx.write(agent_id="a", key="k", value={"n": number})
            tx.write(agent_id="b", key="k", value={"n": -number})

    def commits(**bounds: int) -> list[int]:
        return [event.commit_ts for event in client.replay(agent_id="a", **bounds)]

    assert commits() == list(range(1, 301))
    assert commits(start_ts=7, end_ts=9) == [7, 8, 9]
    assert commits(start_ts=299) == [299, 300]
    assert commits(end_ts=2) == [1, 2]
    assert commits(start_ts=301) == commits(end_ts=0) == []
    assert {len(event.operations) for event in client.replay(agent_id="a")} == {1}
    state: dict[str, Any] = {}
    for event in client.replay(agent_id="b"):
        for operation in event.operations:
            state[operation.key] = operation.value
    assert state == {"k": client.get_state(agent_id="b", key="k").value}

    events = client.replay(agent_id="a")  # a replay has what was there when it began
    next(events)
    with client.begin_transaction() as tx:
        tx.write(agent_id="a", key="k", value={"n": 301})
    assert sum(1 for _ in events) == 299
    abandoned = client.replay(agent_id="a")
    next(abandoned)
    abandoned.close()


def values(client: Client) -> None:
    """Nested values survive; integers come back as whole numbers."""
    value = {
        "text": "é\u2028\U0001f600",
        "list": [1, [2.5, None, []], {"deep": {"yes": True, "no": False}}],
        "large": 2**53,
        "small": -1e-300,
        "": "no name",
        "object": {},
    }
    with client.begin_transaction() as tx:
        tx.write(agent_id="a", key="k", value=value)
        tx.write(agent_id="a", key="empty", value={})
    (event,) = client.replay(agent_id="a")
    for got in (client.get_state(agent_id="a", key="k").value, event.operations[0].value):
        assert plain(got) == value
    assert client.get_state(agent_id="a", key="empty").value == {}

    with client.begin_transaction() as tx:
        for number in (float("nan"), float("inf")):
            write = partial(tx.write, agent_id="a", key="n", value={"n": [number]})
            assert "value.n[0]" in refused(write, "INVALID_ARGUMENT")
        refused(lambda: tx.write(agent_id="", key="n", value={}), "INVALID_ARGUMENT")
    deep: Any = 1
    for _ in range(32):
        deep = {"a": deep}
    with client.begin_transaction() as tx:
        tx.write(agent_id="deep", key="k", value={"a": deep})
    assert len(list(client.replay(agent_id="deep"))) == 1


def plain(value: Any) -> Any:
    """Return what the client gives for a value as plain data: inside it leaves messages."""
    if hasattr(value, "append"):
        return [plain(item) for item in value]
    if hasattr(value, "items"):
        return {name: plain(item) for name, item in value.items()}
    return value


def restarts(client: Client) -> None:
    """Commits outlive the server; open transactions do not."""
    with client.begin_transaction() as tx:
        tx.write(agent_id="a", key="k", value={"n": 1})
    left = client.begin_transaction()
    left.write(agent_id="a", key="k", value={"n": 2})
    sys.stdout.write("restart the server\n")
    sys.stdout.flush()
    sys.stdin.readline()

    state = patiently(lambda: client.get_state(agent_id="a", key="k"))
    assert (state.value, state.version) == ({"n": 1.0}, 1)
    assert "begin a new one" in refused(left.commit, "NOT_FOUND", TransactionError)
    with client.begin_transaction() as tx:
        tx.write(agent_id="a", key="k", value={"n": 3})
    assert [event.commit_ts for event in client.replay(agent_id="a")] == [1, 2]
    assert client.get_state(agent_id="a", key="k").version == 2


def patiently(work: Callable[[], Any]) -> Any:
    """Do something until the server answers again."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return work()
        except StatehouseError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def commands(client: Client) -> None:
    """The client's own command line works."""
    with client.begin_transaction() as tx:
        tx.write(agent_id="a", key="k", value={"n": 1})

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "statehouse.cli", "--address", client._url, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert "healthy" in run("health")
    assert "Version: " in run("version")
    assert json.loads(run("get", "a", "k", "--json-output"))["value"] == {"n": 1.0}
    assert "- k" in run("keys", "a")
    assert "Total events: 1" in run("replay", "a", "--start-ts", "1", "--end-ts", "1")
    assert json.loads(run("dump", "a"))["k"]["version"] == 1


def descriptors(path: str) -> None:
    """Our messages and the client's are the same, so both can be loaded in one process."""
    from statehouse._generated.statehouse.v1 import statehouse_pb2 as theirs

    spec = importlib.util.spec_from_file_location("ours", path)
    assert spec is not None
    assert spec.loader is not None
    ours = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ours)
    assert ours.DESCRIPTOR.serialized_pb == theirs.DESCRIPTOR.serialized_pb


def main() -> None:
    """Run the scenario that the arguments name."""
    name, address = sys.argv[1:]
    if name == "descriptors":
        descriptors(address)
        return
    with Statehouse(url=address) as client:
        globals()[name](client)


if __name__ == "__main__":
    main()
