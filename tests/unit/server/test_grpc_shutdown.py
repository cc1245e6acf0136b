"""Shutdown, cancelled calls, deadlines, health and reflection of the gRPC server."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

import memoranda
from memoranda.calls.core import Core
from memoranda.calls.key_writes import Write
from memoranda.calls.keys import GetState
from memoranda.calls.log import Replay
from memoranda.calls.subscriptions import Subscribe
from memoranda.storage.port import Writer
from memoranda.wire.methods import METHOD_OF, SERVICE
from tests.grpc_client import GrpcClient, error_of
from tests.patience import HANG_SECONDS, wait_until
from tests.raw_http2 import RawConnection
from tests.server_process import ServerThread

READ = GetState("a", "default", "k")
Status = health_pb2.HealthCheckResponse


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "acme.db"


@pytest.fixture
def server(path: Path) -> Iterator[ServerThread]:
    with ServerThread(file=path) as server:
        with GrpcClient(server.address) as client:
            client.ask(write(0))
        yield server


@pytest.fixture
def client(server: ServerThread) -> Iterator[GrpcClient]:
    with GrpcClient(server.address) as client:
        yield client


def write(number: int, key: str = "k") -> Write:
    return Write("a", "default", key, {"n": number}, txn_id=f"t{number}")


@contextmanager
def write_lock(server: ServerThread) -> Iterator[None]:
    """Keep every commit waiting, as another one that takes long does."""
    engine = server.run(core_of(server)).engine
    is_held, release = threading.Event(), threading.Event()

    def hold(_: Writer) -> None:
        is_held.set()
        release.wait(HANG_SECONDS)

    thread = threading.Thread(target=engine.write, args=(hold,))
    thread.start()
    try:
        assert is_held.wait(HANG_SECONDS)
        yield
    finally:
        release.set()
        thread.join(HANG_SECONDS)


def wait_for_commit(server: ServerThread) -> None:
    """Wait until a commit has been taken out of the queue, to be written."""
    pause = threading.Event()
    committer: Any = server.run(core_of(server)).committer
    while committer._leader is None or committer._queue:
        pause.wait(0.005)


async def core_of(server: ServerThread) -> Core:
    async with server.server.stores.use("") as store:
        return store.core


def numbers(path: Path) -> list[int]:
    """Return what was written, in its order."""
    with memoranda.open(path, create=False) as store:
        events = store.replay(agent_id="a")
        values = [operation.value for event in events for operation in event.operations]
    return [value["n"] for value in values if value is not None]


# Shutdown.


def check_shutdown(error: Any) -> None:
    """Check that a call was ended by the shutdown: clients try again by its plain status."""
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert "shutting down" in error.details()
    assert error_of(error) is None


def test_commits_in_flight_finish_and_streams_are_told(
    server: ServerThread, client: GrpcClient, path: Path
) -> None:
    stream = client.stream(Subscribe("a", None), stored=True)
    assert [next(stream).caught_up for _ in range(2)] == [False, True]
    with ThreadPoolExecutor(2) as threads:
        with write_lock(server):
            receipt = threads.submit(client.ask, write(1))
            wait_for_commit(server)
            stopping = threads.submit(server.stop, HANG_SECONDS)
            with pytest.raises(grpc.RpcError) as raised:
                next(stream)
            check_shutdown(raised.value)
            assert not stopping.done()
        assert receipt.result().commit_ts == 2
        stopping.result()
    assert numbers(path) == [0, 1]


def test_what_does_not_end_in_time_is_cut_off(server: ServerThread, client: GrpcClient) -> None:
    with ThreadPoolExecutor(2) as threads, write_lock(server):
        receipt = threads.submit(client.ask, write(1))
        wait_for_commit(server)
        stopping = threads.submit(server.stop, 0.1)
        with pytest.raises(grpc.RpcError) as raised:
            receipt.result()
        status: Any = raised.value
        assert status.code() in (grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE)
    stopping.result()


def test_calls_that_come_too_late_are_refused(server: ServerThread, client: GrpcClient) -> None:
    with RawConnection(server.address) as raw:
        raw.call(METHOD_OF[GetState].path)  # its message never comes
        pause = threading.Event()
        while not server.server.call_count:
            pause.wait(0.005)
        stopping = threading.Thread(target=server.stop, args=(HANG_SECONDS,))
        stopping.start()
        assert b"shutting down" in raw.end_of()
        stopping.join(HANG_SECONDS)
    with pytest.raises(grpc.RpcError) as raised:
        client.ask(READ)
    status: Any = raised.value
    assert status.code() is grpc.StatusCode.UNAVAILABLE


def test_a_replay_that_is_being_sent_ends_with_a_status(
    server: ServerThread, client: GrpcClient
) -> None:
    for number in range(1, 40):
        client.ask(Write("a", "default", f"k{number}", {"text": "x" * 100_000}))
    stream = client.stream(Replay("a", None), stored=True)
    assert next(stream).bound == 40
    stopping = threading.Thread(target=server.stop, args=(HANG_SECONDS,))
    stopping.start()
    with pytest.raises(grpc.RpcError) as raised:
        deque(stream)
    check_shutdown(raised.value)
    stopping.join(HANG_SECONDS)


# Deadlines and cancelled calls.


def test_a_commit_whose_caller_is_gone_is_withdrawn_unless_it_is_being_written(
    server: ServerThread, client: GrpcClient, path: Path
) -> None:
    with ThreadPoolExecutor(1) as threads:
        with write_lock(server):
            first = threads.submit(client.ask, write(1))
            wait_for_commit(server)
            with pytest.raises(grpc.RpcError) as raised:
                client.ask(write(2), timeout=0.2)
            status: Any = raised.value
            assert status.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            wait_until(lambda: server.server.call_count == 1)  # the server has noticed, too
        assert first.result().commit_ts == 2
    assert client.ask(write(3)).commit_ts == 3
    server.stop()
    assert numbers(path) == [0, 1, 3]


# Health and reflection.


def test_health_is_told_until_the_server_shuts_down(
    server: ServerThread, client: GrpcClient
) -> None:
    stub = health_pb2_grpc.HealthStub(client.channel)
    for service in ("", SERVICE, "statehouse.v1.StatehouseService"):
        request = health_pb2.HealthCheckRequest(service=service)
        assert stub.Check(request, timeout=HANG_SECONDS).status == Status.SERVING
    with pytest.raises(grpc.RpcError) as raised:
        stub.Check(health_pb2.HealthCheckRequest(service="x"), timeout=HANG_SECONDS)
    unknown: Any = raised.value
    assert unknown.code() is grpc.StatusCode.NOT_FOUND
    watch = stub.Watch(health_pb2.HealthCheckRequest(service=SERVICE), timeout=HANG_SECONDS)
    assert next(watch).status == Status.SERVING
    stopping = threading.Thread(target=server.stop, args=(HANG_SECONDS,))
    stopping.start()
    assert [response.status for response in watch] == [Status.NOT_SERVING]
    stopping.join(HANG_SECONDS)


def test_reflection_has_every_service_and_its_types(client: GrpcClient) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(client.channel)
    requests = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE),
        reflection_pb2.ServerReflectionRequest(),
    ]
    services, file, wrong = stub.ServerReflectionInfo(iter(requests), timeout=HANG_SECONDS)
    names = {service.name for service in services.list_services_response.service}
    assert {SERVICE, "grpc.health.v1.Health"} <= names
    assert b"GetStateRequest" in file.file_descriptor_response.file_descriptor_proto[0]
    assert wrong.HasField("error_response")
