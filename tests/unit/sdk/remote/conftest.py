"""A server in a thread of its own, and clients of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda import Store
from tests.quick import only
from tests.server_process import ServerThread
from tests.tcp_proxy import TcpProxy


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerThread]:
    with ServerThread(folder=tmp_path, create=["acme"]) as running:
        yield running


@pytest.fixture(params=only({"grpc"}, ("grpc", "http")))
def scheme(request: pytest.FixtureRequest) -> str:
    """How messages are sent: what holds for a store of a server holds for both."""
    return str(request.param)


@pytest.fixture
def url(server: ServerThread, scheme: str) -> str:
    return server.url(scheme)


@pytest.fixture
def proxy(server: ServerThread, scheme: str) -> Iterator[TcpProxy]:
    with TcpProxy(server.address_of(scheme)) as between:
        yield between


@pytest.fixture
def through(proxy: TcpProxy, scheme: str) -> str:
    """The URL of the store behind the proxy."""
    return f"{scheme}://{proxy.address}/acme"


@pytest.fixture
def far(through: str) -> Iterator[Store]:
    """The store behind the proxy."""
    with memoranda.open(through) as opened:
        yield opened.bind(agent_id="a")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with memoranda.open(url) as opened:
        yield opened.bind(agent_id="a")
