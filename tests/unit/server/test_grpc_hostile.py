"""Callers that send nonsense, too much, too slowly or nothing get a status; the server stays up."""

from __future__ import annotations

import logging
import random
import ssl
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from memoranda.calls import registry
from memoranda.calls.key_writes import Write
from memoranda.calls.keys import GetState, ListKeys
from memoranda.calls.log import Replay
from memoranda.calls.memory_writes import Remember
from memoranda.calls.recall import Recall
from memoranda.calls.subscriptions import Subscribe
from memoranda.calls.transactions import Commit
from memoranda.errors import InvalidInput, MemorandaError, StoreBusy, Unauthenticated
from memoranda.server.grpc.limits import GrpcLimits
from memoranda.wire import codec
from memoranda.wire.methods import METHOD_OF, METHODS, WRITE_STREAM
from tests.grpc_client import GrpcClient, error_of
from tests.patience import HANG_SECONDS
from tests.raw_http2 import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    HEADERS,
    PING,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    RawConnection,
    frame,
    grpc_headers,
    headers,
    message,
)
from tests.server_process import ServerThread

LIMITS = GrpcLimits(message_bytes=1024 * 1024, public_calls=1024)
GET_STATE = METHOD_OF[GetState].path
READ = GetState("a", "default", "k")
Code = grpc.StatusCode


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerThread]:
    path = tmp_path_factory.mktemp("store") / "acme.db"
    with ServerThread(file=path, limits=LIMITS) as server:
        with GrpcClient(server.address) as client:
            client.ask(Write("a", "default", "k", {"n": 1}))
        yield server


@pytest.fixture
def client(server: ServerThread) -> Iterator[GrpcClient]:
    with GrpcClient(server.address) as client:
        yield client


@pytest.fixture(autouse=True)
def stays_up(server: ServerThread) -> Iterator[None]:
    """After each test the server answers, and no call is left over."""
    yield
    with GrpcClient(server.address) as client:
        assert client.ask(READ).value == {"n": 1}
    wait_until(lambda: server.server.call_count == 0)


def wait_until(condition: Callable[[], bool]) -> None:
    until = threading.Event()
    for _ in range(int(HANG_SECONDS / 0.02)):
        if condition():
            return
        until.wait(0.02)
    raise AssertionError("it does not come to that")


def outcome(client: GrpcClient, path: str, *messages: bytes, **options: Any) -> Any:
    """Return the status of a call."""
    call = client.send_all(path, messages, timeout=HANG_SECONDS, **options)
    try:
        for _ in call:
            if path == METHOD_OF[Subscribe].path:
                call.cancel()
    except grpc.RpcError:
        pass
    return call.code()


# Nonsense in messages.

PATHS = [
    *(method.path for method in METHODS.values()),
    WRITE_STREAM,
    "/grpc.health.v1.Health/Check",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/statehouse.v1.StatehouseService/BeginTransaction",
    "/statehouse.v1.StatehouseService/Write",
    "/statehouse.v1.StatehouseService/Replay",
]
CLEAR = {
    Code.OK, Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.FAILED_PRECONDITION, Code.OUT_OF_RANGE,
    Code.CANCELLED, Code.DEADLINE_EXCEEDED,
}  # fmt: skip
"""What nonsense may get. A subscription is cancelled here; a transaction may ask for no time."""


@pytest.mark.parametrize("path", PATHS)
def test_random_bytes_get_a_clear_status(client: GrpcClient, path: str) -> None:
    chance = random.Random(path)
    for size in (0, 1, 7, 60):
        code = outcome(client, path, chance.randbytes(size))
        assert code in CLEAR, f"{code} for {size} bytes"


SAMPLES = [
    Write("a", "default", "k", {"n": 1}, expect_version=1, txn_id="t"),
    Remember("a", "default", "content", title="title", tags=("x", "y"), txn_id="t"),
    Commit((Write("a", "default", "x", {}), Remember("a", "default", "y")), since=1, txn_id="t"),
    Recall(query="words", agent_id="a", namespace="default"),
    ListKeys("a", "default", "k"),
    Replay("a", None, after_commit=1, kinds=("write",)),
]


@pytest.mark.parametrize("call", SAMPLES, ids=lambda call: type(call).__name__)
def test_damaged_requests_get_a_clear_status(client: GrpcClient, call: Any) -> None:
    chance = random.Random(type(call).__name__)
    whole = codec.request_of(call).SerializeToString()
    for _ in range(25):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        cut = data[: chance.randint(1, len(data))] if chance.random() < 0.3 else data
        code = outcome(client, METHOD_OF[type(call)].path, bytes(cut))
        assert code in CLEAR | {Code.ABORTED}, f"{code} for {bytes(cut)!r}"
    client.ask(Write("a", "default", "k", {"n": 1}))


def test_fields_that_are_not_known_are_refused(client: GrpcClient) -> None:
    unknown = b"\xa2\xf7\x01\x03abc"  # a field with a number that no request has
    data = codec.request_of(READ).SerializeToString() + unknown
    with pytest.raises(InvalidInput, match="does not know"):
        [*client.send(GET_STATE, data)]


def test_words_that_are_not_known_are_refused(client: GrpcClient) -> None:
    with pytest.raises(InvalidInput, match="kinds"):
        client.items(Replay("a", None, kinds=("sing",)))
    with pytest.raises(InvalidInput, match="visibility"):
        client.ask(Remember("a", "default", "x", visibility="everywhere"))


def test_a_call_without_a_message_is_refused(client: GrpcClient) -> None:
    assert outcome(client, GET_STATE) is Code.INVALID_ARGUMENT


def test_an_unknown_method_is_unimplemented(client: GrpcClient) -> None:
    for path in ("/memoranda.v1.MemorandaService/Sing", "/nobody/Sing", "/"):
        assert outcome(client, path, b"") is Code.UNIMPLEMENTED


# Too much.


def test_a_message_that_is_too_large_is_refused(client: GrpcClient) -> None:
    code = outcome(client, GET_STATE, b"\x1a" + b"x" * (2 * 1024 * 1024))
    assert code is Code.RESOURCE_EXHAUSTED
    assert outcome(client, WRITE_STREAM, b"x" * (2 * 1024 * 1024)) is Code.RESOURCE_EXHAUSTED


def test_compressed_messages_are_refused_and_not_unpacked(server: ServerThread) -> None:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    mebibyte = compressor.compress(bytes(1024 * 1024)) + compressor.flush(zlib.Z_FULL_FLUSH)
    bomb = b"\x1f\x8b\x08" + bytes(7) + 300 * mebibyte + compressor.flush()
    before = peak_memory()
    with RawConnection(server.address) as raw:
        raw.call(GET_STATE, message(bomb, compressed=True), grpc_encoding="gzip")
        assert b"'gzip' is disabled" in raw.end_of()
    assert peak_memory() - before < 100 * 1024 * 1024


def peak_memory() -> int:
    """Return the most memory that this process has had, in bytes."""
    status = Path("/proc/self/status").read_text("ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def test_headers_that_are_too_large_are_refused(client: GrpcClient) -> None:
    metadata = (("x-long", "y" * 20_000),)
    assert outcome(client, GET_STATE, b"", metadata=metadata) is Code.RESOURCE_EXHAUSTED


def test_headers_that_are_too_large_together_are_refused(server: ServerThread) -> None:
    with RawConnection(server.address) as connection:
        connection.send(frame(HEADERS, 0, 1, grpc_headers(GET_STATE)))
        for _ in range(2):
            connection.send(frame(CONTINUATION, 0, 1, headers(x="y" * 100) * 100))
        connection.send(frame(CONTINUATION, END_HEADERS, 1))
        assert b"grpc-status\x013" in (answer := connection.end_of())
        assert b"metadata: has 20" in answer
        assert b"the limit is 16384" in answer


def test_too_many_calls_are_told_to_come_back(tmp_path: Path) -> None:
    limits = GrpcLimits(calls=3)
    with (
        ServerThread(file=tmp_path / "acme.db", limits=limits) as server,
        GrpcClient(server.address) as client,
    ):
        streams = [client.stream(Subscribe("a", None), stored=True) for _ in range(3)]
        for stream in streams:
            next(stream)
        with pytest.raises(StoreBusy, match="3 calls in flight") as raised:
            client.ask(READ)
        cause: Any = raised.value.__cause__
        assert cause.code() is Code.UNAVAILABLE
        assert dict(cause.trailing_metadata())["grpc-retry-pushback-ms"] == "100"
        streams.pop().close()
        wait_until(lambda: server.server.call_count == 2)
        assert client.ask(READ) is None


def test_strangers_take_no_place_of_others(tmp_path: Path) -> None:
    watch = "/grpc.health.v1.Health/Watch"
    with (
        ServerThread(
            file=tmp_path / "acme.db", limits=GrpcLimits(calls=1, public_calls=2)
        ) as server,
        GrpcClient(server.address) as client,
    ):
        calls = [client.send_all(watch, [b""]) for _ in range(2)]
        for call in calls:
            next(call)
        assert outcome(client, watch, b"") is Code.UNAVAILABLE
        assert client.ask(READ) is None
        for call in calls:
            call.cancel()


def test_too_many_connections_are_closed(tmp_path: Path) -> None:
    limits = GrpcLimits(connections=2)
    with ServerThread(file=tmp_path / "acme.db", limits=limits) as server:
        clients = [GrpcClient(server.address) for _ in range(2)]
        for client in clients:
            client.ask(READ)
        with RawConnection(server.address) as third:
            assert third.read_to_end() == b""
        for client in clients:
            assert client.ask(READ) is None
            client.close()


# Nonsense on the socket.

HTTP_1 = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"\x00" * 64,
        HTTP_1,
        PREFACE + b"\xff" * 200,
        PREFACE + frame(SETTINGS, 0, 0, b"\x00" * 7),
        PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 4, 1, b"\xff" * 40),
        PREFACE + frame(SETTINGS, 0, 0) + b"\xff\xff\xff\x00\x00\x00\x00\x00\x01",
    ],
)
def test_garbage_on_the_socket_ends_its_connection_only(server: ServerThread, data: bytes) -> None:
    with RawConnection(server.address, greets=False) as raw:
        raw.send(data)
        raw.read_to_end()


FLOODS: dict[str, bytes] = {
    "calls that are reset": b"".join(
        frame(HEADERS, END_HEADERS, stream, grpc_headers(GET_STATE))
        + frame(RST_STREAM, 0, stream, b"\x00\x00\x00\x08")
        for stream in range(1, 4_001, 2)
    ),
    "pings": frame(PING, 0, 0, bytes(8)) * 20_000,
    "settings": frame(SETTINGS, 0, 0, b"\x00\x04\x00\x00\xff\xff") * 20_000,
    "windows": frame(WINDOW_UPDATE, 0, 0, b"\x00\x00\x00\x01") * 20_000,
    "empty data": frame(HEADERS, END_HEADERS, 1, grpc_headers(GET_STATE))
    + frame(DATA, 0, 1) * 20_000,
    "headers without end": frame(HEADERS, 0, 1, grpc_headers(GET_STATE))
    + frame(CONTINUATION, 0, 1, headers(x="y" * 100) * 100) * 200,
    "empty headers without end": frame(HEADERS, 0, 1, grpc_headers(GET_STATE))
    + frame(CONTINUATION, 0, 1) * 20_000,
    "headers that repeat": frame(
        HEADERS, END_HEADERS, 1, grpc_headers(GET_STATE) + b"\x40\x01x\x01y" + b"\xbe" * 16_000
    ),
}
"""Frames that cost a server more than their sender."""


@pytest.mark.parametrize("flood", FLOODS)
def test_floods_of_frames_cut_nobody_off(
    server: ServerThread, client: GrpcClient, flood: str
) -> None:
    with RawConnection(server.address) as connection:
        with suppress(ConnectionError):  # the server may have had enough
            connection.send(FLOODS[flood])
        for _ in range(20):
            assert client.ask(READ).value == {"n": 1}


def test_a_stranger_with_tls_is_refused_where_there_is_none(server: ServerThread) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with RawConnection(server.address, greets=False) as raw, pytest.raises(OSError):  # noqa: PT011
        context.wrap_socket(raw.socket)


def test_a_path_that_is_no_text_cuts_nobody_off(
    server: ServerThread, caplog: pytest.LogCaptureFixture
) -> None:
    """Some versions of grpc take no more calls after it; the server then listens again."""
    with GrpcClient(server.address) as client:
        stream = client.stream(Subscribe("a", None), stored=True)
        assert [next(stream).bound for _ in range(2)]
        for _ in range(2):
            with RawConnection(server.address) as raw:
                raw.call("/\xff\xfe/\x80", message(b""))
                raw.end_of()
            wait_until(lambda: answers(server))
        with GrpcClient(server.address) as another:
            commit_ts = another.ask(Write("a", "default", "k", {"n": 1})).commit_ts
        assert next(stream).bound == commit_ts


def answers(server: ServerThread) -> bool:
    with GrpcClient(server.address) as client:
        return outcome(client, GET_STATE, codec.request_of(READ).SerializeToString()) is Code.OK


# Too slowly, or not at all.


def short_server(tmp_path: Path, **limits: Any) -> ServerThread:
    """Return a server that waits for less time than a slow machine may take."""
    return ServerThread(file=tmp_path / "acme.db", limits=GrpcLimits(**limits))


def test_a_message_that_does_not_arrive_ends_its_call(tmp_path: Path) -> None:
    with (
        short_server(tmp_path, request_seconds=0.3) as server,
        RawConnection(server.address) as raw,
    ):
        raw.call(GET_STATE)
        raw.send_data(message(b"x" * 1000)[:20])
        assert b"did not arrive within 0.3 seconds" in raw.end_of()
        wait_until(lambda: answers(server))


def test_a_connection_that_says_nothing_is_closed(tmp_path: Path) -> None:
    with short_server(tmp_path, handshake_seconds=0.3) as server:
        for beginning in (b"", PREFACE[:10], PREFACE):
            with RawConnection(server.address, greets=False) as raw:
                raw.send(beginning)
                raw.read_to_end()
        wait_until(lambda: answers(server))


def test_a_connection_whose_other_end_is_gone_is_closed(tmp_path: Path) -> None:
    """It is asked whether it is there; one that does not answer is closed."""
    limits = {"keepalive_seconds": 1.0, "keepalive_timeout_seconds": 0.5}

    def subscribe_and_go(server: ServerThread) -> bool:
        """Return whether the subscription began, before the client was taken for gone."""
        with RawConnection(server.address) as raw:
            raw.call(METHOD_OF[Subscribe].path)
            raw.send_data(message(codec.request_of(Subscribe("a", None)).SerializeToString()))
            has_begun = any(part.kind == DATA for part in raw.frames())  # the last that it takes in
            raw.read_to_end()
        return has_begun

    with short_server(tmp_path, **limits) as server:
        wait_until(lambda: subscribe_and_go(server))
        wait_until(lambda: server.server.call_count == 0)
        wait_until(lambda: answers(server))


def test_abandoned_streams_leave_nothing_behind(server: ServerThread) -> None:
    abandon_streams(server, 60)


@pytest.mark.slow
def test_a_thousand_abandoned_streams_leave_nothing_behind(server: ServerThread) -> None:
    abandon_streams(server, 1000)


def abandon_streams(server: ServerThread, count: int) -> None:
    """Open streams of three kinds, read nothing of them, and drop their connections."""
    subscribe = codec.request_of(Subscribe("a", None)).SerializeToString()
    kinds: list[tuple[str, list[bytes]]] = [
        (METHOD_OF[Subscribe].path, [subscribe]),
        (WRITE_STREAM, []),
        ("/grpc.health.v1.Health/Watch", [b""]),
    ]
    files = open_files()
    for _ in range(2):  # the second time, nothing may grow
        release = threading.Event()
        clients = [GrpcClient(server.address) for _ in range(4)]
        calls = []
        try:
            for number in range(count):
                path, messages = kinds[number % len(kinds)]
                client = clients[number % len(clients)]
                calls.append(client.send_all(path, endless(messages, release)))
            wait_until(lambda: server.server.call_count == count)
        finally:
            for client in clients:
                client.close()
            release.set()
        wait_until(lambda: server.server.call_count == 0)
    wait_until(lambda: open_files() <= files + 8)


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def endless(messages: list[bytes], release: threading.Event) -> Iterator[bytes]:
    """Yield messages, and do not end before a test does."""
    yield from messages
    release.wait(HANG_SECONDS)


def test_a_call_that_is_cancelled_leaves_nothing_behind(
    server: ServerThread, client: GrpcClient
) -> None:
    for _ in range(50):
        call = client.send_all(GET_STATE, [codec.request_of(READ).SerializeToString()])
        call.cancel()


# Who they are.


def test_strangers_are_refused_before_their_message_is_read(tmp_path: Path) -> None:
    limits = GrpcLimits(request_seconds=HANG_SECONDS)
    path = tmp_path / "acme.db"
    with ServerThread(file=path, tokens=True, limits=limits) as server:
        with RawConnection(server.address) as raw:
            raw.call(GET_STATE)  # and nothing more
            assert b"this server asks for a token" in raw.end_of()
        with RawConnection(server.address) as raw:
            raw.call(GET_STATE, authorization="Bearer mmr_\xff_\xfe")
            assert b"Nothing valid says who is calling" in raw.end_of()
        for method in ("Write", "Replay"):
            with RawConnection(server.address) as raw:
                raw.call(f"/statehouse.v1.StatehouseService/{method}")
                assert b"this server asks for a token" in raw.end_of()
        for token in (None, "", "mmr_x_y", "x" * 5000):
            with GrpcClient(server.address, token=token) as client:
                with pytest.raises(Unauthenticated):
                    client.ask(READ)
                assert outcome(client, "/grpc.health.v1.Health/Check", b"") is Code.OK


# Defects of our own.


def test_what_fails_unexpectedly_tells_nothing_but_where_the_log_has_more(
    client: GrpcClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a secret of the store")

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        handlers: Any = registry.HANDLERS
        patch.setitem(handlers, GetState, fail)
        with pytest.raises(grpc.RpcError) as raised:
            client.ask(READ)
    status: Any = raised.value
    assert status.code() is Code.INTERNAL
    assert error_of(status) is None
    (record,) = [record for record in caplog.records if record.name == "memoranda.server"]
    assert vars(record)["incident"] in status.details()
    assert vars(record)["error"] == "ValueError"
    assert "secret" not in status.details() + str(vars(record))


def test_long_errors_fit_into_the_trailers(client: GrpcClient) -> None:
    with pytest.raises(MemorandaError) as raised:
        client.ask(GetState("a", "default", "ü" * 5000))
    assert isinstance(raised.value, InvalidInput)
    many = Commit(tuple(Write("a", "default", "k" * 600 + str(n), {}) for n in range(50)), since=99)
    with pytest.raises(InvalidInput):
        client.ask(many)
