"""Calls over gRPC: answers, pages, progress, events, and errors with their status."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from memoranda.calls.key_writes import Write
from memoranda.calls.keys import GetState, ListKeys
from memoranda.calls.log import Replay
from memoranda.calls.maintenance import RebuildViews, Verify
from memoranda.calls.memory_writes import Remember
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import Commit
from memoranda.errors import InvalidInput, NotFound, TitleTaken, VersionMismatch
from memoranda.model.clock import FixedClock
from memoranda.model.ids import FixedIds
from memoranda.server import call_messages
from memoranda.wire.events import event_page
from tests.grpc_client import GrpcClient
from tests.server_process import ServerThread


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerThread]:
    folder = tmp_path_factory.mktemp("stores")
    with ServerThread(folder=folder, clock=FixedClock(), ids=FixedIds()) as server:
        yield server


@pytest.fixture
def client(server: ServerThread, request: pytest.FixtureRequest) -> Iterator[GrpcClient]:
    """A client of a store of the test's own."""
    name = request.node.name.lower().replace("[", "-").replace("]", "")[-60:].strip("_-")
    server.run(server.server.stores.create(name))
    with GrpcClient(server.address, store=name) as client:
        yield client


def write(number: int, **options: object) -> Write:
    return Write("a", "default", f"k{number:03}", {"n": number}, **options)  # type: ignore[arg-type]


def test_a_write_is_read(client: GrpcClient) -> None:
    receipt = client.ask(write(1))
    assert (receipt.commit_ts, receipt.version) == (1, 1)
    assert client.ask(GetState("a", "default", "k001")).value == {"n": 1}
    assert client.ask(GetState("a", "default", "k002")) is None


def test_a_call_acts_for_the_agent_it_names(client: GrpcClient) -> None:
    client.ask(write(1), acting_agent="bob")
    client.ask(write(1))
    actors = [event.actor for event in client.items(Replay("a", None), stored=True)]
    assert actors == ["bob", "local"]


def test_a_transaction_is_committed_once(client: GrpcClient) -> None:
    commit = Commit((write(1), write(2)), txn_id="t")
    first, second = client.ask(commit), client.ask(commit)
    assert first.commit_ts == second.commit_ts == 1


def test_a_write_without_effect_is_recorded_only_if_its_caller_named_it(client: GrpcClient) -> None:
    memory = Remember("a", "default", "the sky is blue", title="sky")
    client.ask(memory)
    for number, is_named in enumerate([False, True]):
        repeated = Remember("a", "default", "the sky is blue", title="sky", txn_id=f"t{number}")
        client.ask(repeated, is_named=is_named)
    events = client.items(Replay(None, None), stored=True)
    assert [event.txn_id for event in events][1:] == []
    assert client.ask(Verify()).commits == 2


def test_pages_begin_with_one_that_has_no_items(client: GrpcClient) -> None:
    client.ask(Commit(tuple(write(number) for number in range(600))))
    pages = [[*page.items] for page in client.stream(ListKeys("a", "default"))]
    assert pages[0] == []
    assert len(pages) > 2
    assert [key for page in pages for key in page] == [f"k{number:03}" for number in range(600)]


def test_large_pages_are_sent_in_parts(client: GrpcClient) -> None:
    from memoranda.calls.keys import ScanPrefix

    text = "x" * 100_000
    calls = [Write("a", "default", f"k{number:03}", {"text": text}) for number in range(40)]
    client.ask(Commit(tuple(calls)))
    pages = [*client.stream(ScanPrefix("a", "default", ""))]
    assert sum(len(page.items) for page in pages) == 40
    assert max(page.ByteSize() for page in pages) < 2 * 1024 * 1024


def test_long_work_ends_with_its_answer(client: GrpcClient) -> None:
    for number in range(20):
        client.ask(write(number))
    *progress, last = client.stream(Verify())
    assert last.answer.commits == 20
    assert all(message.HasField("progress") for message in progress)
    assert client.ask(RebuildViews()) is not None


def test_a_replay_tells_its_bound_first(client: GrpcClient) -> None:
    for number in range(3):
        client.ask(write(number))
    pages = [*client.stream(Replay("a", None), stored=True)]
    assert [(page.bound, len(page.events)) for page in pages] == [(3, 0), (3, 3)]
    assert all(event.stored_operations for event in pages[1].events)


def test_a_client_may_want_operations_as_fields(client: GrpcClient) -> None:
    client.ask(write(7))
    _, page = client.stream(Replay("a", None))
    (event,) = page.events
    (operation,) = event.operations
    assert (operation.type, operation.key, operation.value) == ("write", "k007", b'{"n":7}')
    assert not event.stored_operations


def test_a_message_has_so_many_events_and_bytes(client: GrpcClient) -> None:
    client.ask(Commit(tuple(write(n) for n in range(10))))
    for number in range(300):
        client.ask(write(number))
    for _ in range(8):
        client.ask(Write("a", "default", "k", {"text": "x" * 300_000}))
    for stored in (True, False):
        counts = [
            (len(page.events), page.ByteSize())
            for page in client.stream(Replay("a", None), stored=stored)
        ]
        assert sum(count for count, _ in counts) == 309
        assert max(count for count, _ in counts) == 256
        assert max(size for _, size in counts) < 1024 * 1024 + 310_000, "the last one may pass it"


@pytest.mark.parametrize(
    ("size", "stored", "in_loop"),
    [(10, True, True), (call_messages.LARGE_BYTES, True, False), (10, False, False)],
)
def test_pages_that_take_long_are_encoded_beside_the_event_loop(
    client: GrpcClient, monkeypatch: pytest.MonkeyPatch, size: int, *, stored: bool, in_loop: bool
) -> None:
    client.ask(Write("a", "default", "k", {"text": "x" * size}))
    loops: list[bool] = []

    def noted(events: Any, **fields: Any) -> Any:
        if events:
            loops.append(asyncio._get_running_loop() is not None)
        return event_page(events, **fields)

    monkeypatch.setattr(call_messages, "event_page", noted)
    assert [len(page.events) for page in client.stream(Replay("a", None), stored=stored)] == [0, 1]
    assert loops == [in_loop]


def test_answers_are_encoded_beside_the_event_loop(
    client: GrpcClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.ask(Write("a", "default", "k", {"n": 1}))
    loops: list[bool] = []
    encode = call_messages._encoded_answer

    def noted(call: Any, answer: Any) -> bytes:
        loops.append(asyncio._get_running_loop() is not None)
        return encode(call, answer)

    monkeypatch.setattr(call_messages, "_encoded_answer", noted)
    record = client.ask(GetState("a", "default", "k"))
    assert record is not None
    assert record.value == {"n": 1}
    assert loops == [False]


def test_a_subscription_follows_the_log(client: GrpcClient) -> None:
    client.ask(write(1))
    pages = client.stream(Subscribe("a", None, after_commit=0), stored=True)
    assert (next(pages).bound, [event.commit_ts for event in next(pages).events]) == (0, [1])
    client.ask(write(2))
    page = next(pages)
    assert ([event.commit_ts for event in page.events], page.caught_up) == ([2], True)


@pytest.mark.parametrize(
    ("call", "error", "code"),
    [
        (write(1, expect_version=7), VersionMismatch, grpc.StatusCode.ABORTED),
        (write(1, txn_id=""), InvalidInput, grpc.StatusCode.INVALID_ARGUMENT),
        (Replay("a", None, through_commit=-1), InvalidInput, grpc.StatusCode.INVALID_ARGUMENT),
        (
            Remember("a", "default", "x", title="taken", on_conflict="error"),
            TitleTaken,
            grpc.StatusCode.ALREADY_EXISTS,
        ),
    ],
)
def test_errors_have_a_status_a_text_and_their_class(
    client: GrpcClient, call: Write, error: type[Exception], code: grpc.StatusCode
) -> None:
    client.ask(Remember("a", "default", "y", title="taken"))
    with pytest.raises(error) as raised:
        client.ask(call)
    status = raised.value.__cause__
    assert isinstance(status, grpc.RpcError)
    assert status.code() is code
    assert status.details() == str(raised.value)


def test_a_store_that_is_not_there_is_not_found(server: ServerThread) -> None:
    with GrpcClient(server.address, store="nowhere") as client:
        with pytest.raises(NotFound, match="there is no store 'nowhere'"):
            client.ask(GetState("a", "default", "k"))
        with pytest.raises(NotFound, match="there is no store 'nowhere'"):
            client.items(Replay("a", None))


def test_an_only_store_needs_no_name(tmp_path: Path) -> None:
    with (
        ServerThread(file=tmp_path / "acme.db") as server,
        GrpcClient(server.address) as client,
        GrpcClient(server.address, store="acme") as named,
    ):
        client.ask(write(1))
        assert named.ask(GetState("a", "default", "k001")).value == {"n": 1}
