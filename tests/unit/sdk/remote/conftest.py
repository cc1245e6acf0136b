"""A server in a thread of its own, and clients of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda import Store
from tests.server_process import ServerThread
from tests.tcp_proxy import TcpProxy


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerThread]:
    with ServerThread(folder=tmp_path, create=["acme"]) as running:
        yield running


@pytest.fixture
def url(server: ServerThread) -> str:
    return f"grpc://{server.address}/acme"


@pytest.fixture
def proxy(server: ServerThread) -> Iterator[TcpProxy]:
    with TcpProxy(server.address) as between:
        yield between


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with memoranda.open(url) as opened:
        yield opened.bind(agent_id="a")
