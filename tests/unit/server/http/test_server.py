"""The HTTP server on a port: slow and hostile clients, TLS, and an orderly shutdown."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memoranda.errors import InvalidInput, Unavailable
from memoranda.server.http import protocol
from memoranda.server.http import server as http_server
from memoranda.server.http.limits import HttpLimits
from memoranda.server.http.server import HttpServer
from memoranda.server.http.settings import HttpSettings
from memoranda.server.serving import Server, ServerSettings
from memoranda.server.stores import StoreOptions
from memoranda.server.tls import TlsFiles
from tests.certificates import make_certificate
from tests.http_app import Served, serving
from tests.patience import HANG_SECONDS

KEY = "/v1/stores/acme/agents/a/keys/k"


class Listening:
    """An HTTP server that listens, and what it serves."""

    def __init__(self, server: HttpServer, port: int, served: Served) -> None:
        self.server = server
        self.port = port
        self.served = served

    async def connect(self, tls: ssl.SSLContext | None = None) -> Connected:
        return Connected(*await asyncio.open_connection("127.0.0.1", self.port, ssl=tls))


class Connected:
    """A connection of a client that writes HTTP by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    async def request(self, method: str, target: str, body: Any = None, more: str = "") -> Any:
        """Send a request, and return the status and the body of its response."""
        data = b"" if body is None else msgspec.json.encode(body)
        kind = "content-type: application/json\r\n" if body is not None else ""
        self.write(
            f"{method} {target} HTTP/1.1\r\nhost: 127.0.0.1\r\n{kind}{more}"
            f"content-length: {len(data)}\r\n\r\n".encode()
            + data
        )
        return await self.response(has_body=method != "HEAD")

    async def response(self, *, has_body: bool = True) -> tuple[int, dict[str, str], bytes]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        length = int(headers.get("content-length", 0)) if has_body else 0
        return int(head[0].split()[1]), headers, await self.reader.readexactly(length)

    async def until_closed(self) -> bytes:
        return await self.reader.read()

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


@asynccontextmanager
async def listening(
    folder: Path, limits: HttpLimits | None = None, tls: TlsFiles | None = None
) -> AsyncIterator[Listening]:
    limits = limits or HttpLimits()
    async with serving(folder, limits=limits) as served:
        server = HttpServer(limits)
        try:
            port = server.bind("127.0.0.1", 0)
            await server.start(served.app, tls)
            yield Listening(server, port, served)
        finally:
            await server.stop(0)


def run(folder: Path, work: Callable[[Listening], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with asyncio.timeout(HANG_SECONDS), listening(folder, **options) as server:
            await work(server)

    asyncio.run(main())


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "SWEEP_SECONDS", 0.01)
    monkeypatch.setattr(http_server, "_TLS_CHECK_SECONDS", 0.01)


def test_a_connection_carries_many_requests(tmp_path: Path) -> None:
    async def work(server: Listening) -> None:
        client = await server.connect()
        for number in range(3):
            status, headers, _ = await client.request("PUT", KEY, {"value": {"n": number}})
            assert (status, headers["etag"].partition("-")[0]) == (200, f'"{number + 1}')
        status, headers, body = await client.request("GET", KEY)
        assert msgspec.json.decode(body)["value"] == {"n": 2}
        assert headers["date"].endswith("GMT")
        assert "server" not in headers
        status, _, body = await client.request("HEAD", KEY)
        assert (status, body) == (200, b"")
        await client.close()

    run(tmp_path, work)


def test_requests_that_come_together_are_answered_in_order(tmp_path: Path) -> None:
    async def work(server: Listening) -> None:
        client = await server.connect()
        for path in (b"/healthz", b"/readyz", b"/nowhere"):
            client.write(b"GET %b HTTP/1.1\r\nhost: localhost\r\n\r\n" % path)
        assert [(await client.response())[0] for _ in range(3)] == [200, 200, 404]
        await client.close()

    run(tmp_path, work)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET /healthz HTTP/1.1\r\nhost: local",
        b"PUT " + KEY.encode() + b" HTTP/1.1\r\nhost: localhost\r\n"
        b"content-type: application/json\r\ncontent-length: 100\r\n\r\n{",
    ],
)
def test_a_request_that_does_not_arrive_is_given_up(tmp_path: Path, data: bytes) -> None:
    async def work(server: Listening) -> None:
        client = await server.connect()
        client.write(data)
        assert (await client.until_closed()).startswith(b"HTTP/1.1 408")
        await client.close()

    run(tmp_path, work, limits=HttpLimits(header_seconds=0.05, body_seconds=0.05))


def test_an_idle_connection_is_closed(tmp_path: Path) -> None:
    async def work(server: Listening) -> None:
        client = await server.connect()
        assert (await client.request("GET", "/healthz"))[0] == 200
        assert await client.until_closed() == b""
        await client.close()

    run(tmp_path, work, limits=HttpLimits(idle_seconds=0.1))


def test_a_client_that_takes_nothing_is_cut_off(tmp_path: Path) -> None:
    async def work(server: Listening) -> None:
        client = await server.connect()
        large = {"value": {"text": "x" * 900_000}}
        for number in range(12):
            path = f"/v1/stores/acme/agents/a/keys/{number}"
            assert (await client.request("PUT", path, large))[0] == 200
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.write(b"GET /v1/stores/acme/replay?agent_id=a HTTP/1.1\r\nhost: localhost\r\n"
                     b"accept: application/x-ndjson\r\n\r\n")  # fmt: skip
        while not server.served.app.count:
            await asyncio.sleep(0.001)
        while server.served.app.count:
            await asyncio.sleep(0.001)
        client.writer.transport.abort()

    run(tmp_path, work, limits=HttpLimits(send_seconds=0.2))


@pytest.mark.parametrize("where", ["header", "target", "many"])
def test_long_headers_are_refused(tmp_path: Path, where: str) -> None:
    long = b"x" * 40_000
    heads = {
        "header": b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + long + b"\r\n\r\n",
        "target": b"GET /" + long,
        "many": b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 10_000,
    }

    async def work(server: Listening) -> None:
        client = await server.connect()
        client.write(heads[where])
        assert (await client.until_closed()).startswith(b"HTTP/1.1 431")
        await client.close()

    run(tmp_path, work)


CHUNKED = (
    f"PUT {KEY} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    "transfer-encoding: chunked\r\n\r\n"
).encode() + b"".join(b"1\r\n%c\r\n" % byte for byte in b'{"value": {}}')


def test_a_trailer_is_no_header(tmp_path: Path) -> None:
    async def work(server: Listening) -> None:
        client = await server.connect()
        client.write(CHUNKED + b"0\r\nhost: elsewhere\r\n\r\n")
        assert (await client.response())[0] == 200
        await client.close()

    run(tmp_path, work)


@pytest.mark.parametrize("part", [b"x: y\r\n" * 100, b"x" * 600], ids=["many", "long"])
def test_a_trailer_without_end_is_refused(tmp_path: Path, part: bytes) -> None:
    async def work(server: Listening) -> None:
        client = await server.connect()
        client.write(CHUNKED + b"0\r\nx: ")
        answer = asyncio.ensure_future(client.response())
        with suppress(ConnectionError, asyncio.IncompleteReadError):  # it may be cut off meanwhile
            for _ in range(1000):
                client.write(part)
                await client.writer.drain()
            assert (await answer)[0] == 431
        client.writer.close()

    run(tmp_path, work)


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\ncontent-length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_no_http_is_refused(tmp_path: Path, data: bytes) -> None:
    async def work(server: Listening) -> None:
        client = await server.connect()
        client.write(data)
        answer = await client.until_closed()
        assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 404", b"HTTP/1.1 408")), answer
        await client.close()
        status = 408  # on a busy machine, a request may not arrive in time
        while status == 408:
            other = await server.connect()
            status, _, _ = await other.request("GET", "/healthz")
            await other.close()
        assert status == 200

    run(tmp_path, work, limits=HttpLimits(header_seconds=0.2, body_seconds=0.2))


def test_connections_are_bounded(tmp_path: Path) -> None:
    async def work(server: Listening) -> None:
        clients = [await server.connect() for _ in range(2)]
        for client in clients:
            assert (await client.request("GET", "/healthz"))[0] == 200
        refused = await server.connect()
        assert (await refused.until_closed()).startswith(b"HTTP/1.1 503")
        for client in (*clients, refused):
            await client.close()

    run(tmp_path, work, limits=HttpLimits(connections=2))


def test_a_stream_that_breaks_off_shows(tmp_path: Path) -> None:
    async def work(server: Listening) -> None:
        client = await server.connect()
        for number in range(3):
            await client.request("PUT", KEY, {"value": {"n": number}})
        client.write(b"GET /v1/stores/acme/subscribe?agent_id=a&after_commit=0 HTTP/1.1\r\n"
                     b"host: localhost\r\n\r\n")  # fmt: skip
        head = await client.reader.readuntil(b"\r\n\r\n")
        assert b"transfer-encoding: chunked" in head
        while b'"n":2' not in await client.reader.readuntil(b"\n\n"):
            pass
        await server.server.stop(60)
        assert (await client.until_closed()).endswith(b"0\r\n\r\n")
        await client.close()

    run(tmp_path, work)


def test_a_request_in_flight_is_answered_before_the_server_stops(tmp_path: Path) -> None:
    async def work(server: Listening) -> None:
        busy, idle = await server.connect(), await server.connect()
        await idle.request("GET", "/healthz")
        busy.write(
            f"PUT {KEY} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            "content-length: 12\r\n\r\n".encode()
        )
        while not server.served.app.count:
            await asyncio.sleep(0.001)
        stopping = asyncio.ensure_future(server.server.stop(60))
        await asyncio.sleep(0.01)
        busy.write(b'{"value":{}}')
        assert (await busy.response())[0] == 200
        await stopping
        assert await idle.until_closed() == b""
        with pytest.raises(ConnectionError):
            await server.connect()
        for client in (busy, idle):
            await client.close()

    run(tmp_path, work)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    async def work(server: Listening) -> None:
        with pytest.raises(Unavailable, match="another program"):
            HttpServer().bind("127.0.0.1", server.port)
        with pytest.raises(Unavailable):
            HttpServer().bind("192.0.2.1", 0)

    run(tmp_path, work)


# TLS, and the whole server.


def trusting(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate)


async def connected_with(server: Listening, certificate: Path) -> Connected:
    """Connect as soon as the server has a certificate."""
    while True:
        try:
            return await server.connect(trusting(certificate))
        except ssl.SSLError:
            await asyncio.sleep(0.01)


def test_tls_follows_its_files(tmp_path: Path) -> None:
    files = make_certificate(tmp_path / "tls", "first")
    stores = tmp_path / "stores"
    stores.mkdir()

    async def work(server: Listening) -> None:
        client = await server.connect(trusting(files.certificate))
        assert (await client.request("GET", "/healthz"))[0] == 200
        make_certificate(tmp_path / "tls", "second")
        other = await connected_with(server, files.certificate)
        assert (await other.request("GET", "/healthz"))[0] == 200
        assert (await client.request("GET", "/healthz"))[0] == 200
        files.key.write_text("no key")
        await asyncio.sleep(0.05)
        third = await server.connect(trusting(files.certificate))
        assert (await third.request("GET", "/healthz"))[0] == 200
        for connection in (client, other, third):
            await connection.close()

    run(stores, work, tls=files)


def test_a_server_listens_for_both(tmp_path: Path) -> None:
    async def main() -> None:
        settings = ServerSettings(
            folder=tmp_path,
            port=0,
            http=HttpSettings(port=0),
            stores=StoreOptions(embedder=None, durability="relaxed"),
        )
        async with Server(settings) as server:
            await server.stores.create("acme")
            reader, writer = await asyncio.open_connection("127.0.0.1", server.http_port)
            client = Connected(reader, writer)
            assert (await client.request("PUT", KEY, {"value": {"n": 1}}))[0] == 200
            assert server.http_address == f"127.0.0.1:{server.http_port}"
            evil = await client.request("GET", KEY, more="origin: https://evil.example\r\n")
            assert evil[0] == 403
            await client.close()
        with socket.socket() as free:
            free.bind(("127.0.0.1", server.http_port))

    asyncio.run(main())


def test_the_rules_of_public_addresses_hold_for_http_too(tmp_path: Path) -> None:
    public = ServerSettings(folder=tmp_path, http=HttpSettings(host="0.0.0.0"))
    assert public.asks_for_tokens
    with pytest.raises(InvalidInput, match=r"at 0\.0\.0\.0"):
        public.check()
    assert ServerSettings(folder=tmp_path, http=HttpSettings()).is_local
