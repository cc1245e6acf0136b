"""A store over HTTP: certificates of both ends, and the proxy of the environment."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import memoranda
from memoranda import InvalidInput, Tls, Unavailable
from memoranda.sdk.remote.http.client import client_options, is_loopback
from memoranda.sdk.remote.options import remote_options
from memoranda.server.tls import TlsFiles
from tests.certificates import Authority
from tests.patience import HANG_SECONDS
from tests.server_process import ServerThread

Write = Callable[..., int]


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def root(tmp_path: Path, authority: Authority) -> Path:
    path = tmp_path / "ca.pem"
    path.write_bytes(authority.pem)
    return path


@pytest.fixture
def files(tmp_path: Path, authority: Authority) -> TlsFiles:
    return TlsFiles(*authority.issue(tmp_path, "server"))


def write_sync(url: str, **options: Any) -> int:
    with memoranda.open(url, **options) as store:
        return store.write(agent_id="a", key="k", value={}).commit_ts


def write_async(url: str, **options: Any) -> int:
    async def work() -> int:
        async with await memoranda.open_async(url, **options) as store:
            return (await store.write(agent_id="a", key="k", value={})).commit_ts

    return asyncio.run(work())


@pytest.fixture(params=[write_sync, write_async])
def write(request: pytest.FixtureRequest) -> Write:
    """What opens a store and writes, with threads or with asyncio."""
    function: Write = request.param
    return function


def test_the_server_is_trusted_by_its_authority(
    write: Write, tmp_path: Path, root: Path, files: TlsFiles
) -> None:
    with ServerThread(file=tmp_path / "one.db", tls=files) as server:
        assert write(server.url("https", ""), tls=root) == 1
        assert write(server.url("https", "").replace("127.0.0.1", "localhost"), tls=root) == 2
        with pytest.raises(Unavailable, match=r"is not trusted: .* as `tls`") as no:
            write(server.url("https", ""))
        assert not no.value.retryable
        with pytest.raises(Unavailable):
            write(server.url("http", ""), timeout=0.2)


def test_clients_show_a_certificate(
    write: Write, tmp_path: Path, root: Path, files: TlsFiles, authority: Authority
) -> None:
    with_clients = TlsFiles(files.certificate, files.key, root)
    certificate, key = authority.issue(tmp_path, "client")
    with ServerThread(file=tmp_path / "one.db", tls=with_clients) as server:
        own = Tls(root=root, certificate=certificate, key=key)
        assert write(server.url("https", ""), tls=own) == 1
        with pytest.raises(Unavailable, match=r"does not answer|did not answer in"):
            write(server.url("https", ""), tls=root, timeout=0.2)


def test_certificates_that_are_none(write: Write, tmp_path: Path, root: Path) -> None:
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("nonsense")
    for tls in (Tls(root=nonsense), Tls(root=root, certificate=nonsense, key=nonsense)):
        with pytest.raises(InvalidInput, match="the certificates cannot be used"):
            write("https://127.0.0.1:1/acme", tls=tls)


# The proxy of the environment.


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1/a", True),
        ("http://[::1]:80/a", True),
        ("http://LOCALHOST:7421/a", True),
        ("http://192.0.2.1/a", False),
        ("https://memory.example/a", False),
    ],
)
def test_a_server_of_this_machine_is_reached_without_a_proxy(url: str, expected: bool) -> None:  # noqa: FBT001
    options = remote_options(url, None, None, None)
    assert is_loopback(options.url) is expected
    assert client_options(options)["trust_env"] is not expected


@pytest.fixture
def proxy() -> Iterator[tuple[str, list[str]]]:
    """A proxy that refuses every request, and the requests that it got."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(f"{self.command} {self.path.rpartition('/v1')[0]}")
            self.send_error(403)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
        server.shutdown()
        thread.join(HANG_SECONDS)


def test_other_servers_are_reached_through_it(
    write: Write, proxy: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, requests = proxy
    monkeypatch.setenv("HTTP_PROXY", address)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(memoranda.MemorandaError, match="failed with status 403"):
        write("http://memory.invalid:7421/acme")
    assert requests == ["POST http://memory.invalid:7421"]


def test_one_that_cannot_be_used_is_named(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "nonsense://127.0.0.1:1")
    with pytest.raises(InvalidInput, match="through the proxy of the environment"):
        write("http://memory.invalid:7421/acme")
