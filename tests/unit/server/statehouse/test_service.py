"""Every method of the service, with stubs of our own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest

import memoranda
from memoranda.errors import CommitUnknown
from memoranda.server.dispatcher import Dispatcher
from memoranda.server.statehouse import service
from memoranda.server.statehouse.transactions import ServerTransactions, TransactionBounds
from memoranda.testing import FixedClock
from tests.unit.server.statehouse.serving import Client, Refusal, serve, server_of, struct_of


def test_health_and_version(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        assert (await client.call("Health")).status == "ok"
        answer = await client.call("Version")
        assert answer.version == memoranda.__version__

    serve(work, tmp_path / "s.db")


def test_a_transaction_is_one_event_with_what_was_staged(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        await client.write("gone", {"x": 1})
        txn_id = await client.begin()
        value = {"text": "é", "list": [1, [2.5, None]], "object": {"deep": {"yes": True}}, "n": 3}
        await client.call("Write", txn_id=txn_id, agent_id="a", key="k", value=value)
        await client.call("Write", txn_id=txn_id, agent_id="b", key="k", value={})
        await client.call("Delete", txn_id=txn_id, agent_id="a", key="gone")
        assert not (await client.call("GetState", agent_id="a", key="k")).exists
        assert (await client.call("Commit", txn_id=txn_id)).commit_ts == 2

        _, event = await client.replay()
        assert (event.txn_id, event.commit_ts) == (txn_id, 2)
        written, deletion = event.operations
        assert (written.key, written.value, written.version) == ("k", struct_of(value), 1)
        assert (deletion.key, deletion.version) == ("gone", 2)
        assert not deletion.HasField("value")
        (other,) = await client.replay(agent_id="b")
        assert [operation.key for operation in other.operations] == ["k"]

    path = tmp_path / "s.db"
    serve(work, path)
    with memoranda.open(path) as store:  # integers stay integers for who reads it elsewhere
        state = store.get_state(agent_id="a", key="k")
        assert state is not None
        assert state.value["n"] == 3
        assert type(state.value["n"]) is int


def test_state_is_read_now_and_at_every_version(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        for number in (1, 2):
            await client.write("k", {"n": number})
        txn_id = await client.begin()
        await client.call("Delete", txn_id=txn_id, agent_id="a", key="k")
        await client.call("Commit", txn_id=txn_id)
        await client.write("k", {"n": 4})

        now = await client.call("GetState", agent_id="a", key="k")
        assert (now.value, now.version, now.commit_ts, now.exists) == (
            struct_of({"n": 4}),
            4,
            4,
            True,
        )
        second = await client.call("GetStateAtVersion", agent_id="a", key="k", version=2)
        assert (second.value, second.version, second.commit_ts, second.exists) == (
            struct_of({"n": 2}),
            2,
            2,
            True,
        )
        for version in (3, 5, 2**63 - 1):
            answer = await client.call("GetStateAtVersion", agent_id="a", key="k", version=version)
            assert not answer.exists
            assert not answer.HasField("value")
        assert not (await client.call("GetState", agent_id="a", key="never")).exists
        assert not (await client.call("GetState", agent_id="b", key="k")).exists
        for version in (0, 2**63, 2**64 - 1):
            with pytest.raises(Refusal, match="INVALID_ARGUMENT: version"):
                await client.call("GetStateAtVersion", agent_id="a", key="k", version=version)

    serve(work, tmp_path / "s.db")


def test_keys_are_listed_and_scanned_in_order_over_many_pages(tmp_path: Path) -> None:
    count = 600  # more than a page

    async def work(client: Client) -> None:
        txn_id = await client.begin()
        for number in reversed(range(count)):
            fields = {"agent_id": "a", "key": f"k{number:03}", "value": {"n": number}}
            await client.call("Write", txn_id=txn_id, **fields)
        await client.call("Write", txn_id=txn_id, agent_id="a", key="é", value={})
        await client.call("Write", txn_id=txn_id, agent_id="b", key="theirs", value={})
        await client.call("Commit", txn_id=txn_id)
        txn_id = await client.begin()
        await client.call("Delete", txn_id=txn_id, agent_id="a", key="k001")
        await client.call("Commit", txn_id=txn_id)

        listing = await client.call("ListKeys", agent_id="a")
        expected = [f"k{number:03}" for number in range(count) if number != 1]
        assert list(listing.keys) == [*expected, "é"]
        scan = await client.call("ScanPrefix", agent_id="a", prefix="k")
        assert [entry.key for entry in scan.entries] == expected
        assert [entry.value["n"] for entry in scan.entries] == [int(key[1:]) for key in expected]
        assert {(entry.version, entry.commit_ts) for entry in scan.entries} == {(1, 1)}
        everything = await client.call("ScanPrefix", agent_id="a", prefix="")
        assert len(everything.entries) == count
        assert not (await client.call("ListKeys", agent_id="nobody")).keys

    serve(work, tmp_path / "s.db")


def test_a_listing_too_long_for_one_answer_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_MAX_ANSWER_BYTES", 100)

    async def work(client: Client) -> None:
        for number in range(5):
            await client.write(f"k{number}", {"text": "x" * 30})
        answer = await client.call("ScanPrefix", agent_id="a", prefix="k1")
        assert len(answer.entries) == 1
        with pytest.raises(Refusal, match="INVALID_ARGUMENT: prefix: selects over 100 bytes"):
            await client.call("ScanPrefix", agent_id="a", prefix="k")

    serve(work, tmp_path / "s.db")


def test_a_replay_has_its_first_and_its_last_commit(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        for number in range(1, 6):
            await client.write("k", {"n": number})

        async def commits(**bounds: int) -> list[int]:
            return [event.commit_ts for event in await client.replay(**bounds)]

        assert await commits() == [1, 2, 3, 4, 5]
        assert await commits(start_ts=2, end_ts=4) == [2, 3, 4]
        assert await commits(start_ts=3) == [3, 4, 5]
        assert await commits(end_ts=3) == [1, 2, 3]
        assert await commits(start_ts=0, end_ts=2**64 - 1) == [1, 2, 3, 4, 5]
        assert await commits(start_ts=5, end_ts=5) == [5]
        assert await commits(end_ts=0) == []
        assert await commits(start_ts=4, end_ts=3) == []
        assert await commits(start_ts=6) == await commits(start_ts=2**64 - 1) == []
        assert await client.replay(agent_id="nobody") == []
        assert await client.replay(namespace="elsewhere") == []

    serve(work, tmp_path / "s.db")


def test_other_kinds_of_operation_are_left_out_of_a_replay(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with memoranda.open(path, embedder=None) as opened:
        store = opened.bind(agent_id="a")
        store.remember("what is no state")
        with store.begin_transaction() as tx:
            tx.remember("beside a key")
            tx.write(key="k", value={"n": 1})
        store.assert_fact(subject="x", relation="is", object="y", valid_from="2020-01-01")
        store.write(key="secret", value={"n": 2})
        store.forget(key="secret", reason="asked for")

    async def work(client: Client) -> None:
        (event,) = await client.replay()
        assert event.commit_ts == 2
        assert [operation.key for operation in event.operations] == ["k"]

    serve(work, path)


def test_a_replay_is_as_of_its_beginning(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            server_of(tmp_path / "s.db") as address,
            grpc.aio.insecure_channel(address) as channel,
        ):
            client = Client(channel)
            await client.write("k", {"text": "x" * 60_000})
            replay = client.stream(agent_id="a")
            first = await anext(replay)
            await client.write("k", {"n": 2})
            assert [first, *[event async for event in replay]] == [first]

    asyncio.run(main())


def test_no_namespace_is_the_default_one(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        await client.write("k", {"n": 1})
        await client.write("k", {"n": 2}, namespace="team/eng")
        for namespace in ("", "default"):
            state = await client.call("GetState", namespace=namespace, agent_id="a", key="k")
            assert state.value["n"] == 1
            assert len(await client.replay(namespace=namespace)) == 1
        state = await client.call("GetState", namespace="team/eng", agent_id="a", key="k")
        assert state.value["n"] == 2

    serve(work, tmp_path / "s.db")


# Ends of transactions.


def test_a_committed_transaction_takes_no_further_call(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        txn_id = await client.begin()
        await client.call("Write", txn_id=txn_id, agent_id="a", key="k", value={})
        await client.call("Commit", txn_id=txn_id)
        for name in ("Write", "Delete", "Commit", "Abort"):
            with pytest.raises(Refusal, match=r"FAILED_PRECONDITION: .* as commit 1") as refusal:
                await client.call(name, **fields_of(name, txn_id))
            assert refusal.value.code == "TXN_ALREADY_COMMITTED"
        assert len(await client.replay()) == 1

    serve(work, tmp_path / "s.db")


def test_an_aborted_transaction_writes_nothing(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        txn_id = await client.begin()
        await client.call("Write", txn_id=txn_id, agent_id="a", key="k", value={})
        await client.call("Abort", txn_id=txn_id)
        await client.call("Abort", txn_id=txn_id)
        for name in ("Write", "Delete", "Commit"):
            with pytest.raises(Refusal, match=r"FAILED_PRECONDITION: .* is aborted"):
                await client.call(name, **fields_of(name, txn_id))
        assert await client.replay() == []

    serve(work, tmp_path / "s.db")


@pytest.mark.parametrize("txn_id", ["", "never begun", "x" * 10_000])
def test_a_transaction_that_was_never_begun_is_not_found(tmp_path: Path, txn_id: str) -> None:
    async def work(client: Client) -> None:
        for name in ("Write", "Delete", "Commit", "Abort"):
            with pytest.raises(Refusal, match="NOT_FOUND: txn_id: there is no") as refusal:
                await client.call(name, **fields_of(name, txn_id))
            assert refusal.value.code == "TXN_NOT_FOUND"
            assert len(refusal.value.words) < 300

    serve(work, tmp_path / "s.db")


def test_an_expired_transaction_writes_nothing(tmp_path: Path) -> None:
    clock = FixedClock()

    async def work(client: Client) -> None:
        default, short = await client.begin(), await client.begin(timeout_ms=2_000)
        for txn_id in (default, short):
            await client.call("Write", txn_id=txn_id, agent_id="a", key=txn_id, value={})
        clock.advance(2.5)
        for name in ("Write", "Delete", "Commit", "Abort"):
            with pytest.raises(Refusal, match=r"DEADLINE_EXCEEDED: .* has expired") as refusal:
                await client.call(name, **fields_of(name, short))
            assert refusal.value.code == "TXN_EXPIRED"
        clock.advance(17)
        await client.call("Commit", txn_id=default)
        assert await client.keys() == [default]

    serve(work, tmp_path / "s.db", transactions=ServerTransactions(clock=clock))


def test_abandoned_transactions_are_dropped_without_a_further_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_SWEEP_SECONDS", 0.001)
    clock = FixedClock()
    transactions = ServerTransactions(TransactionBounds(end_seconds=0.001), clock)

    async def work(client: Client) -> None:
        ids = [await client.begin(timeout_ms=200) for _ in range(3)]
        for txn_id in ids:
            await client.call("Write", txn_id=txn_id, agent_id="a", key="k", value={})
        await become_empty(transactions, clock)
        with pytest.raises(Refusal, match="NOT_FOUND"):
            await client.call("Commit", txn_id=ids[0])
        await client.begin(timeout_ms=1)  # sweeps are scheduled again
        await become_empty(transactions, clock)

    serve(work, tmp_path / "s.db", transactions=transactions)


def test_too_many_transactions_are_refused_in_words(tmp_path: Path) -> None:
    transactions = ServerTransactions(TransactionBounds(of_caller=2))

    async def work(client: Client) -> None:
        first = await client.begin()
        await client.begin()
        with pytest.raises(Refusal, match="2 transactions of this caller are open") as refusal:
            await client.begin()
        assert refusal.value.error.details["retryable"] == "true"
        assert int(refusal.value.metadata["grpc-retry-pushback-ms"]) > 0
        await client.call("Abort", txn_id=first)
        await client.begin()

    serve(work, tmp_path / "s.db", transactions=transactions)


def test_a_commit_of_nothing_is_the_head_and_no_event(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        assert (await client.call("Commit", txn_id=await client.begin())).commit_ts == 0
        await client.write("k", {})
        assert (await client.call("Commit", txn_id=await client.begin())).commit_ts == 1
        assert len(await client.replay()) == 1

    serve(work, tmp_path / "s.db")


def test_a_commit_that_failed_can_be_sent_again_and_has_one_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Dispatcher.write

    async def fail_after(self: Dispatcher, *args: Any, **options: Any) -> Any:
        await commit(self, *args, **options)
        monkeypatch.setattr(Dispatcher, "write", commit)
        raise CommitUnknown("t")

    async def work(client: Client) -> None:
        txn_id = await client.begin()
        await client.call("Write", txn_id=txn_id, agent_id="a", key="k", value={"n": 1})
        monkeypatch.setattr(Dispatcher, "write", fail_after)
        with pytest.raises(Refusal, match="UNKNOWN") as refusal:
            await client.call("Commit", txn_id=txn_id)
        assert refusal.value.code == "STORAGE_ERROR"
        assert (await client.call("Commit", txn_id=txn_id)).commit_ts == 1
        assert len(await client.replay()) == 1

    serve(work, tmp_path / "s.db")


def test_two_commits_at_once_are_one(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        txn_id = await client.begin()
        await client.call("Write", txn_id=txn_id, agent_id="a", key="k", value={})
        attempts = [client.call("Commit", txn_id=txn_id) for _ in range(5)]
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        commits = [item.commit_ts for item in outcomes if not isinstance(item, BaseException)]
        assert commits == [1]
        refusals = [item for item in outcomes if isinstance(item, Refusal)]
        assert {item.status for item in refusals} == {"FAILED_PRECONDITION"}
        assert len(await client.replay()) == 1

    serve(work, tmp_path / "s.db")


def test_a_restart_loses_open_transactions_and_nothing_else(tmp_path: Path) -> None:
    path, ids = tmp_path / "s.db", []

    async def before(client: Client) -> None:
        await client.write("k", {"n": 1})
        ids.append(await client.begin())
        await client.call("Write", txn_id=ids[0], agent_id="a", key="k", value={"n": 2})

    async def after(client: Client) -> None:
        with pytest.raises(Refusal, match="NOT_FOUND"):
            await client.call("Commit", txn_id=ids[0])
        assert (await client.call("GetState", agent_id="a", key="k")).value["n"] == 1
        assert await client.write("k", {"n": 3}) == 2

    serve(before, path)
    serve(after, path)


async def become_empty(transactions: ServerTransactions, clock: FixedClock) -> None:
    while not transactions.is_empty:
        clock.advance(0.1)
        await asyncio.sleep(0.01)


def fields_of(name: str, txn_id: str) -> dict[str, Any]:
    """Return the fields of a call on a transaction."""
    fields: dict[str, Any] = {"txn_id": txn_id}
    if name in ("Write", "Delete"):
        fields |= {"agent_id": "a", "key": "k"}
    return fields | ({"value": {}} if name == "Write" else {})
