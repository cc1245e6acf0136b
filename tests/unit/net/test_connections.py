"""Connections to a model: kept between calls, and nothing else is kept with them."""

from __future__ import annotations

import gzip
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from memoranda.errors import InvalidInput, Unavailable
from memoranda.extract.chat_model import ChatExtractor
from memoranda.model.clock import FixedClock
from memoranda.net import http_client as net_http_client
from memoranda.net.http_client import Endpoint
from memoranda.search.vectors.openai_endpoint import EmbeddingsEndpoint
from tests.patience import HANG_SECONDS
from tests.unit.net.answering import Asked, Said, answering, nobody


def echo(request: Asked) -> Said:
    return Said(body={"path": request.path, "body": request.body})


def test_several_calls_use_one_connection() -> None:
    with answering(echo) as server:
        endpoint = Endpoint(server.url)
        for number in range(5):
            assert endpoint.post("x", number)["body"] == number
    assert len(server.asked) == 5
    assert server.connections == 1


def test_what_was_refused_leaves_the_connection_usable() -> None:
    answers = [Said(429, {"error": "slow down"}), Said(404, {"error": "no"}), Said(body=7)]
    with answering(lambda _: answers.pop(0)) as server:
        endpoint = Endpoint(server.url, clock=FixedClock())
        with pytest.raises(InvalidInput, match="404"):
            endpoint.post("x", {})
        assert endpoint.post("x", {}) == 7
    assert server.connections == 1


def test_embeddings_are_asked_for_over_one_connection() -> None:
    rows = [{"index": place, "embedding": [1.0, 2.0]} for place in range(128)]
    with answering(lambda _: Said(body={"data": rows})) as server:
        own = EmbeddingsEndpoint(server.url, model="small")
        assert own.embed(["text"] * 512).shape == (512, 2)
    assert len(server.asked) == 4
    assert server.connections == 1


@contextmanager
def dropping() -> Iterator[tuple[str, list[int]]]:
    """Serve one answer on each connection, and close it only when the next request has come."""
    listening = socket.create_server(("127.0.0.1", 0))
    served: list[int] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                request = b""
                while not request.endswith(b"{}"):
                    request += connection.recv(65_536)
                served.append(1)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n7")
                connection.recv(65_536)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", served
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(HANG_SECONDS)


def test_a_kept_connection_that_is_closed_is_replaced_at_once() -> None:
    clock = FixedClock()
    with dropping() as (url, served):
        endpoint = Endpoint(url, clock=clock, retries=0)
        assert [endpoint.post("x", {}) for _ in range(3)] == [7, 7, 7]
        del endpoint
    assert len(served) == 3
    assert clock.monotonic() == 0, "nobody waited"


def test_a_new_connection_that_is_closed_is_not_tried_again_unasked() -> None:
    with answering(lambda _: None) as server:
        with pytest.raises(Unavailable, match="does not answer"):
            Endpoint(server.url, retries=0).post("x", {})
        assert len(server.asked) == 1


def test_cookies_are_not_kept() -> None:
    text = Said(body=7, headers=(("Set-Cookie", "who=you; Path=/"),))
    with answering(lambda _: text) as server:
        endpoint = Endpoint(server.url)
        endpoint.post("x", {})
        endpoint.post("x", {})
    assert "cookie" not in {name.lower() for queries in server.asked for name in queries.headers}


def test_a_forked_process_opens_a_connection_of_its_own() -> None:
    with answering(echo) as server:
        endpoint = Endpoint(server.url)
        endpoint.post("x", 1)
        before = endpoint._client
        assert before is not None
        endpoint._client = (os.getpid() + 1, before[1])  # as a child finds it
        endpoint.post("x", 2)
    assert server.connections == 2


def test_an_answer_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net_http_client, "_MAX_ANSWER_BYTES", 1_000)
    refused = pytest.raises(InvalidInput, match="more than 1000 bytes")
    with answering(lambda _: Said(body="x" * 1_000)) as server, refused:
        Endpoint(server.url).post("x", {})
    packed = Said(body=gzip.compress(b"7" * 10_000), headers=(("Content-Encoding", "gzip"),))
    refused = pytest.raises(InvalidInput, match="more than 1000 bytes")
    with answering(lambda _: packed) as server, refused:
        Endpoint(server.url).post("x", {})
    assert server.asked[0].headers["Accept-Encoding"] == "identity"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def test_the_proxy_of_the_environment_is_used(environment: pytest.MonkeyPatch) -> None:
    with answering(echo) as proxy:
        environment.setenv("http_proxy", proxy.url)
        result = Endpoint("http://model.invalid/v1").post("x", 7)
    assert result == {"path": "http://model.invalid/v1/x", "body": 7}


def test_what_needs_no_proxy_is_asked_directly(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("http_proxy", "http://proxy.invalid")
    environment.setenv("no_proxy", "127.0.0.1")
    with answering(echo) as server:
        assert Endpoint(server.url).post("x", 7)["body"] == 7


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "gopher://127.0.0.1:1"])
def test_a_proxy_that_cannot_be_used_is_named(environment: pytest.MonkeyPatch, proxy: str) -> None:
    environment.setenv("all_proxy", proxy)
    with pytest.raises(InvalidInput, match="proxy"):
        Endpoint("http://model.invalid/v1").post("x", 7)


def test_the_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net_http_client, "find_spec", lambda _: None)
    remedy = r"httpx2: pip install 'memoranda\[endpoint\]'"
    with pytest.raises(InvalidInput, match=remedy) as caught:
        EmbeddingsEndpoint("http://host/v1", model="small")
    assert caught.value.field == "embedder"
    with pytest.raises(InvalidInput, match=remedy):
        ChatExtractor("http://host/v1", model="small")


def test_the_key_is_not_told_when_nobody_answers() -> None:
    with nobody() as url, pytest.raises(Unavailable) as caught:
        Endpoint(url.replace("/v1", "/hush"), api_key="hush", retries=0).post("x", {})
    assert "hush" not in str(caught.value)
